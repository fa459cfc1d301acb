"""Write the rows that a bound plan selects as the bytes of an answer, and keep answers."""

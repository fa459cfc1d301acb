"""Parameters → conditions → a bound plan → the rows selected → an answer (contract 4)."""

"""Count the views of segments in the counts files, and read counts from them (contract 2.4, 2.5, 4.12 and 4.14)."""

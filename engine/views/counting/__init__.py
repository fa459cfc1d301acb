"""The spool → the count files and the analysts' file → counts (contract 2.4, 2.5, 4.12 and 4.14)."""

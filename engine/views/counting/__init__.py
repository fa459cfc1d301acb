"""Segments → the count files → counts (contract 2.4, 2.5, 4.12 and 4.14)."""

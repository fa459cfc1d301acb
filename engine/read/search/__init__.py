"""Finds the rows of an opened version whose texts hold a term."""

"""Texts → the search index of a data file."""

"""Imported content → the files of a workspace."""

"""Entries as people read them: lists of versions, and the fields of one; shared by the console and ``cms dev``."""

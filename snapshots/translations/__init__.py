"""Compares the language versions of entries: what is missing, what is older than its original, what is lost."""

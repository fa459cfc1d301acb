"""Describe a workspace to programs, as one key reads it."""

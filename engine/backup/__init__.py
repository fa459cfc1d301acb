"""Copies of a whole store that are kept elsewhere, and made a store again."""

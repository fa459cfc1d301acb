"""Unpublished changes: draft keys, their list, and an overview of all language versions (contract 4.10)."""

"""Unpublished changes: draft keys, their list, and an overview of all entry versions (contract 4.10)."""

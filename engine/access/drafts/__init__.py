"""Unpublished changes: draft keys, and the addresses of previews (contract 4.10)."""

"""Exports as they lie on a disk: archives, large JSON, JSONL and XML, read piece by piece."""

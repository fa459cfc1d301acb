"""Markdown, YAML, JSON and JSONL files → documents with positions."""

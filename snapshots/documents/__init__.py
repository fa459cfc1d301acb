"""Markdown, YAML, TOML, JSON and JSONL files → documents with positions."""

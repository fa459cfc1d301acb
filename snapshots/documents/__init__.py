"""Parse Markdown, YAML, TOML, JSON and JSONL files into documents with line numbers."""

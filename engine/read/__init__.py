"""A version as a reader has it: its files are made, opened and asked, and an answer comes of it (contract 4)."""

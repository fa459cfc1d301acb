"""A workspace's definitions → a description of its entries and queries for programs: names, TypeScript, Python."""

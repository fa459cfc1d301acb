"""Letters to owners and maintainers before a key expires (contract 6)."""

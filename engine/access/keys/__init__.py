"""API keys: their file, states and scopes, their rate limits and their last use (contract 2.7 and 3.2)."""

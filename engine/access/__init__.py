"""Who may read and change what: API keys and their expiry, drafts, signing in, and what was done by whom."""

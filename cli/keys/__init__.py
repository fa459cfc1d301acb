"""API keys and draft keys: issued, listed, changed, and announced before they expire."""

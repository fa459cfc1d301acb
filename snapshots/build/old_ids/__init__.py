"""The old IDs of all entries: who refers by them, and the redirects that a site needs."""

"""Signing in to the console: who somebody is, one-time links, and sessions."""

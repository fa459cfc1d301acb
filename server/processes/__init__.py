"""Processes and threads beside those that answer."""

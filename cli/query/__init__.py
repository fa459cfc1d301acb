"""Requests answered without a server."""

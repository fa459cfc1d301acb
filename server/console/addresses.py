"""Addresses of the console that letters and the command line lead to."""

from __future__ import annotations

from urllib.parse import quote


def link_address(console_url: str, token: str) -> str:
    """Return the address of a one-time link. The server's log shows no parameter that is called a token."""
    return f"{console_url}/-/link?token={quote(token, safe='')}"

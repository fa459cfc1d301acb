"""What requests to a bucket come to: kinds that are paid for differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

PAID_AS_PUT = frozenset({"PUT", "LIST", "COPY"})
"""The kinds that S3 counts with PUT; those with GET are ``GET`` and ``HEAD``, and ``DELETE`` costs nothing."""


def kinds_of(requests: Iterable[tuple[str, str]]) -> Counter[str]:
    """Count requests, given by method and path, by kind: PUT, LIST, GET, HEAD, DELETE."""
    return Counter(_kind(*request) for request in requests)


def _kind(method: str, path: str) -> str:
    query = parse_qs(urlsplit(path).query, keep_blank_values=True)
    if method == "POST":
        return "DELETE" if "delete" in query else "PUT"  # a part of a large file
    return "LIST" if method == "GET" and ("list-type" in query or "prefix" in query) else method

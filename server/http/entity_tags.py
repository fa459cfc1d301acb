"""Entity tags: make the tag of a body, and tell by ``If-None-Match`` whether a client has it already (decision 61)."""

from __future__ import annotations

from typing import Final

from blake3 import blake3

from server.http.compression import IDENTITY

_DIGEST_BYTES: Final = 16


def entity_tag(body: bytes, coding: str = IDENTITY, *, strict: bool = False) -> bytes:
    """Return the strong entity tag of a body sent in a content coding, which tells bodies and codings apart, and
    answers to requests that were read strictly from others (decision 76)."""
    tag = blake3(body).hexdigest(_DIGEST_BYTES) + ("-strict" if strict else "")
    tag += "" if coding == IDENTITY else f"-{coding}"
    return f'"{tag}"'.encode("ascii")


def is_named(if_none_match: bytes, etag: bytes) -> bool:
    """Return whether ``If-None-Match`` names an entity tag, or any (RFC 9110, 13.1.2)."""
    named = [tag.strip(b" \t").removeprefix(b"W/") for tag in if_none_match.split(b",")]
    return etag in named or named == [b"*"]

"""Entry IDs: which texts are IDs, and the ID that any text becomes."""

from __future__ import annotations

import re
from hashlib import blake2b

MAX_ID = 64
"""Characters of an entry ID (contract 2.1)."""
_HASH_BYTES = 6
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_OF_AN_ID = re.compile(r"[^A-Za-z0-9_-]")


def valid_id(text: str) -> bool:
    """Return whether a text is an entry ID: 1 to 64 characters of ``A-Z a-z 0-9 _ -`` (contract 2.1)."""
    return _ID.fullmatch(text) is not None


def slug_id(text: str) -> str:
    """Return a text, which is not empty, as an ID: every character that no ID can hold turned into ``-``.

    An ID that is too long is cut, and ends with a hash of the whole text, so that it stays the text's own.
    """
    made = _NOT_OF_AN_ID.sub("-", text)
    if len(made) <= MAX_ID:
        return made
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
    return f"{made[: MAX_ID - len(digest) - 1]}-{digest}"

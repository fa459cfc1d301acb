"""The form of entry IDs and of draft keys: which texts have it, and the ID that any text becomes."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

MAX_ID: Final = 64
"""Characters of an entry ID (contract 2.1)."""
ID_FORM: Final = f"[A-Za-z0-9_-]{{1,{MAX_ID}}}"
"""The form of an entry ID (contract 2.1) and of a draft key (decision 25), as a regular expression."""
ID_IN_WORDS: Final = f"1 to {MAX_ID} characters of A-Z a-z 0-9 _ -"
"""The form of an entry ID, for people."""
_HASH_BYTES = 6
_ID = re.compile(ID_FORM)
_NOT_OF_AN_ID = re.compile(r"[^A-Za-z0-9_-]")


def valid_id(text: str) -> bool:
    """Return whether a text has the form of an entry ID and of a draft key."""
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

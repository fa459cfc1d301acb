"""The form of entry IDs and of draft keys: which texts have it, and the ID that any text becomes."""

from __future__ import annotations

import re
import unicodedata
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
_NOT_OF_IDS = re.compile(r"[^A-Za-z0-9_-]+")
_ODD_ASCII = re.compile(r"[^A-Za-z0-9_\u0080-\U0010ffff-]")


def valid_id(text: str) -> bool:
    """Return whether a text has the form of an entry ID and of a draft key."""
    return _ID.fullmatch(text) is not None


def slug_id(text: str) -> str:
    """Return a text, which is not empty, as an ID.

    Of ASCII, every character that no ID can hold becomes ``-``. A text with other letters becomes what ``hashed_id``
    makes of it, so that two such texts are two IDs; composed and decomposed spellings (``é``) are the same text. An ID
    that is too long is cut, and ends with a hash of the whole text, so that it stays the text's own.
    """
    if not text.isascii():
        return hashed_id(unicodedata.normalize("NFC", text))
    made = _NOT_OF_AN_ID.sub("-", text)
    return made if len(made) <= MAX_ID else _cut(made, _digest(text, _HASH_BYTES))


def hashed_id(text: str, *, hash_bytes: int = _HASH_BYTES) -> str:
    """Return a text as an ID: itself, or what it has of an ID's characters, without accents, and a hash of the whole.

    The hash has two hexadecimal digits for each of ``hash_bytes``.
    """
    if valid_id(text):
        return text
    made = _NOT_OF_IDS.sub("-", without_accents(text)).strip("-_")
    end = _digest(text, hash_bytes)
    return _cut(made, end) if made else end


def is_plain_name(text: str) -> bool:
    """Return whether a text has, of ASCII, only characters of IDs; its other letters can be of any script.

    Such a name of a file is meant as the name of an entry. A dot or a blank in it, as in ``hello.old`` or ``hello
    copy``, often means something else.
    """
    return bool(text) and _ODD_ASCII.search(text) is None


def without_accents(text: str) -> str:
    """Return a text with the accents taken off its letters: ``Cafe`` for ``Café``."""
    return "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))


def _cut(made: str, end: str) -> str:
    return f"{made[: MAX_ID - len(end) - 1]}-{end}"


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=size).hexdigest()

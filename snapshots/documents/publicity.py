"""The words by which sites keep pages back, and what a value under one plainly says: true, false, "everybody"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from snapshots.documents.document import RawValue, is_null
from snapshots.model import Status

_SHOWN_WHEN: Final[Mapping[str, bool | None]] = {
    "draft": False,
    "hidden": False,
    "private": False,
    "unlisted": False,
    "archived": False,
    "published": True,
    "publish": True,
    "status": None,
}
"""The truth value with which a page is public, by word. ``status`` has none: its values are words too."""
_TRUTHS: Final = {
    **dict.fromkeys(("true", "yes", "on", "y", "1"), True),
    **dict.fromkeys(("false", "no", "off", "n", "0"), False),
}


def word_of(key: str) -> str | None:
    """Return the word that a key spells, in whatever case, if sites keep pages back by it."""
    word = key.casefold()
    return word if word in _SHOWN_WHEN else None


def keeps_back_by_false(key: str) -> bool:
    """Return whether a key is a word, such as ``published``, of which false keeps a page back."""
    return _SHOWN_WHEN.get(key.casefold()) is True


def plain_truth(raw: RawValue) -> bool | None:
    """Return what a value says in any spelling of YAML 1.1 and 1.2, quoted or not, or as 1 or 0; else ``None``."""
    if type(raw) is bool:
        return raw
    if type(raw) is int:
        return {1: True, 0: False}.get(raw)
    return _TRUTHS.get(raw.strip().lower()) if isinstance(raw, str) else None


def is_empty(raw: RawValue) -> bool:
    """Return whether a value says nothing: null, or a text without a character."""
    return is_null(raw) or (isinstance(raw, str) and not raw.strip())


def is_for_everybody(key: str, raw: RawValue) -> bool:
    """Return whether a key's value says plainly that everybody may see the page, or says nothing.

    Any other key than those of the table keeps a page back unless it is false.
    """
    if is_empty(raw):
        return True
    word = word_of(key)
    if word == "status":
        return isinstance(raw, str) and raw.strip().lower() == Status.PUBLISHED
    return plain_truth(raw) is (_SHOWN_WHEN[word] if word is not None else False)


def plainly_keeps_back(key: str, raw: RawValue) -> bool:
    """Return whether a key is a word whose value can mean nothing but that a page is not for everybody."""
    word = word_of(key)
    if word == "status":
        return isinstance(raw, str) and raw.strip().lower() in {Status.DRAFT, Status.SCHEDULED}
    return word is not None and plain_truth(raw) is (not _SHOWN_WHEN[word])

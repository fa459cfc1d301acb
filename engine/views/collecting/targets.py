"""Turn a path or an entry ID as sent into the key it is counted by, and an instant into its day in Japan."""

from __future__ import annotations

import unicodedata
from datetime import date
from enum import StrEnum
from typing import Final
from urllib.parse import unquote_to_bytes

from snapshots.ids import valid_id

MAX_PATH: Final = 1024
"""Characters of a path once normalised (decision 32)."""

_DAY_MS: Final = 86_400_000
_JST_MS: Final = 9 * 3_600_000
"""Japan has had no daylight saving time since 1951, so its days are the same length all year."""
_EPOCH: Final = date(1970, 1, 1).toordinal()


class Kind(StrEnum):
    """The kinds of targets: every view counts for an entry or for a path (contract 4.13)."""

    ENTRY = "entry"
    PATH = "path"
    OTHER = "other"
    """All targets beyond those that are told apart, under the key ``OTHERS`` (decision 65)."""


OTHERS: Final = "other"


def path_key(path: str) -> str | None:
    """Return the key under which a path that somebody gives is counted, ``None`` for a malformed one (decision 32).

    The query, the fragment and one trailing slash are cut off, percent escapes are undone once, and the text is
    brought to NFC.
    """
    for mark in ("?", "#"):
        path = path.partition(mark)[0]
    if "%" in path or not path.isascii():
        try:
            path = unquote_to_bytes(path.encode("utf-8")).decode("utf-8")
        except UnicodeError:  # lone surrogates before, or bytes after, that are no UTF-8
            return None
        path = unicodedata.normalize("NFC", path)
    if len(path) > 1:
        path = path.removesuffix("/")
    if len(path) > MAX_PATH or not path.startswith("/") or _has_control_characters(path):
        return None
    return path


def entry_key(entry_id: str) -> str | None:
    """Return the key under which an entry ID is counted, existing or not, ``None`` for a malformed one."""
    return entry_id if valid_id(entry_id) else None


def jst_day(now: int) -> int:
    """The calendar day in Japan at an instant (UTC milliseconds), as days since 1970-01-01."""
    return (now + _JST_MS) // _DAY_MS


def jst_midnight(day: int) -> int:
    """The instant (UTC milliseconds) at which a calendar day in Japan begins; ``day`` is days since 1970-01-01."""
    return day * _DAY_MS - _JST_MS


def day_of(number: int) -> date:
    """Days since 1970-01-01 as a date."""
    return date.fromordinal(_EPOCH + number)


def day_number(day: date) -> int:
    """A date as days since 1970-01-01."""
    return day.toordinal() - _EPOCH


def _has_control_characters(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(character) == "Cc" for character in text)

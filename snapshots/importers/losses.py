"""Content that an import loses or changes, with the places and the reason."""

from __future__ import annotations

from typing import Final

import msgspec

from snapshots.problems import ParquetryError

PLACES = 20
"""Places of one kind of loss that are kept; further ones are only counted."""
KINDS = 10_000
"""Kinds of losses that are told apart; all further ones are counted as one."""


EMAILS: Final = (
    "content is public, so e-mail addresses of people are left out; other fields, such as names, are imported: check "
    "that everybody may read them"
)
"""The reason why a field is left out that has an e-mail address of each entry."""


class Unreadable(ParquetryError):
    """An export cannot be read, or is none. The message names the file, its line where there is one, and the remedy."""


class Loss(msgspec.Struct):
    """Content that an import left out or changed."""

    what: str
    why: str
    count: int = 0
    places: list[str] = msgspec.field(default_factory=list)
    """The first of the places: a language version and its field, or a place in the export."""


class Losses:
    """Collects what an import loses: equal losses are counted together, so that a million cost no memory."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str, str], Loss] = {}

    def add(self, where: str, what: str, why: str, *, scope: str = "", count: int = 1) -> None:
        """Count a loss at ``where``. Those of equal ``what``, ``why`` and ``scope``, such as an API, are one kind."""
        key = (scope, what, why)
        if key not in self._kinds and len(self._kinds) >= KINDS:
            key = ("", "more losses", f"more than {KINDS:,} kinds of losses are not told apart")
        loss = self._kinds.setdefault(key, Loss(*key[1:]))
        loss.count += count
        if len(loss.places) < PLACES and where not in loss.places:
            loss.places.append(where)

    @property
    def all(self) -> list[Loss]:
        """Every kind of loss, in the order found."""
        return list(self._kinds.values())

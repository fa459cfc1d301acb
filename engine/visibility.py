"""THE live and language rule (contract 3.1 and 4.11, decision 22): each part as SQL text and, beside it, as Python.

A version is live while ``live_from <= now < live_until``. A request gets the version in the language asked for while it
is live; otherwise, where a fallback is allowed, the live one in the main language. Instants are UTC milliseconds.
Columns in SQL are those of a table (``engine.read.files.tables``); ``$now`` is the request's instant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

import msgspec

from engine.identifiers import quoted
from snapshots.columns import window_columns

if TYPE_CHECKING:
    import numpy as np

Row = TypeVar("Row")
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

LIVE: Final = '"live_from" <= $now AND $now < "live_until"'
"""``is_live`` in SQL."""
SCHEDULED: Final = '$now < "live_from"'
"""``is_scheduled`` in SQL."""


@overload
def is_live(live_from: int, live_until: int, now: int) -> bool: ...
@overload
def is_live(live_from: Array, live_until: Array, now: int | Array) -> Array: ...
def is_live(live_from: Any, live_until: Any, now: Any) -> Any:
    """Whether a version with this window is live at ``now``. Arrays give an array of answers."""
    return (live_from <= now) & (now < live_until)


@overload
def is_scheduled(live_from: int, now: int) -> bool: ...
@overload
def is_scheduled(live_from: Array, now: int) -> Array: ...
def is_scheduled(live_from: Any, now: int) -> Any:
    """Whether a version is not live yet at ``now``. An array of bounds gives an array of answers."""
    return live_from > now


class Visibility(msgspec.Struct, frozen=True):
    """The language rule of a request: the live version in ``lang``, else the live one in ``fallback``."""

    lang: str
    fallback: str | None = None
    """The main language, where it may stand in for ``lang``."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages a row may be in, the preferred one first."""
        return (self.lang,) if self.fallback is None else (self.lang, self.fallback)


def chosen(visibility: Visibility, live_row: Callable[[str], Row | None]) -> Row | None:
    """Return the row of one entry that a request gets, ``None`` for none.

    ``live_row`` gives the row of the entry's version in a language where that version is live.
    """
    row = live_row(visibility.lang)
    if row is None and visibility.fallback is not None:
        row = live_row(visibility.fallback)
    return row


def visible(visibility: Visibility, lang: str) -> str:
    """``chosen`` in SQL: the condition that leaves, of the rows in a language, those that a request gets."""
    if lang == visibility.lang:
        return LIVE
    begin, end = map(quoted, window_columns(visibility.lang))
    return f"{LIVE} AND NOT coalesce({begin} <= $now AND $now < {end}, false)"

"""The types of a table's columns, told by all their cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from posixpath import splitext
from typing import Any, Final
from urllib.parse import urlsplit

from snapshots.compile.assets import TYPES
from snapshots.documents.publicity import plain_truth
from snapshots.importers.writing.values import instant
from snapshots.model import FieldType
from snapshots.times import format_datetime

_TRUTHS: Final = frozenset({"true", "false", "yes", "no"})
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
"""A number; one that begins with 0 is a code, such as that of a town."""
_DATE: Final = re.compile(r"[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}(?:[T ].*)?")
_WRITTEN_OUT: Final = ("%B %d, %Y %I:%M %p", "%B %d, %Y %H:%M", "%B %d, %Y", "%b %d, %Y", "%d %B %Y")
"""Dates in words, as Notion writes them."""
_HTML: Final = re.compile(r"</(?:p|h[1-6]|ul|ol|li|a|strong|em|div|table)>|<br ?/?>", re.IGNORECASE)
_EMAIL: Final = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;]{2,}")
_LONG: Final = 250
"""Characters from which a text is one of several lines."""


def date_of(cell: str) -> str | None:
    """Return the date that a cell says, as a date-time in UTC; ``None`` where it says none."""
    if _DATE.fullmatch(cell):
        ms = instant(cell)
        return None if ms is None else format_datetime(ms)
    for form in _WRITTEN_OUT:
        try:
            return f"{datetime.strptime(cell, form).isoformat()}Z"  # noqa: DTZ007 - the zone is said to be UTC
        except ValueError:
            continue
    return None


def _is_image(cell: str) -> bool:
    path = urlsplit(cell).path if cell.isprintable() and " " not in cell else ""
    return TYPES.get(splitext(path)[1].lower()[1:], "").startswith("image/")


_TESTS: Final[Mapping[FieldType, Callable[[str], Any]]] = {
    FieldType.BOOLEAN: lambda cell: cell.lower() in _TRUTHS,
    FieldType.NUMBER: _NUMBER.fullmatch,
    FieldType.DATETIME: date_of,
    FieldType.IMAGE: _is_image,
}


class ColumnFacts:
    """What all cells of a column that have a value are."""

    def __init__(self) -> None:
        self._may_be = dict(_TESTS)
        self._is_empty = self._all_emails = self._all_html = True
        self._any_long = False

    def note(self, cell: str) -> None:
        """Note one more cell."""
        plain = cell.strip()
        if not plain:
            return
        self._is_empty = False
        for kind in [kind for kind, holds in self._may_be.items() if not holds(plain)]:
            del self._may_be[kind]
        self._all_emails = self._all_emails and _EMAIL.fullmatch(plain) is not None
        self._all_html = self._all_html and _HTML.search(plain) is not None
        self._any_long = self._any_long or "\n" in plain or len(plain) > _LONG

    @property
    def is_email(self) -> bool:
        """Whether the column has nothing but e-mail addresses."""
        return self._all_emails and not self._is_empty

    @property
    def type(self) -> FieldType:
        """The type that all its cells have."""
        if self._is_empty:
            return FieldType.TEXT
        if self._may_be:
            return next(iter(self._may_be))
        return FieldType.RICHTEXT if self._all_html else FieldType.TEXTAREA if self._any_long else FieldType.TEXT


def value_of(cell: str, kind: FieldType) -> Any:
    """Return what a cell says in a column of a type; ``None`` where it is empty."""
    plain = cell.strip()
    if not plain:
        return None
    match kind:
        case FieldType.BOOLEAN:
            return plain_truth(plain)
        case FieldType.DATETIME:
            return date_of(plain)
        case FieldType.NUMBER | FieldType.IMAGE:
            return plain
    return cell

"""Values the naive way, from the contract alone: instants, numbers, visible text, what a field delivers.

Part of the naive evaluator (``model.py``). Written from the specification; it shares no code with the product.
"""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

TEXTS = ("text", "textarea", "richtext")
ARRAYS = ("multiple_select", "references", "images", "groups")
RECORDS = {
    "image": ("url", "width", "height", "alt"),
    "images": ("url", "width", "height", "alt"),
    "file": ("url", "fileSize"),
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)

# Elements that begin or end a word when they begin or end (decision 37).
_BLOCKS = re.compile(
    "address|article|aside|blockquote|br|caption|center|col|colgroup|dd|details|dir|div|dl|dt|fieldset|figcaption|figure"
    "|footer|form|h[1-6]|header|hgroup|hr|li|main|menu|nav|ol|p|pre|section|summary|table|tbody|td|tfoot|th|thead|tr|ul"
)


def instant(text: str, zone: tzinfo = UTC) -> int:
    """Decision 15: a date-time or bare date as whole UTC milliseconds; ``zone`` where no offset is written.

    Raises ``ValueError`` for anything else.
    """
    return math.floor(moment(text, zone))


@lru_cache(1000)
def moment(text: str, zone: tzinfo = UTC) -> Fraction:
    """The same as UTC milliseconds, exactly: a fraction of a second may have any number of digits."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    if offset is None:
        there: tzinfo = zone
    elif offset == "Z":
        there = UTC
    else:
        size = timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6]))
        if int(offset[1:3]) > 23 or int(offset[4:6]) > 59:
            raise ValueError(text)
        there = timezone(-size if offset[0] == "-" else size)
    when = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=there)
    whole = (when - EPOCH) // timedelta(seconds=1)
    return (whole + Fraction(f"0.{fraction or 0}")) * 1000


def written_instant(ms: int) -> str:
    """Decision 19: UTC milliseconds as ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""
    when = EPOCH + timedelta(milliseconds=ms)
    return f"{when.year:04}-{when:%m-%dT%H:%M:%S}.{ms % 1000:03}Z"


def number(text: str) -> float:
    """Decision 15: JSON number syntax, finite. Raises ``ValueError`` otherwise."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def folded(text: str) -> str:
    """Decision 14: NFC, lower-cased."""
    return unicodedata.normalize("NFC", text).lower()


class _Visible(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if _BLOCKS.fullmatch(tag):
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if _BLOCKS.fullmatch(tag):
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def visible_text(html: str) -> str:
    """Decisions 14 and 37: what a reader sees of a rich text, white space collapsed."""
    parser = _Visible()
    parser.feed(html)
    parser.close()
    return " ".join("".join(parser.parts).split())


def searched(kind: str, value: Any) -> str | None:
    """The text that ``contains`` and ``q`` look into, folded; ``None`` where there is no value."""
    if value is None:
        return None
    return folded(visible_text(value) if kind == "richtext" else value)


def canonical(value: Any) -> Any:
    """Decision 38: whole numbers without a point, however deep in JSON they stand."""
    if isinstance(value, list):
        return [canonical(one) for one in value]
    if isinstance(value, dict):
        return {name: canonical(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def record(kind: str, value: Any) -> Any:
    """An image or a file: one written as its address alone has only that."""
    given = {"url": value} if isinstance(value, str) else value
    return {name: given.get(name) for name in RECORDS[kind]}


def members(field: dict[str, Any], group: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields that one of a field's groups has."""
    if "groups" in field:
        return next(kind["fields"] for kind in field["groups"] if kind["id"] == group["fieldId"])  # type: ignore[no-any-return]  # plain dicts, as the files say
    return field["fields"]  # type: ignore[no-any-return]  # as above


def stored(field: dict[str, Any], version: dict[str, Any], zone: tzinfo) -> Any:
    """The value a version's file gives a field: datetimes as milliseconds, images and files with all members."""
    value = version.get(field["id"])
    kind = field["type"]
    if value is None:
        return [] if kind in ARRAYS else None
    if kind == "datetime":
        return instant(value, zone)
    if kind in RECORDS:
        if kind in ARRAYS:
            return [record(kind, one) for one in value] if isinstance(value, list) else [record(kind, value)]
        return record(kind, value)
    if kind in ("number", "json"):
        return canonical(value)
    return value

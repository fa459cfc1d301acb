"""Write the bytes that answer requests for counts (contract 4.12 and 4.14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec

from engine.read.query.invalid_query import InvalidQuery, shown
from engine.read.query.parameters import Parameters
from engine.read.reader.reader import Reader
from engine.views.collecting.targets import Kind, entry_key, jst_day, path_key
from engine.views.counting.counts import MAX_DAYS, Counts
from snapshots.ids import ID_IN_WORDS, valid_id
from snapshots.model import Api

MAX_IDS: Final = 100
MAX_KEYS: Final = 50
"""Values of each of the two parameters in a public request."""
_DEFAULT_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class ViewsQuery:
    """The parameters of ``_views``."""

    ids: tuple[str, ...]
    days: int
    """Calendar days in Japan, the present one included."""


def parse_views_query(raw: bytes, *, strict: bool = False) -> ViewsQuery:
    """Return the ``ViewsQuery`` of a query string as sent. Raises ``InvalidQuery`` (decision 33), with ``strict`` for
    parameters that there are not, too."""
    given = Parameters(raw, strict=strict)
    text = given.text("ids")
    if not text:
        raise InvalidQuery(f"ids: expected 1 to {MAX_IDS} entry IDs with commas between them, got none.")
    ids = text.split(",")
    if len(ids) > MAX_IDS:
        raise InvalidQuery(f"ids: at most {MAX_IDS} entry IDs, got {len(ids)}.")
    for one in ids:
        if not valid_id(one):
            raise InvalidQuery(f"ids: an entry ID is {ID_IN_WORDS}, got {shown(one)}.")
    return ViewsQuery(tuple(ids), given.integer("days", 1, MAX_DAYS, _DEFAULT_DAYS))


def views_document(reader: Reader, api: Api, query: ViewsQuery, at: int, now: int, counts: Counts) -> bytes:
    """The view-count response (contract 2.4) to ``query`` at ``now``, for the content of the instant ``at``: the same,
    but where the request is pinned. Both are UTC milliseconds.

    An ID of which no language version is live gives zero, like one that is no entry. Raises ``QueryTimeout``.
    """
    since = jst_day(now) - query.days + 1
    rows, deadline = reader.rows(api), reader.deadline()
    views = {}
    for one in query.ids:
        reader.check(deadline)
        # Counted for every ID, so that time does not tell which are entries.
        total, recent = counts.total_and_recent(Kind.ENTRY, one, since)
        if not rows.is_delivered(one, at):
            total = recent = 0
        views[one] = {"total": total, "recent": recent}
    return msgspec.json.encode({"days": query.days, "views": views})


def answer_public_counts(raw_query: bytes, counts: Counts) -> bytes:
    """The public counts response (contract 2.5), keyed by what was requested, zero for what is malformed.

    Raises ``InvalidQuery`` for more than 50 values of a parameter.
    """
    entries = _counted(raw_query, "entryId", Kind.ENTRY, entry_key, counts)
    paths = _counted(raw_query, "path", Kind.PATH, path_key, counts)
    return msgspec.json.encode({"entries": entries, "paths": paths})


def _counted(raw: bytes, name: str, kind: Kind, key_of: Callable[[str], str | None], counts: Counts) -> dict[str, int]:
    """Every value of a repeatable parameter, as requested, with its count."""
    parts = [part.partition(b"=") for part in raw.split(b"&")]
    values = [unquote_to_bytes(value.replace(b"+", b" ")) for given, _, value in parts if given == name.encode()]
    if len(values) > MAX_KEYS:
        raise InvalidQuery(f"{name}: at most {MAX_KEYS} values, got {len(values)}.")
    found = {}
    for value in values:
        try:
            key = key_of(value.decode())
        except UnicodeDecodeError:
            key = None
        found[value.decode("utf-8", "replace")] = 0 if key is None else counts.total(kind, key)
    return found

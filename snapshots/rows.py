"""What compiling one piece of work gives: its versions column by column, and the references they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# What a version is, apart from its content: the main file's published or scheduled version, the main
# file's version with status draft, or a separate draft file. The last two are both unpublished changes.
LIVE, DRAFT_STATUS, DRAFT_FILE = 0, 1, 2

LEFT_OUT = -1
"""In place of a field's index: see ``Rows.references``."""


@dataclass(slots=True)
class Rows:
    """Compiled versions, column by column; every sequence has one item a version."""

    columns: dict[str, Sequence[Any]]
    """The Parquet columns but for live windows of other languages, draft keys and the JSON."""
    json: bytearray = field(default_factory=bytearray)
    """The JSON of all versions, one after the other."""
    json_end: Sequence[int] = ()
    """Where each version's JSON ends."""
    lang: Sequence[int] = ()
    """Index into the workspace's languages."""
    state: Sequence[int] = ()
    """``LIVE``, ``DRAFT_STATUS`` or ``DRAFT_FILE``."""
    scheduled: Sequence[bool] = ()
    draft_key: Sequence[str | None] = ()
    digest: Sequence[bytes] = ()
    """BLAKE2b-128 over everything a version says: equal for equal versions."""
    file: Sequence[int] = ()
    line: Sequence[int] = ()
    references: list[tuple[int, int, int, str]] = field(default_factory=list)
    """(file, line, field's index, entry ID) of every reference to an API that is there, and with ``LEFT_OUT``
    as the field the ID of every version that was left out: references to it are no fault of their own."""

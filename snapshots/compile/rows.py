"""The rows of one piece of work: its versions column by column, and the references they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec
from blake3 import blake3

from snapshots.model import Status

# A version's state: the main file's published or scheduled version, the main file's version with status draft, or a
# separate draft file. The last two are both unpublished changes.
LIVE, DRAFT_STATUS, DRAFT_FILE = 0, 1, 2

LEFT_OUT = -1
"""Stands for the number of a check: see ``Rows.references``."""


@dataclass(slots=True)
class Rows:
    """Compiled versions, column by column; every sequence has one item a version."""

    columns: dict[str, Sequence[Any]]
    """The Parquet columns without live windows of other languages, draft keys and the JSON."""
    json: Sequence[bytes] = ()
    lang: Sequence[int] = ()
    """Index into the workspace's languages."""
    state: Sequence[int] = ()
    """``LIVE``, ``DRAFT_STATUS`` or ``DRAFT_FILE``."""
    scheduled: Sequence[bool] = ()
    draft_key: Sequence[str | None] = ()
    digest: Sequence[bytes] = ()
    """BLAKE3, 16 bytes, over everything a version says: equal for equal versions."""
    file: Sequence[int] = ()
    line: Sequence[int] = ()
    references: list[tuple[int, int, int, str]] = field(default_factory=list)
    """(file, line, number of ``reference_checks``, entry ID) of every reference to check; and with ``LEFT_OUT`` as the
    field, the ID of every version left out for an error: references to it are right."""


VersionFacts: TypeAlias = tuple[str, int, int, int, int, int, Status, str | None]
"""ID, createdAt, updatedAt and publishedAt, live from and until (UTC milliseconds), status and draft key."""

_encode = msgspec.json.Encoder().encode


def version_digest(facts: VersionFacts, json: bytes) -> bytes:
    """Return the ``Rows.digest`` of a version; ``json`` is an object."""
    # A JSON object marks its own end, so no other facts and JSON give the same bytes.
    return blake3(json + _encode(facts)).digest(16)


FACTS: Final = ("lang", "state", "scheduled", "draft_key", "digest", "file", "line", "json")
"""The members of ``Rows`` that are no columns of a snapshot's files."""


class RowsBuilder:
    """Gathers versions into ``Rows``, in the order in which they come."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self.clear()

    def clear(self) -> None:
        """Forget all versions. ``Rows`` returned before stay as they are."""
        self.references: list[tuple[int, int, int, str]] = []
        self._versions: list[Sequence[Any]] = []

    def add(self, version: Sequence[Any]) -> None:
        """Add a version: its cells of all columns, then its ``FACTS``."""
        self._versions.append(version)

    def rows(self) -> Rows:
        """Return all versions added so far."""
        names = (*self._columns, *FACTS)
        cells: Iterable[Sequence[Any]] = zip(*self._versions, strict=True) if self._versions else ((),) * len(names)
        by_name = dict(zip(names, cells, strict=True))
        facts = {name: by_name.pop(name) for name in FACTS}
        return Rows(by_name, references=self.references, **facts)

"""The rows of one piece of work: its versions column by column, and the references they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec
from blake3 import blake3

from snapshots.model import Status

# A version's state: the main file's published or scheduled version, the main file's version with status draft, or a
# separate draft file. The last two are both unpublished changes.
LIVE, DRAFT_STATUS, DRAFT_FILE = 0, 1, 2

LEFT_OUT, ALIAS, FIRST_LINK, LAUNCHED_DRAFT, MADE_ID = -1, -2, -3, 2**15 - 1, 2**15 - 2
"""Stand for the number of a check: see ``CompiledRows.references``."""

Reference: TypeAlias = tuple[int, int, str, int, int, str, str | None]
"""(file, line, item, number of the language, number of ``reference_checks``, entry ID, the reference as written where
that is not the ID)."""


@dataclass(slots=True)
class CompiledRows:
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
    """``version_digest`` of each."""
    file: Sequence[int] = ()
    line: Sequence[int] = ()
    item: Sequence[str] = ()
    """The version's item in a file of many, as problems name it."""
    dated: Sequence[int] = ()
    """Where the dates of each are from, such as ``dates.GIVEN``."""
    references: list[Reference] = field(default_factory=list)
    """Every reference to check, and with another number:

    - ``LEFT_OUT``: the ID of a version left out for an error, to which references are right
    - ``ALIAS``: an old ID or address of a version that is not a draft; instead of the reference as written, the ID
      that the entry has now
    - ``LAUNCHED_DRAFT``: the ID of an unpublished change that names a launch, with what is to be said where nothing of
      the entry goes live with that
    - ``MADE_ID``: the ID of a version in an API of several languages, with the text that it was made of
    - ``FIRST_LINK`` less the position of an API: an entry of that API which a rich text links to
    """


VersionFacts: TypeAlias = tuple[str, int, int, int, int, int, Status, str | None]
"""ID, createdAt, updatedAt and publishedAt, live from and until (UTC milliseconds), status and draft key."""

_encode = msgspec.json.Encoder().encode


_SAID: Final = 4
"""The facts that clients see: the ID and the dates."""
_SAID_BYTES: Final = 16
_OTHER_BYTES: Final = 8
DIGEST_BYTES: Final = _SAID_BYTES + _OTHER_BYTES


def version_digest(facts: VersionFacts, json: bytes) -> bytes:
    """Return a digest of everything a version says, equal for equal versions; ``json`` is an object.

    Its first 16 bytes are of what clients see of the version, the others of its live window, status and draft key.
    """
    return said_digest(facts[:_SAID], json) + blake3(_encode(facts[_SAID:])).digest(_OTHER_BYTES)


def said_digest(facts: Sequence[str | int], json: bytes) -> bytes:
    """Return a digest of what clients see of a version: ``facts`` are its ID, createdAt, updatedAt and publishedAt."""
    # A JSON object marks its own end, so no other facts and JSON give the same bytes.
    return blake3(json + _encode(facts)).digest(_SAID_BYTES)


def row_digest(digest: bytes) -> int:
    """Return the ``DIGEST_COLUMN`` of a row from its ``version_digest`` or ``said_digest``."""
    return int.from_bytes(digest[:8], "little", signed=True)


FACTS: Final = ("lang", "state", "scheduled", "draft_key", "digest", "file", "line", "item", "dated", "json")
"""The members of ``CompiledRows`` that are no columns of a snapshot's files."""


class RowsBuilder:
    """Gathers versions into ``CompiledRows``, in the order in which they come."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self.clear()

    def clear(self) -> None:
        """Forget all versions. ``CompiledRows`` returned before stay as they are."""
        self.references: list[Reference] = []
        self._versions: list[Sequence[Any]] = []

    def add(self, version: Sequence[Any]) -> None:
        """Add a version: its cells of all columns, then its ``FACTS``."""
        self._versions.append(version)

    def rows(self) -> CompiledRows:
        """Return all versions added so far."""
        width = len(self._columns)
        cells: list[Sequence[Any]] = [()] * (width + len(FACTS))
        if self._versions:
            cells = list(zip(*self._versions, strict=True))
        by_name = dict(zip(self._columns, cells[:width], strict=True))  # a field may be called as a fact is
        facts: dict[str, Any] = dict(zip(FACTS, cells[width:], strict=True))
        return CompiledRows(by_name, references=self.references, **facts)

"""Who changed what in a workspace: one line a change, added before the change is made.

    <store>/<workspace>/audit/2026-11.ndjson      a document a month (UTC)

So nothing is changed that the log does not tell of: a log that cannot be written keeps the change from being made, and
a change that fails afterwards is told to have failed by a second line, which names the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from snapshots.problems import ParquetryError
from snapshots.store.objects import Objects
from snapshots.times import format_datetime, parse_datetime

MONTH: Final = re.compile(r"[0-9]{4}-[0-9]{2}")

_DOCUMENT: Final = re.compile(r".*/([0-9]{4}-[0-9]{2})\.ndjson")


class Via(StrEnum):
    """The place from which a change is made."""

    CONSOLE = "console"
    COMMAND_LINE = "command line"


class Author(msgspec.Struct, frozen=True):
    """Somebody who makes changes."""

    who: str
    """The address of a member, or ``user@host`` for an operator."""
    role: str
    via: Via


class Entry(msgspec.Struct, frozen=True):
    """One change."""

    at: int
    """UTC milliseconds."""
    author: Author
    action: str
    """The kind of change, such as ``key_issued``."""
    sentence: str
    """The change, for people."""
    failure: str | None = None
    """The reason why the change was not made after all."""


class _Stored(msgspec.Struct, rename="camel", omit_defaults=True):
    at: str
    who: str
    role: str
    action: str
    sentence: str
    id: str
    via: Via = Via.CONSOLE
    failure: str | None = None
    of: str | None = None
    """The line of the change that failed."""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(_Stored).decode


class AuditLog:
    """The audit log of one workspace in a store. Every method raises ``StoreError`` for a store that refuses."""

    def __init__(self, objects: Objects, workspace: str) -> None:
        self._objects = objects
        self._folder = f"{workspace}/audit"

    @contextmanager
    def recorded(self, entry: Entry) -> Iterator[None]:
        """Add an entry and make the change in the block; what the block raises is added too."""
        line = self._add(entry)
        try:
            yield
        except Exception as error:
            why = str(error) if isinstance(error, ParquetryError) else type(error).__name__
            self._add(replace(entry, failure=why), of=line)
            raise

    def months(self) -> list[str]:
        """Return the months with entries, such as ``2026-11``, the newest first."""
        found = (_DOCUMENT.fullmatch(listed.key) for listed in self._objects.names(self._folder))
        return sorted((one[1] for one in found if one), reverse=True)

    def entries(self, month: str) -> list[Entry]:
        """Return the entries of a month, the newest first. Lines that cannot be understood are passed over."""
        content = self._objects.read(f"{self._folder}/{month}.ndjson")
        found: dict[str, Entry] = {}
        for line in [] if content is None else content.data.splitlines():
            try:
                stored = _decode(line)
                at = parse_datetime(stored.at, UTC)
            except (msgspec.DecodeError, ValueError):
                continue
            author = Author(stored.who, stored.role, stored.via)
            found[stored.of or stored.id] = Entry(at, author, stored.action, stored.sentence, stored.failure)
        return list(found.values())[::-1]

    def _add(self, entry: Entry, of: str | None = None) -> str:
        """Add a line and return its name."""
        at, author = format_datetime(entry.at), entry.author

        def added(data: bytes | None, write: str) -> tuple[bytes, str]:
            stored = _Stored(
                at, author.who, author.role, entry.action, entry.sentence, write, author.via, entry.failure, of
            )
            return (data or b"") + msgspec.json.encode(stored) + b"\n", write

        return self._objects.edit(f"{self._folder}/{at[:7]}.ndjson", added).result

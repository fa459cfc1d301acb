"""Who changed what in a workspace: one line a change, added before the change is made.

    <store>/<workspace>/audit/2026-11.ndjson      the lines of a month (UTC)
    <store>/<workspace>/audit/2026-11.2.ndjson    further ones, once the document before has ``LONGEST_DOCUMENT`` bytes
    <store>/<workspace>/audit-late/<id>.json      a line that could not be added, of a change that was made all the same

So nothing is changed that the log does not tell of: a log that cannot be written keeps the change from being made, and
a change that fails afterwards is told to have failed by a second line, which names the first. Only a change that takes
rights away waits for nothing (decision 78): its line follows, with the next change at the latest.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC
from enum import StrEnum
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from snapshots.problems import ParquetryError
from snapshots.store.document import Document
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects
from snapshots.times import format_datetime, parse_datetime

MONTH: Final = re.compile(r"[0-9]{4}-[0-9]{2}")
LONGEST_DOCUMENT: Final = 64 << 10
"""Bytes after which a month's lines go on in another document: each line costs its document's bytes once more."""

_DOCUMENT: Final = re.compile(r".*/([0-9]{4}-[0-9]{2})(?:\.([0-9]+))?\.ndjson")
_log = logging.getLogger("parquetry")


class Via(StrEnum):
    """The place from which a change is made."""

    CONSOLE = "console"
    COMMAND_LINE = "command line"


class Author(msgspec.Struct, frozen=True):
    """A person who makes changes."""

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
    write: str | None = None
    """The write that added it, where that is not ``id``."""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(_Stored).decode


class _Lines:
    """The form of a month's document: lines of JSON, each with the ID of the write that added it."""

    def decode(self, data: bytes, _where: str) -> bytes:
        return data

    def encode(self, value: bytes, _before: bytes | None, _write: str | None) -> bytes:
        return value

    def needs_write(self, _objects: Objects) -> bool:
        return True


class AuditLog:
    """The audit log of one workspace in a store. Every method raises ``StoreError`` for a store that refuses."""

    def __init__(self, objects: Objects, workspace: str) -> None:
        self._objects = objects
        self._workspace = workspace
        self._folder = f"{workspace}/audit"
        self._late = f"{workspace}/audit-late"

    @contextmanager
    def recorded(self, entry: Entry, *, takes_away: bool = False) -> Iterator[None]:
        """Add an entry and make the change in the block; what the block raises is added too.

        A change that only takes rights away is made even if its entry cannot be added: that follows then.
        """
        with suppress(StoreError):
            self.catch_up()
        # Where its answer is lost, the line may be there: the one that follows then has to be known as the same.
        name = _name_of(entry) if takes_away else None
        try:
            line = self._add(entry, name=name, takes_away=takes_away)
        except StoreError as error:
            if name is None:
                raise
            yield
            self._keep_for_later(entry, name, error)
            return
        try:
            yield
        except Exception as error:
            why = str(error) if isinstance(error, ParquetryError) else type(error).__name__
            self._add(replace(entry, failure=why), of=line, takes_away=takes_away)
            raise

    def late(self) -> int:
        """Return the number of changes that were made and whose lines have not been added yet."""
        return len(self._objects.names(self._late))

    def catch_up(self) -> int:
        """Add the lines that could not be added when their changes were made; return their number."""
        listed = self._objects.names(self._late)
        for one in listed:
            content = self._objects.read(one.key)
            if content is None:  # somebody else was quicker
                continue
            stored = _understood(content.data)
            if stored is not None:
                self._append(stored.at, partial(_encoded_late, stored), once=stored.id)
            self._objects.delete([one.key])
        return len(listed)

    def months(self) -> list[str]:
        """Return the months with entries, such as ``2026-11``, the newest first."""
        return sorted({month for month, _, _ in self._documents()}, reverse=True)

    def entries(self, month: str) -> list[Entry]:
        """Return the entries of a month, the newest first. Lines that cannot be understood are passed over."""
        found: dict[str, Entry] = {}
        for _, _, key in sorted(one for one in self._documents() if one[0] == month):
            for line in self._document(key).read().splitlines():
                stored = _understood(line)
                if stored is not None:
                    author = Author(stored.who, stored.role, stored.via)
                    at = parse_datetime(stored.at, UTC)
                    found[stored.of or stored.id] = Entry(at, author, stored.action, stored.sentence, stored.failure)
        return list(found.values())[::-1]

    def _add(self, entry: Entry, of: str | None = None, *, name: str | None = None, takes_away: bool = False) -> str:
        """Add a line and return its name: the ID of the write that added it where no other is given."""
        at = format_datetime(entry.at)

        def line(write: str) -> bytes:
            return _encoded(entry, write, of) if name is None else _encoded(entry, name, of, write)

        added = self._append(at, line, takes_away=takes_away)
        return name or added

    def _append(
        self, at: str, line: Callable[[str], bytes], *, once: str | None = None, takes_away: bool = False
    ) -> str:
        """Add what ``line`` makes of a write ID to the documents of the month of ``at``; return the ID.

        A line of the name ``once`` is left out where the newest document has it: somebody else was as quick.
        """
        month = at[:7]
        number = max((number for one, number, _ in self._documents() if one == month), default=1)

        def added(lines: bytes, write: str) -> tuple[bytes, str | None]:
            if once is not None and once.encode() in lines:
                return lines, once
            if len(lines) >= LONGEST_DOCUMENT:
                return lines, None
            return lines + line(write), write

        while True:
            key = f"{self._folder}/{month}{'' if number == 1 else f'.{number}'}.ndjson"
            name = self._document(key).edit(added, takes_away=takes_away)
            if name is not None:
                return name
            number += 1

    def _keep_for_later(self, entry: Entry, name: str, error: StoreError) -> None:
        """Keep the line of a change that was made, and say so; the line itself is said where even that fails."""
        line = _encoded(entry, name, None)
        follows = "Its line is added as soon as the log can be written again."
        try:
            self._objects.create(f"{self._late}/{name}.json", line)
        except StoreError:
            follows = f"Its line could not be kept either, so add it by hand: {line.decode().rstrip()}"
        _log.warning(
            "%s: the audit log cannot be written: %s This change was made all the same, since it takes rights away: "
            "%s %s",
            self._workspace,
            error,
            entry.sentence,
            follows,
        )

    def _document(self, key: str) -> Document[bytes]:
        return Document(self._objects, key, _Lines(), b"")

    def _documents(self) -> list[tuple[str, int, str]]:
        """Return the month, the number in it and the key of each document."""
        found = (_DOCUMENT.fullmatch(listed.key) for listed in self._objects.names(self._folder))
        return [(one[1], int(one[2] or 1), one[0]) for one in found if one]


def _name_of(entry: Entry) -> str:
    """Make a name for an entry's line, after those of all entries before it."""
    moment = format_datetime(entry.at).translate({ord(c): None for c in "-:."})
    return f"{moment}-{secrets.token_urlsafe(8)}"


def _encoded(entry: Entry, name: str, of: str | None, write: str | None = None) -> bytes:
    author = entry.author
    stored = _Stored(
        format_datetime(entry.at),
        author.who,
        author.role,
        entry.action,
        entry.sentence,
        name,
        author.via,
        entry.failure,
        of,
        write,
    )
    return msgspec.json.encode(stored) + b"\n"


def _encoded_late(stored: _Stored, write: str) -> bytes:
    return msgspec.json.encode(replace(stored, write=write)) + b"\n"


def _understood(line: bytes) -> _Stored | None:
    """Return what a line says; ``None`` where it cannot be understood."""
    try:
        stored = _decode(line)
        parse_datetime(stored.at, UTC)
    except (msgspec.DecodeError, ValueError):
        return None
    return stored

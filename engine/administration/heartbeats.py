"""Heartbeats: documents in which servers describe themselves in a store, written every two minutes and after changes.

    <store>/_readers/<server>.json      a server: its host, and the version of each workspace that each process serves
    <cache>/readers/<pid>.json          one process of a server, for the one of them that writes the document

No workspace's ID begins with an underscore. These documents are shown to people, and tell a prune which versions
servers have had open within the last hour (``in_use``), as long as requests may be pinned to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from snapshots.store.objects import Objects

READERS: Final = "_readers"
EVERY_MS: Final = 120_000
"""Milliseconds after which a server's document is written again though nothing has changed."""
SILENT_MS: Final = 3 * EVERY_MS
"""Milliseconds after which a server that wrote nothing is shown as silent."""
FORGOTTEN_MS: Final = 7 * 24 * 3_600_000
"""Milliseconds after which the document of a silent server is deleted."""
MOST_SHOWN: Final = 200
"""Servers that are read for one page."""
IN_USE_MS: Final = 3_600_000
"""Milliseconds after which a version that no server has noted as open any more is not in use."""


class ServedVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The version of a workspace that a process serves."""

    version: str | None
    """``None`` where none could be opened yet."""
    since: int | None
    """UTC milliseconds."""
    refused: str | None = None
    """The current version, where it cannot be opened."""
    kept: tuple[str, ...] = ()
    """The other versions that the process keeps open for pinned requests, sorted."""

    @property
    def open(self) -> tuple[str, ...]:
        """All versions that the process has open."""
        return self.kept if self.version is None else (self.version, *self.kept)


class ReaderProcess(msgspec.Struct, frozen=True, rename="camel"):
    """One process of a server."""

    pid: int
    started_at: int
    """UTC milliseconds."""
    noted_at: int
    """UTC milliseconds at which it said this."""
    workspaces: Mapping[str, ServedVersion]


class ReadingServer(msgspec.Struct, frozen=True, rename="camel"):
    """A server, as its document has it."""

    host: str
    program: str
    processes: tuple[ReaderProcess, ...]
    written_at: int = 0
    """When the server wrote the document, UTC milliseconds by its own clock; 0 in those of earlier programs."""
    used: Mapping[str, Mapping[str, int]] = {}
    """When the server last had each version open, by workspace and version; of ``IN_USE_MS`` before ``written_at``."""


class HeardReader(msgspec.Struct, frozen=True):
    """A server and when the store last heard of it."""

    name: str
    heard_at: int
    """UTC milliseconds, by the clock of the store."""
    reader: ReadingServer | None
    """``None`` where its document cannot be understood."""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode_reader: Final = msgspec.json.Decoder(ReadingServer).decode
_decode_process: Final = msgspec.json.Decoder(ReaderProcess).decode


def reader_key(name: str) -> str:
    """Return the key of a server's document."""
    return f"{READERS}/{name}.json"


def encode_reader(reader: ReadingServer) -> bytes:
    """Return a server's document."""
    return msgspec.json.encode(reader) + b"\n"


def encode_process(process: ReaderProcess) -> bytes:
    """Return the document of one process of a server."""
    return msgspec.json.encode(process) + b"\n"


def decode_process(data: bytes) -> ReaderProcess | None:
    """Return a process from its document, ``None`` where that cannot be understood."""
    try:
        return _decode_process(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def heard_readers(objects: Objects) -> list[HeardReader]:
    """Return the servers of a store, the one heard of last first. Raises ``StoreError``."""
    listed = sorted(objects.names(READERS), key=lambda one: -one.modified_at)[:MOST_SHOWN]
    found = []
    for one in listed:
        content = objects.read(one.key)
        if content is not None:  # else it has just ended
            name = one.key.removeprefix(f"{READERS}/").removesuffix(".json")
            found.append(HeardReader(name, one.modified_at, decode_reader(content.data)))
    return found


def in_use(objects: Objects, workspace: str, now: int) -> dict[str, list[str]]:
    """Return the versions of a workspace that servers noted as open in the ``IN_USE_MS`` before ``now`` (UTC
    milliseconds), each with the hosts of these servers. Raises ``StoreError``."""
    found: dict[str, set[str]] = {}
    for one in objects.names(READERS):
        content = objects.read(one.key) if now - one.modified_at < IN_USE_MS else None
        reader = None if content is None else decode_reader(content.data)
        if reader is None:
            continue
        noted = {version for process in reader.processes for version in _open(process, workspace)}
        for version, at in reader.used.get(workspace, {}).items():
            # The server's clock is compared with itself alone: it may differ from that of the store.
            if now - one.modified_at + reader.written_at - at < IN_USE_MS:
                noted.add(version)
        for version in noted:
            found.setdefault(version, set()).add(reader.host)
    return {version: sorted(hosts) for version, hosts in found.items()}


def _open(process: ReaderProcess, workspace: str) -> tuple[str, ...]:
    served = process.workspaces.get(workspace)
    return () if served is None else served.open


def forget_silent(objects: Objects, now: int) -> None:
    """Delete the documents of servers that were silent for a week at ``now`` (UTC milliseconds)."""
    gone = [one.key for one in objects.names(READERS) if one.modified_at < now - FORGOTTEN_MS]
    if gone:
        objects.delete(gone)


def decode_reader(data: bytes) -> ReadingServer | None:
    """Return a server from its document, ``None`` where that cannot be understood."""
    try:
        return _decode_reader(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None

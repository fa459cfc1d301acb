"""The tab *Readers*: the servers that answer from this store, and whether each serves the current version."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from engine.administration.heartbeats import SILENT_MS, HeardReader, ReaderProcess, heard_readers
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.visit import Shown, Visit
from snapshots.store.current import Current

SETTLING_MS = 5_000
"""Milliseconds after an activation in which a server need not have been asked what it serves since."""


class Standing(StrEnum):
    """Whether a process serves the current version."""

    CURRENT = "current"
    BEHIND = "behind"
    UNKNOWN = "not known yet"
    """The process was last heard of before the current version became current."""
    REFUSED = "refused"
    """The process cannot open the current version."""
    NONE = "serves nothing"


class ProcessRow(msgspec.Struct, frozen=True):
    """A process of a server, as far as one workspace goes."""

    pid: int
    version: str | None
    standing: Standing
    since: int | None
    """UTC milliseconds."""
    lag: int | None
    """Milliseconds from the activation until it served the version; of one that is behind, until now."""


class ReaderRow(msgspec.Struct, frozen=True):
    """A server."""

    host: str
    program: str
    heard_at: int
    """UTC milliseconds."""
    silent: bool
    processes: tuple[ProcessRow, ...]


def show(visit: Visit) -> Shown:
    """Show all servers, the one heard of last first."""
    current = visit.workspace_store.current()
    rows = [_row(visit, one, current) for one in heard_readers(visit.context.objects)]
    return Shown("tabs/readers.html", {"rows": rows, "current": current})


def _row(visit: Visit, heard: HeardReader, current: Current | None) -> ReaderRow:
    reader = heard.reader
    return ReaderRow(
        host=reader.host if reader is not None else heard.name,
        program=reader.program if reader is not None else "",
        heard_at=heard.heard_at,
        silent=visit.now - heard.heard_at > SILENT_MS,
        processes=tuple(
            _process(one, visit.workspace.id, current) for one in (reader.processes if reader is not None else ())
        ),
    )


def _process(process: ReaderProcess, workspace: str, current: Current | None) -> ProcessRow:
    served = process.workspaces.get(workspace)
    if served is None or served.version is None or current is None:
        refused = served is not None and served.refused is not None
        return ProcessRow(process.pid, None, Standing.REFUSED if refused else Standing.NONE, None, None)
    version, since = served.version, served.since
    if version == current.version:
        # One that was started later says nothing of how long an activation takes.
        follows = since is not None and process.started_at < current.activated_at <= since
        lag = since - current.activated_at if follows and since is not None else None
        return ProcessRow(process.pid, version, Standing.CURRENT, since, lag)
    behind = process.noted_at - current.activated_at
    if served.refused == current.version:
        return ProcessRow(process.pid, version, Standing.REFUSED, since, max(behind, 0))
    standing = Standing.BEHIND if behind > SETTLING_MS else Standing.UNKNOWN
    return ProcessRow(process.pid, version, standing, since, behind if behind > SETTLING_MS else None)


SECTION: Final = ConsoleSection("Readers", (ConsolePage("/readers", show),))

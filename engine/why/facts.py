"""What is known of an entry: its language versions in a snapshot version, or in the files of the workspace."""

from __future__ import annotations

import msgspec

from engine.timeline.states import State
from snapshots.problems import Problem
from snapshots.store.holds.holds import Hold


class Known(msgspec.Struct, frozen=True):
    """A language version at an instant."""

    lang: str
    state: State
    live_from: int | None
    """UTC milliseconds, like the other end of the live window; ``None`` for always."""
    live_until: int | None
    """``None`` for never."""
    digest: int | None = None
    """Equal for published versions that say the same; ``None`` where it is not known."""
    file: str = ""
    """Where it is written, relative to the workspace; empty for what is in a store."""
    line: int = 1


class Newer(msgspec.Struct, frozen=True):
    """An entry in a version that was built after the current one."""

    version: str
    languages: tuple[Known, ...]
    held: Hold | None
    """Who went back from it, where no build makes it current again."""


class Stored(msgspec.Struct, frozen=True):
    """An entry in the versions of a store."""

    version: str | None
    """The current version; ``None`` where there is none."""
    built_at: int
    """UTC milliseconds."""
    languages: tuple[Known, ...]
    """In the current version."""
    ids: tuple[str, ...]
    """The IDs of all entries of the API there, for what is not there itself."""
    elsewhere: tuple[str, ...]
    """The endpoints of the other APIs that have an entry of this ID there, likewise."""
    newer: tuple[Newer, ...] = ()
    """The entry in the versions that were built after the current one, the newest first."""


class Written(msgspec.Struct, frozen=True):
    """An entry in the files of the workspace, as they are now."""

    languages: tuple[Known, ...]
    errors: tuple[Problem, ...]
    """The errors of the entry's files, for which it is not built."""
    refused: tuple[Problem, ...]
    """The first errors of the workspace, for which nothing is built."""
    ids: tuple[str, ...]
    """The IDs of all entries of the API."""
    elsewhere: tuple[str, ...]
    """The endpoints of the other APIs that have an entry of this ID."""
    has_api: bool = False
    """Whether the files define the API."""
    uncommitted: frozenset[str] = frozenset()
    """The entry's files that differ from what is committed, or are in no commit, where the workspace is in git."""
    deleted: tuple[tuple[str, int | None], ...] = ()
    """The files that had the entry by their paths and are gone: each with the commit that deleted it, UTC milliseconds,
    or ``None`` where that is not committed."""
    silent: tuple[str, ...] = ()
    """The files that would have the entry by their paths, and give none: they are empty, or the definition leaves what
    they hold out."""
    unread: tuple[str, ...] = ()
    """The files of this name in the folders of content that the API does not read."""
    renamed: tuple[str, ...] = ()
    """The ID of the entry that names this one among its ``aliases``, where there is no entry of this ID."""

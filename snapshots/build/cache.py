"""The build cache: which files a build compiled into which rows, remembered for the next build.

Deleting the cache, or any part of it, only costs time: a file that cannot be read is made again.

    <cache>/build/<digest of the workspace's path>/
      lock                 held by the build at work
      state.msgpack        files and chunks of each API; names the other files, so that it is one atomic replace
      definitions.msgpack  the definitions as parsed
      last.msgpack         the inputs and the outcome of the last build, for "nothing changed" at a glance
      git.msgpack          commit dates of the files
      sound.msgpack        data files of the store that were found to be as they were written
      public_url.msgpack   the server's address with which the last build made the addresses of assets
      compiling            there while files are compiled in the build's own process: left where a process died
      planned.msgpack      what data files the last build planned of each API's rows
      *.rows               chunks (cached/chunks.py)
      *.index, *.refs      the index and the references of a chunk's rows
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias, TypeVar
from uuid import uuid4

import msgspec

from snapshots.columns import FileKind
from snapshots.compile.assets import AssetUse
from snapshots.definitions.model import Definitions
from snapshots.problems import Problem, Problems, Severity
from snapshots.sources.git_dates import GitDates
from snapshots.store.durable import replace_file
from snapshots.translations.model import Translations

T = TypeVar("T")

LAYOUT = 25
"""Counted up whenever compiled rows or the files above change their meaning."""
AT_WORK = "compiling"
DEADLY = "deadly"
"""The kind of problem of a file at which a process died."""
RACY_NS = 2_000_000_000
"""A change time proves nothing if it is less than this before the listing: the file may have changed again since."""


FileMark: TypeAlias = tuple[int, int, int]
"""Inode, size and change time in ns of a file: while all three are as they were, so is the file."""


class Findings(msgspec.Struct):
    """The problems found while one file was compiled."""

    problems: list[Problem] = msgspec.field(default_factory=list)
    counts: list[tuple[Severity, str, int]] = msgspec.field(default_factory=list)
    """Totals of all the file's problems; ``problems`` holds the first few hundred of each kind."""
    repeated: dict[str, dict[str, tuple[int, int, str]]] = msgspec.field(default_factory=dict)
    """Problems that are reported once for all files, by kind and subject: their number, and the line and item of the
    first."""
    assets: list[AssetUse] = msgspec.field(default_factory=list)
    """The files that the file's texts name; when one of them changes, the file is compiled again."""


class FindingsSummary(msgspec.Struct):
    """The totals of ``Findings``: the same for most files."""

    counts: list[tuple[Severity, str, int]]
    repeated: bool
    assets: bool


class FileStates(msgspec.Struct):
    """The source files of one API as they were when they were compiled, in columns (file_states.py)."""

    paths: list[str]
    """A file's position here is its number in the index."""
    stats: bytes
    """Sizes, change times in ns and inodes as uint64: a file for which all three are equal is unchanged."""
    commits: bytes
    """First and last commits as int64, UTC milliseconds."""
    digests: bytes
    """Digests of the files' content, 16 bytes each; zeros for a file that could not be read."""
    found: bytes
    """Each file's position in ``findings``, as uint32 counted from 1; 0 for a file without any."""
    findings: list[tuple[int, msgspec.Raw]]
    """(position in ``summaries``, encoded ``Findings`` without the file's path), once for all files with the same."""
    summaries: list[FindingsSummary]


class UnitState(msgspec.Struct):
    """A unit of a large file as it was compiled (``documents/units.py``)."""

    digest: bytes
    lines: int
    """The number of line ends."""
    findings: msgspec.Raw
    """Encoded ``Findings``, lines counted from the unit's first."""


class ChunkState(msgspec.Struct):
    """A chunk (cached/chunks.py), and where its rows come from."""

    rows: str
    """The names of its files. Rows that are in no index are not used any more."""
    index: str
    references: str
    count: int
    """The number of rows in the index."""
    size: int
    """Bytes of their JSON."""
    files: bytes
    """The number of each source's file, as int32; -1 for a source that is gone."""
    units: bytes
    """The position of each source among the units of its file, as int32; 0 for a whole file."""

    @property
    def names(self) -> tuple[str, str, str]:
        return self.rows, self.index, self.references


class ApiState(msgspec.Struct):
    """The compiled rows of one API."""

    digest: str
    """Digest of the facts, besides the files, that the rows depend on: definition, languages, zone, program."""
    numbers: bytes
    """The positions of the API's files in the listing, as uint32."""
    files: FileStates
    chunks: list[ChunkState]
    units: dict[str, list[UnitState]]
    """The units of each large file, by its path."""
    version: str
    """Another one whenever rows come or go."""

    def names(self) -> Iterator[str]:
        """Return the names of its files in the cache."""
        for chunk in self.chunks:
            yield from chunk.names


class BuildState(msgspec.Struct):
    layout: int
    root: str
    rules: str
    """Digest of the rules that say which files are sources of which API."""
    names: bytes
    """Digest of the paths of all files that were listed."""
    odd: list[str]
    """Paths in which the rules find problems."""
    apis: dict[str, ApiState]
    """By ``uid``."""


class FileFacts(msgspec.Struct, array_like=True, frozen=True):
    """What a build needs to know of a data file whose rows are as they were."""

    lang: str
    kind: FileKind
    content: str
    """SHA-256 over all that decides the file's bytes."""
    rows: int
    scheduled: int
    size: int
    """Bytes of the rows' JSON."""


class PlannedApi(msgspec.Struct):
    """The data files that a build planned of an API's rows."""

    version: str
    """``ApiState.version`` of the rows."""
    form: str
    """The versions of the rules by which they were planned."""
    segments: dict[str, list[FileFacts]]


class LastBuild(msgspec.Struct):
    """The inputs and the outcome of the last successful compilation."""

    layout: int
    signature: str
    content: str
    problems: list[Problem]
    counts: list[tuple[Severity, str, int]]
    assets: list[AssetUse]
    """The files that texts name, which the signature does not cover."""
    translations: tuple[Translations, ...]

    def recalled(self) -> Problems:
        """Return the problems of the content."""
        problems = Problems(self.problems)
        problems.add_uncounted(uncounted(self.problems, self.counts))
        return problems


class CachedDefinitions(msgspec.Struct):
    layout: int
    signature: str
    definitions: Definitions
    problems: list[Problem]


class BuildCache:
    """The build cache of one workspace, in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        return self.directory / name

    @staticmethod
    def new_name(suffix: str) -> str:
        return f"{uuid4().hex}.{suffix}"

    def load_state(self, root: Path) -> BuildState:
        """Return the remembered state, or an empty one where none fits."""
        empty = BuildState(LAYOUT, str(root), "", b"", [], {})
        state = self._load("state.msgpack", BuildState)
        if state is None or state.layout != LAYOUT or state.root != str(root):
            return empty
        for uid, api in list(state.apis.items()):
            if not all(self.path(name).is_file() for name in api.names()):
                del state.apis[uid]
        return state

    def save_state(self, state: BuildState) -> None:
        """Replace the remembered state, then delete every file that it no longer names."""
        replace_file(self.path("state.msgpack"), _sealed(msgspec.msgpack.encode(state)))
        self.sweep(state)

    def sweep(self, state: BuildState) -> None:
        """Delete every file of rows that ``state`` does not name: failed and killed builds leave such files."""
        kept = {name for api in state.apis.values() for name in api.names()}
        for entry in os.scandir(self.directory):
            if entry.name.endswith((".rows", ".index", ".refs", ".tmp")) and entry.name not in kept:
                Path(entry.path).unlink(missing_ok=True)

    def load_git(self) -> GitDates | None:
        return self._load("git.msgpack", GitDates)

    def save_git(self, dates: GitDates | None) -> None:
        """Remember the commit dates; ``None``, for a workspace that is no checkout, forgets them."""
        if dates is None:
            self.path("git.msgpack").unlink(missing_ok=True)
        elif (before := self.load_git()) is None or before.head != dates.head:
            replace_file(self.path("git.msgpack"), _sealed(msgspec.msgpack.encode(dates)))

    def clear(self) -> None:
        """Forget every compiled row."""
        self.save_state(BuildState(LAYOUT, "", "", b"", [], {}))
        self.forget_last()

    def load_last(self) -> LastBuild | None:
        last = self._load("last.msgpack", LastBuild)
        return last if last is not None and last.layout == LAYOUT else None

    def save_last(self, last: LastBuild) -> None:
        replace_file(self.path("last.msgpack"), _sealed(msgspec.msgpack.encode(last)))

    def forget_last(self) -> None:
        self.path("last.msgpack").unlink(missing_ok=True)

    def load_definitions(self, signature: str) -> CachedDefinitions | None:
        """Return the definitions parsed from files with this signature, or ``None``."""
        found = self._load("definitions.msgpack", CachedDefinitions)
        if found is None or found.layout != LAYOUT or found.signature != signature:
            return None
        return found

    def save_definitions(self, definitions: CachedDefinitions) -> None:
        replace_file(self.path("definitions.msgpack"), _sealed(msgspec.msgpack.encode(definitions)))

    def load_sound(self) -> dict[str, FileMark]:
        """Return the marks of data files that were found to be as they were written, by their SHA-256."""
        return self._load("sound.msgpack", dict[str, FileMark]) or {}

    def save_sound(self, marks: dict[str, FileMark]) -> None:
        """Replace those marks."""
        replace_file(self.path("sound.msgpack"), _sealed(msgspec.msgpack.encode(marks)))

    def load_planned(self) -> dict[str, PlannedApi]:
        """Return the data files that the last build planned, by the ``uid`` of their API."""
        return self._load("planned.msgpack", dict[str, PlannedApi]) or {}

    def save_planned(self, planned: dict[str, PlannedApi]) -> None:
        """Replace those data files."""
        replace_file(self.path("planned.msgpack"), _sealed(msgspec.msgpack.encode(planned)))

    def load_public_url(self) -> str | None:
        """Return the address with which the last build made the addresses of assets, if it had one."""
        return self._load("public_url.msgpack", str)

    def save_public_url(self, public_url: str | None) -> None:
        """Remember the address, so that a check compiles as the last build did and repeats none of its work."""
        if public_url is None:
            self.path("public_url.msgpack").unlink(missing_ok=True)
        elif public_url != self.load_public_url():
            replace_file(self.path("public_url.msgpack"), _sealed(msgspec.msgpack.encode(public_url)))

    def _load(self, name: str, kind: type[T]) -> T | None:
        try:
            sealed = self.path(name).read_bytes()
        except OSError:
            return None
        seal, data = sealed[:16], sealed[16:]
        if blake2b(data, digest_size=16).digest() != seal:
            return None
        try:
            return msgspec.msgpack.decode(data, type=kind)
        except msgspec.DecodeError:
            return None


def uncounted(problems: list[Problem], counts: list[tuple[Severity, str, int]]) -> list[tuple[Severity, str, int]]:
    """Return how many problems of each kind were counted but not kept one by one."""
    kept = {(severity, kind): count for severity, kind, count in Problems(problems).counts}
    return [
        (severity, kind, count - kept.get((severity, kind), 0))
        for severity, kind, count in counts
        if count > kept.get((severity, kind), 0)
    ]


def _sealed(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest() + data

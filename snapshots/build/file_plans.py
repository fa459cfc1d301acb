"""Plan the data files of an API from its checked rows: which rows, in which order, with which live windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.build.cache import FileFacts, PlannedApi
from snapshots.build.checks import CheckedApi
from snapshots.build.parquet import FilePlan
from snapshots.columns import (
    FileKind,
    file_path,
    own_columns,
    public_columns,
    stored_form,
    window_columns,
    windows_of,
)
from snapshots.compile.rows import DRAFT_FILE, LIVE
from snapshots.data_files.picked_rows import rows_at
from snapshots.data_files.segments import divided
from snapshots.model import Api, Workspace
from snapshots.store.manifest import FORMAT

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Marks: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

LAYOUT: Final = 2
"""Counted up whenever the same rows give other bytes, so that no file of another layout is linked."""
_SEGMENTS: Final = 16
"""The segments that are planned at a time."""
_COLUMNS: Final = [
    "chunk", "row", "size", "lang", "state", "scheduled", "id", "published", "live_from", "live_until", "digest",
    "draft_key",
]  # fmt: skip
_NO_INSTANT = np.iinfo(np.int64).min
"""Stands for a missing instant in the digest of a file's content."""


class PlannedFile(msgspec.Struct):
    """A data file that is to be linked or written."""

    api: Api
    segment: str
    facts: FileFacts
    chunks: list[Path]
    plan: FilePlan | None = None
    """Its rows, ``None`` where they are as they were in the last build: most such files are linked."""

    @property
    def lang(self) -> str:
        return self.facts.lang

    @property
    def kind(self) -> FileKind:
        return self.facts.kind

    @property
    def content(self) -> str:
        """SHA-256 over all that decides the file's bytes: its columns, its fields as they are stored, its rows in
        order."""
        return self.facts.content

    @property
    def rows(self) -> int:
        return self.facts.rows

    @property
    def path(self) -> str:
        return file_path(self.kind, self.lang, self.api.endpoint, self.segment)

    @property
    def index_path(self) -> str:
        """The path of the search index of its rows."""
        return file_path(FileKind.SEARCH, self.lang, self.api.endpoint, self.segment)


class _Rows(msgspec.Struct, frozen=True):
    """The rows of some segments of an API."""

    index: pa.Table
    """Their columns ``_COLUMNS``."""
    entries: Ints
    """A number for each row's entry, the same for all its versions."""
    segments: Ints
    """The position of each row's segment."""
    langs: Ints
    """The position of each row's language in the workspace."""


class _Language(msgspec.Struct, frozen=True):
    """Live versions in one language."""

    entries: Ints
    """The entries that have one, ascending."""
    live_from: Ints
    live_until: Ints


class Planner:
    """Plans the data files of one API. Of segments whose rows are as they were in the last build, it takes over what is
    known of their files, and looks at their rows only where such a file has to be written."""

    def __init__(self, workspace: Workspace, checked: CheckedApi, limit: int, before: PlannedApi | None) -> None:
        """``limit`` is the most entries of a segment, ``before`` what the last build planned of the API."""
        self._checked, self._workspace = checked, workspace
        self._numbers: Ints = checked.index["number"].to_numpy()
        self._division = divided(self._numbers[checked.firsts], limit)
        self._files = {name: list[PlannedFile]() for name in self._division.names}
        known = self._known(before)
        self._plan([at for at, name in enumerate(self._division.names) if name not in known])
        for name, facts in known.items():
            self._files[name] = [PlannedFile(checked.api, name, one, checked.chunks) for one in facts]

    def files(self) -> Iterator[PlannedFile]:
        """Return the data files in the workspace's order of languages, published before drafts."""
        by_language: dict[tuple[str, FileKind], list[PlannedFile]] = {}
        for of_segment in self._files.values():
            for file in of_segment:
                by_language.setdefault((file.lang, file.kind), []).append(file)
        for lang in self._workspace.languages_of(self._checked.api):
            for kind in (FileKind.PUBLISHED, FileKind.DRAFTS):
                yield from by_language.get((lang, kind), ())

    def planned(self) -> PlannedApi | None:
        """Return what to remember; ``None`` where some versions were left out, of which the rows alone do not tell."""
        change = self._checked.change
        if change is None:
            return None
        facts = {name: [file.facts for file in files] for name, files in self._files.items()}
        return PlannedApi(change.now, _form(), facts)

    def look_up(self, paths: Set[str]) -> None:
        """Plan the rows of those of the files at ``paths`` that are without a plan."""
        names = {file.segment for file in self.files() if file.plan is None and file.path in paths}
        self._plan([at for at, name in enumerate(self._division.names) if name in names])

    def _known(self, before: PlannedApi | None) -> dict[str, list[FileFacts]]:
        """Return the files of the segments whose rows are as they were."""
        change = self._checked.change
        if before is None or change is None or (before.version, before.form) != (change.before, _form()):
            return {}
        changed = {self._division.names[at] for at in self._division.of_numbers(change.entries).tolist() if at >= 0}
        return {
            name: before.segments[name]
            for name in self._division.names
            if name in before.segments and name not in changed
        }

    def _plan(self, segments: Sequence[int]) -> None:
        """Plan the files of segments, for some at a time, since their rows are in memory meanwhile."""
        if not segments:
            return
        of_rows = self._division.of_numbers(self._numbers).astype(np.int32)
        for first in range(0, len(segments), _SEGMENTS):
            chosen = np.zeros(len(self._division.names), dtype=bool)
            chosen[segments[first : first + _SEGMENTS]] = True
            found = np.flatnonzero(chosen[of_rows])
            index = rows_at(self._checked.index.select(_COLUMNS), found)
            langs = index["lang"].to_numpy()
            self._plan_rows(_Rows(index, self._checked.entries[found], of_rows[found], langs))

    def _plan_rows(self, rows: _Rows) -> None:
        planned: dict[str, list[PlannedFile]] = {}
        api, workspace = self._checked.api, self._workspace
        live, drafts = rows.index["state"].to_numpy() == LIVE, _drafts(rows)
        numbers = {lang: number for number, lang in enumerate(workspace.languages)}
        languages = workspace.languages_of(api)
        others = {lang: _language(rows, np.flatnonzero(live & (rows.langs == numbers[lang]))) for lang in languages[1:]}
        for lang in languages:
            for kind, some in ((FileKind.PUBLISHED, live), (FileKind.DRAFTS, drafts.chosen)):
                found = _ordered(rows.index, np.flatnonzero(some & (rows.langs == numbers[lang])))
                segments = rows.segments[found]
                for at in np.unique(segments).tolist():
                    of_segment = found[segments == at]
                    name = self._division.names[at]
                    facts, plan = _planned_file(workspace, api, lang, kind, rows, of_segment, others, drafts)
                    planned.setdefault(name, []).append(PlannedFile(api, name, facts, self._checked.chunks, plan))
        for name, files in planned.items():
            before = {(file.lang, file.kind): file for file in self._files[name]}
            if not before:
                self._files[name] = files
            for file in files:  # of which all but the rows is known
                if (same := before.get((file.lang, file.kind))) is not None:
                    same.plan = file.plan


class _Drafts(msgspec.Struct, frozen=True):
    """The unpublished changes among some rows."""

    chosen: Marks
    keys: dict[int, str | None]
    """Their draft keys, by row."""


def _language(rows: _Rows, found: Ints) -> _Language:
    """Return the live versions in a language, which these rows are."""
    found = found[np.argsort(rows.entries[found])]
    window = [rows.index[name].to_numpy()[found] for name in ("live_from", "live_until")]
    return _Language(rows.entries[found], *window)


def _drafts(rows: _Rows) -> _Drafts:
    """Return the unpublished changes: draft files, and versions with status draft that have no draft file.

    The draft key is the draft file's, else that of the main file (decision 40).
    """
    states, keys = rows.index["state"].to_numpy(), rows.index["draft_key"]
    chosen = states != LIVE
    found = np.flatnonzero(chosen)
    if not len(found):
        return _Drafts(chosen, {})
    in_files, main = dict[tuple[int, int], int](), dict[tuple[int, int], int]()
    names = list(zip(rows.langs[found].tolist(), rows.entries[found].tolist(), strict=True))
    for name, row in zip(names, found.tolist(), strict=True):
        if states[row] == DRAFT_FILE:
            in_files[name] = row
        else:
            main[name] = row
    of_drafts = np.flatnonzero(np.isin(rows.entries, rows.entries[found]) & ~chosen)
    named = zip(rows.langs[of_drafts].tolist(), rows.entries[of_drafts].tolist(), of_drafts.tolist(), strict=True)
    main |= {(lang, entry): row for lang, entry, row in named}
    by_row: dict[int, str | None] = {}
    for name, row in zip(names, found.tolist(), strict=True):
        if states[row] != DRAFT_FILE and name in in_files:
            chosen[row] = False
            continue
        key = keys[row].as_py()
        by_row[row] = keys[main[name]].as_py() if key is None and name in main else key
    return _Drafts(chosen, by_row)


def _planned_file(
    workspace: Workspace,
    api: Api,
    lang: str,
    kind: FileKind,
    rows: _Rows,
    found: Ints,
    others: dict[str, _Language],
    drafts: _Drafts,
) -> tuple[FileFacts, FilePlan]:
    """Plan the data file of the rows ``found``, in their order; ``others`` has the languages but the main one."""
    taken = rows.index.select(["chunk", "row", "size", "scheduled", "digest"]).take(pa.array(found))
    keys = [drafts.keys[row] for row in found.tolist()] if kind is FileKind.DRAFTS else None
    stored = tuple(public_columns(api))
    own = tuple(own_columns(workspace, api, lang, kind))
    # The rows' digests tell what is delivered of their fields; what columns hold follows from the fields' types too.
    form = (FORMAT, LAYOUT, stored, own, stored_form(api.fields))
    content = sha256(msgspec.json.encode(form))
    for chunk in taken["digest"].chunks:
        width = chunk.type.byte_width
        content.update(chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width))
    windows: dict[str, pa.Array] = {}
    for other in windows_of(workspace, api, lang, kind):
        versions = others[other]
        positions = np.searchsorted(versions.entries, rows.entries[found])
        there = positions < len(versions.entries)
        there[there] = versions.entries[positions[there]] == rows.entries[found][there]
        for name, instants in zip(window_columns(other), (versions.live_from, versions.live_until), strict=True):
            of_rows = np.full(len(found), _NO_INSTANT, dtype=np.int64)
            of_rows[there] = instants[positions[there]]
            content.update(name.encode())
            content.update(of_rows.tobytes())
            windows[name] = pa.array(of_rows.view("datetime64[ms]"), mask=~there)
    if keys is not None:
        content.update(repr(keys).encode())
    plan = FilePlan(
        columns=stored,
        own=own,
        chunk=taken["chunk"].to_numpy(),
        row=taken["row"].to_numpy(),
        size=taken["size"].to_numpy(),
        windows=windows,
        draft_keys=None if keys is None else pa.array(keys, pa.string()),
        digests=taken["digest"],
    )
    scheduled = pc.sum(taken["scheduled"]).as_py() or 0
    return FileFacts(lang, kind, content.hexdigest(), len(found), scheduled, int(plan.size.sum())), plan


def _form() -> str:
    """Return the versions of the rules by which data files are planned."""
    return f"{FORMAT}.{LAYOUT}"


def _ordered(index: pa.Table, rows: Ints) -> Ints:
    """Return these rows of an index in the order of data files."""
    keys = index.select(["published", "id"]).take(pa.array(rows))
    order = pc.sort_indices(keys, sort_keys=[("published", "descending"), ("id", "ascending")]).to_numpy()
    found: Ints = rows[order]
    return found

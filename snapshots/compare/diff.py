"""Compare two snapshots: language versions added, changed (field by field) and removed, and schema changes.

Data files of equal content are not read. Of the others only the IDs are held in memory; other columns are read a row
group at a time, twice for rows that differ: to find them, and when their changes are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN, FileKind
from snapshots.compare.compatibility import SchemaChange, paired_apis, schema_changes
from snapshots.compare.endings import EndedReference, ended_references
from snapshots.compare.renames import Place, Rename, find_renames
from snapshots.compare.row_groups import Ints, RowGroups, opened_rows, rows_at, side_by_side
from snapshots.compare.versions import Version, title_of, version_of
from snapshots.model import ALWAYS, GROUP_KIND, META_DATES, NEVER, Api
from snapshots.paths import Steps, written_path
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.store import WorkspaceStore
from snapshots.times import format_datetime

Row: TypeAlias = dict[str, Any]

LIVE_FROM: Final = "_liveFrom"
LIVE_UNTIL: Final = "_liveUntil"
DRAFT_KEY: Final = "_draftKey"
"""``ValueChange.field`` of facts that have no name in answers; field IDs begin with a letter, so none is equal."""
ROWS_AT_ONCE: Final = 100
"""Rows made into objects at a time, so that other threads of a server wait for no more than a millisecond or so."""
MOST_IN_ORDER: Final = 1_000
"""The most changed language versions of an API in one language that are listed in default order."""
MOST_LISTED: Final = 5_000
"""Versions of a file that came or went among which renamed entries are looked for."""
HIDDEN: Final = "***"
"""Stands for a draft key, which opens unpublished content."""

_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_written = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value of a language version in the two snapshots, as JSON has it; ``None`` for no value."""

    field: str
    """A field's ID or the way into its value, such as ``authors[2].name``; ``createdAt``, ``updatedAt``,
    ``publishedAt``, or one of the names above."""
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """A language version that both snapshots have, and its differing values."""

    id: str
    values: tuple[ValueChange, ...]
    title: str = ""
    """Its first text now; the ID where it has none."""


@dataclass(frozen=True)
class FileDiff:
    """The changes of an API's published versions, or of its drafts, in one language."""

    api: str
    """The endpoint, the new one if there is one."""
    lang: str
    draft: bool
    added: pa.Array
    """Entry IDs, in default order."""
    removed: pa.Array
    """Entry IDs, in default order."""
    apis: tuple[Api | None, Api | None]
    """The definition before and now."""
    _old: Sequence[Path]
    _new: Sequence[Path]
    """The files that differ."""
    _rows: tuple[Ints, Ints]
    """The rows of changed language versions, in the old files and in the new ones."""
    _only: tuple[Ints, Ints]
    """The rows of removed language versions in the old files, and of added ones in the new ones."""
    _places: Ints
    """The place of each changed language version in the default order of the changed ones."""

    @property
    def changed(self) -> int:
        """The number of language versions that differ."""
        return len(self._rows[0])

    def changes(self) -> Iterator[EntryDifference]:
        """Return each changed version's changes: in default order, or, if they are more than a thousand, as they lie in
        the files. Raises ``StoreError`` for an unreadable file."""
        if not self._old or not self._new or not self.changed:
            return
        if self.changed <= MOST_IN_ORDER:
            yield from (change for _, change in sorted(self._placed(), key=lambda one: one[0]))
            return
        yield from (change for _, change in self._placed())

    def _placed(self) -> Iterator[tuple[int, EntryDifference]]:
        """Return each changed version's place and changes, read by row group."""
        with ExitStack() as stack:
            old, new = (stack.enter_context(opened_rows(paths)) for paths in (self._old, self._new))
            for ours, theirs, at in side_by_side(old, new, *self._rows):
                places = self._places[at].tolist()
                for place, before, after in zip(places, _rows(ours), _rows(theirs), strict=True):
                    title = title_of(self.apis[1], msgspec.json.decode(after[JSON_COLUMN])) or after["id"]
                    yield place, EntryDifference(after["id"], tuple(_value_changes(before, after)), title)

    def went(self, most: int = MOST_LISTED) -> Iterator[Version]:
        """Return the first removed versions. Raises ``StoreError`` for an unreadable file."""
        return self._versions(self._old, self._only[0][:most], self.apis[0])

    def came(self, most: int = MOST_LISTED) -> Iterator[Version]:
        """Return the first added versions. Raises ``StoreError`` for an unreadable file."""
        return self._versions(self._new, self._only[1][:most], self.apis[1])

    def _versions(self, paths: Sequence[Path], rows: Ints, api: Api | None) -> Iterator[Version]:
        if not paths or not len(rows):
            return
        ascending = np.argsort(rows, kind="stable")
        found: list[Version] = []
        with opened_rows(paths) as opened:
            for batch in rows_at(opened, rows[ascending]):
                for row in _rows(batch):
                    live = (row["live_from"], row["live_until"])
                    found.append(version_of(api, row["id"], self.lang, row[JSON_COLUMN], draft=self.draft, live=live))
        yield from (found[at] for at in np.argsort(ascending, kind="stable").tolist())


class ComparedFile(Protocol):
    """The changes of an API in one language, whatever was compared."""

    @property
    def added(self) -> Sized: ...

    @property
    def removed(self) -> Sized: ...

    @property
    def changed(self) -> int: ...


Changed = TypeVar("Changed", bound=ComparedFile)


@dataclass(frozen=True)
class Comparison(Generic[Changed]):
    """All changes between two states of a workspace."""

    schema: tuple[SchemaChange, ...]
    files: tuple[Changed, ...]
    """By API and language in the new workspace's order, then removed ones; only those with changes."""

    @cached_property
    def added(self) -> int:
        """The number of language versions that are new."""
        return sum(len(file.added) for file in self.files)

    @cached_property
    def changed(self) -> int:
        """The number of language versions that differ."""
        return sum(file.changed for file in self.files)

    @cached_property
    def removed(self) -> int:
        """The number of language versions that are gone."""
        return sum(len(file.removed) for file in self.files)

    @property
    def breaking(self) -> int:
        """The number of schema changes that break clients."""
        return sum(change.breaking for change in self.schema)

    @property
    def same(self) -> bool:
        return not self.schema and not self.files


@dataclass(frozen=True)
class SnapshotDiff(Comparison[FileDiff]):
    """The changes from one snapshot to another."""

    old: Manifest
    new: Manifest
    _published: WorkspaceStore
    _workspace_store: WorkspaceStore

    @cached_property
    def renames(self) -> tuple[Rename, ...]:
        """The renamed entries, whose versions are among the added and the removed ones. Raises ``StoreError``."""
        return tuple(rename for files in self.by_api() for rename in self._renames(files))

    def by_api(self) -> list[list[FileDiff]]:
        """Return the changes of the files of each API."""
        return [list(files) for _, files in groupby(self.files, key=lambda file: file.api)]

    def places(
        self, apis: tuple[Api | None, Api | None], ids: Sequence[str], *, before: bool = False
    ) -> dict[str, list[Place]]:
        """Return the languages in which entries of an API, given as before and now, are there, by ID. Raises
        ``StoreError``."""
        manifest, api = (self.old, apis[0]) if before else (self.new, apis[1])
        store = self._published if before else self._workspace_store
        found: dict[str, list[Place]] = {}
        if api is None or not ids:
            return found
        wanted = pa.array(ids, pa.string())
        for lang in manifest.workspace.languages_of(api):
            for kind in (FileKind.PUBLISHED, FileKind.DRAFTS):
                files = manifest.files_of(api, lang, kind)
                if not files:
                    continue
                with opened_rows([store.bring_file(manifest.version, file) for file in files]) as rows:
                    there = rows.ids()
                for one in there.filter(pc.is_in(there, value_set=wanted)).to_pylist():
                    found.setdefault(one, []).append((lang, kind is FileKind.DRAFTS))
        return found

    def still_there(self, endpoint: str, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return the languages in which entries of an API are there in the new version. Raises ``StoreError``."""
        return self.places((None, self.new.workspace.api(endpoint)), ids)

    def ended(self, gone: Mapping[str, Sequence[str]]) -> list[EndedReference]:
        """Return the first references of the new version to entries in ``gone``, IDs by endpoint. Raises
        ``StoreError``."""
        return ended_references(self.new.workspace, self.new_files, gone)

    def new_files(self, api: Api) -> Iterator[tuple[DataFile, Path]]:
        """Return the files of an API in the new version. Raises ``StoreError``."""
        for lang in self.new.workspace.languages_of(api):
            for kind in (FileKind.PUBLISHED, FileKind.DRAFTS):
                for file in self.new.files_of(api, lang, kind):
                    yield file, self._workspace_store.bring_file(self.new.version, file)

    def _renames(self, files: list[FileDiff]) -> list[Rename]:
        if not any(len(file.added) for file in files) or not any(len(file.removed) for file in files):
            return []
        if any(max(len(file.added), len(file.removed)) > MOST_LISTED for file in files):
            return []
        went = [one for file in files for one in file.went()]
        came = [one for file in files for one in file.came()]
        apis = files[0].apis
        left = {
            entry: dict.fromkeys(lang for lang, _ in places) for entry, places in self.places(apis, _ids(went)).items()
        }
        known = self.places(apis, _ids(came), before=True)
        new = {one.id for one in came if one.id not in known}
        return find_renames(files[0].api, went, came, left, new)


def _ids(versions: Iterable[Version]) -> list[str]:
    return sorted({one.id for one in versions})


def diff(
    workspace_store: WorkspaceStore,
    old: str,
    new: str,
    *,
    published: WorkspaceStore | None = None,
    entries_only: bool = False,
) -> SnapshotDiff:
    """Return the changes from version ``old`` to version ``new``.

    ``published`` is the workspace in the store that has ``old``, where that is not ``workspace_store`` too. With
    ``entries_only``, changed entries are not looked for, which takes the most time.

    Raises ``MissingVersion``, ``ManifestError``, and ``StoreError`` when a file cannot be read.
    """
    published = published or workspace_store
    before, after = published.manifest(old), workspace_store.manifest(new)
    files = []
    for lang, kind, apis, sides in _pairs(before, after):
        ours, theirs = differing_files(*sides)
        if not ours and not theirs:
            continue
        paths = (
            [published.bring_file(old, file) for file in ours],
            [workspace_store.bring_file(new, file) for file in theirs],
        )
        found = _file_diff(apis, lang, kind, *paths, entries_only=entries_only)
        if len(found.added) or len(found.removed) or found.changed:
            files.append(found)
    schema = tuple(schema_changes(before.workspace, after.workspace))
    return SnapshotDiff(schema, tuple(files), before, after, published, workspace_store)


_Apis: TypeAlias = tuple[Api | None, Api | None]
_Files: TypeAlias = tuple[DataFile, ...]


def differing_files(old: Sequence[DataFile], new: Sequence[DataFile]) -> tuple[_Files, _Files]:
    """Return those of the files of an API and language in two versions that the other does not have. An entry that is
    in none of them is the same in both."""
    same = {file.content for file in old} & {file.content for file in new}
    return (
        tuple(file for file in old if file.content not in same),
        tuple(file for file in new if file.content not in same),
    )


def _pairs(old: Manifest, new: Manifest) -> Iterator[tuple[str, FileKind, _Apis, tuple[_Files, _Files]]]:
    """Return language, kind, old and new definition, old and new files of every API, language and kind that one of the
    two snapshots has."""
    pairs = paired_apis(old.workspace, new.workspace)
    matched = {before.uid for before, _ in pairs if before is not None}
    gone = [(api, None) for api in old.workspace.apis if api.uid not in matched]
    languages = dict.fromkeys((*new.workspace.languages, *old.workspace.languages))
    for before, after in chain(pairs, gone):
        for lang in languages:
            for kind in (FileKind.PUBLISHED, FileKind.DRAFTS):
                ours = old.files_of(before, lang, kind) if before is not None else ()
                theirs = new.files_of(after, lang, kind) if after is not None else ()
                if ours or theirs:
                    yield lang, kind, (before, after), (ours, theirs)


def _file_diff(
    apis: _Apis, lang: str, kind: FileKind, old: Sequence[Path], new: Sequence[Path], *, entries_only: bool
) -> FileDiff:
    nothing = np.zeros(0, dtype=np.int64)
    named = apis[1] or apis[0]
    assert named is not None  # a pair has one of them, for mypy
    with ExitStack() as stack:
        ours = stack.enter_context(opened_rows(old)) if old else None
        theirs = stack.enter_context(opened_rows(new)) if new else None
        empty = pa.array([], pa.string())
        before = ours.ids() if ours is not None else empty
        after = theirs.ids() if theirs is not None else empty
        positions = pc.index_in(before, value_set=after)
        removed = _in_default_order(ours, before, np.flatnonzero(np.asarray(pc.is_null(positions))))
        is_new = pc.invert(pc.is_in(after, value_set=before))
        added = _in_default_order(theirs, after, np.flatnonzero(np.asarray(is_new)))
        rows = (nothing, nothing)
        if ours is not None and theirs is not None and not entries_only:
            both = np.flatnonzero(np.asarray(pc.is_valid(positions)))
            rows = _differing(ours, theirs, both, np.asarray(pc.drop_null(positions)).astype(np.int64))
        places = _places(theirs, after, rows[1]) if len(rows[1]) <= MOST_IN_ORDER else np.zeros_like(rows[1])
    is_draft = kind is FileKind.DRAFTS
    ids = (after.take(pa.array(added)), before.take(pa.array(removed)))
    return FileDiff(named.endpoint, lang, is_draft, *ids, apis, old, new, rows, (removed, added), places)


def _in_default_order(opened: RowGroups | None, ids: pa.Array, rows: Ints) -> Ints:
    """Return these rows, the last published first, as each file has its own."""
    if opened is None or len(opened.starts) < 2 or not len(rows):
        return rows
    keys = pa.table({"published": opened.published()[rows], "id": ids.take(pa.array(rows))})
    order = pc.sort_indices(keys, sort_keys=[("published", "descending"), ("id", "ascending")])
    ordered: Ints = rows[order.to_numpy()]
    return ordered


def _places(opened: RowGroups | None, ids: pa.Array, rows: Ints) -> Ints:
    """Return the place that each of these rows has in their default order."""
    ordered = _in_default_order(opened, ids, np.sort(rows))
    by_row = np.argsort(ordered)
    places: Ints = by_row[np.searchsorted(ordered, rows, sorter=by_row)]
    return places


def _differing(old: RowGroups, new: RowGroups, old_rows: Ints, new_rows: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of rows that differ in a value that a client or an editor could see."""
    found = []
    for ours, theirs, at in side_by_side(old, new, old_rows, new_rows):
        equal = np.ones(len(at), dtype=bool)
        for name in ours.schema.names:
            same = pc.fill_null(pc.equal(ours[name], theirs[name]), False)
            equal &= np.asarray(pc.or_(same, pc.and_(pc.is_null(ours[name]), pc.is_null(theirs[name]))))
        suspects = np.flatnonzero(~equal)
        for first in range(0, len(suspects), ROWS_AT_ONCE):
            some = suspects[first : first + ROWS_AT_ONCE]
            pairs = zip(_rows(ours.take(some)), _rows(theirs.take(some)), strict=True)
            differ = [next(_value_changes(one, other), None) is not None for one, other in pairs]
            found.append(at[some[np.array(differ, dtype=bool)]])
    at = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
    return old_rows[at], new_rows[at]


def _rows(batch: pa.RecordBatch) -> list[Row]:
    rows: list[Row] = batch.to_pylist()
    return rows


def _value_changes(before: Row, after: Row) -> Iterator[ValueChange]:
    """Return the differing values of two rows of one language version: fields first, in the new version's order."""
    yield from field_changes(before[JSON_COLUMN], after[JSON_COLUMN])
    for name in META_DATES:
        if before[name] != after[name]:
            yield ValueChange(name, format_datetime(before[name]), format_datetime(after[name]))
    for name, column, unset in ((LIVE_FROM, "live_from", ALWAYS), (LIVE_UNTIL, "live_until", NEVER)):
        old, new = before[column], after[column]
        if old != new:
            yield ValueChange(name, *(None if value == unset else format_datetime(value) for value in (old, new)))
    if before.get(DRAFT_KEY_COLUMN) != after.get(DRAFT_KEY_COLUMN):
        yield ValueChange(DRAFT_KEY, *(row.get(DRAFT_KEY_COLUMN) and HIDDEN for row in (before, after)))


def field_changes(before: str, after: str) -> Iterator[ValueChange]:
    """Return the differing values of two JSON objects, in the order of ``after``."""
    if before == after:
        return
    old, new = _fields_of(before), _fields_of(after)
    for name in dict.fromkeys((*new, *old)):
        if old.get(name) == new.get(name):
            continue
        one, other = _value(old.get(name)), _value(new.get(name))
        # A field that is new, and has no value, is no change.
        if (name in old and name in new) or not {_written(one), _written(other)} <= _NONE:
            yield from _inside(name, (), one, other)


_NONE: Final = {b"null", b"[]"}


def _inside(name: str, steps: Steps, before: Any, after: Any) -> Iterator[ValueChange]:
    """Return the differences of two values: of objects by member, of lists of objects by position."""
    if _written(before) == _written(after):
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.get(GROUP_KIND) == after.get(GROUP_KIND):
        for key in dict.fromkeys((*after, *before)):
            yield from _inside(name, (*steps, key), before.get(key), after.get(key))
    elif _are_objects(before) and _are_objects(after):
        for at in range(max(len(before), len(after))):
            one, other = (values[at] if at < len(values) else None for values in (before, after))
            yield from _inside(name, (*steps, at), one, other)
    else:
        yield ValueChange(written_path(name, steps), before, after)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _value(raw: msgspec.Raw | None) -> Any:
    """Return a field's value; ``None`` for a missing field and for one without a value alike."""
    return None if raw is None else msgspec.json.decode(raw)

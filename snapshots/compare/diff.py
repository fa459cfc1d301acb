"""Compare two snapshots: language versions added, changed (field by field) and removed, and schema changes.

Data files of equal content are not read. Of the others only the IDs are held in memory; other columns are read a row
group at a time, twice for rows that differ: to find them, and when their changes are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN, FileKind
from snapshots.compare.compatibility import SchemaChange, paired_apis, schema_changes
from snapshots.compare.row_groups import Ints, RowGroups, opened_rows, side_by_side
from snapshots.model import ALWAYS, GROUP_KIND, META_DATES, NEVER
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


@dataclass(frozen=True)
class FileDiff:
    """The changes of an API's published versions, or of its drafts, in one language."""

    api: str
    """The endpoint, the new one if there is one."""
    lang: str
    draft: bool
    added: pa.Array
    """Entry IDs, in the new file's order."""
    removed: pa.Array
    """Entry IDs, in the old file's order."""
    _old: Path | None
    _new: Path | None
    _rows: tuple[Ints, Ints]
    """The rows of changed language versions, in the old file and in the new one."""

    @property
    def changed(self) -> int:
        """The number of language versions that differ."""
        return len(self._rows[0])

    def changes(self) -> Iterator[EntryDifference]:
        """Return each changed version's changes, read by row group. Raises ``StoreError`` for an unreadable file."""
        if self._old is None or self._new is None or not self.changed:
            return
        with ExitStack() as stack:
            old, new = (stack.enter_context(opened_rows(path)) for path in (self._old, self._new))
            for ours, theirs, _ in side_by_side(old, new, *self._rows):
                for before, after in zip(_rows(ours), _rows(theirs), strict=True):
                    yield EntryDifference(after["id"], tuple(_value_changes(before, after)))


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


def diff(
    workspace_store: WorkspaceStore, old: str, new: str, *, published: WorkspaceStore | None = None
) -> SnapshotDiff:
    """Return the changes from version ``old`` to version ``new``.

    ``published`` is the workspace in the store that has ``old``, where that is not ``workspace_store`` too.

    Raises ``MissingVersion``, ``ManifestError``, and ``StoreError`` when a file cannot be read.
    """
    published = published or workspace_store
    before, after = published.manifest(old), workspace_store.manifest(new)
    files = []
    for one, other, file, endpoint in _pairs(before, after):
        if one is not None and other is not None and one.content == other.content:
            continue
        paths = (
            None if one is None else published.bring_file(old, one),
            None if other is None else workspace_store.bring_file(new, other),
        )
        found = _file_diff(endpoint, file, *paths)
        if len(found.added) or len(found.removed) or found.changed:
            files.append(found)
    return SnapshotDiff(tuple(schema_changes(before.workspace, after.workspace)), tuple(files), before, after)


def _pairs(old: Manifest, new: Manifest) -> Iterator[tuple[DataFile | None, DataFile | None, DataFile, str]]:
    """Return (old file, new file, one that is there, endpoint) of every API, language and kind that one of the two
    snapshots has."""
    pairs = paired_apis(old.workspace, new.workspace)
    matched = {before.uid for before, _ in pairs if before is not None}
    gone = [(api, None) for api in old.workspace.apis if api.uid not in matched]
    languages = dict.fromkeys((*new.workspace.languages, *old.workspace.languages))
    for before, after in chain(pairs, gone):
        named = after or before
        assert named is not None  # noqa: S101 - a pair has one of them, for mypy
        for lang in languages:
            for kind in (FileKind.PUBLISHED, FileKind.DRAFTS):
                one = old.file(before, lang, kind) if before is not None else None
                other = new.file(after, lang, kind) if after is not None else None
                file = one or other
                if file is not None:
                    yield one, other, file, named.endpoint


def _file_diff(endpoint: str, file: DataFile, old: Path | None, new: Path | None) -> FileDiff:
    nothing = np.zeros(0, dtype=np.int64)
    with ExitStack() as stack:
        ours = stack.enter_context(opened_rows(old)) if old is not None else None
        theirs = stack.enter_context(opened_rows(new)) if new is not None else None
        empty = pa.array([], pa.string())
        before = ours.ids() if ours is not None else empty
        after = theirs.ids() if theirs is not None else empty
        positions = pc.index_in(before, value_set=after)
        removed = before.filter(pc.is_null(positions))
        added = after.filter(pc.invert(pc.is_in(after, value_set=before)))
        rows = (nothing, nothing)
        if ours is not None and theirs is not None:
            both = np.flatnonzero(np.asarray(pc.is_valid(positions)))
            rows = _differing(ours, theirs, both, np.asarray(pc.drop_null(positions)).astype(np.int64))
    return FileDiff(endpoint, file.lang, file.kind is FileKind.DRAFTS, added, removed, old, new, rows)


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

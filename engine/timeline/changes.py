"""``changes``: every entry whose visible state differs between two points of a workspace, for webhooks and feeds.

An activation, a rollback and a flip of a schedule are told alike: what is visible is a function of (version, instant).
A version counts in its own language; where it stands in for another by fallback is for clients to conclude. An entry
that others refer to counts as itself only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np

from engine.timeline.compared_files import ComparedFiles, FileComparison, Side
from engine.timeline.points import Point
from snapshots.compare.compatibility import SchemaChange, schema_changes
from snapshots.data_files.segments import paired
from snapshots.store.durable import StoreError
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.store import MissingVersion, WorkspaceStore

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class ChangeKind(StrEnum):
    """The difference between an entry's visible states."""

    PUBLISHED = "published"
    """Visible now, and was not before."""
    UPDATED = "updated"
    """Visible before and now, with other fields or dates."""
    UNPUBLISHED = "unpublished"
    """Visible before, and not any more."""


_KINDS: Final = tuple(ChangeKind)


class EntryChange(msgspec.Struct, frozen=True):
    """One version of an entry whose visible state differs."""

    api: str
    """The endpoint at which clients read it."""
    id: str
    lang: str
    change: ChangeKind


class FileChanges(msgspec.Struct, frozen=True):
    """The changes of one API in one language, one at least."""

    api: str
    """The endpoint."""
    lang: str
    ids: pa.Array
    kinds: Array
    """Position in ``ChangeKind`` of the change of each."""

    def entries(self) -> Iterator[EntryChange]:
        """Return the changes one by one."""
        for entry_id, kind in zip(self.ids, self.kinds.tolist(), strict=True):
            yield EntryChange(self.api, entry_id.as_py(), self.lang, _KINDS[kind])


class Changes(msgspec.Struct, frozen=True):
    """The differences between two points. There may be a million, so they are made into objects when asked for."""

    before: Point
    after: Point
    files: tuple[FileChanges, ...]
    """By API, first those of the version after in its order, then by language; only those with changes."""
    schema: tuple[SchemaChange, ...]
    """The changes of the definitions, of APIs in scope."""
    next_change: int | None
    """The next instant after ``after`` at which an entry is published or unpublished by its schedule, in UTC
    milliseconds; ``None`` for none."""

    @property
    def total(self) -> int:
        """The number of changed language versions."""
        return sum(len(file.kinds) for file in self.files)

    def count(self, kind: ChangeKind) -> int:
        """Return the number of language versions with this change."""
        return sum(int(np.count_nonzero(file.kinds == _KINDS.index(kind))) for file in self.files)

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[EntryChange]:
        """Return the changed language versions from one position to before another, always in the same order."""
        left = None if stop is None else max(0, stop - start)
        for file in self.files:
            if start >= len(file.kinds):
                start -= len(file.kinds)
                continue
            part = FileChanges(file.api, file.lang, file.ids.slice(start), file.kinds[start:])
            start = 0
            for change in islice(part.entries(), left):
                yield change
                if left is not None:
                    left -= 1
            if left == 0:
                return


def changes(
    workspace_store: WorkspaceStore,
    before: Point,
    after: Point,
    *,
    scope: Collection[str] | None = None,
    languages: Collection[str] | None = None,
    kept: ComparedFiles | None = None,
) -> Changes:
    """Return what is visible otherwise at ``after`` than at ``before``, an earlier or later point of the workspace.

    ``scope`` limits it to APIs of these ``uid``s and ``languages`` to versions in these languages, ``None`` to none;
    with ``kept``, files compared before are not read again. Raises ``MissingVersion`` for a version that is pruned or
    never was, and ``ManifestError`` or ``StoreError`` where one cannot be read.
    """
    old, new = workspace_store.manifest(before.version), workspace_store.manifest(after.version)
    kept = kept if kept is not None else ComparedFiles(0)
    files: list[FileChanges] = []
    nexts: list[int | None] = []
    for endpoint, lang, pairs in _pairs(workspace_store, old, new, scope):
        if languages is not None and lang not in languages:
            continue
        try:
            found = [kept.compared(*sides) for sides in pairs]
        except StoreError:
            for version in (before.version, after.version):
                if not workspace_store.has(version):  # pruned while its files were read
                    raise MissingVersion(
                        f'{workspace_store.id} no longer has a snapshot version "{version}".'
                    ) from None
            raise
        changed = _changed(found, before.at, after.at)
        if changed is not None:
            files.append(FileChanges(endpoint, lang, *changed))
        nexts += [one.flips.next(after.at) for one in found]
    schema = schema_changes(old.workspace, new.workspace) if old.version != new.version else []
    next_change = min((at for at in nexts if at is not None), default=None)
    return Changes(before, after, tuple(files), tuple(_in_scope(schema, old, new, scope)), next_change)


def tags(workspace_id: str, entries: Iterable[EntryChange]) -> tuple[str, ...]:
    """Return the tags of changed entries: ``ws:api`` of each API, then ``ws:api:id`` of each entry.

    An answer which one of these changes makes another carries one of them in ``X-Content-Tags``: a list its APIs, one
    entry itself. All answers carry ``ws``, which is for changes of the definitions.
    """
    found = list(entries)
    apis = dict.fromkeys(f"{workspace_id}:{entry.api}" for entry in found)
    ids = dict.fromkeys(f"{workspace_id}:{entry.api}:{entry.id}" for entry in found)
    return (*apis, *ids)


def _pairs(
    workspace_store: WorkspaceStore, old: Manifest, new: Manifest, scope: Collection[str] | None
) -> Iterator[tuple[str, str, list[tuple[Side, Side]]]]:
    """Return endpoint, language, and the data files in each version, of all that clients can ask for in one of them:
    pair by pair those of the same segments.

    They are paired by endpoint, as clients know APIs: entries of an API that moved to another endpoint are unpublished
    at the one and published at the other.
    """
    endpoints = dict.fromkeys(api.endpoint for manifest in (new, old) for api in manifest.workspace.apis)
    languages = dict.fromkeys((*new.workspace.languages, *old.workspace.languages))
    for endpoint in endpoints:
        for lang in languages:
            ours, theirs = (_files(manifest, endpoint, lang, scope) for manifest in (old, new))
            pairs = paired([file.segment for file in ours], [file.segment for file in theirs])
            if pairs:
                yield (
                    endpoint,
                    lang,
                    [
                        (
                            tuple(_side(workspace_store, old, ours[at]) for at in before),
                            tuple(_side(workspace_store, new, theirs[at]) for at in after),
                        )
                        for before, after in pairs
                    ],
                )


def _files(manifest: Manifest, endpoint: str, lang: str, scope: Collection[str] | None) -> tuple[DataFile, ...]:
    api = manifest.workspace.api(endpoint)
    if api is None or (scope is not None and api.uid not in scope):
        return ()
    return manifest.files_of(api, lang)


def _side(workspace_store: WorkspaceStore, manifest: Manifest, file: DataFile) -> tuple[str, Callable[[], Path]]:
    return file.content, partial(workspace_store.bring_file, manifest.version, file)


def _kinds(found: FileComparison, before: int, after: int) -> Array:
    """Return the position in ``ChangeKind`` of each entry's change between two instants, -1 for none."""
    was, now = found.before.are_live(before), found.after.are_live(after)
    published, updated, unpublished = now & ~was, now & was & ~found.is_same, was & ~now
    kinds: Array = np.select([published, updated, unpublished], range(len(_KINDS)), -1)
    return kinds


def _changed(found: Sequence[FileComparison], before: int, after: int) -> tuple[pa.Array, Array] | None:
    """Return the IDs of the entries with changes between two instants, and the kinds of these; ``None`` without any.

    First come those that are visible now, in the default order, then those that are not any more, in the default order
    before: it does not tell what else there is, and whether there still is what is gone.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    tables = []
    for one in found:
        kinds = _kinds(one, before, after)
        changed = np.flatnonzero(kinds >= 0)
        is_gone = kinds[changed] == _KINDS.index(ChangeKind.UNPUBLISHED)
        published = np.where(is_gone, one.published_before[changed], one.published_after[changed])
        facts = {"id": one.ids.take(pa.array(changed)), "kind": kinds[changed], "gone": is_gone, "published": published}
        tables.append(pa.table(facts))
    every = pa.concat_tables(tables)
    if not len(every):
        return None
    keys = [("gone", "ascending"), ("published", "descending"), ("id", "ascending")]
    ordered = every.take(pc.sort_indices(every, sort_keys=keys)).combine_chunks()
    return ordered["id"].combine_chunks(), ordered["kind"].to_numpy()


def _in_scope(
    schema: Iterable[SchemaChange], old: Manifest, new: Manifest, scope: Collection[str] | None
) -> Iterator[SchemaChange]:
    """Return the changes of the definitions that a key with this scope may know of."""
    allowed = None
    if scope is not None:
        workspaces = (old.workspace, new.workspace)
        allowed = {api.endpoint for workspace in workspaces for api in workspace.apis if api.uid in scope}
    for change in schema:
        if allowed is None or change.api is None or change.api in allowed:
            yield change

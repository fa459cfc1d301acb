"""Find an entry in the current version of a workspace, and in those that were built after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.administration.version_list import listed_versions
from engine.timeline.published_rows import opened_published
from engine.timeline.states import State, state_at
from engine.why.facts import Known, Newer, Stored
from snapshots.columns import DIGEST_COLUMN, FileKind
from snapshots.data_files.segments import Division, entry_number
from snapshots.model import ALWAYS, NEVER, Api, ApiKind
from snapshots.store.durable import StoreError
from snapshots.store.manifest import DIGESTS_SINCE, DataFile, Manifest
from snapshots.store.store import WorkspaceStore

NEWER = 10
"""Versions built after the current one that are looked at, the newest ones."""


def stored_entry(
    workspace_store: WorkspaceStore, manifest: Manifest, endpoint: str, entry: str | None, now: int
) -> Stored:
    """Return what the store knows of an entry at ``now`` (UTC milliseconds). ``manifest`` is that of the current
    version; without ``entry``, it is the item of an object API. Raises ``StoreError``."""
    known = tuple(_known(workspace_store, manifest, endpoint, entry, now))
    newer = []
    for later in listed_versions(workspace_store, _after(workspace_store, manifest.version)):
        if later.manifest is None:
            continue
        try:
            languages = tuple(_known(workspace_store, later.manifest, endpoint, entry, now))
        except StoreError:  # another version than the one that is asked about
            continue
        newer.append(Newer(later.version, languages, later.held))
    facts = (manifest.version, manifest.created_at, known)
    if known:
        return Stored(*facts, (), (), tuple(newer))
    ids = {
        api.endpoint: {one for file in _files(manifest, api) for one in _column(workspace_store, manifest, file, "id")}
        for api in manifest.workspace.apis
        if api.kind is ApiKind.LIST
    }
    mine = ids.pop(endpoint, set())
    elsewhere = tuple(other for other, found in ids.items() if entry in found)
    return Stored(*facts, tuple(sorted(mine)), elsewhere, tuple(newer))


def _after(workspace_store: WorkspaceStore, current: str) -> list[str]:
    return [one for one in workspace_store.versions() if one > current][:NEWER]


def live_ids(workspace_store: WorkspaceStore, manifest: Manifest, api: Api, lang: str, now: int) -> list[str]:
    """Return the IDs of the entries of an API that are live in a language at ``now`` (UTC milliseconds), sorted."""
    files = manifest.files_of(api, lang)
    if not files:
        return []
    with opened_published([workspace_store.bring_file(manifest.version, file) for file in files]) as published:
        found: list[str] = sorted(published.ids(np.flatnonzero(published.windows().are_live(now))).to_pylist())
    return found


def _known(
    workspace_store: WorkspaceStore, manifest: Manifest, endpoint: str, entry: str | None, now: int
) -> Iterator[Known]:
    api = manifest.workspace.api(endpoint)
    if api is None:
        return
    for file in _files(manifest, api, entry):
        is_draft = file.kind is FileKind.DRAFTS
        has_digests = not is_draft and manifest.format >= DIGESTS_SINCE
        names = ["live_from", "live_until", *([DIGEST_COLUMN] if has_digests else [])]
        for begin, end, *digest in zip(*_columns(workspace_store, manifest, file, names, entry), strict=True):
            yield Known(
                file.lang,
                State.DRAFT if is_draft else state_at(begin, end, now),
                None if begin == ALWAYS else begin,
                None if end == NEVER else end,
                digest[0] if digest else None,
            )


def _files(manifest: Manifest, api: Api, entry: str | None = None) -> Iterator[DataFile]:
    """Return the files of an API, of one entry those of its segment alone."""
    for lang in manifest.workspace.languages_of(api):
        for kind in (FileKind.PUBLISHED, FileKind.DRAFTS):
            files = manifest.files_of(api, lang, kind)
            if entry is not None:
                at = Division([file.segment for file in files]).of_number(entry_number(entry))
                files = () if at is None else (files[at],)
            yield from files


def _column(workspace_store: WorkspaceStore, manifest: Manifest, file: DataFile, name: str) -> list[str]:
    [values] = _columns(workspace_store, manifest, file, [name], None)
    return values


def _columns(
    workspace_store: WorkspaceStore, manifest: Manifest, file: DataFile, names: list[str], entry: str | None
) -> list[list[Any]]:
    """Return columns of a file, instants as UTC milliseconds: of one entry's row, or with ``None`` of all rows."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from snapshots.data_files.stored_columns import lifted, stored_as  # noqa: PLC0415 - it imports Arrow

    path = workspace_store.bring_file(manifest.version, file)
    try:
        # As one file: otherwise the name of its folder would be a column too.
        with pq.ParquetFile(path) as opened:
            wanted = list(dict.fromkeys(("id", *names)))
            read = stored_as(wanted, opened.schema_arrow)
            table = lifted(opened.read(columns=read, use_threads=False), wanted)
        if entry is not None:
            table = table.filter(pc.equal(table["id"], entry))
    except (pa.ArrowException, OSError, KeyError) as error:
        raise StoreError(f"{path} cannot be read: {error}. `cms snapshot verify` says what is damaged.") from error
    columns = [table[name] for name in names]
    return [
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist() for column in columns
    ]

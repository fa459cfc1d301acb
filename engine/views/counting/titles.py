"""Titles of a snapshot's entries: the first text field in the main language."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from engine.timeline.flips import Flips
from engine.timeline.published_rows import WINDOW, windows_of
from snapshots.model import FieldType
from snapshots.store.manifest import DataFile, Manifest
from snapshots.store.store import WorkspaceStore

if TYPE_CHECKING:
    import pyarrow as pa


def live_titles(workspace_store: WorkspaceStore, manifest: Manifest, now: int) -> tuple[pa.Table, int]:
    """The table of ``entry_titles`` for the entries that are live at ``now``, and the instant until which it is right
    (both UTC milliseconds). Raises as ``entry_titles`` does."""
    import pyarrow as pa

    titles = _titles(workspace_store, manifest)
    windows = windows_of(titles)
    live = titles.filter(pa.array(windows.are_live(now)))
    return live.drop_columns(list(WINDOW)), Flips(windows.flips()).epoch(now).until


def entry_titles(workspace_store: WorkspaceStore, manifest: Manifest) -> pa.Table:
    """A table (``id``, ``endpoint``, ``title``) with every entry that has a version in the main language, live or not.

    Raises ``StoreError``, ``OSError`` and pyarrow's errors for files that cannot be read.
    """
    return _titles(workspace_store, manifest).drop_columns(list(WINDOW))


def titles_of(
    workspace_store: WorkspaceStore, manifest: Manifest, ids: Collection[str] | None = None
) -> dict[str, str]:
    """Return titles by entry ID, of the entries that have one, or those in ``ids``. Raises as ``entry_titles``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if ids is not None and not ids:
        return {}
    table = entry_titles(workspace_store, manifest)
    if ids is not None:
        table = table.filter(pc.is_in(table["id"], value_set=pa.array(list(ids), table["id"].type)))
    return {row["id"]: row["title"] for row in reversed(table.to_pylist()) if row["title"]}


def files_of_titles(manifest: Manifest) -> list[DataFile]:
    """Return the files of a version that titles are read from."""
    workspace = manifest.workspace
    return [file for api in workspace.apis for file in manifest.files_of(api, workspace.main_language) if file.rows]


def _titles(workspace_store: WorkspaceStore, manifest: Manifest) -> pa.Table:
    """The table of ``entry_titles`` with the windows in which the entries are live.

    Raises ``StoreError``, ``OSError`` and pyarrow's errors for files that cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    times = [(name, pa.timestamp("ms")) for name in WINDOW]
    schema = pa.schema([("id", pa.string()), ("endpoint", pa.string()), ("title", pa.string()), *times])
    parts = [schema.empty_table()]
    workspace = manifest.workspace
    for api in workspace.apis:
        named = next((field.id for field in api.fields if field.type is FieldType.TEXT), None)
        for file in manifest.files_of(api, workspace.main_language):
            with pq.ParquetFile(workspace_store.bring_file(manifest.version, file)) as opened:
                table = opened.read(columns=["id", *([named] if named else []), *WINDOW])
            title = table[named].cast(pa.string()) if named else pa.nulls(len(table), pa.string())
            endpoint = pa.array([api.endpoint] * len(table), pa.string())
            window = [table[name].cast(pa.timestamp("ms")) for name in WINDOW]
            parts.append(pa.table([table["id"].cast(pa.string()), endpoint, title, *window], schema=schema))
    return pa.concat_tables(parts)

"""A snapshot's entries with something to call them by: the first text field in the main language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapshots.model import FieldType
from snapshots.store.manifest import Manifest
from snapshots.store.store import WorkspaceStore

if TYPE_CHECKING:
    import pyarrow as pa


def entry_titles(store: WorkspaceStore, manifest: Manifest) -> pa.Table:
    """A table (``id``, ``endpoint``, ``title``) with every entry that has a version in the main language.

    Raises ``OSError`` and pyarrow's errors for files that cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    schema = pa.schema([("id", pa.string()), ("endpoint", pa.string()), ("title", pa.string())])
    parts = [schema.empty_table()]
    workspace = manifest.workspace
    for api in workspace.apis:
        file = manifest.file(api, workspace.main_language)
        if file is None or not file.rows:
            continue
        named = next((field.id for field in api.fields if field.type is FieldType.TEXT), None)
        path = store.path(manifest.version, file.path)
        table = pq.read_table(path, columns=["id", *([named] if named else [])], partitioning=None)
        title = table[named].cast(pa.string()) if named else pa.nulls(len(table), pa.string())
        endpoint = pa.array([api.endpoint] * len(table), pa.string())
        parts.append(pa.table([table["id"].cast(pa.string()), endpoint, title], schema=schema))
    return pa.concat_tables(parts)

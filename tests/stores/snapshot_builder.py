"""Rows → a snapshot directory with Parquet files and a manifest, without the compiler: for tests of the engine alone.

Values are given in the form the columns hold; the searched text of text fields is their value lower-cased, of richtext
fields that without its tags, unless the row gives ``<field>__search`` itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.build.cached.chunks import arrow_field, arrow_type
from snapshots.columns import (
    ALL,
    DIGEST_COLUMN,
    JSON_COLUMN,
    OWN,
    Column,
    ColumnType,
    FileKind,
    file_path,
    own_column,
    own_columns,
    public_columns,
    search_column,
    window_columns,
)
from snapshots.compile.rows import row_digest, said_digest
from snapshots.data_files.segments import Division, divided, entry_number, entry_numbers
from snapshots.model import ALWAYS, ARRAY_TYPES, META_DATES, NEVER, TEXT_TYPES, Api, FieldType, Workspace
from snapshots.store.manifest import FORMAT, MANIFEST, DataFile, Manifest, encode_manifest
from snapshots.times import format_datetime

Row = Mapping[str, Any]
Rows = Mapping[tuple[str, str], Sequence[Row]]
"""By (endpoint, language)."""

VERSION = "20260101T000000000Z-00000000"


def ms(text: str) -> int:
    """An ISO 8601 instant as UTC milliseconds."""
    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def write_snapshot(
    directory: Path,
    workspace: Workspace,
    published: Rows,
    drafts: Rows | None = None,
    version: str = VERSION,
    segment_entries: int = 2,
) -> Manifest:
    """Write a snapshot's files below ``directory``, in segments of so many entries at most, and return its manifest.

    A row has ``id`` and field values, and may have the meta dates, ``live_from`` and ``live_until`` (UTC ms) and, as a
    draft, ``draft_key``.
    """
    windows: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for (endpoint, lang), rows in published.items():
        for row in rows:
            window = (row.get("live_from", ALWAYS), row.get("live_until", NEVER))
            windows.setdefault((endpoint, row["id"]), {})[lang] = window
    files = []
    for kind, many in ((FileKind.PUBLISHED, published), (FileKind.DRAFTS, drafts or {})):
        for (endpoint, lang), rows in many.items():
            api = workspace.api(endpoint)
            assert api is not None
            complete = [_complete(api, row, windows) for row in rows]
            complete.sort(key=lambda row: (-row["publishedAt"], row["id"]))
            division = _division(endpoint, segment_entries, published, drafts or {})
            by_segment: dict[int, list[dict[str, Any]]] = {}
            for row in complete:
                by_segment.setdefault(division.nearest(entry_number(row["id"])), []).append(row)
            for at, name in enumerate(division.names):
                of_segment = by_segment.get(at, [])
                if of_segment or name == ALL:
                    files.append(_write(directory, workspace, api, lang, kind, of_segment, name))
    manifest = Manifest(
        format=FORMAT,
        version=version,
        content=hashlib.sha256(repr(files).encode()).hexdigest(),
        workspace=workspace,
        files=tuple(files),
        created_at=0,
        created_by="test@host",
        builder="parquetry test",
    )
    (directory / MANIFEST).write_bytes(encode_manifest(manifest))
    return manifest


def _division(endpoint: str, entries: int, *every: Rows) -> Division:
    ids = {row["id"] for rows in every for (named, _), many in rows.items() if named == endpoint for row in many}
    return divided(entry_numbers(ids), entries) if ids else Division([ALL])


def _complete(api: Api, row: Row, windows: Mapping[tuple[str, str], dict[str, tuple[int, int]]]) -> dict[str, Any]:
    """A row with a value for every column."""
    result: dict[str, Any] = {"id": row["id"], "draft_key": row.get("draft_key")}
    result |= {name: row.get(name, 0) for name in META_DATES}
    result |= {"live_from": row.get("live_from", ALWAYS), "live_until": row.get("live_until", NEVER)}
    for lang, window in windows.get((api.endpoint, row["id"]), {}).items():
        result |= dict(zip(window_columns(lang), window, strict=True))
    shown: dict[str, Any] = {}
    for field in api.fields:
        value = row.get(field.id, [] if field.type in ARRAY_TYPES else None)
        result[field.id] = value
        shown[field.id] = value
        if field.type is FieldType.DATETIME and value is not None:
            shown[field.id] = format_datetime(value)
        if field.type in TEXT_TYPES:
            text = None if value is None else re.sub(r"<[^>]*>", "", value).lower()
            result[search_column(field.id)] = row.get(search_column(field.id), text)
    result[JSON_COLUMN] = msgspec.json.encode(shown).decode()
    facts = (result["id"], *(result[name] for name in META_DATES))
    result[DIGEST_COLUMN] = row_digest(said_digest(facts, result[JSON_COLUMN].encode()))
    return result


def _write(
    directory: Path, workspace: Workspace, api: Api, lang: str, kind: FileKind, rows: Sequence[Row], segment: str
) -> DataFile:
    path = file_path(kind, lang, api.endpoint, segment)
    place = directory / path
    place.parent.mkdir(parents=True, exist_ok=True)
    own = list(own_columns(workspace, api, lang, kind))
    schema = pa.schema(map(arrow_field, [*public_columns(api), own_column(own)]))
    struct = pa.StructArray.from_arrays([_array(one, rows) for one in own], fields=list(schema.field(OWN).type))
    arrays = [*(_array(column, rows) for column in public_columns(api)), struct]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), place, compression="zstd", store_schema=False)
    data = place.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return DataFile(path, api.uid, lang, kind, len(rows), len(data), digest, digest, segment=segment)


def _array(column: Column, rows: Sequence[Row]) -> pa.Array:
    values = [row.get(column.name) for row in rows]
    if column.type is ColumnType.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("ms"))
    return pa.array(values, arrow_type(column))

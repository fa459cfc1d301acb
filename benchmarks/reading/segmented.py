"""Divide generated rows, which are in one Parquet file, into the data files and search indexes of a snapshot."""

from __future__ import annotations

import hashlib
import shutil
from math import ceil, log2
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.identifiers import quoted
from snapshots.columns import (
    ALL,
    DIGEST_COLUMN,
    SEGMENT_ENTRIES,
    FileKind,
    file_path,
    indexed_fields,
    own_columns,
    own_member,
    public_columns,
)
from snapshots.model import Api, Workspace
from snapshots.search.index import search_content, write_search_index
from snapshots.store.manifest import DataFile, Manifest


def write_segments(rows: Path, directory: Path, workspace: Workspace, api: Api, lang: str) -> list[DataFile]:
    """Write the rows of a file, whose columns have the names of ``snapshots.columns``, in their order."""
    count = pq.ParquetFile(rows).metadata.num_rows
    bits = max(0, ceil(log2(count / SEGMENT_ENTRIES))) if count else 0
    own = ", ".join(
        f"{quoted(own_member(one.name))} := "
        + ("(hash(id) >> 1)::BIGINT" if one.name == DIGEST_COLUMN else quoted(one.name))
        for one in own_columns(workspace, api, lang, FileKind.PUBLISHED)
    )
    public = ", ".join(quoted(one.name) for one in public_columns(api))
    segment = f"(('0x' || left(sha256(id), 4))::UINTEGER >> {16 - bits})" if bits else "0"
    parts = directory / "parts"
    shutil.rmtree(parts, ignore_errors=True)
    with duckdb.connect(config={"threads": "1"}) as connection:  # which keeps the rows' order
        connection.execute(
            f"COPY (SELECT {public}, struct_pack({own}) AS _, {segment} AS segment FROM '{rows}') TO '{parts}' "
            "(FORMAT parquet, COMPRESSION zstd, PARTITION_BY (segment))"
        )
    files = []
    for part in sorted(parts.iterdir()):
        number = int(part.name.partition("=")[2])
        name = f"{number:0{bits}b}" if bits else ALL
        [made] = part.iterdir()
        files.append(_placed(made, directory, api, lang, name))
    shutil.rmtree(parts)
    return files


def write_indexes(directory: Path, manifest: Manifest) -> list[DataFile]:
    """Write the search indexes of a manifest's data files."""
    found = [(file, manifest.workspace.api_by_uid(file.api)) for file in manifest.files]
    return [_index(file, directory, api) for file, api in found if api is not None and indexed_fields(api)]


def _placed(made: Path, directory: Path, api: Api, lang: str, segment: str) -> DataFile:
    path = file_path(FileKind.PUBLISHED, lang, api.endpoint, segment)
    target = directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    _put_in_order(made, target)
    rows, digest = pq.ParquetFile(target).metadata.num_rows, _digest(target)
    size = target.stat().st_size
    return DataFile(path, api.uid, lang, FileKind.PUBLISHED, rows, size, digest, digest, segment=segment)


def _put_in_order(made: Path, target: Path) -> None:
    """Move a file whose rows DuckDB may have written in another order than that of data files."""
    keys = pq.read_table(made, columns=["publishedAt", "id"], partitioning=None)
    order = pc.sort_indices(keys, sort_keys=[("publishedAt", "descending"), ("id", "ascending")])
    if order.equals(pa.array(range(len(keys)), order.type)):
        made.rename(target)
        return
    rows = pq.ParquetFile(made).read().take(order)
    pq.write_table(rows, target, compression="zstd", row_group_size=16_384)
    made.unlink()


def _index(data: DataFile, directory: Path, api: Api) -> DataFile:
    path = file_path(FileKind.SEARCH, data.lang, api.endpoint, data.segment)
    target = directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    records = write_search_index(directory / data.path, indexed_fields(api), target)
    facts = (target.stat().st_size, _digest(target), search_content(data.content))
    return DataFile(path, api.uid, data.lang, FileKind.SEARCH, records, *facts, segment=data.segment)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

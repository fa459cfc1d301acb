"""Rows of chunks → the rows of a data file: what they say, whatever chunks they are in and in whatever order."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from snapshots.build.cached.chunks import BATCH_ROWS, ChunkReader, write_arrow
from snapshots.build.parquet import FilePlan, write_parquet
from snapshots.build.settings import FULL
from snapshots.columns import Column, ColumnType
from tests.stores.data_files import stored_rows

COLUMNS = (
    Column("id", ColumnType.TEXT, False),
    Column("text", ColumnType.TEXT, True),
    Column("number", ColumnType.DOUBLE, True),
    Column("tags", ColumnType.TEXT, True, is_list=True),
)
SCHEMA = pa.schema(
    [("id", pa.string()), ("text", pa.string()), ("number", pa.float64()), ("tags", pa.list_(pa.string()))]
)


@pytest.mark.parametrize("chunks", [1, 7])
def test_rows_come_in_the_plan_s_order_with_their_missing_values(tmp_path: Path, chunks: int) -> None:
    rng = random.Random(chunks)
    rows: list[list[dict[str, object]]] = []
    for chunk in range(chunks):
        rows.append([])
        for row in range(rng.randrange(BATCH_ROWS, 4 * BATCH_ROWS)):
            text = rng.choice([None, "", "twelve bytes", "語" * rng.randrange(200), "x" * rng.randrange(2000)])
            tags = rng.choice([None, [], ["a"], ["b", "語" * 9]])
            rows[-1].append({"id": f"{chunk}-{row}", "text": text, "number": rng.choice([None, row / 2]), "tags": tags})
        table = pa.Table.from_pylist(rows[-1], schema=SCHEMA)
        write_arrow(table, tmp_path / f"{chunk}.rows", pa.array(np.arange(len(table))))
    places = [(chunk, row) for chunk, of_chunk in enumerate(rows) for row in range(len(of_chunk))]
    for wanted in (places, rng.sample(places, len(places)), rng.sample(places, 50), places[::-1]):
        plan = FilePlan(
            columns=COLUMNS[:1],
            own=COLUMNS[1:],
            chunk=np.array([chunk for chunk, _ in wanted], dtype=np.int32),
            row=np.array([row for _, row in wanted], dtype=np.int32),
            size=np.full(len(wanted), 40_000, dtype=np.int32),
            windows={},
            draft_keys=None,
            digests=pa.chunked_array([], pa.binary(16)),
        )
        write_parquet(plan, [tmp_path / f"{chunk}.rows" for chunk in range(chunks)], tmp_path / "data.parquet", FULL)
        assert stored_rows(tmp_path / "data.parquet") == [rows[chunk][row] for chunk, row in wanted]


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"ARROW1\0\0" + bytes(100)])
@pytest.mark.parametrize("mapped", [False, True])
def test_a_damaged_chunk_is_no_chunk(tmp_path: Path, content: bytes, mapped: bool) -> None:
    (tmp_path / "0.rows").write_bytes(content)
    with pytest.raises(pa.ArrowInvalid):
        ChunkReader(tmp_path / "0.rows", mapped=mapped)

"""Data files → bodies: each entry's meta fields and compiled fields as one JSON object, in the order of the rows."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.read.files.array_file import ArrayFile
from engine.read.materialise.write_bodies import BodiesWriter
from snapshots.columns import OWN, SEGMENT_ENTRIES
from snapshots.model import META_DATES, Api, ApiKind, Field, FieldType, Workspace
from snapshots.times import format_datetime
from tests.stores.snapshot_builder import write_snapshot

NOTES = Api("api_Notes", "Notes", "notes", ApiKind.LIST, True, (Field("title", "Title", FieldType.TEXT),))
WORKSPACE = Workspace("acme", "Acme", ("ja",), apis=(NOTES,))
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999
"""The first millisecond of the year 1, and the last of the year 9999."""


def bodies(directory: Path, rows: Sequence[dict[str, Any]], json: pa.DataType, *, group: int) -> list[bytes]:
    """What is written for rows whose ``_json`` is of a type, in row groups of a size."""
    manifest = write_snapshot(directory, WORKSPACE, {("notes", "ja"): rows}, segment_entries=SEGMENT_ENTRIES)
    file = directory / "ja/notes/all.parquet"
    table = pq.ParquetFile(file).read()
    column = pa.array([row["_json"] for row in sorted(rows, key=lambda row: (-row["publishedAt"], row["id"]))], json)
    own = pa.StructArray.from_arrays([column], names=["json"])
    pq.write_table(table.set_column(len(table.column_names) - 1, OWN, own), file, row_group_size=group)
    token = b"t" * 16
    with BodiesWriter(directory / "bodies", token) as writer:
        starts, checks = writer.write(NOTES, [directory / one.path for one in manifest.files])
        writer.append("more", np.arange(3))
    opened = ArrayFile(directory / "bodies", token)
    assert list(opened.numbers("more")) == [0, 1, 2]
    assert len(starts) - 1 == len(checks) == len(rows)
    read = [opened.map[begin:end] for begin, end in pairwise(starts.tolist())]
    assert [zlib.crc32(body) for body in read] == list(checks)
    return read


def expected(rows: Sequence[dict[str, Any]]) -> list[bytes]:
    found = []
    for row in sorted(rows, key=lambda row: (-row["publishedAt"], row["id"])):
        dates = {name: format_datetime(row.get(name, 0)) for name in META_DATES}
        found.append(msgspec.json.encode({"id": row["id"], **dates, **msgspec.json.decode(row["_json"])}))
    return found


def test_every_instant_and_entries_without_a_field(tmp_path: Path) -> None:
    instants = [FIRST, FIRST + 1, -62_135_510_400_001, -1, 0, 999, 951_782_399_999, 951_782_400_000, 1_709_251_199_999]
    instants += [-2_203_891_200_001, 4_107_542_399_999, LAST - 1, LAST]
    rows = [
        {"id": f"note-{n}", "publishedAt": at, "createdAt": instants[-n], "updatedAt": instants[n - 3], "_json": text}
        for n, at in enumerate(instants)
        for text in ["{}" if n % 3 == 0 else f'{{"title":"{"ÄÖ" * n}"}}']
    ]
    for kind in (pa.string(), pa.large_string()):
        place = tmp_path / str(kind)
        place.mkdir()
        assert bodies(place, rows, kind, group=5) == expected(rows)


def test_long_bodies_and_many(tmp_path: Path) -> None:
    texts = {100: "x" * 5_000_000, 101: "y" * 9_000_000, 102: "", 1023: "z" * 4_194_304}
    rows = [{"id": f"{n:05}", "publishedAt": n, "_json": f'{{"title":"{texts.get(n, n)}"}}'} for n in range(1300)]
    assert bodies(tmp_path, rows, pa.string(), group=1200) == expected(rows)

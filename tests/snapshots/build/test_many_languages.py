"""What more languages add to a version and to a reader's files is the same for each of them, however many there are."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from engine.read.reader.reader import open_reader
from snapshots.build.build import build
from snapshots.data_files.stored_columns import stored_names
from snapshots.store.store import open_store
from tests.sites.site_folders import write_folder

FEW, SOME, MANY = 5, 10, 15
API = "uid: api_posts0000000\nendpoint: posts\nkind: list\nmultilingual: true\nfields:\n  - {id: title, type: text}\n"


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def made(place: Path, count: int) -> tuple[int, int, int]:
    """Build an entry in so many languages; return the columns and bytes of all files, and the bytes that a reader
    makes of them."""
    langs = ["en", *(f"q{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(count - 1))]
    lines = [{"id": "one", "lang": lang, "createdAt": "2026-01-01", "title": f"Title {lang}"} for lang in langs]
    write_folder(
        place / "site",
        {
            "workspace.yaml": f"id: acme\nlanguages: {json.dumps(langs)}\n",
            "apis/posts.yaml": API,
            "content/posts.jsonl": "\n".join(map(json.dumps, lines)),
        },
    )
    store = open_store(place / "store")
    version = build(place / "site", store, now=1_780_000_000_000).version
    workspace = store.workspace("acme")
    manifest = workspace.manifest(version)
    columns = sum(
        len(stored_names(pq.read_schema(workspace.path(version, file.path)))) for file in manifest.files if file.rows
    )
    open_reader(workspace.snapshots / version, manifest, place / "reader", None).close()
    return columns, sum(file.bytes for file in manifest.files), size(place / "reader")


def test_each_language_adds_as_much_as_the_one_before(tmp_path: Path) -> None:
    few, some, many = (made(tmp_path / str(count), count) for count in (FEW, SOME, MANY))
    assert many[0] - some[0] == some[0] - few[0] > 0
    for before, between, after in zip(few[1:], some[1:], many[1:], strict=True):
        assert (after - between) < 1.1 * (between - before)

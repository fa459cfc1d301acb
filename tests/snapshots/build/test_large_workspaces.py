"""Workspaces with very many files, languages or fields: built whole, in bounded memory and in linear time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snapshots.build.build import build, check
from snapshots.build.cached.chunks import read_arrow
from snapshots.columns import FileKind, search_column
from snapshots.definitions.workspace import load_workspace
from snapshots.problems import Problems
from snapshots.search.index import write_search_index
from snapshots.store.store import Store, open_store
from tests.stores.data_files import stored_rows

NOW = 1_780_000_000_000
PAGES = """uid: api_Pages0000001
name: Pages
endpoint: pages
kind: list
multilingual: true
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: body, name: Body, type: richtext}
"""


def workspace(root: Path, languages: str = "en") -> Path:
    (root / "apis").mkdir(parents=True)
    (root / "content/pages").mkdir(parents=True)
    (root / "workspace.yaml").write_text(f"id: acme\nlanguages: [{languages}]\n")
    (root / "apis/pages.yaml").write_text(PAGES)
    return root


def write_page(root: Path, number: int, title: str | None = "Page", body: str = "Text") -> None:
    head = "" if title is None else f"title: {title} {number}\n"
    (root / f"content/pages/p{number:05}.md").write_text(f"---\n{head}createdAt: 2026-01-01\n---\n{body}\n")


def rows(store: Store, version: str, path: str) -> list[dict[str, object]]:
    return stored_rows(store.workspace("acme").path(version, path))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapshots.build.pieces.PIECE_FILES", 2)


@pytest.mark.usefixtures("small_pieces")
def test_a_piece_without_a_single_good_row_spoils_nothing(tmp_path: Path) -> None:
    root, store = workspace(tmp_path / "workspace"), open_store(tmp_path / "store")
    for number in range(80):
        write_page(root, number, None if number in (20, 21) else "Page")
    problems = check(root, store.cache)
    assert [(problem.file, problem.kind) for problem in problems.kept] == [
        ("content/pages/p00020.md", "required"),
        ("content/pages/p00021.md", "required"),
    ]
    result = build(root, store, now=NOW, lenient=True)
    assert (result.entries, result.problems.warnings) == (78, 2)
    write_page(root, 20)
    again = build(root, store, now=NOW, lenient=True)
    assert (again.entries, again.problems.warnings) == (79, 1)
    assert {row["id"] for row in rows(store, again.version, "en/pages/all.parquet")} == {
        f"p{number:05}" for number in range(80) if number != 21
    }


@pytest.mark.usefixtures("small_pieces")
def test_chunks_are_joined_without_being_in_memory_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapshots.build.cached.rows.SMALL_BYTES", 4_000)
    monkeypatch.setattr("snapshots.build.cached.rows.JOINED_BYTES", 10_000)
    root, store = workspace(tmp_path / "workspace"), open_store(tmp_path / "store")
    for number in range(100):
        write_page(root, number, body=f"{number} " * 200)
    result = build(root, store, now=NOW)
    chunks = [read_arrow(path) for path in store.cache.glob("build/*/*.rows")]
    sizes = [sum(map(len, chunk["_json"].to_pylist())) for chunk in chunks]
    assert sum(map(len, chunks)) == 100
    assert len(chunks) < 30, "small chunks are joined"
    assert max(sizes) < 10_000 + 4_000
    found = {row["id"]: row["body"] for row in rows(store, result.version, "en/pages/all.parquet")}
    assert found == {f"p{number:05}": f"<p>{' '.join([str(number)] * 200)}</p>\n" for number in range(100)}
    write_page(root, 0, body="changed")
    build(root, store, now=NOW + 1)
    assert len(list(store.cache.glob("build/*/*.rows"))) < 35, "what was joined is not joined again"


def test_a_workspace_may_have_a_thousand_languages(tmp_path: Path) -> None:
    root = workspace(tmp_path / "workspace", ", ".join(f"l{number}" for number in range(1_000)))
    for lang in ("l0", "l128", "l999"):
        (root / f"content/pages/one.{lang}.md").write_text(f"---\ntitle: In {lang}\ncreatedAt: 2026-01-01\n---\n")
    store = open_store(tmp_path / "store")
    result = build(root, store, now=NOW)
    files = store.workspace("acme").manifest(result.version).files
    assert [file.path for file in files if file.kind is FileKind.PUBLISHED] == [
        "l0/pages/all.parquet",
        "l128/pages/all.parquet",
        "l999/pages/all.parquet",
    ]
    [row] = rows(store, result.version, "l999/pages/all.parquet")
    assert row["title"] == "In l999"
    [row] = rows(store, result.version, "l0/pages/all.parquet")  # the main language, to which others fall back
    live = {name for name, value in row.items() if name.endswith("_from") and value is not None} - {"live_from"}
    assert live == {"l128_from", "l999_from"}


def test_more_languages_are_refused_with_their_limit(tmp_path: Path) -> None:
    root = workspace(tmp_path / "workspace", ", ".join(f"l{number}" for number in range(1_001)))
    problems = Problems()
    assert load_workspace(root, problems) is None
    [problem] = problems.kept
    assert str(problem) == "workspace.yaml:2: error: languages: 1,001 languages; at most 1,000 are allowed"


def seconds_to_index(fields: int, directory: Path) -> float:
    """The processor time for one row of so many texts, the lesser of two."""
    names = [f"f{number}" for number in range(fields)]
    data, taken = directory / f"{fields}.parquet", []
    pq.write_table(pa.table({search_column(name): ["some words"] for name in names}), data)
    for attempt in range(2):
        began = time.process_time()
        write_search_index(data, names, directory / f"{fields}-{attempt}.search.parquet")
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.slow
def test_the_time_to_index_grows_with_the_number_of_fields(tmp_path: Path) -> None:
    few, many = seconds_to_index(100, tmp_path), seconds_to_index(800, tmp_path)
    assert many / few < 20, f"eight times the fields took {many / few:.0f} times as long"
    index = pq.read_table(tmp_path / "800-0.search.parquet", columns=["field"])
    assert np.unique(index["field"].to_numpy()).tolist() == sorted(f"f{number}" for number in range(800))


def test_a_text_of_nothing_but_headings_is_refused_soon(tmp_path: Path) -> None:
    root, store = workspace(tmp_path / "workspace"), open_store(tmp_path / "store")
    write_page(root, 1, body="# a\n" * 16_000)
    write_page(root, 2, body="# a\n" * 2_000)
    write_page(root, 3, body="```\n" + "# a comment\n" * 3_000 + "```")
    began = time.process_time()
    result = build(root, store, now=NOW, lenient=True)
    assert time.process_time() - began < 8
    [problem] = result.problems.kept
    assert (problem.file, problem.message) == (
        "content/pages/p00001.md",
        "body: more than 2,000 headings: split the entry",
    )
    two = next(row for row in rows(store, result.version, "en/pages/all.parquet") if row["id"] == "p00002")
    assert str(json.loads(str(two["json"]))["body"]).endswith('<h1 id="user-content-a-1999">a</h1>\n')

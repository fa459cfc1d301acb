"""A version → its files in the cache: verified, made once, reused only where they fit, and read hardened."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from engine.cache.materialise import MaterialiseSettings
from engine.cache.places import bodies_file, cache_file, search_file
from engine.query.answer import answer_list
from engine.reader.reader import QueryTimeout, Reader, ReaderSettings, SnapshotUnusable, open_reader
from engine.reader.statement import Statement
from snapshots.columns import FileKind
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from snapshots.search.index import indexed_fields, write_search_index
from snapshots.store.manifest import DataFile, Manifest
from tests.snapshot_builder import write_snapshot

NOTES = Api("api_Notes", "Notes", "notes", ApiKind.LIST, True, (Field("title", "Title", FieldType.TEXT),))
EMPTY = Api(
    "api_Empty", "Empty", "empty", ApiKind.LIST, True, (Field("next", "Next", FieldType.REFERENCE, target="api_Empty"),)
)
WORKSPACE = Workspace("acme", "Acme", ("ja", "pt-BR"), apis=(NOTES, EMPTY))
ROWS = {
    ("notes", "ja"): [{"id": "a", "title": "Eins", "publishedAt": 2}, {"id": "b", "title": "Zwei", "publishedAt": 1}],
    ("notes", "pt-BR"): [{"id": "a", "title": "Um"}],
}
DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "shorter": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "altered": lambda path: path.write_bytes(b"X" + path.read_bytes()[1:]),
    "a directory": lambda path: (path.unlink(), path.mkdir()),
}


def snapshot(directory: Path) -> tuple[Path, Manifest, Path]:
    """A snapshot in a directory whose name would mean something in a pattern or in SQL."""
    place = directory / "it's [a] * snapshot?"
    place.mkdir()
    return place, write_snapshot(place, WORKSPACE, ROWS), directory / "cache"


def made_file(cache: Path, manifest: Manifest) -> Path:
    return cache_file(cache, manifest.workspace.id, manifest.version)


def titles(reader: Reader) -> bytes:
    return answer_list(reader, NOTES, None, b"fields=title", 0)


def open_and_ask(place: Path, manifest: Manifest, cache: Path) -> bytes:
    reader = open_reader(place, manifest, cache)
    try:
        return titles(reader)
    finally:
        reader.close()


ANSWER = b'{"contents":[{"id":"a","title":"Eins"},{"id":"b","title":"Zwei"}],"totalCount":2,"offset":0,"limit":10}'


def indexed(place: Path, manifest: Manifest) -> Manifest:
    """The manifest with a search index for each of its files."""
    indexes = []
    for file in manifest.files:
        api = manifest.workspace.api_by_uid(file.api)
        assert api is not None
        index = place / f"{file.path}.search.parquet"
        records = write_search_index(place / file.path, indexed_fields(api), index)
        data = index.read_bytes()
        path, digest = str(index.relative_to(place)), hashlib.sha256(data).hexdigest()
        indexes.append(DataFile(path, file.api, file.lang, FileKind.SEARCH, records, len(data), digest, digest))
    return replace(manifest, files=(*manifest.files, *indexes))


@pytest.mark.parametrize("with_index", [False, True])
def test_a_body_exists_where_it_is_not_empty_whether_it_has_visible_text_or_not(
    tmp_path: Path, with_index: bool
) -> None:
    pages = Api("api_Pages", "Pages", "pages", ApiKind.LIST, True, (Field("body", "Body", FieldType.RICHTEXT),))
    rows = {
        ("pages", "ja"): [{"id": "a", "body": ""}, {"id": "b", "body": "<img>"}, {"id": "c", "body": "<p>Drei</p>"}],
        ("pages", "pt-BR"): [{"id": "a", "body": "<p>Um</p>"}, {"id": "b", "body": "<p>Dois</p>"}],
    }
    manifest = write_snapshot(tmp_path, Workspace("acme", "Acme", ("ja", "pt-BR"), apis=(pages,)), rows)
    reader = open_reader(tmp_path, indexed(tmp_path, manifest) if with_index else manifest, tmp_path / "cache")
    for lang, operator, found in (("ja", "exists", 2), ("ja", "not_exists", 1), ("pt-BR", "exists", 2)):
        answer = answer_list(reader, pages, None, f"lang={lang}&filters=body[{operator}]".encode(), 0)
        assert b'"totalCount":%d,' % found in answer, (lang, operator)
    reader.close()


def test_a_version_is_made_once_and_then_needs_its_own_files_no_more(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    assert open_and_ask(place, manifest, cache) == ANSWER
    made = made_file(cache, manifest).stat().st_mtime_ns
    for file in manifest.files:
        (place / file.path).unlink()
    assert open_and_ask(place, manifest, cache) == ANSWER
    assert made_file(cache, manifest).stat().st_mtime_ns == made


def test_an_api_without_any_version_is_an_empty_list(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    reader = open_reader(place, manifest, cache)
    for query in (b"", b"lang=pt-BR&lang_fallback=true", b"filters=next[exists]&offset=5", b"q=x&orders=-createdAt"):
        assert b'"contents":[],"totalCount":0' in answer_list(reader, EMPTY, None, query, 0)
    reader.close()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_is_refused_with_the_file_named(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    place, manifest, cache = snapshot(tmp_path)
    damage(place / "pt-BR/notes.parquet")
    with pytest.raises(SnapshotUnusable, match=r"pt-BR/notes\.parquet.*Restore the file"):
        open_reader(place, manifest, cache)
    assert [path.name for path in (cache / "acme").iterdir()] == ["making.lock"]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("which", [lambda path: path, bodies_file, search_file], ids=["tables", "bodies", "search"])
def test_a_damaged_cache_is_made_anew(
    tmp_path: Path, damage: Callable[[Path], object], which: Callable[[Path], Path]
) -> None:
    place, manifest, cache = snapshot(tmp_path)
    assert open_and_ask(place, manifest, cache) == ANSWER
    damaged = which(made_file(cache, manifest))
    damage(damaged)
    if damaged.is_dir():
        with pytest.raises(SnapshotUnusable, match="cache"):
            open_reader(place, manifest, cache)
        return
    assert open_and_ask(place, manifest, cache) == ANSWER


def test_bodies_of_another_file_are_not_used(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    assert open_and_ask(place, manifest, cache) == ANSWER
    other = tmp_path / "other"
    assert open_and_ask(place, manifest, other) == ANSWER
    bodies_file(made_file(other, manifest)).replace(bodies_file(made_file(cache, manifest)))
    before = made_file(cache, manifest).stat().st_mtime_ns
    assert open_and_ask(place, manifest, cache) == ANSWER
    assert made_file(cache, manifest).stat().st_mtime_ns > before


def test_a_cache_of_another_manifest_with_the_same_version_is_made_anew(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    assert open_and_ask(place, manifest, cache) == ANSWER
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    changed = write_snapshot(elsewhere, WORKSPACE, {("notes", "ja"): [{"id": "c", "title": "Drei"}]})
    assert changed.version == manifest.version
    assert b"Drei" in open_and_ask(elsewhere, changed, cache)


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    (cache / "acme").mkdir(parents=True)
    (cache / "acme" / f".{manifest.version}.making-dead.duckdb").write_bytes(b"x")
    (cache / "acme" / ".another.making-dead.spill").mkdir()
    assert open_and_ask(place, manifest, cache) == ANSWER
    assert sorted(path.suffix for path in (cache / "acme").iterdir()) == [".bodies", ".duckdb", ".lock", ".search"]


def test_the_cache_of_pruned_versions_is_dropped_when_a_new_one_is_made(tmp_path: Path) -> None:
    cache, versions = tmp_path / "cache", ("20260101T000000000Z-aaaaaaaa", "20260102T000000000Z-bbbbbbbb")
    kept = tmp_path / "snapshots" / "20260103T000000000Z-cccccccc"
    for place in (*(tmp_path / "snapshots" / version for version in versions), kept):
        place.mkdir(parents=True)
        manifest = write_snapshot(place, WORKSPACE, ROWS, version=place.name)
        reader = open_reader(place, manifest, cache)
        assert titles(reader) == ANSWER
        if place != kept:
            reader.close()
        shutil.rmtree(tmp_path / "snapshots" / versions[0], ignore_errors=True)
    assert {path.stem for path in (cache / "acme").glob("*.duckdb")} == {versions[1], kept.name}
    assert {path.stem for path in (cache / "acme").glob("*.bodies")} == {versions[1], kept.name}
    assert titles(reader) == ANSWER
    reader.close()


def test_many_that_open_at_once_make_it_once(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    answers: list[bytes] = []
    readers: list[Reader] = []

    def work() -> None:
        readers.append(reader := open_reader(place, manifest, cache))
        answers.append(titles(reader))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [ANSWER] * 6
    for reader in readers:
        reader.close()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda table: table.take([1, 0]), "default order"),
        (lambda table: table.slice(0, 1), "3 rows in default order"),
        (lambda table: table.drop_columns(["title"]), "title"),
        (lambda table: table.drop_columns(["_json"]), "_json"),
        (lambda table: table.drop_columns(["live_from"]), "live_from"),
        (lambda table: table.set_column(3, "publishedAt", [["never", "never"]]), "never"),
    ],
    ids=["not in order", "a row less", "a column less", "no bodies", "no window", "another type"],
)
def test_files_that_are_not_as_the_format_says_are_refused(
    tmp_path: Path, change: Callable[[object], object], says: str
) -> None:
    place, manifest, cache = snapshot(tmp_path)
    file = place / "ja/notes.parquet"
    pq.write_table(change(pq.ParquetFile(file).read()), file)
    data = file.read_bytes()
    files = [
        replace(f, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()) if f.lang == "ja" else f
        for f in manifest.files
    ]
    with pytest.raises(SnapshotUnusable, match=says):
        open_reader(place, replace(manifest, files=tuple(files)), cache)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return open_reader(*snapshot(tmp_path), ReaderSettings(time_limit=0.3, making=MaterialiseSettings("200MB", 1)))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH '/tmp/other.duckdb'",
        "COPY notes TO '/tmp/notes.csv'",
        "SET threads = 8",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        "DELETE FROM notes",
    ],
)
def test_statements_reach_nothing_but_the_rows(reader: Reader, text: str) -> None:
    with pytest.raises(duckdb.Error):
        reader.run(Statement(text, {}), reader.deadline())
    reader.close()


def test_a_statement_over_the_time_limit_is_interrupted_and_the_next_one_runs(reader: Reader) -> None:
    endless = Statement("SELECT count(*) FROM range(100000) a, range(100000) b WHERE a.range * b.range = -1", {})
    started = time.monotonic()
    with pytest.raises(QueryTimeout, match=r"0\.3 seconds"):
        reader.run(endless, reader.deadline())
    assert 0.25 < time.monotonic() - started < 3
    assert titles(reader) == ANSWER
    with pytest.raises(QueryTimeout):
        reader.run(Statement("SELECT 1", {}), time.monotonic())
    reader.close()


def test_threads_interrupt_only_their_own_statement(reader: Reader) -> None:
    endless = Statement("SELECT count(*) FROM range(100000) a, range(100000) b WHERE a.range * b.range = -1", {})
    outcome: list[str] = []

    def work() -> None:
        try:
            reader.run(endless, reader.deadline())
        except QueryTimeout:
            outcome.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    answers = set()
    while thread.is_alive():
        answers.add(titles(reader))
    thread.join()
    assert (outcome, answers) == (["stopped"], {ANSWER})
    reader.close()

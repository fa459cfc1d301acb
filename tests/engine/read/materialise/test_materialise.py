"""A version → its files in the cache: verified, made once, reused only where they fit, and read hardened."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from engine.read.files.array_file import ArrayFile, ArrayFileWriter
from engine.read.files.parts import parts_of
from engine.read.files.paths import (
    CachePaths,
    bodies_file,
    cache_paths,
    rows_file,
    search_file,
    tables_file,
    vocabulary_file,
)
from engine.read.files.search_arrays import PAIR_ROWS, search_array
from engine.read.materialise import part_rows
from engine.read.materialise.materialise import drop_pruned
from engine.read.materialise.settings import MaterialiseSettings
from engine.read.reader.reader import QueryTimeout, Reader, ReaderSettings, SnapshotUnusable, open_reader
from engine.read.reader.statement import Statement
from snapshots.columns import SEGMENT_ENTRIES, FileKind, indexed_fields
from snapshots.data_files.segments import entry_number
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from snapshots.search.index import write_search_index
from snapshots.store.manifest import FORMAT, DataFile, Manifest
from tests.generated.asked import asked
from tests.stores.snapshot_builder import write_snapshot

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
    "zeros at the end": lambda path: path.write_bytes((data := path.read_bytes())[:32] + bytes(len(data) - 32)),
    "a directory": lambda path: (path.unlink(), path.mkdir()),
}


def snapshot(directory: Path) -> tuple[Path, Manifest, Path]:
    """A snapshot in a directory whose name would mean something in a pattern, in SQL, in a URL or on other systems, and
    a cache in another."""
    place = directory / "it's [a] * snapshot? \\here"
    place.mkdir()
    return (
        place,
        write_snapshot(place, WORKSPACE, ROWS, segment_entries=SEGMENT_ENTRIES),
        directory / "a 'cache' [*]?x=1&\\y",
    )


Made = tuple[Path, Manifest, Path]
"""What ``snapshot`` returns: a snapshot's directory, its manifest, and the cache."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A snapshot that has been opened: to be copied only."""
    made = snapshot(tmp_path_factory.mktemp("original"))
    assert open_and_ask(*made) == ANSWER
    return made


@pytest.fixture
def opened(original: Made, tmp_path: Path) -> Made:
    """A copy of a snapshot that has been opened, and of its cache."""
    place, manifest, cache = original
    shutil.copytree(place.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / place.name, manifest, tmp_path / cache.name


def places_of(cache: Path) -> CachePaths:
    return cache_paths(cache, WORKSPACE.id)


def only_one(cache: Path, which: Callable[[Path], Path]) -> Path:
    """A file of the one part that the snapshot has, or of its one API's tables: notes are few, and empty has none."""
    [directory] = places_of(cache).all_tables.iterdir() if which in OF_TABLES else places_of(cache).parts.iterdir()
    return which(directory)


OF_TABLES = (tables_file, rows_file, vocabulary_file)


def inodes(cache: Path) -> dict[str, int]:
    """The files of all parts and tables, by the names of part and file."""
    made = [*places_of(cache).parts.glob("*/*"), *places_of(cache).all_tables.glob("*/*")]
    return {f"{path.parent.name}/{path.name}": path.stat().st_ino for path in made}


def made_anew(cache: Path, before: dict[str, int], which: Callable[[Path], Path]) -> bool:
    """Whether all that belongs to a file was made again, and nothing else."""
    names = {f"{path.parent.name}/{path.name}" for path in only_one(cache, which).parent.iterdir()}
    after = inodes(cache)
    return {name for name in before if after[name] != before[name]} == names


def titles(reader: Reader) -> bytes:
    return asked(reader, f"{NOTES.endpoint}?fields=title", 0)


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
        index = place / f"_search/{file.path}"
        index.parent.mkdir(parents=True, exist_ok=True)
        records = write_search_index(place / file.path, indexed_fields(api), index)
        data = index.read_bytes()
        path, digest = str(index.relative_to(place)), hashlib.sha256(data).hexdigest()
        facts = (records, len(data), digest, digest)
        indexes.append(DataFile(path, file.api, file.lang, FileKind.SEARCH, *facts, segment=file.segment))
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
        answer = asked(reader, f"{pages.endpoint}?lang={lang}&filters=body[{operator}]", 0)
        assert b'"totalCount":%d,' % found in answer, (lang, operator)
    reader.close()


def test_a_version_is_made_once_and_then_needs_its_own_files_no_more(opened: Made) -> None:
    place, manifest, cache = opened
    made = inodes(cache)
    assert len(made) == 2 + 3
    for file in manifest.files:
        (place / file.path).unlink()
    assert open_and_ask(place, manifest, cache) == ANSWER
    assert inodes(cache) == made


def test_an_api_without_any_version_is_an_empty_list(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    reader = open_reader(place, manifest, cache)
    for query in ("", "lang=pt-BR&lang_fallback=true", "filters=next[exists]&offset=5", "q=x&orders=-createdAt"):
        assert b'"contents":[],"totalCount":0' in asked(reader, f"{EMPTY.endpoint}?{query}", 0)
    reader.close()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_is_refused_with_the_file_named(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    place, manifest, cache = snapshot(tmp_path)
    damage(place / "pt-BR/notes/all.parquet")
    with pytest.raises(SnapshotUnusable, match=r"pt-BR/notes/all\.parquet.*Restore the file"):
        open_reader(place, manifest, cache)
    assert [path.name for path in (cache / "acme").rglob("*") if path.is_file()] == ["making.lock"]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("which", [tables_file, rows_file, bodies_file, search_file])
def test_a_damaged_cache_is_made_anew(
    opened: Made, damage: Callable[[Path], object], which: Callable[[Path], Path]
) -> None:
    place, manifest, cache = opened
    made = inodes(cache)
    damage(only_one(cache, which))
    assert open_and_ask(place, manifest, cache) == ANSWER
    assert made_anew(cache, made, which)


@pytest.mark.parametrize("which", [rows_file, bodies_file, search_file])
def test_a_file_that_lacks_what_the_definitions_need_is_made_anew(
    tmp_path: Path, which: Callable[[Path], Path]
) -> None:
    place, manifest, cache = snapshot(tmp_path)
    manifest = indexed(place, manifest)
    assert open_and_ask(place, manifest, cache) == ANSWER
    made, file = inodes(cache), only_one(cache, which)
    file.unlink()
    with ArrayFileWriter(file, bytes.fromhex(file.parent.name)):
        pass
    assert open_and_ask(place, manifest, cache) == ANSWER
    assert made_anew(cache, made, which)


@pytest.mark.parametrize("which", [tables_file, rows_file, bodies_file, search_file])
def test_files_of_another_part_are_not_used(opened: Made, tmp_path: Path, which: Callable[[Path], Path]) -> None:
    place, manifest, cache = opened
    (tmp_path / "other").mkdir()
    changed = {("notes", "ja"): [{"id": "a", "title": "Vier"}, {"id": "b", "title": "Acht"}]} | {
        key: rows for key, rows in ROWS.items() if key != ("notes", "ja")
    }
    other = write_snapshot(tmp_path / "other", WORKSPACE, changed, segment_entries=SEGMENT_ENTRIES)
    assert b"Vier" in open_and_ask(tmp_path / "other", other, tmp_path / "others")
    only_one(tmp_path / "others", which).replace(only_one(cache, which))
    assert open_and_ask(place, manifest, cache) == ANSWER


@pytest.mark.slow
def test_a_flipped_bit_in_a_body_is_not_served_and_the_part_is_made_anew(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    reader = open_reader(place, manifest, cache)
    whole = [*reader.rows(NOTES).bodies(range(reader.rows(NOTES).count))]
    reader.close()
    for number, body in enumerate(whole):
        file = only_one(cache, bodies_file)
        data = bytearray(file.read_bytes())
        data[data.index(body) + len(body) // 2] ^= 1
        file.write_bytes(data)
        reader = open_reader(place, manifest, cache)
        assert not reader.is_damaged
        for row, expected in enumerate(whole):
            if row != number:
                assert reader.rows(NOTES).bodies([row]) == [expected]
        with pytest.raises(SnapshotUnusable, match="damaged"):
            reader.rows(NOTES).bodies([number])
        assert reader.is_damaged
        again = open_reader(place, manifest, cache)
        assert again.rows(NOTES).bodies([number]) == [body]
        with pytest.raises(SnapshotUnusable, match="damaged"):  # what another process made is not thrown away
            reader.rows(NOTES).bodies([number])
        made = inodes(cache)
        assert titles(again) == ANSWER
        reader.close()
        again.close()
        assert open_and_ask(place, manifest, cache) == ANSWER
        assert inodes(cache) == made


@pytest.mark.slow
def test_a_flipped_bit_in_a_table_is_not_served_and_the_part_is_made_anew(tmp_path: Path) -> None:
    place, _, cache = snapshot(tmp_path)
    rows = [{"id": f"note-{n}", "title": f"{n * 7919 % 3000:04}", "createdAt": n * n} for n in range(3000)]
    manifest = write_snapshot(place, WORKSPACE, {("notes", "ja"): rows}, segment_entries=SEGMENT_ENTRIES)

    def ask(reader: Reader) -> bytes:
        return asked(reader, f"{NOTES.endpoint}?orders=title,-createdAt&filters=title[not_equals]x", 0)

    reader = open_reader(place, manifest, cache)
    answer = ask(reader)
    reader.close()
    data = only_one(cache, tables_file).read_bytes()
    failed = 0
    for at in range(4096 * 3 + 100, len(data), 90_001):
        only_one(cache, tables_file).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        reader = open_reader(place, manifest, cache)  # made anew where opening it reads the block
        try:
            assert ask(reader) == answer
        except SnapshotUnusable:
            failed += 1
            assert reader.is_damaged
            again = open_reader(place, manifest, cache)
            assert ask(again) == answer
            again.close()
        reader.close()
    assert failed


@pytest.mark.parametrize("named", [10**9, -(10**9)], ids=["rows", "bits"])
def test_a_vocabulary_that_names_what_no_part_has_is_made_anew(tmp_path: Path, named: int) -> None:
    place, _, cache = snapshot(tmp_path)
    rows = [{"id": f"note-{n}", "title": f"word{n % 7} all"} for n in range(30)]
    manifest = indexed(place, write_snapshot(place, WORKSPACE, {("notes", "ja"): rows}, segment_entries=4))

    def ask(reader: Reader) -> bytes:
        return asked(reader, f"{NOTES.endpoint}?q=word3&fields=id", 0)

    reader = open_reader(place, manifest, cache)
    answer = ask(reader)
    assert answer.count(b"note-") == 4
    reader.close()
    file = only_one(cache, vocabulary_file)
    opened = ArrayFile(file, bytes.fromhex(file.parent.name))
    _, first, count = opened.stored[search_array("ja", "title", PAIR_ROWS)]
    opened.close()
    data = file.read_bytes()
    file.write_bytes(data[:first] + named.to_bytes(4, "little", signed=True) * count + data[first + 4 * count :])
    reader = open_reader(place, manifest, cache)
    with pytest.raises(SnapshotUnusable, match="damaged"):
        ask(reader)
    assert reader.is_damaged
    again = open_reader(place, manifest, cache)
    assert ask(again) == answer
    again.close()
    reader.close()


def versions_of(
    tmp_path: Path, *changes: dict[tuple[str, str], list[dict[str, object]]], entries: int = SEGMENT_ENTRIES
) -> list[tuple[Path, Manifest]]:
    """Versions of a store, each with other rows, in segments of so many entries at most."""
    made = []
    for number, rows in enumerate(changes, 1):
        place = tmp_path / "snapshots" / f"2026010{number}T000000000Z-{number:08}"
        place.mkdir(parents=True)
        made.append((place, write_snapshot(place, WORKSPACE, rows, version=place.name, segment_entries=entries)))
    return made


def test_versions_share_what_they_have_in_common(tmp_path: Path) -> None:
    cache, changed = tmp_path / "cache", {**ROWS, ("notes", "pt-BR"): [{"id": "a", "title": "Dois"}]}
    (old_place, old), (new_place, new) = versions_of(tmp_path, ROWS, changed, entries=1)
    (of_b,) = (file for file in new.files_of(NOTES, "ja") if file.segment == f"{entry_number('b') >> 63:b}")
    assert of_b in old.files_of(NOTES, "ja")
    assert open_and_ask(old_place, old, cache) == ANSWER
    before = inodes(cache)
    (new_place / of_b.path).unlink()  # its part is there, and its rows are in the older tables
    reader = open_reader(new_place, new, cache)
    assert b"Dois" in asked(reader, f"{NOTES.endpoint}?lang=pt-BR", 0)
    assert titles(reader) == ANSWER
    reader.close()
    after = inodes(cache)
    assert len(before) == 2 * 2 + 3
    assert before.items() < after.items()
    assert len(after) == 3 * 2 + 2 * 3
    for file in old.files:
        (old_place / file.path).unlink()
    assert open_and_ask(old_place, old, cache) == ANSWER
    assert inodes(cache) == after


def test_entries_are_found_where_their_segment_has_another_name_than_it_had_with_the_same_rows(tmp_path: Path) -> None:
    ids = {bit: [f"e{n}" for n in range(40) if entry_number(f"e{n}") >> 63 == bit] for bit in (0, 1)}
    few = [{"id": one, "title": one} for one in ids[1][:4]]
    more = [*few, {"id": ids[0][0], "title": "more"}]
    (old_place, old), (new_place, new) = versions_of(
        tmp_path, {("notes", "ja"): few}, {("notes", "ja"): more}, entries=4
    )
    (whole,), (_, half) = (version.files_of(NOTES, "ja") for version in (old, new))
    assert (whole.segment, half.segment, whole.sha256) == ("all", "1", half.sha256)
    for place, manifest, rows in ((old_place, old, few), (new_place, new, more), (old_place, old, few)):
        reader = open_reader(place, manifest, tmp_path / "cache")
        for row in rows:
            assert b'"title":"%s"' % row["title"].encode() in asked(reader, f"notes/{row['id']}", 0)
        reader.close()


def test_a_version_whose_parts_are_all_there_already_keeps_them(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (first_place, first), (same_place, same), (other_place, other) = versions_of(
        tmp_path, ROWS, ROWS, {("notes", "ja"): [{"id": "c", "title": "Drei"}]}
    )
    assert open_and_ask(first_place, first, cache) == ANSWER
    made = inodes(cache)
    assert open_and_ask(same_place, same, cache) == ANSWER
    shutil.rmtree(first_place)
    assert b"Drei" in open_and_ask(other_place, other, cache)
    assert made.items() < inodes(cache).items()


def test_a_part_has_all_languages_of_a_segment() -> None:
    languages = tuple(f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(40))
    workspace = Workspace("acme", "Acme", languages, apis=(NOTES,))

    def made(rows: dict[tuple[str, str], int]) -> dict[str, list[tuple[str, str]]]:
        files = [
            DataFile(f"{at}", NOTES.uid, at[0], FileKind.PUBLISHED, count, 1, f"{at} {count}", "", segment=at[1])
            for at, count in rows.items()
        ]
        found = parts_of(Manifest(FORMAT, "v", "", workspace, tuple(files), 0, "", ""))[NOTES.uid].parts
        return {part.name: [(one.lang, part.segment) for one in part.files] for part in found}

    rows = {(lang, segment): 10 for lang in reversed(languages) for segment in ("1", "00", "01")}
    before = made(rows)
    assert list(before.values()) == [[(lang, segment) for lang in languages] for segment in ("00", "01", "1")]
    assert len(before.keys() & made(rows | {("ab", "01"): 11}).keys()) == 2
    assert len(before.keys() & made(rows | {("ab", "01"): 0}).keys()) == 2


def test_a_cache_of_another_manifest_with_the_same_version_is_made_anew(opened: Made, tmp_path: Path) -> None:
    _, manifest, cache = opened
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    changed = write_snapshot(elsewhere, WORKSPACE, {("notes", "ja"): [{"id": "c", "title": "Drei"}]})
    assert changed.version == manifest.version
    assert b"Drei" in open_and_ask(elsewhere, changed, cache)


def test_what_a_killed_run_and_older_layouts_left_is_removed(tmp_path: Path) -> None:
    place, manifest, cache = snapshot(tmp_path)
    layout = places_of(cache).layout
    for directory in (
        layout / ".making-dead" / "x",
        layout / "parts" / ("0" * 32),
        layout / "tables" / ("0" * 32),
        cache / "acme" / "layout-1" / "parts",
    ):
        directory.mkdir(parents=True)
        (directory / "bodies").write_bytes(b"x")
    for suffix in ("duckdb", "bodies", "search"):  # the names that layouts before the seventh had
        (cache / "acme" / f"20260101T000000000Z-00000000.{suffix}").write_bytes(b"x")
        (cache / "acme" / f".20260101T000000000Z-00000000.making-dead.{suffix}").write_bytes(b"x")
    (cache / "acme" / "0123456789abcdef").mkdir()  # a build cache, in a workspace of the ID "build"
    assert open_and_ask(place, manifest, cache) == ANSWER
    assert {path.name for path in (cache / "acme").iterdir()} == {"making.lock", layout.name, "0123456789abcdef"}
    assert {path.name for path in layout.iterdir()} == {"parts", "tables", "versions"}
    assert len(inodes(cache)) == 2 + 3


def test_the_parts_of_pruned_versions_are_dropped(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    changes = ({**ROWS, ("notes", "pt-BR"): [{"id": "a", "title": title}]} for title in ("Um", "Dois", "Três"))
    one, two, three = versions_of(tmp_path, *changes, entries=1)
    readers = [open_reader(*version, cache) for version in (one, two)]
    two_versions = 3 * 2 + 2 * 3
    assert len(inodes(cache)) == two_versions
    shutil.rmtree(one[0])
    readers.append(open_reader(*three, cache))
    assert len(inodes(cache)) == two_versions
    assert {path.name for path in places_of(cache).versions.iterdir()} == {two[1].version, three[1].version}
    shutil.rmtree(two[0])
    drop_pruned(places_of(cache), tmp_path / "snapshots")
    assert len(inodes(cache)) == 2 * 2 + 3
    for reader, title in zip(readers, ("Um", "Dois", "Três"), strict=True):  # who has a part open goes on reading it
        assert titles(reader) == ANSWER
        assert title.encode() in asked(reader, f"{NOTES.endpoint}?lang=pt-BR", 0)
        reader.close()


OPEN = """
import sys
from pathlib import Path
import engine.read.materialise.making
from engine.read.reader.reader import open_reader
from snapshots.store.manifest import decode_manifest
place, cache = map(Path, sys.argv[1:])
manifest = decode_manifest((place / "manifest.json").read_bytes(), "")
print("begun", flush=True)
open_reader(place, manifest, cache).close()
"""


@pytest.mark.slow
def test_whenever_who_makes_it_is_killed_the_next_one_makes_it_whole(tmp_path: Path) -> None:
    place, _, cache = snapshot(tmp_path)
    rows = [{"id": f"note-{n}", "title": f"{n}" * 200} for n in range(3000)]
    manifest = write_snapshot(
        place, WORKSPACE, {("notes", "ja"): rows, ("notes", "pt-BR"): rows[:10]}, segment_entries=SEGMENT_ENTRIES
    )
    undisturbed = tmp_path / "undisturbed"
    open_reader(place, manifest, undisturbed).close()
    for milliseconds in range(0, 200, 40):
        command = [sys.executable, "-c", OPEN, str(place), str(cache)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            time.sleep(milliseconds / 1000)
            process.kill()
        if milliseconds % 80 == 0:
            reader = open_reader(place, manifest, cache)
            assert b'"totalCount":3000,' in titles(reader)
            assert [len(body) for body in reader.rows(NOTES).bodies(range(3010))]
            reader.close()
            assert inodes(cache).keys() == inodes(undisturbed).keys()
            names = [{path.name for path in places_of(one).layout.iterdir()} for one in (cache, undisturbed)]
            assert names[0] == names[1]
            shutil.rmtree(places_of(cache).parts)
            shutil.rmtree(places_of(cache).all_tables)


def test_ids_that_cannot_be_told_apart_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_rows, "number_bytes", lambda entry_id: bytes(7) + str(len(entry_id)).encode())
    with pytest.raises(SnapshotUnusable, match="IDs a and b cannot be told apart"):
        open_reader(*snapshot(tmp_path))


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


def without_json(column: pa.ChunkedArray) -> pa.StructArray:
    [chunk] = column.chunks
    return pa.StructArray.from_arrays(chunk.flatten()[:-1], fields=list(chunk.type)[:-1])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda table: table.take([1, 0]), "default order"),
        (lambda table: table.slice(0, 1), "3 rows in default order"),
        (lambda table: table.drop_columns(["title"]), "title"),
        (lambda table: table.set_column(len(table.column_names) - 1, "_", without_json(table["_"])), "_json"),
        (lambda table: table.drop_columns(["live_from"]), "live_from"),
        (lambda table: table.set_column(3, "publishedAt", [["never", "never"]]), "never"),
    ],
    ids=["not in order", "a row less", "a column less", "no bodies", "no window", "another type"],
)
def test_files_that_are_not_as_the_format_says_are_refused(
    tmp_path: Path, change: Callable[[object], object], says: str
) -> None:
    place, manifest, cache = snapshot(tmp_path)
    file = place / "ja/notes/all.parquet"
    pq.write_table(change(pq.ParquetFile(file).read()), file)
    data = file.read_bytes()
    files = [
        replace(f, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()) if f.lang == "ja" else f
        for f in manifest.files
    ]
    with pytest.raises(SnapshotUnusable, match=says):
        open_reader(place, replace(manifest, files=tuple(files)), cache)


@pytest.fixture
def reader(opened: Made) -> Reader:
    return open_reader(*opened, ReaderSettings(time_limit=0.3, making=MaterialiseSettings("200MB", 1)))


def test_statements_reach_nothing_but_the_rows(reader: Reader) -> None:
    table = reader.tables(NOTES, ["ja"])["ja"].name
    for text in (
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH '/tmp/other.duckdb'",
        f"COPY {table} TO '/tmp/notes.csv'",
        "SET threads = 8",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        f"DELETE FROM {table}",
        f"DROP TABLE {table}",
    ):
        assert reader.run(Statement(f"SELECT count(*) FROM {table}", {}), reader.deadline()) == [(2,)], text
        try:
            reader.run(Statement(text, {}), reader.deadline())
        except duckdb.Error:
            continue
        pytest.fail(f"{text} was let through")
    reader.close()


def test_a_statement_over_the_time_limit_is_interrupted_and_the_next_one_runs(reader: Reader) -> None:
    endless = Statement("SELECT count(*) FROM range(100000) a, range(100000) b WHERE a.range * b.range = -1", {})
    started = time.monotonic()
    with pytest.raises(QueryTimeout, match=r"0\.3 seconds"):
        reader.run(endless, reader.deadline())
    assert 0.25 < time.monotonic() - started < 30
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

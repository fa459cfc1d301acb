"""``changes``: two points → every entry whose visible state differs, compared with the rule written down once more."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.timeline.changes import ChangeKind, Changes, EntryChange, changes, tags
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point, parse_point
from snapshots.build.build import build
from snapshots.columns import ALL, JSON_COLUMN
from snapshots.data_files.stored_columns import lifted, stored_as
from snapshots.model import ALWAYS, META_DATES, NEVER, Api, ApiKind, Field, FieldType, Workspace
from snapshots.store.current import CURRENT
from snapshots.store.durable import StoreError
from snapshots.store.manifest import MANIFEST, encode_manifest
from snapshots.store.store import MissingVersion, Store, WorkspaceStore, new_version, open_store
from tests.programs.command_line import entry, write_workspace
from tests.stores.snapshot_builder import Rows, write_snapshot

TITLE = (Field("title", "Title", FieldType.TEXT),)
BLOG = Api("api_blog", "Blog", "blog", ApiKind.LIST, True, TITLE)
NEWS = Api("api_news", "News", "news", ApiKind.LIST, False, TITLE)
ACME = Workspace(id="acme", name="Acme", languages=("ja", "en"), apis=(BLOG, NEWS))
T0, T1 = 1_000, 2_000


@pytest.fixture
def place(tmp_path: Path) -> WorkspaceStore:
    return open_store(tmp_path / "store").workspace("acme")


def put(place: WorkspaceStore, number: int, rows: Rows, workspace: Workspace = ACME, entries: int = 8192) -> str:
    """Write a version with these rows, in segments of so many entries at most, and return its name."""
    version = new_version(1_800_000_000_000 + number, f"{number:08x}")
    directory = place.snapshots / version
    directory.mkdir(parents=True)
    write_snapshot(directory, workspace, rows, version=version, segment_entries=entries)
    return version


def told(found: Changes) -> list[tuple[str, str, str, str]]:
    return [(one.api, one.id, one.lang, one.change.value) for one in found.entries()]


def between(place: WorkspaceStore, old: Rows, new: Rows, **given: Any) -> Changes:
    before, after = put(place, 1, old), put(place, 2, new)
    return changes(place, Point(before, T0), Point(after, T1), **given)


def test_every_kind_of_change_by_activation(place: WorkspaceStore) -> None:
    old = {("blog", "ja"): [{"id": "stays", "title": "a"}, {"id": "goes"}, {"id": "edited", "title": "a"}]}
    new = {("blog", "ja"): [{"id": "stays", "title": "a"}, {"id": "comes"}, {"id": "edited", "title": "b"}]}
    found = between(place, old, new)
    assert sorted(told(found)) == [
        ("blog", "comes", "ja", "published"),
        ("blog", "edited", "ja", "updated"),
        ("blog", "goes", "ja", "unpublished"),
    ]
    assert found.total == 3
    assert found.next_change is None


@pytest.mark.parametrize("date", ["createdAt", "updatedAt", "publishedAt"])
def test_a_date_that_clients_see_is_an_update(place: WorkspaceStore, date: str) -> None:
    found = between(place, {("blog", "ja"): [{"id": "a", date: 5}]}, {("blog", "ja"): [{"id": "a", date: 6}]})
    assert told(found) == [("blog", "a", "ja", "updated")]


def test_a_window_that_nobody_sees_is_no_update(place: WorkspaceStore) -> None:
    new = {("blog", "ja"): [{"id": "a", "live_from": 5, "live_until": T1 + 5}]}
    found = between(place, {("blog", "ja"): [{"id": "a"}]}, new)
    assert told(found) == []
    assert found.next_change == T1 + 5


def test_a_flip_is_told_as_an_activation_is(place: WorkspaceStore) -> None:
    version = put(
        place,
        1,
        {
            ("blog", "ja"): [
                {"id": "starts", "live_from": T0 + 1},
                {"id": "ends", "live_until": T1},
                {"id": "blinks", "live_from": T0 + 1, "live_until": T1},
                {"id": "later", "live_from": T1 + 1},
                {"id": "never", "live_from": T1 + 9, "live_until": T1 + 9},
                {"id": "always"},
            ],
            ("blog", "en"): [{"id": "always", "live_from": T1 + 7}],
        },
    )
    found = changes(place, Point(version, T0), Point(version, T1))
    assert sorted(told(found)) == [("blog", "ends", "ja", "unpublished"), ("blog", "starts", "ja", "published")]
    assert found.next_change == T1 + 1
    assert changes(place, Point(version, T0), Point(version, T1), languages=["en"]).next_change == T1 + 7


def test_backwards_is_the_reverse(place: WorkspaceStore) -> None:
    old, new = {("blog", "ja"): [{"id": "a"}]}, {("blog", "ja"): [{"id": "b"}], ("news", "ja"): [{"id": "c"}]}
    before, after = Point(put(place, 1, old), T0), Point(put(place, 2, new), T0)
    reverse = {"published": "unpublished", "unpublished": "published", "updated": "updated"}
    there, back = told(changes(place, before, after)), told(changes(place, after, before))
    assert {(*one[:3], reverse[one[3]]) for one in there} == set(back)
    assert len(back) == 3


def test_a_scope_limits_both_sides(place: WorkspaceStore) -> None:
    old, new = {("blog", "ja"): [{"id": "a"}]}, {("news", "ja"): [{"id": "b", "live_until": T1 + 1}]}
    before, after = Point(put(place, 1, old), T0), Point(put(place, 2, new), T1)
    blog = changes(place, before, after, scope=["api_blog"])
    assert told(blog) == [("blog", "a", "ja", "unpublished")]
    assert blog.next_change is None
    assert told(changes(place, before, after, scope=["api_news"])) == [("news", "b", "ja", "published")]
    assert told(changes(place, before, after, scope=[])) == []


def test_an_api_that_moved_is_gone_here_and_new_there(place: WorkspaceStore) -> None:
    rows = [{"id": "a", "title": "t"}]
    moved = msgspec.structs.replace(ACME, apis=(msgspec.structs.replace(BLOG, endpoint="posts"), NEWS))
    before, after = put(place, 1, {("blog", "ja"): rows}), put(place, 2, {("posts", "ja"): rows}, moved)
    found = changes(place, Point(before, T0), Point(after, T0), scope=["api_blog"])
    assert told(found) == [("posts", "a", "ja", "published"), ("blog", "a", "ja", "unpublished")]
    assert [one.change for one in found.schema] == ["endpoint_changed"]
    assert not changes(place, Point(before, T0), Point(after, T0), scope=["api_news"]).schema


def test_another_api_at_the_same_endpoint_is_out_of_scope(place: WorkspaceStore) -> None:
    rows = [{"id": "a", "title": "t"}]
    other = msgspec.structs.replace(ACME, apis=(msgspec.structs.replace(BLOG, uid="api_other"), NEWS))
    before, after = put(place, 1, {("blog", "ja"): rows}), put(place, 2, {("blog", "ja"): rows}, other)
    assert told(changes(place, Point(before, T0), Point(after, T0))) == []
    limited = changes(place, Point(before, T0), Point(after, T0), scope=["api_blog"])
    assert told(limited) == [("blog", "a", "ja", "unpublished")]


def test_a_language_that_is_gone_takes_its_versions_with_it(place: WorkspaceStore) -> None:
    rows = {("blog", "ja"): [{"id": "a"}], ("blog", "en"): [{"id": "a"}]}
    less = msgspec.structs.replace(ACME, languages=("ja",))
    before, after = put(place, 1, rows), put(place, 2, {("blog", "ja"): [{"id": "a"}]}, less)
    found = changes(place, Point(before, T0), Point(after, T0))
    assert told(found) == [("blog", "a", "en", "unpublished")]
    assert [one.change for one in found.schema] == ["language_removed"]


def test_a_slice_is_a_part_of_the_whole(place: WorkspaceStore) -> None:
    new = {(api, "ja"): [{"id": f"e{at}"} for at in range(7)] for api in ("blog", "news")}
    found = between(place, {}, new)
    whole = list(found.entries())
    assert len(whole) == found.total == 14
    for start in range(16):
        for stop in range(start, 17):
            assert list(found.entries(start, stop)) == whole[start:stop]


def test_tags_are_those_of_answers() -> None:
    some = [EntryChange("blog", one, lang, ChangeKind.UPDATED) for one in "ab" for lang in ("ja", "en")]
    assert tags("acme", some) == ("acme:blog", "acme:blog:a", "acme:blog:b")
    assert tags("acme", []) == ()


def test_a_version_that_is_not_there(place: WorkspaceStore) -> None:
    version = put(place, 1, {})
    gone = new_version(5, "0" * 8)
    for pair in ((version, gone), (gone, version)):
        with pytest.raises(MissingVersion):
            changes(place, *(Point(one, T0) for one in pair))


def test_a_damaged_file_is_an_error(place: WorkspaceStore) -> None:
    before, after = put(place, 1, {("blog", "ja"): [{"id": "a"}]}), put(place, 2, {("blog", "ja"): [{"id": "b"}]})
    (place.snapshots / after / "ja/blog/all.parquet").write_bytes(b"no")
    with pytest.raises(StoreError, match=r"blog/all\.parquet cannot be read"):
        changes(place, Point(before, T0), Point(after, T0))


def test_compared_files_are_not_read_again(place: WorkspaceStore) -> None:
    before, after = put(place, 1, {("blog", "ja"): [{"id": "a"}]}), put(place, 2, {("blog", "ja"): [{"id": "b"}]})
    kept = ComparedFiles()
    first = told(changes(place, Point(before, T0), Point(after, T0), kept=kept))
    for version in (before, after):
        (place.snapshots / version / "ja/blog/all.parquet").unlink()
    assert told(changes(place, Point(before, T0), Point(after, T0), kept=kept)) == first
    with pytest.raises(StoreError):
        changes(place, Point(before, T0), Point(after, T0), kept=ComparedFiles(10))


def joined(paths: list[Path]) -> pa.Table:
    """The rows of some data files, as one file had them before there were segments, without digests."""
    names = ("id", *META_DATES, "live_from", "live_until", JSON_COLUMN)
    tables = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            tables.append(lifted(file.read(stored_as(names, file.schema_arrow)), names))
    return pa.concat_tables(tables).sort_by([("publishedAt", "descending"), ("id", "ascending")])


def without_digests(place: WorkspaceStore, version: str) -> None:
    """Make a version what programs wrote before rows had digests."""
    manifest = place.manifest(version)
    files = []
    for api in manifest.workspace.apis:
        for lang in manifest.workspace.languages_of(api):
            of_lang = manifest.files_of(api, lang)
            if of_lang:
                path = place.path(version, f"{lang}/{api.endpoint}.parquet")
                pq.write_table(joined([place.path(version, one.path) for one in of_lang]), path)
                files.append(
                    msgspec.structs.replace(
                        of_lang[0],
                        path=f"{lang}/{api.endpoint}.parquet",
                        rows=sum(one.rows for one in of_lang),
                        content=f"{version} {lang} {api.uid}",
                        segment=ALL,
                    )
                )
    older = msgspec.structs.replace(manifest, format=3, files=tuple(files))
    place.path(version, MANIFEST).write_bytes(encode_manifest(older))
    current = place.directory / CURRENT
    if current.exists():  # which named no manifests then
        known = json.loads(current.read_bytes())
        current.write_text(json.dumps({name: known[name] for name in known.keys() - {"manifests", "checksum"}}))


def random_rows(source: random.Random) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    bounds = (ALWAYS, T0 - 1, T0, T0 + 1, T1, T1 + 1, T1 + 9, NEVER)
    return {
        where: [
            {
                "id": f"e{number}",
                "title": source.choice("abc"),
                "publishedAt": source.choice((5, 5, 6)),
                "live_from": source.choice((ALWAYS, source.choice(bounds))),
                "live_until": source.choice((NEVER, source.choice(bounds))),
            }
            for number in source.sample(range(9), source.randrange(9))
        ]
        for where in (("blog", "ja"), ("blog", "en"), ("news", "ja"))
        if source.random() < 0.8
    }


def visible(rows: Rows, now: int) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    return {
        (api, row["id"], lang): (row["title"], row["publishedAt"])
        for (api, lang), many in rows.items()
        for row in many
        if row["live_from"] <= now < row["live_until"]
    }


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 100))])
def test_it_is_the_difference_of_what_is_visible(place: WorkspaceStore, seed: int) -> None:
    source = random.Random(seed)
    contents = [random_rows(source) for _ in range(3)]
    sizes = [source.choice((1, 2, 3, 8192)) for _ in contents]
    versions = [
        put(place, number, content, entries=size)
        for number, (content, size) in enumerate(zip(contents, sizes, strict=True))
    ]
    if seed % 2:
        without_digests(place, versions[0])
    kept = ComparedFiles()
    for _ in range(12):
        points = [(source.randrange(3), source.choice((T0 - 2, T0, T0 + 1, T1, T1 + 2, T1 + 20))) for _ in range(2)]
        before, after = (visible(contents[number], now) for number, now in points)
        expected = {(*name, "published") for name in after.keys() - before.keys()}
        expected |= {(*name, "unpublished") for name in before.keys() - after.keys()}
        expected |= {(*name, "updated") for name in before.keys() & after.keys() if before[name] != after[name]}
        found = changes(place, *(Point(versions[number], now) for number, now in points), kept=kept)
        assert len(told(found)) == len(expected)
        assert set(told(found)) == expected
        number, now = points[1]
        flips = {row[end] for many in contents[number].values() for row in many for end in ("live_from", "live_until")}
        then = [at for at in sorted(flips) if now < at < NEVER and visible(contents[number], at) != after]
        # At the next change something flips; of two entries that change places nothing is missed.
        assert found.next_change == (then[0] if then else None)


def test_versions_as_they_are_built(tmp_path: Path) -> None:
    root, store = write_workspace(tmp_path / "site"), open_store(tmp_path / "built")
    first = built(root, store, 1)
    (root / "content/blog/one.md").write_text(entry("Other"), encoding="utf-8")
    # Neither a draft key nor a status is anything that clients see.
    (root / "content/blog/one.de.md").write_text(entry("Eins", "draftKey: mine\nstatus: published\n"), encoding="utf-8")
    second = built(root, store, 2)
    place = store.workspace("site")
    found = told(changes(place, Point(first, T1), Point(second, T1)))
    assert found == [("blog", "one", "en", "updated")]
    without_digests(place, first)
    assert told(changes(place, Point(first, T1), Point(second, T1))) == found


def built(root: Path, store: Store, number: int) -> str:
    return build(root, store, now=1_780_000_000_000 + number, allow_breaking=True).version


@pytest.mark.parametrize("text", ["", "x@y", "20261101T090000000Z-1a2b3c4d", "20261101T090000000Z-1a2b3c4d@now"])
def test_a_point_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_point(text)


def test_a_point_as_text_and_back() -> None:
    point = Point("20261101T090000000Z-1a2b3c4d", 1_800_000_000_123)
    assert parse_point(str(point)) == point
    assert str(point).endswith("Z-1a2b3c4d@2027-01-15T08:00:00.123Z")


def test_many_row_groups(place: WorkspaceStore) -> None:
    before = put(place, 1, {("blog", "ja"): [{"id": f"e{number:05}"} for number in range(1500)]})
    after = put(place, 2, {("blog", "ja"): [{"id": f"e{number:05}"} for number in range(1500) if number % 300]})
    for version in (before, after):
        path = place.path(version, "ja/blog/all.parquet")
        table: pa.Table = pq.read_table(path, partitioning=None)
        pq.write_table(table, path, row_group_size=200)
    found = told(changes(place, Point(before, T0), Point(after, T0)))
    assert found == [("blog", f"e{number:05}", "ja", "unpublished") for number in range(0, 1500, 300)]

"""Paths and entries that anybody can make up: how many are told apart, and what they cost (decision 65)."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from engine.views.collecting.spool import VIEWS, SpoolWriter, View
from engine.views.collecting.targets import OTHERS, Kind, jst_day
from engine.views.counting import count_files, count_rows
from engine.views.counting.count_files import COUNTS, TODAY, CountState
from engine.views.counting.counts import CountTable
from engine.views.gathering.analysts_file import FILE
from engine.views.gathering.repair import ViewFiles, complaints, rebuild_counts, rebuild_file
from engine.views.gathering.writer import ViewWriter
from snapshots.store.store import WorkspaceStore
from tests.programs.copied_process import ROOT
from tests.sites.served_site import Site, eventually, serving
from tests.sites.viewed_site import DOMAINS, post

NOW = 1_763_700_000_000
DAY = 86_400_000
LONG = "x" * 990


def site_for(directory: Path, most: int) -> Site:
    site = Site(directory)
    with (site.source / "workspace.yaml").open("a") as file:
        file.write(f"{DOMAINS}views: {{max_keys: {most}}}\n")
    site.publish("one")
    return site


class Pages:
    """Views of numbered paths, on their way into the sinks of a workspace."""

    def __init__(self, views: Path) -> None:
        self.views = views
        self.writer = ViewWriter(views)
        self.place = ViewFiles.of(WorkspaceStore(views.parent.name, views.parent))

    def view(self, *numbers: int, now: int = NOW, kind: Kind = Kind.PATH) -> None:
        spool = SpoolWriter(self.views, now)
        spool.append(*(View(now, kind, f"/{n}" if kind is Kind.PATH else f"e{n}", "acme.example") for n in numbers))
        spool.close()

    def round(self, now: int = NOW) -> None:
        assert self.writer.round(now, 0.0, wait=5, flush=True) is not None

    def counted(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for row in count_files.all_rows(self.views, count_files.read_state(self.views)).to_pylist():
            found[row["key"]] += row["views"]
        with duckdb.connect(self.views / FILE, read_only=True) as connection:
            filed = dict(connection.execute("SELECT key, sum(views) FROM daily_counts GROUP BY key").fetchall())
        assert filed == found
        assert complaints(self.place, NOW) == []
        return dict(found)


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    return Pages(site_for(tmp_path, 3).place.directory / VIEWS)


@pytest.mark.slow
def test_no_more_keys_than_allowed_and_no_view_lost(pages: Pages) -> None:
    pages.view(1, 2, 1)
    pages.round()
    pages.view(1, 3, 4, 5, 4)
    pages.round()
    expected = {"/1": 3, "/2": 1, "/3": 1, OTHERS: 3}
    assert pages.counted() == expected
    pages.view(6, now=NOW + DAY)
    pages.view(1, 7, now=NOW + DAY, kind=Kind.ENTRY)
    pages.view(2, now=NOW + DAY)
    pages.round(NOW + DAY)
    pages.round(NOW + 2 * DAY)
    expected = {"/1": 3, "/2": 2, "/3": 1, OTHERS: 6}
    assert pages.counted() == expected
    rebuild_file(pages.place, NOW + 2 * DAY)
    assert pages.counted() == expected
    rebuild_counts(pages.place, NOW + 2 * DAY)
    assert pages.counted() == expected


def test_the_first_views_of_all_fill_the_room_in_their_order(pages: Pages) -> None:
    pages.view(9, 8, 7, 6, 9, 6)
    pages.round()
    assert pages.counted() == {"/9": 2, "/8": 1, "/7": 1, OTHERS: 2}


def test_a_killed_writer_decides_as_it_did(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.view(1, 2, 3, 4, 5)
    with monkeypatch.context() as patch:
        patch.setattr(count_files, "add", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pages.round()
    pages.view(5, 4, now=NOW + 1000)
    pages.round()
    assert pages.counted() == {"/1": 1, "/2": 1, "/3": 1, OTHERS: 4}


def test_with_more_room_new_keys_are_told_apart_again(tmp_path: Path) -> None:
    site = site_for(tmp_path, 1)
    pages = Pages(site.place.directory / VIEWS)
    pages.view(1, 2)
    pages.round()
    text = (site.source / "workspace.yaml").read_text()
    (site.source / "workspace.yaml").write_text(text.replace("max_keys: 1", "max_keys: 2"))
    site.publish("two")
    pages.view(2, 3)
    pages.round()
    assert pages.counted() == {"/1": 1, "/2": 1, OTHERS: 2}


@pytest.mark.slow
def test_the_log_and_readyz_say_so(tmp_path: Path) -> None:
    site = site_for(tmp_path, 2)
    with serving(site.store, tmp_path / "log", CMS_TRUSTED_PROXIES="127.0.0.1") as server:
        eventually(lambda: server.get("/readyz").status == 200)

        def told() -> list[str]:
            return list(server.get("/readyz").json["workspaces"][0]["problems"])

        assert told() == []
        for number in range(5):
            assert post(server, {"path": f"/{number}"}).status == 204
        eventually(told)
        assert told()[0].startswith("3 views of today count as `other`")
        eventually(lambda: server.log().count("as many as views.max_keys allows") == 1)


def written(directory: Path, keys: int) -> Path:
    paths = sorted(f"/{number}/{LONG}" for number in range(keys))
    place = directory / f"{keys}.parquet"
    day = pa.array([jst_day(NOW)] * keys, pa.int32()).cast(pa.date32())
    table = pa.table([["path"] * keys, paths, day, [1] * keys], schema=count_rows.schema())
    count_rows.write(place, (table.slice(at, 4096) for at in range(0, keys, 4096)))
    return place


def test_a_key_takes_at_most_300_bytes_however_long(tmp_path: Path) -> None:
    held = []
    tracemalloc.start()
    try:
        for keys in (1_000, 31_000):
            file = written(tmp_path, keys)
            before = pa.total_allocated_bytes() + tracemalloc.get_traced_memory()[0]
            table = CountTable(file)
            held.append(pa.total_allocated_bytes() + tracemalloc.get_traced_memory()[0] - before)
            assert table.total(Kind.PATH, f"/{keys - 1}/{LONG}") == 1
            assert table.total(Kind.PATH, f"/{keys}/{LONG}") == 0
            assert table.total_and_recent(Kind.PATH, f"/7/{LONG}", jst_day(NOW)) == (1, 1)
            del table
    finally:
        tracemalloc.stop()
    assert held[1] - held[0] < 30_000 * 300


ADD_AND_FOLD = """
import resource, sys
from pathlib import Path
from engine.views.collecting.targets import Kind
from engine.views.counting import count_files
views, day = Path(sys.argv[1]), int(sys.argv[2])
state = count_files.read_state(views)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
state = count_files.add(views, state, {(Kind.PATH, "/new", day): 1}, {"w": 1})
state = count_files.fold(views, state, (day + 2) * 86_400_000)
print(sum(map(len, count_files._base(views, state))), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_adding_and_folding_needs_no_memory_for_all_keys(tmp_path: Path) -> None:
    keys = 200_000
    (tmp_path / COUNTS).mkdir()
    parts = count_rows.read(written(tmp_path, keys))
    count_files._write_today(tmp_path, parts, CountState())
    command = [sys.executable, "-c", ADD_AND_FOLD, str(tmp_path), str(jst_day(NOW))]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    rows, kilobytes = map(int, ended.stdout.split())
    assert rows == keys + 1
    assert not list((tmp_path / COUNTS).glob(".*"))
    assert kilobytes < 250 << 10
    assert (tmp_path / COUNTS / TODAY).stat().st_size < 10_000

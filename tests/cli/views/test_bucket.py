"""``cms views`` against a store in a bucket, on a machine of an analyst or an operator with nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from engine.views.collecting.spool import View
from engine.views.collecting.targets import Kind, day_of, jst_day
from engine.views.gathering.layout import SPOOL, today_key
from snapshots.store.carrying import carry
from snapshots.store.locations import open_objects
from snapshots.store.objects import ANY, Objects
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.engine.views.gathering.machines import Machine
from tests.programs.command_line import Cms, in_process
from tests.stores.object_stores import ObjectStore, object_store

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
DAY = 86_400_000


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    with object_store("any") as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture
def place(server: ObjectStore, built_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a store in a bucket with a workspace ``site``, and with views that a machine has sent."""
    place = server.place()
    monkeypatch.delenv("CMS_STORE", raising=False)
    objects = open_objects(place)
    built = open_store(built_workspace / ".cms").workspace("site")
    for version in built.versions():
        carry(built.objects, objects, "site", version)
    objects.replace("site/current", (built.directory / "current").read_bytes(), ANY)
    send(tmp_path, objects)
    analyst = tmp_path / "analyst"
    analyst.mkdir()
    monkeypatch.chdir(analyst)
    return place


@pytest.fixture
def cms(place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.setenv("CMS_STORE", place)
    return in_process(monkeypatch, capsys)


def send(tmp_path: Path, objects: Objects) -> None:
    """Send twelve views: of two entries in the last three days, of two paths today and forty days ago."""
    machine = Machine(tmp_path / "machine", objects)
    machine.views = tmp_path / "machine" / "site" / "views"
    machine.sending.views, machine.sending.workspace = machine.views, "site"
    now = now_ms()
    for key, count, age in (("one", 3, 0), ("one", 1, 2), ("mika", 2, 1), ("/a", 5, 40), ("/b", 1, 0)):
        kind = Kind.PATH if key.startswith("/") else Kind.ENTRY
        machine.collect([View(now - age * DAY, kind, key, "acme.example")] * count, now)
    machine.send(now)


def test_the_views_of_a_bucket_are_written_ranked_and_reported(cms: Cms, tmp_path: Path) -> None:
    assert "has no page views yet" in cms("views", "top").err
    assert cms("views", "flush").out == "12 views into the counts, 12 views into files of rows.\n"
    assert cms("views", "flush", "--json").json == {"counted": 0, "filed": 0}
    top = cms("views", "top", "--days", "3", "--json").json
    assert [(row["kind"], row["key"], row["title"], row["views"]) for row in top] == [
        ("entry", "one", "One", 4),
        ("entry", "mika", "Mika", 2),
        ("path", "/b", None, 1),
    ]
    assert cms("views", "show", "one", "--days", "3").out.startswith("one · One: 4 in 3 days, 4 in all\n")
    assert cms("views", "report").status == 0
    assert "Mika <code>mika</code>" in (tmp_path / "analyst" / "views.html").read_text(encoding="utf-8")


def test_an_analyst_pulls_what_is_new(cms: Cms, place: str, tmp_path: Path) -> None:
    cms("views", "flush")
    assert cms("views", "pull").out == "views.duckdb: 12 new views, 12 in all.\n"
    assert cms("views", "pull", "mine.duckdb", "-w", "site", "--json").json == {
        "file": "mine.duckdb",
        "rows": 12,
        "total": 12,
    }
    send(tmp_path, open_objects(place))
    cms("views", "flush")
    assert cms("views", "pull").out == "views.duckdb: 12 new views, 24 in all.\n"
    with duckdb.connect(tmp_path / "analyst" / "views.duckdb", read_only=True) as connection:
        rows = connection.execute("SELECT title, sum(views) FROM entry_views GROUP BY ALL ORDER BY ALL").fetchall()
        assert rows == [("Mika", 4), ("One", 8)]
        assert connection.execute("SELECT count(*) FROM page_views WHERE kind = 'path'").fetchall() == [(12,)]
    (tmp_path / "analyst" / "views.duckdb").write_bytes(b"nothing")
    assert "cannot be used" in cms("views", "pull").err


def test_any_engine_reads_the_rows_by_day(cms: Cms, place: str, tmp_path: Path) -> None:
    cms("views", "flush")
    folder = tmp_path / "downloaded"
    objects = open_objects(place)
    for one in objects.names("site/views"):
        if "/day=" in one.key:
            content = objects.read(one.key)
            assert content is not None
            (folder / one.key).parent.mkdir(parents=True, exist_ok=True)
            (folder / one.key).write_bytes(content.data)
    rows = duckdb.sql(
        f"SELECT day, count(*) FROM read_parquet('{folder}/site/views/day=*/*.parquet', hive_partitioning = true) "
        "GROUP BY day ORDER BY day"
    )
    today = jst_day(now_ms())
    assert rows.fetchall() == [(day_of(today - age), count) for age, count in ((40, 5), (2, 1), (1, 2), (0, 4))]
    assert rows.types[0] == "DATE"


def test_what_does_not_add_up_is_told_and_made_anew(cms: Cms, place: str) -> None:
    cms("views", "flush")
    assert cms("views", "verify").out == "Everything adds up.\n"
    objects = open_objects(place)
    objects.replace(today_key("site"), b"PAR1 nothing", ANY)
    assert "cms views rebuild counts" in cms("views", "top").err
    assert cms("views", "rebuild", "counts").status == 0
    assert cms("views", "verify", "--json").json == {"complaints": []}
    assert cms("views", "show", "one", "--json").json["total"] == 4
    assert "cms views pull" in cms("views", "rebuild", "file").err
    assert objects.names(SPOOL) == []


def test_what_cannot_be_is_said(cms: Cms, built_workspace: Path) -> None:
    assert 'has no workspace "other". It holds: site.' in cms("views", "top", "-w", "other").err
    assert "Only a store in a bucket" in cms("views", "pull", "--store", str(built_workspace / ".cms")).err


def test_sql_over_a_bucket_asks_the_pulled_file(cms: Cms) -> None:
    for command in (("path",), ("sql", "SELECT 1")):
        assert "`cms views pull`" in cms("views", *command).err
    cms("views", "flush")
    cms("views", "pull")
    counted = cms("views", "sql", "SELECT sum(views) AS views FROM daily_counts", "--file", "views.duckdb", "--json")
    assert counted.json == [{"views": 12}]

"""``cms views``: rankings, charts, flushing, verifying and rebuilding, over real files."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest

from cli.views.report import csv_of
from engine.views.collecting.spool import VIEWS, SpoolWriter, View
from engine.views.collecting.targets import Kind, day_of, jst_day
from engine.views.gathering.analysts_file import FILE
from engine.views.reporting.report import DailyCount
from snapshots.times import now_ms
from tests.programs.command_line import Cms, process

DAY = 86_400_000


@pytest.fixture
def cms(cms_in_copy: Cms) -> Cms:
    return cms_in_copy


@pytest.fixture
def views(cms: Cms, tmp_path: Path) -> Path:
    """Page views in the spool: of two entries in the last three days, of two paths today and forty days ago."""
    views = tmp_path / ".cms" / "site" / VIEWS
    now = now_ms()
    spool = SpoolWriter(views, now)
    for key, count, age in (("one", 3, 0), ("one", 1, 2), ("mika", 2, 1), ("/a", 5, 40), ("/b", 1, 0)):
        kind = Kind.PATH if key.startswith("/") else Kind.ENTRY
        for _ in range(count):
            spool.append(View(now - age * DAY, kind, key, "acme.example"))
    spool.close()
    return views


def test_flush_then_top_and_show(cms: Cms, views: Path) -> None:
    assert cms("views", "flush", "--json").json == {"counted": 12, "filed": 12}
    assert cms("views", "flush").out == "0 views into the counts, 0 views into the analysts' file.\n"
    top = cms("views", "top", "--days", "3", "--json").json
    assert [(row["kind"], row["key"], row["title"], row["views"], row["total"]) for row in top] == [
        ("entry", "one", "One", 4, 4),
        ("entry", "mika", "Mika", 2, 2),
        ("path", "/b", None, 1, 1),
    ]
    today = jst_day(now_ms())
    assert top[0]["days"] == [
        {"day": str(day_of(today - 2 + number)), "views": count} for number, count in enumerate((1, 0, 3))
    ]
    lines = cms("views", "top", "--days", "3").out.splitlines()
    assert lines[0].split() == ["KIND", "KEY", "TITLE", "VIEWS", "ALL", "TIME", "3", "DAYS"]
    assert lines[1].split() == ["entry", "one", "One", "4", "4", "▃·█"]
    assert cms("views", "top", "--days", "50", "--of", "paths", "--limit", "1", "--json").json[0]["key"] == "/a"
    assert [row["key"] for row in cms("views", "top", "--of", "entries", "--json").json] == ["one", "mika"]
    shown = cms("views", "show", "one", "--days", "3").out.splitlines()
    assert shown == [
        "one · One: 4 in 3 days, 4 in all",
        f"{day_of(today - 2)}  1  {'█' * 13}",
        f"{day_of(today - 1)}: no views",
        f"{day_of(today)}  3  {'█' * 40}",
    ]
    assert cms("views", "show", "one").out.splitlines()[1] == f"{day_of(today - 29)} to {day_of(today - 3)}: no views"
    assert cms("views", "show", "never").out == "never: 0 in 30 days, 0 in all\n"
    path = cms("views", "show", "/a/?x", "--json").json
    assert (path["key"], path["views"], path["total"], len(path["days"])) == ("/a", 0, 5, 30)
    assert cms("views", "show", "never", "--json").json["total"] == 0
    assert cms("views", "show", "no id").status == 2


def test_verify_sees_what_was_altered_and_rebuild_mends_it(cms: Cms, views: Path) -> None:
    cms("views", "flush")
    assert (cms("views", "verify").status, cms("views", "verify").out) == (0, "Everything adds up.\n")
    with duckdb.connect(views / FILE) as connection:
        connection.execute("UPDATE daily_counts SET views = views + 1 WHERE key = 'mika'")
        connection.execute("DELETE FROM page_views WHERE key = '/b'")
    found = cms("views", "verify", "--json")
    assert found.status == 1
    day = day_of(jst_day(now_ms()))
    assert f"{day} path /b: the counts say 1, page_views has 0 rows" in found.json["complaints"]
    assert any("mika: daily_counts says 3, the counts 2" in one for one in found.json["complaints"])
    assert cms("views", "rebuild", "file").status == 0
    assert cms("views", "verify", "--json").json["complaints"] == [
        f"{day} path /b: the counts say 1, page_views has 0 rows"
    ]


@pytest.mark.parametrize("damage", ["noise", "gone"])
def test_a_file_that_cannot_be_read_is_put_aside(cms: Cms, views: Path, damage: str) -> None:
    cms("views", "flush")
    if damage == "gone":
        (views / FILE).unlink()
    else:
        (views / FILE).write_bytes(random.Random(1).randbytes(5000))
        refused = cms("views", "verify")
        assert (refused.status, "cms views rebuild file" in refused.err) == (1, True)
    aside = cms("views", "rebuild", "file", "--json").json["putAside"]
    assert (aside is not None) == (damage == "noise")
    with duckdb.connect(views / FILE, read_only=True) as connection:
        assert connection.execute("SELECT sum(views) FROM daily_counts").fetchone() == (12,)
    if damage == "noise":
        assert cms("views", "verify").status == 0


def test_the_counts_come_back_from_the_file(cms: Cms, views: Path) -> None:
    cms("views", "flush")
    before = cms("views", "top", "--days", "50", "--json").json
    spool = SpoolWriter(views, now_ms())
    spool.append(View(now_ms(), Kind.ENTRY, "one", "acme.example"))
    spool.close()
    (views / "counts" / "today.parquet").write_bytes(b"nothing")
    assert "cms views rebuild counts" in cms("views", "top").err
    assert cms("views", "rebuild", "counts").status == 0
    assert cms("views", "top", "--days", "50", "--json").json == before
    cms("views", "flush")
    assert cms("views", "show", "one", "--json").json["total"] == 5
    assert cms("views", "verify").status == 0


def test_analysts_find_titles_and_comments(cms: Cms, views: Path) -> None:
    cms("views", "flush")
    with duckdb.connect(views / FILE, read_only=True) as connection:
        rows = connection.execute("SELECT title, sum(views) FROM entry_views GROUP BY ALL ORDER BY ALL").fetchall()
        assert rows == [("Mika", 2), ("One", 4)]
        undescribed = "SELECT table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal"
        assert connection.execute(undescribed).fetchall() == []
        described = connection.execute(
            "SELECT table_name, comment FROM duckdb_tables() UNION ALL SELECT view_name, comment FROM duckdb_views() "
            "WHERE NOT internal"
        ).fetchall()
        assert {name for name, comment in described if comment} == {
            "page_views", "daily_counts", "segments", "entries", "facts", "entry_views", "local_page_views",
        }  # fmt: skip


def test_a_file_of_an_older_program_gets_the_comments(cms: Cms, views: Path) -> None:
    cms("views", "flush")
    with duckdb.connect(views / FILE) as connection:
        connection.execute("COMMENT ON COLUMN entries.id IS NULL")
        connection.execute("DELETE FROM facts WHERE name = 'comments'")
    cms("views", "flush")
    with duckdb.connect(views / FILE, read_only=True) as connection:
        asked = "SELECT comment FROM duckdb_columns() WHERE table_name = 'entries' AND column_name = 'id'"
        [(comment,)] = connection.execute(asked).fetchall()
        assert comment.startswith("The entry's ID")


def test_the_report_is_one_page_or_a_table(cms: Cms, views: Path, tmp_path: Path) -> None:
    cms("views", "flush")
    today = day_of(jst_day(now_ms()))
    assert cms("views", "report").out == f"Wrote views.html: 30 days up to {today}.\n"
    page = (tmp_path / "views.html").read_text(encoding="utf-8")
    assert "<strong>6</strong> views" in page  # of entries; the five of /a are older
    assert "Mika <code>mika</code>" in page
    assert cms("views", "report", "--out", "-").out == page
    lines = cms("views", "report", "--csv", "--days", "50").out.splitlines()
    assert lines[0] == "day,kind,key,title,views"
    assert lines[1].endswith(",path,/a,,5")
    assert lines[-2:] == [f"{today},entry,one,One,3", f"{today},path,/b,,1"]
    written = cms("views", "report", "--csv", "--out", "views.csv", "--json").json
    assert (written["file"], written["until"]) == ("views.csv", str(today))
    assert (tmp_path / "views.csv").read_bytes().count(b"\r\n") == 5
    assert cms("views", "report", "--out", "-", "--json").status == 2
    assert cms("views", "report", "--out", "nowhere/views.html").status == 1


DUCKDB = shutil.which("duckdb", path=str(Path(sys.executable).parent)) or shutil.which("duckdb")


@pytest.mark.skipif(DUCKDB is None, reason="DuckDB's command line is not installed")
def test_duckdbs_own_command_line_reads_the_file_and_older_ones_do_too(cms: Cms, views: Path) -> None:
    cms("views", "flush")
    assert DUCKDB is not None
    asked = "SELECT kind, key, sum(views) AS views FROM daily_counts GROUP BY ALL ORDER BY ALL"
    command = [DUCKDB, "-readonly", "-json", str(views / FILE), asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    rows = [(row["kind"], row["key"], int(row["views"])) for row in json.loads(done.stdout)]
    assert rows == [("entry", "mika", 2), ("entry", "one", 4), ("path", "/a", 5), ("path", "/b", 1)]
    with (views / FILE).open("rb") as file:
        file.seek(12)  # where DuckDB keeps the version of the format, which 1.0 and newer know
        assert int.from_bytes(file.read(8), "little") == 64


def test_no_views_is_an_error_that_says_so(cms: Cms) -> None:
    refused = cms("views", "top")
    assert (refused.status, "has no page views yet" in refused.err) == (1, True)


def test_no_cell_of_the_table_is_a_formula() -> None:
    counts = [DailyCount(20_000, Kind.ENTRY, key, 1) for key in ("-a", "b")]
    rows = list(csv.reader(csv_of(counts, {"-a": "=HYPERLINK(1)", "b": "@x"}).splitlines()))
    assert [row[2:4] for row in rows[1:]] == [["'-a", "'=HYPERLINK(1)"], ["b", "'@x"]]


def test_sql_over_the_views(cms: Cms, views: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cms views flush" in cms("views", "path").err
    cms("views", "flush")
    assert cms("views", "path").out == f"{views / FILE}\n"
    assert cms("views", "path", "--json").json == {"file": str(views / FILE)}
    counted = "SELECT kind, count(*) AS views, NULL AS nothing FROM page_views GROUP BY kind ORDER BY kind"
    assert cms("views", "sql", counted).out.splitlines() == [
        "kind   views  nothing",
        "entry      6  NULL",
        "path       6  NULL",
    ]
    assert cms("views", "sql", counted, "--csv").out == "kind,views,nothing\r\nentry,6,\r\npath,6,\r\n"
    assert cms("views", "sql", counted, "--json").json[0] == {"kind": "entry", "views": 6, "nothing": None}
    several = (
        "CREATE TEMP TABLE one AS SELECT 1 AS a; SELECT 'nan'::DOUBLE AS a, DATE '2026-01-01' AS b, [1] AS c FROM one"
    )
    assert cms("views", "sql", several, "--json").json == [{"a": None, "b": "2026-01-01", "c": [1]}]
    assert cms("views", "sql", "SELECT 1 WHERE false", "--json").json == []
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT key FROM page_views WHERE kind = 'path' AND key = '/b'"))
    assert cms("views", "sql", "-", "--csv").out == "key\r\n/b\r\n"
    many = cms("views", "sql", "FROM range(1500)")
    assert (len(many.out.splitlines()), "the first 1,000 rows" in many.err) == (1_001, True)
    assert len(cms("views", "sql", "FROM range(1500)", "--json").json) == 1_500


def test_sql_changes_nothing_and_says_what_is_wrong(cms: Cms, views: Path, tmp_path: Path) -> None:
    cms("views", "flush")
    before = (views / FILE).read_bytes()
    for wrong, said in (
        ("DELETE FROM page_views", "read-only"),
        ("SELECT boom", 'column "boom"'),
        ("SELECT error('late') FROM page_views", "late"),
        ("SELECT 1 FROM", "syntax error"),
        (" ; ", "no SQL statement"),
    ):
        ran = cms("views", "sql", wrong, "--json")
        assert (ran.status, said in ran.err, said in ran.json["error"]) == (1, True, True), wrong
    assert (views / FILE).read_bytes() == before
    assert cms("views", "sql", "SELECT 1", "--json", "--csv").status == 2
    assert "There is no file" in cms("views", "sql", "SELECT 1", "--file", "none.duckdb").err
    (tmp_path / "noise.duckdb").write_bytes(random.Random(1).randbytes(5000))
    assert "cannot be used" in cms("views", "sql", "SELECT 1", "--file", tmp_path / "noise.duckdb").err


def test_sql_reads_content_beside_the_views(cms: Cms, views: Path) -> None:
    assert cms("snapshot", "build").status == 0
    cms("views", "flush")
    read = "SELECT id FROM read_parquet('snapshots/*/en/blog/all.parquet') ORDER BY id LIMIT 1"
    assert cms("views", "sql", read, "--csv").out == "id\r\none\r\n"


def test_sql_waits_while_the_file_is_written(cms: Cms, views: Path) -> None:
    cms("views", "flush")
    program = "import sys, time, duckdb; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read(1)"
    holds = subprocess.Popen(
        [sys.executable, "-c", program, str(views / FILE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holds.stdout is not None
    assert holds.stdin is not None
    assert holds.stdout.readline() == "open\n"
    with ThreadPoolExecutor(1) as thread:
        asking = thread.submit(process, "views", "sql", "SELECT 1 AS a", "--csv", "--store", views.parents[1])
        with pytest.raises(TimeoutError):
            asking.result(1)
        holds.communicate("x")
        assert asking.result().out.split() == ["a", "1"]


def test_local_times_are_those_of_the_workspace(cms: Cms, views: Path, tmp_path: Path) -> None:
    """Compared with what Python makes of the same instants, over the change to summer time."""
    start = int(datetime(2026, 3, 28, tzinfo=UTC).timestamp() * 1000)
    instants = [start + number * 3_600_000 * 5 for number in range(12)]
    spool = SpoolWriter(views, now_ms())
    for at in instants:
        spool.append(View(at, Kind.ENTRY, "summer", "acme.example"))
    spool.close()
    definition = tmp_path / "workspace.yaml"
    for zone in ("Europe/Berlin", "America/New_York"):
        definition.write_text(re.sub("timezone: .*", f"timezone: {zone}", definition.read_text()))
        assert cms("snapshot", "build").status == 0
        cms("views", "flush")
        sql = "SELECT local_day, local_hour, day FROM local_page_views WHERE key = 'summer' ORDER BY local_time"
        local = [datetime.fromtimestamp(at / 1000, ZoneInfo(zone)) for at in instants]
        assert cms("views", "sql", sql, "--json").json == [
            {"local_day": str(one.date()), "local_hour": one.hour, "day": str(day_of(jst_day(at)))}
            for one, at in zip(local, instants, strict=True)
        ]


@pytest.mark.parametrize("own", [None, "CREATE TABLE local_page_views (mine INTEGER)"])
def test_a_file_of_an_older_program_gets_local_times_beside_what_is_the_analysts_own(
    cms: Cms, views: Path, own: str | None
) -> None:
    cms("views", "flush")
    with duckdb.connect(views / FILE) as connection:
        connection.execute("DROP VIEW local_page_views; DELETE FROM facts WHERE name IN ('comments', 'time zone')")
        if own:
            connection.execute(own)
    cms("views", "flush")
    columns = cms("views", "sql", "DESCRIBE local_page_views", "--json").json
    assert len(columns) == (1 if own else 7)
    assert cms("views", "verify").status == 0

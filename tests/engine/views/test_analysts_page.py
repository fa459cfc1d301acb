"""The page for analysts: every query on it is run over the demo's views, and has to print what the page shows.

``python -m tests.engine.views.test_analysts_page`` writes the outputs and the chart into the page anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import duckdb
import pytest

from cli.creating.examples import EXAMPLE
from cli.creating.sample_views import DAYS, add_sample_views, sample_views
from engine.views.collecting.spool import VIEWS
from engine.views.collecting.targets import day_of, jst_day
from engine.views.gathering.analysts_file import FILE
from snapshots.build.build import build
from snapshots.store.store import open_store
from snapshots.times import parse_datetime
from tests.programs.command_line import Cms, in_process
from tests.programs.copied_process import ROOT

PAGE = ROOT / "docs" / "analysts.md"
CHART = ROOT / "docs" / "pictures" / "views-a-day.svg"
AT = parse_datetime("2026-06-15T03:00:00Z", UTC)
"""When the demo was made whose dates the page shows."""
OTHERS = ("2024-02-29T14:59:59.999Z", "2031-01-01T15:00:00Z")
"""When other demos are made: at the end of a day in Japan, and at the beginning of one."""
_SQL = re.compile(r"^```sql\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^```console\n\$ cms (views sql .*)\n([^$]+?)^```$", re.MULTILINE)
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


def make_workspace(directory: Path, at: int = AT) -> Path:
    """A store with the bundled example and its four weeks of views as of ``at``: the workspace's directory in it."""
    store = open_store(directory / "store")
    inside = store.workspace(build(EXAMPLE, store, now=at).workspace)
    add_sample_views(inside, at)
    return inside.directory


def printed(cms: Cms, inside: Path, sql: str) -> str:
    """What ``cms views sql`` prints, of the workspace in a directory of its store."""
    ran = cms("views", "sql", sql, "--store", inside.parent, "-w", inside.name)
    assert ran.status == 0, ran.err
    return str(ran.out)


def draws(block: re.Match[str]) -> bool:
    """Whether a block of SQL makes the picture."""
    return "<svg" in block[1]


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in the store of the demo whose dates the page shows."""
    return make_workspace(tmp_path_factory.mktemp("analysts"))


@pytest.fixture
def connection(inside: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    """The analysts' file, opened in the workspace's directory."""
    monkeypatch.chdir(inside)
    with duckdb.connect(inside / VIEWS / FILE, read_only=True) as connection:
        yield connection


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def test_every_query_prints_what_the_page_shows(
    inside: Path, cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = list(_SQL.finditer(PAGE.read_text()))
    assert len(blocks) == 12
    for block in blocks:
        if not draws(block):
            found = printed(cms, inside, block[1])
            assert found == block[2] or (block[2] is None and found.startswith("Count\n")), block[1]
    assert Path("entry_views.parquet").stat().st_size > 0
    assert Path("daily_counts.csv").read_text().startswith("day,kind,key,views\n")
    [typed] = _TYPED.finditer(PAGE.read_text())
    assert cms(*shlex.split(typed[1]), "--store", inside.parent).out == typed[2]


@pytest.mark.slow
@pytest.mark.parametrize("at", [*OTHERS, "now"])
def test_a_new_demo_prints_what_the_page_shows_but_for_dates(at: str, cms: Cms, tmp_path: Path) -> None:
    if at == "now":
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        command = [sys.executable, "-m", "cli.main", "demo", "--no-serve"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
        [demo] = tmp_path.glob("cms-demo-*")
        there = demo / ".cms" / "komugi"
    else:
        there = make_workspace(tmp_path, parse_datetime(at, UTC))
    compared = 0
    for block in _SQL.finditer(PAGE.read_text()):
        if block[2] and not DATE.search(block[2]):
            assert printed(cms, there, block[1]) == block[2], block[1]
            compared += 1
    assert compared == 9


def test_any_seven_days_of_the_sample_have_the_same_views() -> None:
    def told(number: int) -> object:
        now = AT + number * 40_000_000
        views = sample_views(now)
        days = [jst_day(view.at) for view in views]
        assert (min(days), max(days)) == (jst_day(now) - DAYS, jst_day(now) - 1)
        return Counter(
            ((jst_day(now) - 1 - day) // 7, day_of(day).weekday(), (view.at - AT) % 86_400_000, view[1:])
            for day, view in zip(days, views, strict=True)
        )

    assert all(told(number) == told(0) for number in range(1, 17))


def test_the_chart_is_what_its_query_draws(connection: duckdb.DuckDBPyConnection) -> None:
    [sql] = [block[1] for block in _SQL.finditer(PAGE.read_text()) if draws(block)]
    [(drawn,)] = connection.execute(sql).fetchall()
    assert drawn + "\n" == CHART.read_text()
    assert len(list(ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}rect"))) == DAYS + 1  # noqa: S314 - our own


def test_every_table_and_column_is_on_the_page(connection: duckdb.DuckDBPyConnection) -> None:
    text = PAGE.read_text()
    columns = connection.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal").fetchall()
    for table, column in columns:
        assert f"`{table}`" in text
        assert f"`{column}`" in text, f"{table}.{column}"


def test_every_column_of_the_contents_files_is_on_the_page(connection: duckdb.DuckDBPyConnection) -> None:
    text = PAGE.read_text()
    fields = {
        "name",
        "summary",
        "story",
        "price",
        "first_baked",
        "vegan",
        "kind",
        "contains",
        "baker",
        "goes_with",
        "photo",
    }
    [(version,)] = connection.sql("SELECT version FROM read_json('current')").fetchall()
    files = f"read_parquet('snapshots/{version}/en/breads/*.parquet')"
    everybody = [name for name in connection.sql(f"FROM {files} LIMIT 0").columns if name not in fields]
    assert everybody == ["id", "createdAt", "updatedAt", "publishedAt", "live_from", "live_until", "_"]
    own = connection.sql(f"SELECT unnest(_) FROM {files} LIMIT 0").columns
    assert {"json", "digest", "ja_from", "name__search"} <= set(own)
    for name in (*everybody, *own):
        assert f"`{re.sub('^ja_', '<language>_', re.sub('^.*__search', '<field>__search', name))}`" in text, name


def main() -> None:
    """Write the outputs and the chart into the page."""
    with TemporaryDirectory() as folder:
        inside = make_workspace(Path(folder))
        os.chdir(folder)

        def redone(block: re.Match[str]) -> str:
            written = f"```sql\n{block[1]}```\n"
            if draws(block):
                with duckdb.connect(inside / VIEWS / FILE, read_only=True) as connection:
                    [(drawn,)] = connection.execute(block[1]).fetchall()
                CHART.write_text(drawn + "\n")
                return written
            if block[2] is None:
                return written
            command = [sys.executable, "-m", "cli.main", "views", "sql", block[1], "--store", str(inside.parent)]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            return f"{written}\n```text\n{ran.stdout}```\n"

        PAGE.write_text(_SQL.sub(redone, PAGE.read_text()))


if __name__ == "__main__":
    main()

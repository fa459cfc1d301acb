"""The page for analysts: every query on it is run over made-up views, and has to print what the page shows.

``python -m tests.engine.page_views.test_analysts_page`` writes the outputs and the chart into the page anew.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest

from engine.page_views.collecting.spool import SpoolWriter, View
from engine.page_views.collecting.targets import Kind, jst_day
from engine.page_views.counting.analysts_file import FILE
from engine.page_views.counting.writer import VIEWS, ViewWriter
from snapshots.build.build import build
from snapshots.store.store import open_store
from tests.copied_process import ROOT

PAGE = ROOT / "docs" / "analysts.md"
CHART = ROOT / "docs" / "pictures" / "views-a-day.svg"
LAST_DAY = date(2026, 6, 14)
DAYS = 28
BLOG = """\
uid: api_Blog00000001
name: Blog
endpoint: blog
kind: list
fields:
  - {id: title, type: text}
  - {id: category, type: single_select, options: [guide, news]}
"""
ENTRIES = {
    "sourdough": ("A first sourdough", "guide", 9, 0),
    "oven": ("Knowing your oven", "guide", 5, 0),
    "opening": ("We open in Kyoto", "news", 14, 16),
    "brioche": ("Brioche by hand", "guide", 4, 0),
    "hours": ("New opening hours", "news", 1, 7),
    "unread": ("Terms of delivery", "news", 0, 0),
}
"""ID → title, category, views on a weekday, and the day on which it came."""
PATHS = {"/": 12, "/blog/sourdough": 6, "/blog/opening": 3, "/shop/kyoto": 4, "/about": 2}
_SQL = re.compile(r"^```sql\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def make_workspace(directory: Path) -> Path:
    """A store with four weeks of views, the same every time: the workspace's directory in it."""
    source = directory / "acme"
    (source / "apis").mkdir(parents=True)
    (source / "content" / "blog").mkdir(parents=True)
    (source / "workspace.yaml").write_text("id: acme\nlanguages: [en]\n")
    (source / "apis" / "blog.yaml").write_text(BLOG)
    for name, (title, category, _, _) in ENTRIES.items():
        text = f"createdAt: 2026-05-01\ntitle: {title}\ncategory: {category}\n"
        (source / "content" / "blog" / f"{name}.yaml").write_text(text)
    store = open_store(directory / "store")
    last = int(datetime(LAST_DAY.year, LAST_DAY.month, LAST_DAY.day, tzinfo=UTC).timestamp() * 1000)
    build(source, store, now=last)
    place = store.workspace("acme")
    spool = SpoolWriter(place.directory / VIEWS, last)
    for view in made_up_views(last):
        spool.append(view)
    spool.close()
    ViewWriter(place.directory / VIEWS).round(last, 0.0, flush=True)
    return place.directory


def made_up_views(last: int) -> list[View]:
    """Fewer at weekends, most in the evening, news for a few days only; ``last`` is midnight UTC of the last day."""
    chance = random.Random(1)
    targets = [(Kind.ENTRY, key, often, came) for key, (_, _, often, came) in ENTRIES.items()]
    targets += [(Kind.PATH, key, often, 0) for key, often in PATHS.items()]
    views = []
    for number in range(DAYS):
        weekday = (LAST_DAY - timedelta(days=DAYS - 1 - number)).weekday()
        for kind, key, often, came in targets:
            expected = often * (0.6 if weekday > 4 else 1.0) * (0.75 ** (number - came) if came else 1.0)
            for _ in range(round(expected * chance.uniform(0.7, 1.3)) if number >= came else 0):
                hour = chance.triangular(6, 24, 20)  # in Japan
                at = last - (DAYS - 1 - number) * 86_400_000 + round((hour - 9) * 3_600_000)
                views.append(View(at, kind, key, "www.acme.example" if chance.random() < 0.8 else "shop.acme.example"))
    assert {jst_day(view.at) for view in views} == set(range(jst_day(last) - DAYS + 1, jst_day(last) + 1))
    return sorted(views)


def shown(connection: duckdb.DuckDBPyConnection) -> str:
    """The rows of what was run last, in columns."""
    rows = [[_cell(value) for value in row] for row in connection.fetchall()]
    names = [column[0] for column in connection.description or ()]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    numbers = [all(re.fullmatch(r"-?[0-9.]+", row[at]) for row in rows) for at in range(len(names))]
    lines = [
        "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(
            row, widths, numbers, strict=True)).rstrip()
        for row in [names, *rows]
    ]  # fmt: skip
    return "".join(line + "\n" for line in lines)


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def run(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """What a block of SQL prints; nothing where it only writes files."""
    for statement in connection.extract_statements(sql):
        connection.execute(statement)
        wrote = statement.type == duckdb.StatementType.COPY
    return "" if wrote else shown(connection)


def draws(block: re.Match[str]) -> bool:
    """Whether a block of SQL makes the picture."""
    return "<svg" in block[1]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The analysts' file, opened in the workspace's directory."""
    directory = make_workspace(tmp_path_factory.mktemp("analysts"))
    with (
        pytest.MonkeyPatch.context() as patch,
        duckdb.connect(directory / VIEWS / FILE, read_only=True) as connection,
    ):
        patch.chdir(directory)
        yield connection


def test_every_query_prints_what_the_page_shows(connection: duckdb.DuckDBPyConnection) -> None:
    blocks = list(_SQL.finditer(PAGE.read_text()))
    assert len(blocks) == 12
    for block in blocks:
        if not draws(block):
            assert run(connection, block[1]) == (block[2] or ""), block[1]
    assert Path("entry_views.parquet").stat().st_size > 0
    assert Path("daily_counts.csv").read_text().startswith("day,kind,key,views\n")


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
        assert table in ("segments", "facts") or f"`{column}`" in text, f"{table}.{column}"


def main() -> None:
    """Write the outputs and the chart into the page."""
    with TemporaryDirectory() as folder:
        directory = make_workspace(Path(folder))
        os.chdir(directory)
        with duckdb.connect(directory / VIEWS / FILE, read_only=True) as connection:

            def redone(block: re.Match[str]) -> str:
                written = f"```sql\n{block[1]}```\n"
                if draws(block):
                    [(drawn,)] = connection.execute(block[1]).fetchall()
                    CHART.write_text(drawn + "\n")
                    return written
                output = run(connection, block[1])
                return f"{written}\n```text\n{output}```\n" if output else written

            PAGE.write_text(_SQL.sub(redone, PAGE.read_text()))


if __name__ == "__main__":
    main()

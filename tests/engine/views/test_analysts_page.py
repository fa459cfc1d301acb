"""The page for analysts: every query on it is run over the demo's views, and has to print what the page shows.

``python -m tests.engine.views.test_analysts_page`` writes the outputs and the chart into the page anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest

from cli.creating.demo import EXAMPLE
from cli.creating.sample_views import DAYS, add_sample_views
from engine.views.collecting.spool import VIEWS
from engine.views.gathering.analysts_file import FILE
from snapshots.build.build import build
from snapshots.store.store import open_store
from tests.programs.copied_process import ROOT

PAGE = ROOT / "docs" / "analysts.md"
CHART = ROOT / "docs" / "pictures" / "views-a-day.svg"
LAST_DAY = date(2026, 6, 14)
AT = int(datetime(LAST_DAY.year, LAST_DAY.month, LAST_DAY.day, 14, 59, tzinfo=UTC).timestamp() * 1000)
"""A minute before midnight in Japan."""
_SQL = re.compile(r"^```sql\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def make_workspace(directory: Path) -> Path:
    """A store with the bundled example and its four weeks of views up to ``AT``: the workspace's directory in it."""
    store = open_store(directory / "store")
    inside = store.workspace(build(EXAMPLE, store, now=AT).workspace)
    add_sample_views(inside, AT)
    return inside.directory


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
        assert f"`{column}`" in text, f"{table}.{column}"


def test_every_column_of_the_contents_files_is_on_the_page(connection: duckdb.DuckDBPyConnection) -> None:
    text = PAGE.read_text()
    api = ("breads", {"name", "summary", "story", "price", "first_baked", "vegan", "kind", "contains", "baker"})
    [(version,)] = connection.sql("SELECT version FROM read_json('current')").fetchall()
    columns = connection.sql(f"FROM read_parquet('snapshots/{version}/en/{api[0]}.parquet') LIMIT 0").columns
    own = {name for name in columns if name not in api[1] | {"goes_with", "photo"} and not name.endswith("__search")}
    assert {"id", "live_from", "_json"} <= own
    for name in own:
        assert f"`{re.sub('^_ja_', '_<language>_', name)}`" in text, name


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

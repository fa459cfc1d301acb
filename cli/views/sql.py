"""``cms views path`` and ``sql``: where the analysts' file is, and SQL over it."""

from __future__ import annotations

import csv
import io
import sys
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import choose_workspace
from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables
from cli.views.chosen_views import NoViews

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.views.reporting.statement import Rows

STDIN = "-"
NULL = "NULL"
SHOWN = 1_000
"""Rows that a table shows."""
WAIT_SECONDS = 10.0


def path(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Print the path of the DuckDB file with the page views, for programs that open it read-only."""
    file, _ = _analysts_file(store, workspace_id)
    if json:
        documents.write_json({"file": str(file)})
    else:
        lines.copied(str(file))


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SQL", help="What to run; - reads it from standard input.", show_default=False)
    ],
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Ask this file, such as one that `cms views pull` has written."),
    ] = None,
    csv_table: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Run SQL over the page views, and print the rows of its last statement.

    The file is opened read-only, also while a server runs. The SQL can read content files too: their paths may
    begin in the workspace's folder of the store.
    """
    from engine.views.reporting.statement import answered

    if json and csv_table:
        raise typer.BadParameter("--json and --csv are two forms of the same rows: choose one.")
    text = sys.stdin.read() if statement == STDIN else statement
    asked, folder = (file, None) if file is not None else _analysts_file(store, workspace_id)
    if not asked.is_file():
        raise NoViews(f"There is no file {asked}.")
    with answered(asked, text, folder, WAIT_SECONDS) as rows:
        if json:
            parts = _json(rows)
            documents.write_json_parts(chain((next(parts),), parts))  # an error before the first row is a document, too
        elif csv_table:
            documents.write_text_parts(_csv(rows))
        else:
            _table(rows)


def _analysts_file(store: str | None, workspace_id: str | None) -> tuple[Path, Path]:
    """Return the analysts' file of a workspace, and the workspace's folder of the store. Raises ``NoViews``."""
    from engine.views.collecting.spool import VIEWS
    from engine.views.gathering.analysts_file import FILE

    chosen = choose_workspace(store, workspace_id)
    if chosen.store.bucket is not None:
        raise NoViews(
            "A store in a bucket has no DuckDB file. `cms views pull` makes one on this machine; "
            'ask it with `cms views sql --file views.duckdb "…"`.'
        )
    folder = chosen.workspace_store.directory
    file = (folder / VIEWS / FILE).absolute()
    if not file.is_file():
        raise NoViews(
            f"{file} is not there yet: a server makes it with the first page views, and "
            "`cms views flush` where some are waiting."
        )
    return file, folder.absolute()


def _table(rows: Rows) -> None:
    found = [[NULL if value is None else value for value in row] for row in islice(rows.texts(), SHOWN + 1)]
    if rows.columns:
        tables.table(rows.columns, found[:SHOWN], right=rows.numbers)
    if len(found) > SHOWN:
        lines.message(f"These are the first {SHOWN:,} rows; --csv and --json print all.")


def _json(rows: Rows) -> Iterator[str]:
    from json import dumps

    before = "[\n  "
    for row in rows.documents():
        yield before + dumps(row, ensure_ascii=False)
        before = ",\n  "
    yield "[]" if before.startswith("[") else "\n]"


def _csv(rows: Rows) -> Iterator[str]:
    for row in ((rows.columns,) if rows.columns else (), rows.texts()):
        for values in row:
            line = io.StringIO()
            csv.writer(line).writerow(values)
            yield line.getvalue()

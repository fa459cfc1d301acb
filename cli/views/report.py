"""``cms views report``: what was viewed, as one HTML page with charts, or as a table for other programs."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, wording
from cli.output.progress import progress
from cli.views.chosen_views import Days, open_views
from snapshots.times import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engine.views.reporting.report import DailyCount

STDOUT = "-"
PAGE = "views.html"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = ("day", "kind", "key", "title", "views")


def report(
    days: Days = 30,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help=f"Where to write it; - is standard output. Default: {PAGE}, and standard output with --csv.",
            show_default=False,
        ),
    ] = None,
    csv_table: Annotated[
        bool, typer.Option("--csv", help="Write a table instead: the views of each entry and path on each day.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1000, metavar="N", help="How many entries and paths the page names.")
    ] = 20,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Write page views as one HTML page with charts, or as a CSV table.

    The page needs no other file and no network, so it can be sent by mail as it is.
    """
    from engine.views.collecting.targets import day_of, jst_day
    from engine.views.reporting.page import report_page
    from engine.views.reporting.report import daily_counts, make_report

    target = out or (STDOUT if csv_table else PAGE)
    if json and target == STDOUT:
        raise typer.BadParameter("--json prints a document of its own on standard output: name a file with --out.")
    until = jst_day(now_ms())
    since = until - days + 1
    with progress() as tell, open_views(store, workspace_id) as chosen:
        tell("adding up", 0, 0)
        if csv_table:
            text = csv_of(daily_counts(chosen.views, since, until), chosen.titles())
        else:
            text = report_page(make_report(chosen.views, chosen.name(), since, until, limit, chosen.titles()))
    if target == STDOUT:
        documents.write_text(text)
        return
    # No newline is translated: a CSV file has its own.
    Path(target).write_bytes(text.encode("utf-8", "backslashreplace"))
    if json:
        documents.write_json({"file": target, "since": str(day_of(since)), "until": str(day_of(until))})
    else:
        lines.answer(f"Wrote {target}: {wording.plural(days, 'day')} up to {day_of(until)}.")


def csv_of(counts: Iterable[DailyCount], titles: Mapping[str, str]) -> str:
    """Return a CSV table (RFC 4180) with a row for each key and day."""
    from engine.views.collecting.targets import Kind, day_of

    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for one in counts:
        title = titles.get(one.key, "") if one.kind is Kind.ENTRY else ""
        table.writerow((day_of(one.day), one.kind.value, _plain(one.key), _plain(title), one.views))
    return text.getvalue()


def _plain(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula: after an apostrophe if it looks like one."""
    return f"'{text}" if text.startswith(_FORMULA) else text

"""``cms views top`` and ``show``: the most viewed entries and paths, and one of them day by day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Json, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables, wording
from cli.views.chosen_views import Days, open_views
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.views.counting.ranking import Ranked

BARS = "▁▂▃▄▅▆▇█"
BAR_COLUMNS = 40


class What(StrEnum):
    """The kind of target that is ranked."""

    ENTRIES = "entries"
    PATHS = "paths"
    ALL = "all"


def top(
    days: Days = 30,
    what: Annotated[What, typer.Option("--of", help="Rank entries, paths or both.")] = What.ALL,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="How many to list.")] = 10,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """List the most viewed entries and paths, with a bar for each day."""
    from engine.views.collecting.targets import Kind, jst_day
    from engine.views.counting.ranking import most_viewed

    today = jst_day(now_ms())
    kind = {What.ENTRIES: Kind.ENTRY, What.PATHS: Kind.PATH, What.ALL: None}[what]
    with open_views(store, workspace_id) as chosen:
        ranked = most_viewed(chosen.views, today - days + 1, today, limit, kind)
        titles = chosen.titles([one.key for one in ranked if one.kind is Kind.ENTRY])
    if json:
        documents.write_json([_document(one, titles, today - days + 1) for one in ranked])
        return
    if not ranked:
        lines.message("Nothing was viewed in this time.")
        return
    rows = [
        (one.kind.value, one.key, _title(one, titles), f"{one.views:,}", f"{one.total:,}", _spark(one.by_day))
        for one in ranked
    ]
    tables.table(
        ("KIND", "KEY", "TITLE", "VIEWS", "ALL TIME", bars := f"{days} DAYS"),
        rows,
        right=("VIEWS", "ALL TIME"),
        whole=("KIND", "KEY", bars),
        spare=("KIND", "ALL TIME", "TITLE", bars),
    )


def show(
    target: Annotated[str, typer.Argument(metavar="ID_OR_PATH", help="An entry's ID, or a path with its slash.")],
    days: Days = 30,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Show how often one entry or path was viewed on each day."""
    from engine.views.collecting.targets import Kind, entry_key, jst_day, path_key
    from engine.views.counting.ranking import views_of

    kind = Kind.PATH if target.startswith("/") else Kind.ENTRY
    key = path_key(target) if kind is Kind.PATH else entry_key(target)
    if key is None:
        raise typer.BadParameter(f"{target!r} is neither an entry ID nor a path.")
    today = jst_day(now_ms())
    since = today - days + 1
    with open_views(store, workspace_id) as chosen:
        found = views_of(chosen.views, kind, key, since, today)
        titles = chosen.titles([key] if kind is Kind.ENTRY else [])
    if json:
        documents.write_json(_document(found, titles, since))
        return
    named = f"{key} · {_title(found, titles)}" if _title(found, titles) else key
    lines.answer(f"{named}: {found.views:,} in {wording.plural(days, 'day')}, {found.total:,} in all", style="bold")
    for line in _day_lines(found.by_day, since):
        lines.answer(line)


def _title(one: Ranked, titles: dict[str, str]) -> str:
    return titles.get(one.key, "") if one.kind.value == "entry" else ""


def _document(one: Ranked, titles: dict[str, str], since: int) -> dict[str, object]:
    from engine.views.collecting.targets import day_of

    return {
        "kind": one.kind.value,
        "key": one.key,
        "title": _title(one, titles) or None,
        "views": one.views,
        "total": one.total,
        "days": [{"day": str(day_of(since + number)), "views": count} for number, count in enumerate(one.by_day)],
    }


def _spark(by_day: tuple[int, ...]) -> str:
    """Return a bar for each day, as high as its share of the highest count; a dot for a day without views."""
    most = max(by_day)
    return "".join(BARS[(count * len(BARS) - 1) // most] if count else "·" for count in by_day)


def _day_lines(by_day: tuple[int, ...], since: int) -> Iterator[str]:
    """Give a line with a bar for each day that has views, and one for all days in a row that have none.

    Nothing is given where no day has any.
    """
    from engine.views.collecting.targets import day_of

    most = max(by_day)
    if not most:
        return
    width = len(f"{most:,}")
    number = 0
    for viewed, group in groupby(by_day, key=bool):
        counts = list(group)
        first, last = day_of(since + number), day_of(since + number + len(counts) - 1)
        number += len(counts)
        if not viewed:
            days = f"{first}" if len(counts) == 1 else f"{first} to {last}"
            yield f"{days}: no views"
            continue
        for day, count in enumerate(counts):
            bar = "█" * max(1, round(BAR_COLUMNS * count / most))
            yield f"{first + timedelta(days=day)}  {count:>{width},}  {bar}"

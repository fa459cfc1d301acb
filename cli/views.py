"""``cms views``: the most viewed entries and paths, one of them day by day, and the upkeep of the files."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import output
from cli.location import Place, find_place
from cli.options import Json, StoreLocation, WorkspaceId, new_app
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.page_views.counting.ranking import Ranked

app = new_app("See what was viewed, and keep the files behind it right.")

BARS = "▁▂▃▄▅▆▇█"
BAR_COLUMNS = 40
FLUSH_SECONDS = 30.0


class What(StrEnum):
    """The kind of target that is ranked."""

    ENTRIES = "entries"
    PATHS = "paths"
    ALL = "all"


class Sink(StrEnum):
    """The file that is written again."""

    FILE = "file"
    COUNTS = "counts"


class NoViews(ParquetryError):
    """The page views cannot be used: there are none yet, or another process is writing them."""


Days = Annotated[
    int, typer.Option("--days", min=1, max=3650, metavar="N", help="Calendar days in Japan, today included.")
]


@app.command()
def top(
    days: Days = 30,
    what: Annotated[What, typer.Option("--of", help="Rank entries, paths or both.")] = What.ALL,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="How many to list.")] = 10,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """List what was viewed most, with a bar for each day."""
    from engine.page_views.collecting.targets import Kind, jst_day
    from engine.page_views.counting.ranking import most_viewed

    place = find_place(store, workspace_id)
    today = jst_day(now_ms())
    kind = {What.ENTRIES: Kind.ENTRY, What.PATHS: Kind.PATH, What.ALL: None}[what]
    ranked = most_viewed(_views(place), today - days + 1, today, limit, kind)
    titles = _titles(place, [one.key for one in ranked if one.kind is Kind.ENTRY])
    if json:
        output.write_json([_document(one, titles, today - days + 1) for one in ranked])
        return
    if not ranked:
        output.message("Nothing was viewed in this time.")
        return
    rows = [
        (one.kind.value, one.key, _title(one, titles), f"{one.views:,}", f"{one.total:,}", _spark(one.by_day))
        for one in ranked
    ]
    output.table(
        ("KIND", "KEY", "TITLE", "VIEWS", "ALL TIME", bars := f"{days} DAYS"),
        rows,
        right=("VIEWS", "ALL TIME"),
        whole=("KIND", "KEY", bars),
        spare=("KIND", "ALL TIME", "TITLE", bars),
    )


@app.command()
def show(
    target: Annotated[str, typer.Argument(metavar="ID_OR_PATH", help="An entry's ID, or a path with its slash.")],
    days: Days = 30,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Show how often one entry or path was viewed on each day."""
    from engine.page_views.collecting.targets import Kind, day_of, entry_key, jst_day, path_key
    from engine.page_views.counting.ranking import views_of

    place = find_place(store, workspace_id)
    kind = Kind.PATH if target.startswith("/") else Kind.ENTRY
    key = path_key(target) if kind is Kind.PATH else entry_key(target)
    if key is None:
        raise typer.BadParameter(f"{target!r} is neither an entry ID nor a path.")
    today = jst_day(now_ms())
    since = today - days + 1
    found = views_of(_views(place), kind, key, since, today)
    titles = _titles(place, [key] if kind is Kind.ENTRY else [])
    if json:
        output.write_json(_document(found, titles, since))
        return
    named = f"{key} · {_title(found, titles)}" if _title(found, titles) else key
    output.answer(f"{named}: {found.views:,} in {output.plural(days, 'day')}, {found.total:,} in all", style="bold")
    most = max(found.by_day)
    width = len(f"{most:,}")
    for number, count in enumerate(found.by_day):
        output.answer(f"{day_of(since + number)}  {count:>{width},}  {_bar(count, most)}".rstrip())


@app.command()
def flush(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Bring the views that wait into the counts and the analysts' file.

    A running server does so by itself every few seconds.
    """
    from engine.page_views.counting.writer import ViewWriter

    views = _views(find_place(store, workspace_id))
    with output.progress() as tell:
        tell("writing what waits", 0, 0)
        written = ViewWriter(views).round(now_ms(), time.monotonic(), wait=FLUSH_SECONDS, flush=True)
    if written is None:
        raise NoViews(f"{views}: another process has been writing for {FLUSH_SECONDS:g} s. Try again.")
    if json:
        output.write_json({"counted": written.counted, "filed": written.filed})
        return
    output.answer(
        f"{output.plural(written.counted, 'view')} into the counts, "
        f"{output.plural(written.filed, 'view')} into the analysts' file."
    )


@app.command()
def verify(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Check that the counts and the analysts' file agree.

    The daily counts are counted again from the rows. Exit status 1 when something does not add up.
    """
    from engine.page_views.counting.repair import complaints

    views = _views(find_place(store, workspace_id))
    with output.progress() as tell:
        tell("counting again", 0, 0)
        found = complaints(views)
    if json:
        output.write_json({"complaints": found})
    elif found:
        for complaint in found:
            output.answer(complaint)
        output.message("`cms views rebuild` makes one side anew from the other.")
    else:
        output.answer("Everything adds up.", style="green")
    if found:
        raise typer.Exit(1)


@app.command()
def rebuild(
    sink: Annotated[
        Sink,
        typer.Argument(
            metavar="file|counts", help="What to make anew: the analysts' file, or the counts the server answers from."
        ),
    ],
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Make the analysts' file anew from the counts, or these from it.

    A file that cannot be read any more is put aside, not deleted.
    """
    from engine.page_views.counting.repair import rebuild_counts, rebuild_file

    views = _views(find_place(store, workspace_id))
    aside = None
    with output.progress() as tell:
        tell("making anew", 0, 0)
        if sink is Sink.FILE:
            aside = rebuild_file(views, now_ms())
        else:
            rebuild_counts(views)
    if json:
        output.write_json({"rebuilt": sink.value, "putAside": None if aside is None else str(aside)})
        return
    if aside is not None:
        output.message(f"The old file is {aside}.")
    output.answer("Made anew." if sink is Sink.FILE else "Made anew; the server answers from it within seconds.")


def _views(place: Place) -> Path:
    from engine.page_views.counting.writer import VIEWS

    views = place.inside.directory / VIEWS
    if not views.is_dir():
        raise NoViews(f'Workspace "{place.inside.id}" has no page views yet. They come in while `cms serve` runs.')
    return views


def _titles(place: Place, ids: list[str]) -> dict[str, str]:
    """Return entry ID → title, for entries of the current version that have one."""
    if not ids or place.inside.current() is None:
        return {}
    import pyarrow.compute as pc

    from engine.page_views.counting.titles import entry_titles

    table = entry_titles(place.inside, place.inside.manifest(place.current_version()))
    table = table.filter(pc.is_in(table["id"], value_set=pc.cast(ids, table["id"].type)))
    return {row["id"]: row["title"] for row in reversed(table.to_pylist()) if row["title"]}


def _title(one: Ranked, titles: dict[str, str]) -> str:
    return titles.get(one.key, "") if one.kind.value == "entry" else ""


def _document(one: Ranked, titles: dict[str, str], since: int) -> dict[str, object]:
    from engine.page_views.collecting.targets import day_of

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


def _bar(count: int, most: int) -> str:
    return "█" * round(BAR_COLUMNS * count / most) if count and most else ""

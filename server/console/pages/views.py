"""The tab *Views*: page views by day, week or month, what was viewed most, and where from; each as CSV too."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from engine.views.collecting.targets import Kind, day_of, jst_day
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.visit import Download, PageRefused, Shown, Visit
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from engine.views.counting.ranking import Ranked
    from engine.views.reporting.report import ViewsReport

PERIODS: Final = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"), (1095, "3 years"))
UNITS: Final = ("day", "week", "month")
RANKED: Final = 20
IN_FILE: Final = 10_000
"""Rows of a CSV file of what was viewed most, or where from."""
_USUAL_UNIT: Final = {7: "day", 30: "day", 90: "day", 365: "week", 1095: "month"}


class ShownPeriod(msgspec.Struct, frozen=True):
    """The period that a page shows, in JST days since 1970, both included, and the stretches it is divided into."""

    days: int
    unit: str
    since: int
    until: int


class Stretch(msgspec.Struct, frozen=True):
    """The views of a day, a week or a month, as far as it lies in the period."""

    first: date
    entries: int
    paths: int


def show(visit: Visit) -> Shown:
    """Show the views of a period."""
    asked, views = _asked(visit), _views(visit)
    if not views.is_dir():
        return Shown("tabs/views.html", {"asked": asked, "report": None})
    report = _report(visit, asked, RANKED)
    titles = _titles(visit, [one.key for one in report.sections[Kind.ENTRY].ranked])
    values = {
        "asked": asked,
        "periods": PERIODS,
        "units": UNITS,
        "report": report,
        "stretches": _stretches(report, asked.unit),
        "sections": [(kind.value, report.sections[kind]) for kind in (Kind.ENTRY, Kind.PATH)],
        "titles": titles,
        "origins": _origins(views, asked, RANKED),
        "has_rows": _has_rows(visit),
    }
    return Shown("tabs/views.html", values)


def days_file(visit: Visit) -> Download:
    """Send the views of each day, week or month."""
    asked = _asked(visit)
    report = _report(visit, asked, 0)
    rows = [(one.first.isoformat(), one.entries, one.paths) for one in _stretches(report, asked.unit)]
    return _file(visit, f"views-by-{asked.unit}", (f"{asked.unit} from", "entry views", "path views"), rows)


def entries_file(visit: Visit) -> Download:
    """Send the entries that were viewed most, with their titles."""
    ranked = _ranked(visit, Kind.ENTRY)
    titles = _titles(visit, [one.key for one in ranked])
    rows = [(one.key, titles.get(one.key, ""), one.views, one.total) for one in ranked]
    return _file(visit, "viewed-entries", ("entry", "title", "views", "all time"), rows)


def paths_file(visit: Visit) -> Download:
    """Send the paths that were viewed most."""
    rows = [(one.key, one.views, one.total) for one in _ranked(visit, Kind.PATH)]
    return _file(visit, "viewed-paths", ("path", "views", "all time"), rows)


def origins_file(visit: Visit) -> Download:
    """Send the hosts whose pages sent the views."""
    if not _has_rows(visit):
        why = "The rows of a store in a bucket are in the bucket. `cms views pull` makes a file of them for analysts."
        raise PageRefused(404, "No rows here", why)
    found = _origins(_views(visit), _asked(visit), IN_FILE)
    if found is None:
        raise PageRefused(503, "Not possible right now", "The file of page views is being written. Try again.")
    return _file(visit, "viewed-from", ("host", "views"), found)


def _asked(visit: Visit) -> ShownPeriod:
    asked = visit.query.one("days")
    days = next((days for days, _ in PERIODS if str(days) == asked), 30)
    unit = visit.query.one("by")
    until = jst_day(visit.now)
    return ShownPeriod(days, unit if unit in UNITS else _USUAL_UNIT[days], until - days + 1, until)


def _views(visit: Visit) -> Path:
    return visit.workspace_store.directory / "views"


def _has_rows(visit: Visit) -> bool:
    """Whether the rows of views, in which the hosts stand, are at hand: those of a bucket are in many files there."""
    return visit.workspace_store.bucket is None


def _stretches(report: ViewsReport, unit: str) -> list[Stretch]:
    begin: Callable[[date], date] = {
        "day": lambda day: day,
        "week": lambda day: day - timedelta(days=day.weekday()),
        "month": lambda day: day.replace(day=1),
    }[unit]
    found: dict[date, tuple[int, int]] = {}
    counts = zip(report.sections[Kind.ENTRY].by_day, report.sections[Kind.PATH].by_day, strict=True)
    for number, (entries, paths) in enumerate(counts):
        first = begin(day_of(report.since + number))
        before = found.get(first, (0, 0))
        found[first] = (before[0] + entries, before[1] + paths)
    return [Stretch(first, *both) for first, both in found.items()]


def _report(visit: Visit, asked: ShownPeriod, ranked: int) -> ViewsReport:
    from engine.views.reporting.report import make_report  # noqa: PLC0415 - it imports DuckDB

    return make_report(_views(visit), visit.workspace.name, asked.since, asked.until, ranked)


def _ranked(visit: Visit, kind: Kind) -> list[Ranked]:
    from engine.views.counting.ranking import most_viewed  # noqa: PLC0415 - it imports DuckDB

    asked = _asked(visit)
    return most_viewed(_views(visit), asked.since, asked.until, IN_FILE, kind)


def _titles(visit: Visit, entries: Sequence[str]) -> dict[str, str]:
    from engine.views.counting.titles import titles_of  # noqa: PLC0415 - it imports Arrow

    return titles_of(visit.workspace_store, visit.manifest, entries)


def _origins(views: Path, asked: ShownPeriod, limit: int) -> list[tuple[str, int]] | None:
    """Return (host, views), or ``None`` while the file that has them cannot be read."""
    from engine.views.reporting.origins import origins  # noqa: PLC0415 - it imports DuckDB

    try:
        return [(one.origin, one.views) for one in origins(views, asked.since, asked.until, limit)]
    except ParquetryError:
        return None


def _file(visit: Visit, name: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Download:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(heads)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return Download(f"{visit.workspace.id}-{name}.csv", "text/csv", text.getvalue().encode("utf-8", "replace"))


def _harmless(cell: object) -> object:
    """A cell that no program for tables takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


SECTION: Final = ConsoleSection(
    "Views",
    (
        ConsolePage("/views", show),
        ConsolePage("/views/by-time.csv", days_file),
        ConsolePage("/views/entries.csv", entries_file),
        ConsolePage("/views/paths.csv", paths_file),
        ConsolePage("/views/origins.csv", origins_file),
    ),
)

"""The tab *Schedule*: a month of what goes live and ends, by API and language, and the same as a calendar file."""

from __future__ import annotations

import re
from calendar import Calendar
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Final

import msgspec

from engine.access.keys.keys import local_date
from engine.read.all_versions.flip_titles import flip_titles
from engine.timeline.calendar_file import calendar_file
from engine.timeline.timeline import Flip
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.pages.entries import entry_after
from server.console.visit import Download, Shown, Visit
from snapshots.model import NEVER

MOST: Final = 1000
"""Flips of a month that are listed."""
MOST_IN_FILE: Final = 10_000
"""Flips in a calendar file."""
PAST_DAYS: Final = 31
"""Days before today that a calendar file begins."""
_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")


class Day(msgspec.Struct, frozen=True):
    """A day of the month shown, or beside it."""

    date: date
    in_month: bool
    is_today: bool
    live: int
    ended: int


def show(visit: Visit) -> Shown:
    """Show a month, in the workspace's time zone; unless asked for another, the present one."""
    first = _month_of(visit)
    following = (first + timedelta(days=32)).replace(day=1)
    apis, languages = _apis(visit), _languages(visit)
    limits = {"apis": apis, "languages": languages}
    found = visit.timeline.schedule(_begin(visit, first), _begin(visit, following), most=MOST, **limits)
    after = visit.timeline.schedule(_begin(visit, following), NEVER, most=1, **limits)
    days = [(flip, local_date(flip.at, visit.zone)) for flip in found.flips]
    before = (first - timedelta(days=1)).replace(day=1)
    values = {
        "first": first,
        "earlier": before if _shown(before.year) else None,
        "later": following if _shown(following.year) else None,
        "weeks": _weeks(first, visit.today, days),
        "by_day": _grouped(days),
        "total": found.total,
        "next": next(iter(after.flips), None),
        "next_month": _month_with(visit, after.flips[0].at) if after.flips else None,
        "titles": flip_titles(visit.all_versions, found.flips, visit.now),
        "entry": lambda flip: entry_after(visit, flip),
        "names": {api.endpoint: api.name for api in visit.workspace.apis},
        "api": next(iter(apis or ()), ""),
        "lang": next(iter(languages or ()), ""),
    }
    return Shown("tabs/schedule.html", values)


def calendar(visit: Visit) -> Download:
    """Send what is coming, and what was in the last month, as an iCalendar file."""
    limits = {"apis": _apis(visit), "languages": _languages(visit)}
    since = _begin(visit, visit.today - timedelta(days=PAST_DAYS))
    found = visit.timeline.schedule(since, NEVER, most=MOST_IN_FILE, **limits)
    body = calendar_file(
        visit.workspace, found.flips, flip_titles(visit.all_versions, found.flips, visit.now), visit.now
    )
    return Download(f"{visit.workspace.id}-schedule.ics", "text/calendar", body)


def _apis(visit: Visit) -> tuple[str, ...] | None:
    """Return the endpoint that is asked for; ``None`` for all, also where there is no such API."""
    asked = visit.query.one("api")
    return (asked,) if visit.workspace.api(asked) is not None else None


def _languages(visit: Visit) -> tuple[str, ...] | None:
    asked = visit.query.one("lang")
    return (asked,) if asked in visit.workspace.languages else None


def _month_of(visit: Visit) -> date:
    asked = _MONTH.fullmatch(visit.query.one("month"))
    if asked is None or not _shown(int(asked[1])):
        return visit.today.replace(day=1)
    return date(int(asked[1]), int(asked[2]), 1)


def _month_with(visit: Visit, at: int) -> date | None:
    """Return the month of an instant, ``None`` where no page can show it."""
    try:
        found = local_date(at, visit.zone).replace(day=1)
    except (ValueError, OverflowError):  # beyond the year 9999 there
        return None
    return found if _shown(found.year) else None


def _shown(year: int) -> bool:
    return 1 < year < 9999


def _begin(visit: Visit, day: date) -> int:
    """Return the instant at which a day begins in the workspace's time zone."""
    return int(datetime(day.year, day.month, day.day, tzinfo=visit.zone).timestamp() * 1000)


def _weeks(first: date, today: date, flips: Iterable[tuple[Flip, date]]) -> list[list[Day]]:
    counts = Counter((day, flip.live) for flip, day in flips)
    return [
        [Day(day, day.month == first.month, day == today, counts[day, True], counts[day, False]) for day in week]
        for week in Calendar().monthdatescalendar(first.year, first.month)
    ]


def _grouped(flips: Iterable[tuple[Flip, date]]) -> list[tuple[date, list[Flip]]]:
    by_day: dict[date, list[Flip]] = {}
    for flip, day in flips:
        by_day.setdefault(day, []).append(flip)
    return list(by_day.items())


SECTION: Final = ConsoleSection("Schedule", (ConsolePage("/schedule", show), ConsolePage("/schedule.ics", calendar)))

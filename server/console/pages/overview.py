"""The overview page: the content of a workspace's current version, and the next events."""

from __future__ import annotations

from datetime import date
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from engine.access.keys.access import AccessFile
from engine.access.keys.keys import KeyState, key_label, key_state, local_date
from engine.read.all_versions.flip_titles import flip_titles
from engine.timeline.coming import ComingEntry, Moment, coming
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.pages.entries import entry_after
from server.console.visit import Shown, Visit

MOMENTS: Final = 10
"""Lines of what goes live and ends next."""
NAMED: Final = 3
"""Entries that a line names."""


class Next(msgspec.Struct, frozen=True):
    """What goes live, or ends, at one instant."""

    moment: Moment
    named: tuple[ComingEntry, ...]
    """The first ones."""
    others: str
    """The number of those after them; empty for none."""
    day: date | None
    """In the workspace's time zone; ``None`` beyond the year 9999 there."""


def show(visit: Visit) -> Shown:
    """Show the counts by API and language, the next flips, and keys that need somebody's attention."""
    summary = visit.timeline.summary(visit.now, flips=0)
    following = coming(visit.timeline, visit.workspace.languages, visit.now, MOMENTS)
    lines = [_next(moment, visit.zone) for moment in following.moments]
    named = [entry.flips[0] for one in lines for entry in one.named]
    names = {api.endpoint: api.name for api in visit.workspace.apis}
    counts = [(endpoint, list(rows)) for endpoint, rows in groupby(summary.counts, lambda one: one.api)]
    return Shown(
        "tabs/overview.html",
        {
            "summary": summary,
            "counts": counts,
            "next": lines,
            "following": following,
            "titles": flip_titles(visit.all_versions, named, visit.now),
            "entry_of": lambda flip: entry_after(visit, flip),
            "names": names,
            "current": visit.workspace_store.current(),
            "attention": _attention(visit),
        },
    )


def _next(moment: Moment, zone: ZoneInfo) -> Next:
    named = moment.entries[:NAMED]
    if moment.is_whole:
        count = len(moment.entries) - len(named)
        others = f"{count:,}" if count else ""
    else:
        count = moment.versions - sum(len(entry.flips) for entry in named)
        others = f"{count:,} language versions"
    return Next(moment, named, others, _day(moment.at, zone))


def _day(at: int, zone: ZoneInfo) -> date | None:
    try:
        return local_date(at, zone)
    except (ValueError, OverflowError):
        return None


def _attention(visit: Visit) -> list[tuple[str, str, str]]:
    """Return (ID, name, label) of the keys that expire soon or have expired, for those who can do something."""
    if not visit.role.manages:
        return []
    access = AccessFile(visit.workspace_store).read()
    return [
        (key.id, key.name, key_label(key, visit.today))
        for key in (access.keys if access else ())
        if key_state(key, visit.today) in (KeyState.EXPIRING, KeyState.EXPIRED)
    ]


SECTION: Final = ConsoleSection("Overview", (ConsolePage("", show),))

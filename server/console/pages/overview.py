"""The overview page: the content of a workspace's current version, and the next events."""

from __future__ import annotations

from datetime import date
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from engine.access.keys.access import AccessFile
from engine.access.keys.keys import KeyState, key_label, key_state, local_date
from engine.read.all_versions.flip_titles import by_instant, flip_titles
from engine.timeline.timeline import Flip
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.pages.entries import entry_after
from server.console.visit import Shown, Visit
from snapshots.model import NEVER

FLIPS: Final = 1000
"""Flips that are looked at, so that those of one instant are together."""
INSTANTS: Final = 10
"""Lines of what goes live and ends next."""
NAMED: Final = 3
"""Entries that a line names."""


class Next(msgspec.Struct, frozen=True):
    """What goes live, or ends, at one instant."""

    at: int
    """UTC milliseconds."""
    live: bool
    named: tuple[Flip, ...]
    """The first ones."""
    others: int
    """The number of those after them."""
    day: date | None
    """In the workspace's time zone; ``None`` beyond the year 9999 there."""


def show(visit: Visit) -> Shown:
    """Show the counts by API and language, the next flips, and keys that need somebody's attention."""
    summary = visit.timeline.summary(visit.now, flips=0)
    coming, more = _next(visit)
    names = {api.endpoint: api.name for api in visit.workspace.apis}
    counts = [(endpoint, list(rows)) for endpoint, rows in groupby(summary.counts, lambda one: one.api)]
    return Shown(
        "tabs/overview.html",
        {
            "summary": summary,
            "counts": counts,
            "next": coming,
            "more": more,
            "titles": flip_titles(visit.all_versions, [flip for one in coming for flip in one.named], visit.now),
            "entry": lambda flip: entry_after(visit, flip),
            "names": names,
            "current": visit.workspace_store.current(),
            "attention": _attention(visit),
        },
    )


def _next(visit: Visit) -> tuple[list[Next], bool]:
    """Return the next instants at which something goes live or ends, and whether there are later ones."""
    found = visit.timeline.schedule(visit.now + 1, NEVER, most=FLIPS)
    instants = by_instant(found.flips)
    if found.total > len(found.flips) and len(instants) > 1:
        instants.pop()  # not all of the last instant's were looked at
    lines = [
        Next(at, live, tuple(flips[:NAMED]), len(flips[NAMED:]), _day(at, visit.zone))
        for at, live, flips in instants[:INSTANTS]
    ]
    return lines, found.total > sum(len(one.named) + one.others for one in lines)


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

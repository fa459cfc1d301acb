"""The overview page: the content of a workspace's current version, and the next events."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from engine.access.keys.access import AccessFile
from engine.access.keys.keys import KeyState, key_label, key_state
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.pages.entries import entry_after
from server.console.visit import Shown, Visit


def show(visit: Visit) -> Shown:
    """Show the counts by API and language, the next flips, and keys that need somebody's attention."""
    summary = visit.timeline.summary(visit.now)
    names = {api.endpoint: api.name for api in visit.workspace.apis}
    counts = [(endpoint, list(rows)) for endpoint, rows in groupby(summary.counts, lambda one: one.api)]
    return Shown(
        "tabs/overview.html",
        {
            "summary": summary,
            "counts": counts,
            "entry": lambda flip: entry_after(visit, flip),
            "names": names,
            "current": visit.workspace_store.current(),
            "attention": _attention(visit),
        },
    )


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

"""Titles of the entries that go live or end, and what goes live or ends at one instant."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TypeAlias

from engine.read.all_versions.all_versions import AllVersions
from engine.read.query.plan import Wanted
from engine.timeline.states import State
from engine.timeline.timeline import Flip

Titles: TypeAlias = dict[tuple[str, str, str], str]
"""Titles on one line, or IDs where there is none, by endpoint, language and entry ID."""


def flip_titles(all_versions: AllVersions, flips: Iterable[Flip], now: int) -> Titles:
    """Return the titles of published versions that flip, as of ``now`` (UTC milliseconds).

    Raises ``SnapshotUnusable``.
    """
    wanted: dict[tuple[str, str], list[str]] = {}
    for flip in flips:
        wanted.setdefault((flip.api, flip.lang), []).append(flip.entry)
    titles: Titles = {}
    for (endpoint, lang), entries in wanted.items():
        api = all_versions.manifest.workspace.api(endpoint)
        of_entries = Wanted(lang, ids=entries)
        for version in all_versions.page(api, now, of_entries).entries if api is not None else ():
            if version.state is not State.DRAFT:
                titles[endpoint, lang, version.id] = " ".join((version.title or "").split()) or version.id
    return titles


def by_instant(flips: Iterable[Flip]) -> list[tuple[int, bool, list[Flip]]]:
    """Group flips, which are in order, by instant and by whether they go live or end, those that end first."""
    return [
        (at, live, sorted(same))
        for at, of_instant in groupby(flips, key=lambda flip: flip.at)
        for live, same in groupby(sorted(of_instant, key=lambda flip: flip.live), key=lambda flip: flip.live)
    ]

"""Four weeks of made-up page views of the bundled example, so that reports and the analysts' queries show something."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.views.collecting.spool import View
    from snapshots.store.store import WorkspaceStore

WEEKS: Final = 4
DAYS: Final = 7 * WEEKS
ENTRIES: Final = {
    "melon-bread": (51, 54, 53, 61),
    "the-night-oven": (41, 40, 35, 38),
    "country-rye": (28, 30, 33, 31),
    "feeding-goro": (24, 25, 25, 25),
    "walnut-batard": (17, 19, 18, 19),
    "bread-cards": (0, 0, 35, 12),
    "milk-roll": (11, 14, 13, 13),
    "shop": (0, 4, 0, 0),
}
"""An entry's views in each week, oldest first, by ID; news are soon forgotten. Nobody reads the sesame ring."""
PATHS: Final = {
    "/": (73, 75, 77, 76),
    "/breads": (36, 38, 37, 40),
    "/breads/melon-bread": (47, 49, 48, 52),
    "/journal/the-night-oven": (35, 34, 30, 31),
    "/shop": (23, 25, 24, 23),
    "/about": (11, 12, 12, 11),
}
"""A path's views in each week, oldest first."""
HOSTS: Final = ("www.komugi.example", "shop.komugi.example")
REFERENCE: Final = {"hello": (0, 1, 6, 7, 40), "second": (2,), "mika": (0,), "/about": (100,)}
"""How many days ago the entries and paths of the reference's examples were viewed."""
_SHARES: Final = (10, 10, 10, 10, 10, 6, 6)
"""How the views of a week are spread over its days, from Monday: there are fewer at weekends."""
_THURSDAY: Final = 3
"""The weekday of 1970-01-01."""


def sample_views(now: int) -> list[View]:
    """Return the views of the four weeks that ended with the day before ``now`` (UTC milliseconds) in Japan, in order.

    Seven days in a row always have the same views, whichever weekday is the first of them, so that what is added up
    over weeks, weekdays or hours is the same whenever the views are made.
    """
    from engine.views.collecting.spool import View
    from engine.views.collecting.targets import Kind, jst_day, jst_midnight

    today = jst_day(now)
    views = []
    for kind, targets in ((Kind.ENTRY, ENTRIES), (Kind.PATH, PATHS)):
        for key, weeks in targets.items():
            for ago in range(1, DAYS + 1):
                week, weekday = WEEKS - 1 - (ago - 1) // 7, (today - ago + _THURSDAY) % 7
                midnight = jst_midnight(today - ago)
                views += [
                    View(midnight + at, kind, key, host)
                    for at, host in _moments(f"{key} {week} {weekday}", _of_day(weeks[week], weekday))
                ]
    return sorted(views)


def _of_day(views: int, weekday: int) -> int:
    """Return how many of a week's views are on one of its days; over the days, they add up to all of them."""
    before, after = (round(views * sum(_SHARES[:days]) / sum(_SHARES)) for days in (weekday, weekday + 1))
    return after - before


def _moments(seed: str, count: int) -> Iterator[tuple[int, str]]:
    """Yield milliseconds since midnight, most of them in the evening, each with a host."""
    chance = random.Random(seed)  # noqa: S311 - made-up numbers
    for _ in range(count):
        yield round(3_600_000 * chance.triangular(6, 24, 20)), HOSTS[chance.random() > 0.8]


def reference_views(now: int) -> list[View]:
    """Return the views of the examples in the reference of the API, as of ``now`` (UTC milliseconds), in order."""
    from engine.views.collecting.spool import View
    from engine.views.collecting.targets import Kind

    views = [
        View(now - days * 86_400_000, Kind.PATH if key.startswith("/") else Kind.ENTRY, key, "www.acme.example")
        for key, ages in REFERENCE.items()
        for days in ages
    ]
    return sorted(views)


def add_sample_views(workspace_store: WorkspaceStore, now: int) -> None:
    """Count the sample views in a workspace of the example, as a server would. Raises ``StoreError``."""
    add_views(workspace_store, sample_views(now), now)


def add_views(workspace_store: WorkspaceStore, views: Sequence[View], now: int) -> None:
    """Count views in a workspace, as a server would. Raises ``StoreError``."""
    from engine.views.collecting.spool import VIEWS, SpoolWriter
    from engine.views.gathering.writer import ViewWriter

    directory = workspace_store.directory / VIEWS
    spool = SpoolWriter(directory, now)
    spool.append(*views)
    spool.close()
    ViewWriter(directory).round(now, time.monotonic(), flush=True)

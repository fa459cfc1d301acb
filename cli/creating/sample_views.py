"""Four weeks of made-up page views of the bundled example, so that reports and the analysts' queries show something."""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from engine.views.collecting.spool import View
    from snapshots.store.store import WorkspaceStore

DAYS = 28
ENTRIES = {
    "melon-bread": (9, 0),
    "the-night-oven": (6, 0),
    "country-rye": (5, 0),
    "feeding-goro": (4, 0),
    "walnut-batard": (3, 0),
    "bread-cards": (14, 16),
    "milk-roll": (2, 0),
    "shop": (1, 7),
}
"""An entry's views on a weekday and the day from which it is viewed, by ID; entries of later days are news, and soon
forgotten. Nobody reads the sesame ring."""
PATHS = {"/": 12, "/breads": 6, "/breads/melon-bread": 8, "/journal/the-night-oven": 5, "/shop": 4, "/about": 2}
"""The views of a path on a weekday, by path."""
HOSTS = ("www.komugi.example", "shop.komugi.example")


def sample_views(now: int) -> list[View]:
    """Return the views up to ``now`` (UTC milliseconds), in order; the same for the same day in Japan.

    There are fewer at weekends and most in the evening.
    """
    from engine.views.collecting.spool import View
    from engine.views.collecting.targets import Kind

    chance = random.Random(1)  # noqa: S311 - made-up numbers
    midnight = datetime.fromtimestamp(now / 1000, ZoneInfo("Asia/Tokyo")).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    targets = [(Kind.ENTRY, key, often, came) for key, (often, came) in ENTRIES.items()]
    targets += [(Kind.PATH, key, often, 0) for key, often in PATHS.items()]
    views = []
    for number in range(DAYS):
        day = midnight - timedelta(days=DAYS - 1 - number)
        for kind, key, often, came in targets:
            expected = often * (0.6 if day.weekday() > 4 else 1.0) * (0.75 ** (number - came) if came else 1.0)
            for _ in range(round(expected * chance.uniform(0.7, 1.3)) if number >= came else 0):
                at = round((day.timestamp() + 3600 * chance.triangular(6, 24, 20)) * 1000)
                host = HOSTS[chance.random() > 0.8]
                if at <= now:
                    views.append(View(at, kind, key, host))
    return sorted(views)


def add_sample_views(workspace_store: WorkspaceStore, now: int) -> None:
    """Count the sample views in a workspace of the example, as a server would. Raises ``StoreError``."""
    from engine.views.collecting.spool import VIEWS, SpoolWriter
    from engine.views.gathering.writer import ViewWriter

    views = workspace_store.directory / VIEWS
    spool = SpoolWriter(views, now)
    spool.append(*sample_views(now))
    spool.close()
    ViewWriter(views).round(now, time.monotonic(), flush=True)

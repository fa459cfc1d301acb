"""Machines over one bucket, as far as page views go, and what the bucket then says."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from engine.views.collecting.spool import SpoolWriter, View
from engine.views.collecting.targets import Kind, jst_day
from engine.views.counting.count_files import COUNTS, TODAY, all_rows, read_state
from engine.views.gathering.gathering import ViewGathering
from engine.views.gathering.layout import day_and_number
from engine.views.gathering.pulled_counts import PulledCounts
from engine.views.gathering.row_files import views_in_rows
from engine.views.gathering.sending import ViewSending
from snapshots.store.objects import Objects
from snapshots.store.store import Store

NOW = 1_763_700_000_000
DAY = 86_400_000
WORKSPACE = "acme"
Key = tuple[str, str, int]


class Machine:
    """The directories of one machine, and one process on it that sends, writes and pulls."""

    def __init__(self, root: Path, objects: Objects, retention_days: int | None = None) -> None:
        self.views = root / WORKSPACE / "views"
        self.store = Store(root, root / ".cache")
        self.objects = objects
        self.sending = ViewSending(self.views, WORKSPACE, objects)
        self.gathering = ViewGathering(objects, self.store, root / ".gathering", retention_days)
        self.pulled = PulledCounts(objects, WORKSPACE, self.views)
        self.moment = 0.0

    def collect(self, views: list[View], now: int = NOW) -> list[View]:
        """Have a worker that then ends collect views."""
        spool = SpoolWriter(self.views, now)
        spool.append(*views)
        spool.close()
        return views

    def send(self, now: int = NOW) -> None:
        self.moment += 100
        self.sending.round(now, self.moment, flush=True)

    def counts(self) -> Counter[Key]:
        """The counts as this machine answers them after a pull."""
        self.pulled.refresh()
        assert (self.views / COUNTS / TODAY).exists()
        return counts_in(self.views)


def random_views(count: int, seed: int, *, days: int = 3, now: int = NOW) -> list[View]:
    chance = random.Random(seed)
    return [
        View(
            now - chance.randrange(days) * DAY - chance.randrange(3_600_000),
            (kind := chance.choice([Kind.ENTRY, Kind.PATH])),
            f"/p{chance.randrange(9)}" if kind is Kind.PATH else f"e{chance.randrange(9)}",
            "acme.example",
        )
        for _ in range(count)
    ]


def expected(views: list[View]) -> Counter[Key]:
    return Counter((view.kind.value, view.key, jst_day(view.at)) for view in views)


def counts_in(views: Path) -> Counter[Key]:
    """The counts in a directory's files."""
    rows = all_rows(views, read_state(views)).to_pylist()
    epoch = rows[0]["day"].fromordinal(719_163) if rows else None
    found: Counter[Key] = Counter()
    for row in rows:
        found[row["kind"], row["key"], (row["day"] - epoch).days] += row["views"]
    return found


def rows_in(objects: Objects) -> list[View]:
    """The raw rows in the bucket; each file has one day alone."""
    found = []
    for one in objects.names(f"{WORKSPACE}/views"):
        place = day_and_number(one.key)
        if place is not None:
            content = objects.read(one.key)
            assert content is not None
            views = views_in_rows(content.data)
            assert {jst_day(view.at) for view in views} == {place[0]}
            found += views
    return sorted(found)

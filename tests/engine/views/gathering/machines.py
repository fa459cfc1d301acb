"""Machines over one store, as far as page views go, and what the store then says."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import duckdb

from engine.views.collecting.spool import SpoolWriter, View
from engine.views.collecting.targets import Kind, jst_day
from engine.views.counting.count_files import COUNTS, TODAY, all_rows, read_state
from engine.views.gathering.gathering import ViewGathering
from engine.views.gathering.layout import day_and_number
from engine.views.gathering.pulled_counts import PulledCounts
from engine.views.gathering.row_files import views_in_rows
from engine.views.gathering.sending import ViewSending
from engine.views.gathering.stored_views import FiledViews
from engine.views.gathering.writer import ViewWriter
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


class Local:
    """The one machine of a store in a directory, with what a ``Machine`` does; each round is as of a new process."""

    def __init__(self, root: Path, objects: Objects, retention_days: int | None = None) -> None:
        self.views = root / WORKSPACE / "views"
        self.objects = objects
        self.retention_days = retention_days
        self.gathering = self

    def collect(self, views: list[View], now: int = NOW) -> list[View]:
        """Have a worker that then ends collect views."""
        spool = SpoolWriter(self.views, now)
        spool.append(*views)
        spool.close()
        return views

    def send(self, now: int = NOW) -> None:
        """Do nothing: the spool is the store's."""

    def round(self, now: int, *, flush: bool = False) -> FiledViews:
        written = ViewWriter(self.views, self.retention_days).round(now, 0.0, flush=flush)
        assert written is not None
        return written

    def counts(self) -> Counter[Key]:
        """The counts as this machine answers them."""
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


def check_file(file: Path, rows: list[View], counted: list[View]) -> None:
    """Check the raw rows and the daily counts in an analysts' file."""
    with duckdb.connect(file, read_only=True) as connection:
        raw = "SELECT epoch_ms(viewed_at), kind, key, origin FROM page_views"
        assert sorted(connection.execute(raw).fetchall()) == sorted(tuple(view) for view in rows)
        daily = "SELECT kind, key, day - DATE '1970-01-01', views FROM daily_counts"
        assert {row[:3]: row[3] for row in connection.execute(daily).fetchall()} == expected(counted)

"""Read a report about a period from the counts files: the views of each day, and the targets with the most views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from engine.views.collecting.targets import Kind, day_number, day_of
from engine.views.counting.count_files import COUNTS, TODAY, queried, read_state
from engine.views.counting.ranking import Ranked, most_viewed

REPORTED: Final = (Kind.ENTRY, Kind.PATH)
"""The kinds that a report tells about, in this order."""


class DailyCount(NamedTuple):
    """The views of one key on one day."""

    day: int
    """A JST day, as days since 1970."""
    kind: Kind
    key: str
    views: int


@dataclass(frozen=True, slots=True)
class ReportSection:
    """The views of one kind of target in a period."""

    by_day: tuple[int, ...]
    before: int
    """The views of the period of the same length that ended where this one begins."""
    ranked: tuple[Ranked, ...]
    """The entries or paths with the most views, the most viewed first."""

    @property
    def views(self) -> int:
        return sum(self.by_day)


@dataclass(frozen=True, slots=True)
class ViewsReport:
    """The page views from one JST day to another (days since 1970, both included)."""

    workspace: str
    since: int
    until: int
    sections: Mapping[Kind, ReportSection]
    others: int
    """Views beyond ``views.max_keys``, which count for no key."""
    titles: Mapping[str, str]
    """Titles by entry ID."""


def make_report(
    views: Path, workspace: str, since: int, until: int, limit: int, titles: Mapping[str, str] | None = None
) -> ViewsReport:
    """Read the counts of a workspace's views directory into a report; ``limit`` is how many keys of a kind it names.

    ``workspace`` is the name shown. Raises ``CountsDamaged``.
    """
    days = until - since + 1
    totals = _totals(views, since - days, until)
    sections = {
        kind: ReportSection(
            totals[kind][days:], sum(totals[kind][:days]), tuple(most_viewed(views, since, until, limit, kind))
        )
        for kind in REPORTED
    }
    return ViewsReport(workspace, since, until, sections, sum(totals[Kind.OTHER][days:]), titles or {})


def daily_counts(views: Path, since: int, until: int) -> Iterator[DailyCount]:
    """The views of every key on every day of a period on which it was viewed, by day, kind and key.

    Raises ``CountsDamaged``.
    """
    if not (views / COUNTS / TODAY).exists():
        return
    with queried(views, read_state(views)) as connection:
        rows = connection.execute(
            "SELECT day, kind, key, sum(views)::BIGINT FROM counts WHERE day BETWEEN $since AND $until "
            "GROUP BY ALL ORDER BY ALL",
            {"since": day_of(since), "until": day_of(until)},
        )
        while some := rows.fetchmany(1000):
            for day, kind, key, count in some:
                yield DailyCount(day_number(day), Kind(kind), key, count)


def _totals(views: Path, since: int, until: int) -> dict[Kind, tuple[int, ...]]:
    """The views of each day of a period, by kind."""
    found = {kind: [0] * (until - since + 1) for kind in Kind}
    if (views / COUNTS / TODAY).exists():
        with queried(views, read_state(views)) as connection:
            rows = connection.execute(
                "SELECT kind, day, sum(views)::BIGINT FROM counts WHERE day BETWEEN $since AND $until GROUP BY ALL",
                {"since": day_of(since), "until": day_of(until)},
            ).fetchall()
        for kind, day, count in rows:
            found[Kind(kind)][day_number(day) - since] = count
    return {kind: tuple(counts) for kind, counts in found.items()}

"""Rank the most viewed keys of the counts files, day by day (for reports to people; requests use ``counts``)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.views.collecting.targets import Kind, day_number, day_of
from engine.views.counting.count_files import COUNTS, TODAY, queried, read_state

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Ranked:
    """One key with its views in a period."""

    kind: Kind
    key: str
    views: int
    total: int
    """The views of all time."""
    by_day: tuple[int, ...]
    """The views of each day of the period, the first day first."""
    before: int = 0
    """The views of the period of the same length that ended where this one begins."""


def most_viewed(views: Path, since: int, until: int, limit: int, kind: Kind | None = None) -> list[Ranked]:
    """The keys viewed most from one JST day to another (days since 1970, both included); ties by key.

    Raises ``CountsDamaged``.
    """
    if not (views / COUNTS / TODAY).exists():
        return []
    with queried(views, read_state(views)) as connection:
        chosen = "AND kind = $kind" if kind else ""
        found = connection.execute(
            "SELECT kind, key,"  # noqa: S608 - constants
            " sum(views) FILTER (WHERE day BETWEEN $since AND $until)::BIGINT AS recent,"
            " coalesce(sum(views) FILTER (WHERE day BETWEEN $before AND $since - 1), 0)::BIGINT,"
            " sum(views)::BIGINT FROM counts"
            f" WHERE true {chosen} GROUP BY ALL HAVING recent > 0 ORDER BY recent DESC, kind, key LIMIT $limit",
            {"since": day_of(since), "until": day_of(until), "before": day_of(2 * since - until - 1), "limit": limit}
            | ({"kind": kind.value} if kind else {}),
        ).fetchall()
        return [
            Ranked(Kind(one), key, recent, total, _by_day(connection, Kind(one), key, since, until), before)
            for one, key, recent, before, total in found
        ]


def views_of(views: Path, kind: Kind, key: str, since: int, until: int) -> Ranked:
    """The ``Ranked`` of one key, viewed or not. Raises ``CountsDamaged``."""
    if not (views / COUNTS / TODAY).exists():
        return Ranked(kind, key, 0, 0, (0,) * (until - since + 1))
    with queried(views, read_state(views)) as connection:
        by_day = _by_day(connection, kind, key, since, until)
        [(total,)] = connection.execute(
            "SELECT coalesce(sum(views), 0)::BIGINT FROM counts WHERE kind = $kind AND key = $key",
            {"kind": kind.value, "key": key},
        ).fetchall()
        return Ranked(kind, key, sum(by_day), int(total), by_day)


def _by_day(connection: duckdb.DuckDBPyConnection, kind: Kind, key: str, since: int, until: int) -> tuple[int, ...]:
    days = [0] * (until - since + 1)
    rows = connection.execute(
        "SELECT day, sum(views)::BIGINT FROM counts"
        " WHERE kind = $kind AND key = $key AND day BETWEEN $since AND $until GROUP BY day",
        {"kind": kind.value, "key": key, "since": day_of(since), "until": day_of(until)},
    ).fetchall()
    for day, count in rows:
        days[day_number(day) - since] = count
    return tuple(days)

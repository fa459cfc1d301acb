"""Read from the analysts' file the hosts whose pages sent the views of a period."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import duckdb

from engine.database import open_database
from engine.views.collecting.targets import day_of
from engine.views.gathering.analysts_file import FILE, FileBusy, FileDamaged


class OriginCount(NamedTuple):
    """A host and the views that its pages sent."""

    origin: str
    views: int


def origins(views: Path, since: int, until: int, limit: int) -> list[OriginCount]:
    """The hosts that sent most views from one JST day to another (days since 1970, both included); ties by name.

    It counts the rows that are kept, and one that came in a few minutes ago may be missing. Raises ``FileBusy``
    while the file is being written, and ``FileDamaged``.
    """
    path = views / FILE
    if not path.exists():
        return []
    try:
        # Opened for reading only: whoever writes waits for no more than this one statement.
        with open_database(path, read_only=True, config={"threads": "1", "memory_limit": "200MB"}) as connection:
            rows = connection.execute(
                "SELECT origin, count(*)::BIGINT FROM page_views WHERE day BETWEEN $since AND $until AND origin <> '' "
                "GROUP BY origin ORDER BY 2 DESC, 1 LIMIT $limit",
                {"since": day_of(since), "until": day_of(until), "limit": limit},
            ).fetchall()
    except duckdb.IOException as error:
        raise FileBusy(f"{path} is being written at the moment. Try again.") from error
    except duckdb.Error as error:
        raise FileDamaged(f"{path} cannot be read: {error}") from error
    return [OriginCount(origin, count) for origin, count in rows]

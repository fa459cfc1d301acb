"""One SQL statement with its values, and the connection that runs statements, each for a limited time."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import duckdb
import msgspec

from engine.read.reader.watchdog import Watchdog
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    import numpy as np

    Columns: TypeAlias = "dict[str, np.ndarray[Any, np.dtype[Any]]]"

Parameters = dict[str, object]
Row = tuple[Any, ...]
Fetched = TypeVar("Fetched")


MEMORY: Final = "1GB"
"""DuckDB's memory for all statements of a connection, unless told otherwise."""
TIME_LIMIT: Final = 5.0
"""Seconds for all statements of a request, unless told otherwise."""


class Statement(msgspec.Struct, frozen=True):
    """One SQL statement and the values of its named parameters."""

    text: str
    parameters: Parameters


KEPT_ONLY: Final = inf
"""The deadline of an answer that is made of what is kept alone, which takes no time to speak of."""


class QueryTimeout(ParquetryError):
    """A request took longer, or more memory, than it may (503)."""


class NotKept(Exception):
    """An answer is to be made of what is kept alone, and needs more: a statement, or work that takes as long."""


class StatementRunner(ABC):
    """Runs statements on a connection. Any number of threads may do so at the same time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, time_limit: float) -> None:
        """``time_limit``: seconds for all statements of one request."""
        self._connection = connection
        self._time_limit = time_limit
        self._watchdog = Watchdog()
        self._local = threading.local()
        self._cursors: list[duckdb.DuckDBPyConnection] = []

    def deadline(self) -> float:
        """When a request that begins now is over its time limit, in ``time.monotonic`` seconds."""
        return time.monotonic() + self._time_limit

    def check(self, deadline: float) -> None:
        """Raise ``QueryTimeout`` past the deadline, for work that runs no statement."""
        if time.monotonic() >= deadline:
            raise self._over_time()

    def run(self, statement: Statement, deadline: float) -> list[Row]:
        """All rows of a statement. Raises ``QueryTimeout`` past the deadline, or out of memory, and ``NotKept``."""
        return self._execute(statement, deadline, duckdb.DuckDBPyConnection.fetchall)

    def run_for_columns(self, statement: Statement, deadline: float) -> Columns:
        """Return the columns of a statement's rows, of which there may be very many. Raises as ``run``."""
        return self._execute(statement, deadline, duckdb.DuckDBPyConnection.fetchnumpy)

    def explain(self, statement: Statement, deadline: float) -> str:
        """DuckDB's plan for a statement, with the time of each part."""
        explaining = Statement(f"EXPLAIN ANALYZE {statement.text}", statement.parameters)
        rows = self.run(explaining, deadline)
        return "\n".join(str(row[-1]) for row in rows)

    def close(self) -> None:
        """Run nothing any more. No statement may be running."""
        self._watchdog.close()
        for cursor in self._cursors:
            cursor.close()

    def _execute(
        self, statement: Statement, deadline: float, fetch: Callable[[duckdb.DuckDBPyConnection], Fetched]
    ) -> Fetched:
        if deadline == KEPT_ONLY:
            raise NotKept
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
            self._cursors.append(cursor)
        try:
            if time.monotonic() >= deadline:
                raise duckdb.InterruptException
            with self._watchdog.until(deadline, cursor.interrupt):
                return fetch(cursor.execute(statement.text, statement.parameters))
        except duckdb.InterruptException:
            raise self._over_time() from None
        except duckdb.OutOfMemoryException:
            raise QueryTimeout(
                "The request needs more memory than it may use and was stopped. Ask for less, or try again."
            ) from None
        except duckdb.Error as error:
            unreadable = self._unreadable(statement, error)
            if unreadable is None:
                raise
            raise unreadable from None

    @abstractmethod
    def _unreadable(self, statement: Statement, error: duckdb.Error) -> ParquetryError | None:
        """Return the error to raise where files that a statement reads cannot be read, ``None`` for other failures."""

    def _over_time(self) -> QueryTimeout:
        return QueryTimeout(
            f"The request took longer than {self._time_limit:g} seconds and was stopped. "
            "Ask for less: fewer conditions, a smaller limit or offset."
        )

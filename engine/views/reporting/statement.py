"""Run SQL over the analysts' file, read-only, and give the rows as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb

from engine.views.gathering import analysts_file
from snapshots.problems import ParquetryError

_AT_ONCE: Final = 1_000
"""Rows that are fetched at once."""
_INTEGERS: Final = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_NUMBERS: Final = {*_INTEGERS, *(f"u{name}" for name in _INTEGERS), "float", "double", "decimal"}
"""DuckDB's names of the types of numbers."""


class StatementFailed(ParquetryError):
    """DuckDB cannot run the SQL."""


class Rows:
    """The rows of a statement, which can be read once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation | None) -> None:
        """``relation`` is ``None`` for a statement that has no rows."""
        self._connection, self._relation = connection, relation
        self.columns: tuple[str, ...] = () if relation is None else tuple(relation.columns)
        types = () if relation is None else relation.types
        self.numbers = tuple(name for name, kind in zip(self.columns, types, strict=True) if kind.id in _NUMBERS)
        """The columns that hold numbers."""

    def texts(self) -> Iterator[tuple[str | None, ...]]:
        """Yield the rows with every value as DuckDB writes it, ``None`` for NULL."""
        yield from self._fetched("CAST(COLUMNS(*) AS VARCHAR)")

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as JSON objects. What JSON cannot write as a number, such as ``NaN``, is ``None``."""
        for (text,) in self._fetched("to_json(rows_of_the_statement)::VARCHAR"):
            yield json.loads(text, parse_constant=lambda _: None)

    def _fetched(self, selected: str) -> Iterator[tuple[Any, ...]]:
        rows_of_the_statement = self._relation  # DuckDB finds it by its name
        if rows_of_the_statement is None:
            return
        self._connection.execute(f"SELECT {selected} FROM rows_of_the_statement")  # noqa: S608 - our own
        while found := self._connection.fetchmany(_AT_ONCE):
            yield from found


@contextmanager
def answered(file: Path, sql: str, folder: Path | None, wait: float) -> Iterator[Rows]:
    """Run SQL over the analysts' file, which cannot be changed by it, and give the rows of its last statement.

    Files that the SQL reads are looked for in ``folder`` too. ``wait`` is the seconds to go on trying while a server
    writes the file. Raises ``StatementFailed``, also while rows are read, and ``FileBusy`` and ``FileDamaged``.
    """
    with analysts_file.opened_to_read(file, wait=wait) as connection:
        try:
            if folder is not None:
                connection.execute("SET file_search_path = $folder", {"folder": str(folder)}).fetchall()
            statements = connection.extract_statements(sql)
            if not statements:
                raise StatementFailed("There is no SQL statement to run.")
            for statement in statements[:-1]:
                connection.execute(statement).fetchall()
            yield Rows(connection, connection.sql(statements[-1]))
        except duckdb.Error as error:
            raise StatementFailed(str(error)) from None

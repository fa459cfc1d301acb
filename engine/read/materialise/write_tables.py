"""Fill the tables of a new DuckDB file from a part's data files (design section 4)."""

# ruff: noqa: S608 - identifiers and numbers come from the manifest, paths are quoted; no client text comes here
from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import Final

import duckdb

from engine.identifiers import quoted
from engine.read.files.data_file import path_text, rows_of_file, value_in_file
from engine.read.files.parts import Part, PartSource
from engine.read.files.plain_path import plain_path, writable_database
from engine.read.files.tables import ROW, TableColumn, columns_of
from engine.read.materialise.version_files import VersionFiles
from snapshots.model import KEPT_AS_FLAG, FieldType, ValueKind, types_where

# What hardly ever repeats is kept plain: looking for what repeats in it costs more than all the rest of a table, and
# compressing a million long texts costs minutes.
_PLAIN: Final = "USING COMPRESSION uncompressed"
_PLAIN_TYPES: Final = types_where(lambda facts: facts.kind is ValueKind.TEXT) - KEPT_AS_FLAG | {FieldType.REFERENCES}
_MAKING: Final = quoted("making")
"""The name that the file is attached by."""


class TablesWriter:
    """Writes the DuckDB file of one part after the other by one connection, to a database in memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: VersionFiles) -> None:
        self._connection = connection
        self._files = files

    def write(self, database: Path, part: Part, filled: Set[tuple[str, str]]) -> None:
        """Make a part's file. ``filled``: of which language and field every row has a visible text.

        Raises ``SnapshotUnusable`` where rows are not where they should be, and what DuckDB raises.
        """
        with writable_database(database) as path:
            self._run(f"ATTACH {path_text(path)} AS {_MAKING}")
            self._write_tables(part, filled)
            self._run(f"DETACH {_MAKING}")

    def _write_tables(self, part: Part, filled: Set[tuple[str, str]]) -> None:
        self._run("BEGIN")
        self._run(f"CREATE SCHEMA {_schema(part)}")
        for source in part.files:
            self._write_table(part, source, {field for lang, field in filled if lang == source.lang})
        self._run("COMMIT")
        for source in part.files:
            self._check_table(part, source)

    def _write_table(self, part: Part, source: PartSource, filled: Set[str]) -> None:
        columns = [*columns_of(part.api, part.windows_of(source.lang), is_indexed=part.is_indexed)]
        types = [self._type(part, source, column) for column in columns]
        named = ", ".join(f"{column.name} {kind}" for column, kind in zip(columns, types, strict=True))
        self._run(f"CREATE TABLE {_table(part, source)} ({named})")
        values = ", ".join(value_in_file(column, filled) for column in columns)
        self._run(f"INSERT INTO {_table(part, source)} SELECT {values} FROM {self._rows(source)}")

    def _check_table(self, part: Part, source: PartSource) -> None:
        """Positions are what every list leans on, so they are looked at once."""
        found = self._run(f"SELECT count(*), count(*) FILTER (WHERE {ROW} <> rowid) FROM {_table(part, source)}")
        if found != [(source.data.rows, 0)]:
            raise self._files.unusable(part.api)

    def _run(self, text: str) -> list[tuple[object, ...]]:
        return self._connection.execute(text).fetchall()

    def _rows(self, source: PartSource) -> str:
        return rows_of_file(plain_path(self._files.directory) / source.data.path)

    def _type(self, part: Part, source: PartSource, column: TableColumn) -> str:
        """The type of a column. That of a select field is made first, with the values the rows have: comparing numbers
        is several times as fast as comparing texts."""
        field = column.field
        if field is not None and field.type.facts.kind is ValueKind.OPTION:
            is_list = field.type.facts.is_array
            name = f"{_schema(part)}.{quoted(f'{source.lang}@{field.id}')}"
            value = f"unnest(file.{quoted(field.id)})" if is_list else f"file.{quoted(field.id)}"
            values = f"SELECT DISTINCT {value} AS value FROM {self._rows(source)}"
            known = f"SELECT value::VARCHAR FROM ({values}) WHERE value IS NOT NULL ORDER BY ALL"
            self._run(f"CREATE TYPE {name} AS ENUM ({known})")
            return f"{name}[]" if is_list else name
        is_plain = column.name == '"id"' or (field is None and column.type == "VARCHAR")
        if is_plain or (field is not None and field.type in _PLAIN_TYPES):
            return f"{column.type} {_PLAIN}"
        return column.type


def _schema(part: Part) -> str:
    return f"{_MAKING}.{quoted(part.name)}"


def _table(part: Part, source: PartSource) -> str:
    return f"{_schema(part)}.{quoted(source.lang)}"

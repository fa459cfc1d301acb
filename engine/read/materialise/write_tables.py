"""Fill the tables of a new DuckDB file from an API's data files, and from older tables (design section 4).

The rows of segments that the older tables have too are copied from there, which takes a part of the time in which data
files are read. What comes of it is the same.
"""

# ruff: noqa: S608 - identifiers and numbers come from the manifest, paths are quoted; no client text comes here
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb
import msgspec
import numpy as np

from engine.identifiers import quoted
from engine.read.files.array_file import ArrayFile
from engine.read.files.data_file import path_text, rows_of_files, value_in_file
from engine.read.files.parts import ApiParts, Part
from engine.read.files.paths import CachePaths, search_file
from engine.read.files.plain_path import plain_path, writable_database
from engine.read.files.row_arrays import PARTS as PART_NUMBERS
from engine.read.files.row_arrays import POSITIONS, ROWS
from engine.read.files.search_arrays import search_array
from engine.read.files.tables import AT, PART, TableColumn, columns_of
from engine.read.materialise.base_tables import PARTS_FILE, Base
from engine.read.materialise.version_files import VersionFiles
from snapshots.columns import indexed_fields
from snapshots.model import KEPT_AS_FLAG, FieldType, ValueKind, types_where

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

# What hardly ever repeats is kept plain: looking for what repeats in it costs more than all the rest of a table, and
# compressing a million long texts costs minutes.
_PLAIN: Final = "USING COMPRESSION uncompressed"
_PLAIN_TYPES: Final = types_where(lambda facts: facts.kind is ValueKind.TEXT) - KEPT_AS_FLAG | {FieldType.REFERENCES}
_MAKING: Final = quoted("making")
_BASE: Final = quoted("base")
"""The names that the new file and the older one are attached by."""


class _Source(msgspec.Struct, frozen=True):
    """A data file whose rows are read: of which part, and the position there of its first row."""

    path: Path
    part: int
    first: int
    filled: frozenset[str]
    """The fields of which every row has a visible text."""


class TablesWriter:
    """Writes the DuckDB file of one API after the other by one connection, to a database in memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: VersionFiles) -> None:
        self._connection = connection
        self._files = files

    def write(self, database: Path, api: ApiParts, paths: CachePaths, base: Base | None) -> Iterator[tuple[str, Array]]:
        """Make the file of an API's tables, with the ``base`` that ``base_of`` returns; return the arrays beside it.

        Raises ``SnapshotUnusable`` where rows are not where they should be, and what DuckDB raises.
        """
        with writable_database(database) as path:
            self._run(f"ATTACH {path_text(path)} AS {_MAKING}")
            try:
                if base is not None:
                    file = plain_path(paths.workspace) / base.file.relative_to(paths.workspace)
                    self._run(f"ATTACH {path_text(file)} AS {_BASE} (READ_ONLY)")
                places = self._write_tables(api, paths, base)
            finally:
                self._run(f"DETACH {_MAKING}")
                if base is not None:
                    self._run(f"DETACH DATABASE IF EXISTS {_BASE}")
        (database.parent / PARTS_FILE).write_text("".join(f"{part.name}\n" for part in api.parts))
        return places

    def _write_tables(self, api: ApiParts, paths: CachePaths, base: Base | None) -> Iterator[tuple[str, Array]]:
        self._run("BEGIN")
        try:
            self._run(f"CREATE SCHEMA {_schema(api)}")
            for lang in api.languages:
                self._write_table(api, lang, self._sources(api, lang, paths, base), base)
        except BaseException:
            self._run("ROLLBACK")
            raise
        self._run("COMMIT")
        numbers, positions = [], []
        for lang in api.languages:
            found = self._connection.execute(
                f'SELECT {PART} AS part, {AT} AS at, "publishedAt" AS published FROM {_table(api, lang)}'
            ).fetchnumpy()
            published = np.asarray(found["published"])
            if len(published) != api.rows_of(lang) or not (published[1:] <= published[:-1]).all():
                raise self._files.unusable(api.api)
            numbers.append(np.asarray(found["part"], np.uint32))
            positions.append(np.asarray(found["at"], np.uint32))
        return self._places(api, np.concatenate(numbers), np.concatenate(positions))

    def _places(self, api: ApiParts, numbers: Array, positions: Array) -> Iterator[tuple[str, Array]]:
        """Return the arrays beside the tables, in which positions are what every list leans on."""
        firsts = np.array([0, *accumulate(part.rows for part in api.parts)], np.int64)
        at = firsts[numbers] + positions
        rows = np.full(firsts[-1], len(at), np.uint32)
        rows[at[at < firsts[-1]]] = np.arange(len(at), dtype=np.uint32)[at < firsts[-1]]
        if len(at) != firsts[-1] or (rows == len(at)).any():
            raise self._files.unusable(api.api)
        return iter(((PART_NUMBERS, numbers), (POSITIONS, positions), (ROWS, rows)))

    def _sources(self, api: ApiParts, lang: str, paths: CachePaths, base: Base | None) -> list[_Source]:
        """Return the data files of a language whose rows the older tables do not have."""
        known = set() if base is None else set(base.numbers.values())
        directory = plain_path(self._files.directory)
        return [
            _Source(directory / one.data.path, number, rows.start, _filled(part, lang, paths))
            for number, part in enumerate(api.parts)
            if number not in known
            for one, rows in part.ranges()
            if one.lang == lang
        ]

    def _write_table(self, api: ApiParts, lang: str, sources: Sequence[_Source], base: Base | None) -> None:
        columns = [*columns_of(api.api, api.windows_of(lang), is_indexed=api.is_indexed)]
        older = f"{_BASE}.{quoted(base.name)}.{quoted(lang)}" if base is not None else None
        types = [self._type(api, lang, column, sources, older, base) for column in columns]
        named = ", ".join(f"{column.name} {kind}" for column, kind in zip(columns, types, strict=True))
        self._run(f"CREATE TABLE {_table(api, lang)} ({named}, {PART} UINTEGER, {AT} UINTEGER)")
        selects = []
        for filled in dict.fromkeys(source.filled for source in sources):
            some = [source for source in sources if source.filled == filled]
            values = [value_in_file(column, filled, self._files.manifest) for column in columns]
            places = ", ".join(f"({at}, {one.part}, {one.first})" for at, one in enumerate(some))
            selects.append(
                f"SELECT {_as(columns, values)}, place.part AS {PART}, file.file_row_number + place.first AS {AT} "
                f"FROM {rows_of_files([one.path for one in some])} "
                f"JOIN (VALUES {places}) AS place(number, part, first) ON file.file_index = place.number"
            )
        if base is not None:
            values = [f"older.{column.name}{_plain_cast(column)}" for column in columns]
            selects.append(
                f"SELECT {_as(columns, values)}, place.part AS {PART}, older.{AT} AS {AT} FROM {older} AS older "
                f"JOIN (VALUES {_moved(base)}) AS place(number, part) ON older.{PART} = place.number"
            )
        if selects:
            rows = " UNION ALL ".join(selects)
            self._run(f'INSERT INTO {_table(api, lang)} SELECT * FROM ({rows}) ORDER BY "publishedAt" DESC, "id"')

    def _run(self, text: str) -> list[tuple[object, ...]]:
        return self._connection.execute(text).fetchall()

    def _type(
        self,
        api: ApiParts,
        lang: str,
        column: TableColumn,
        sources: Sequence[_Source],
        older: str | None,
        base: Base | None,
    ) -> str:
        """The type of a column. That of a select field is made first, with the values the rows have: comparing numbers
        is several times as fast as comparing texts."""
        field = column.field
        if field is not None and field.type.facts.kind is ValueKind.OPTION:
            is_list = field.type.facts.is_array
            name = f"{_schema(api)}.{quoted(f'{lang}@{field.id}')}"
            selects = []
            if sources:
                value = f"unnest(file.{quoted(field.id)})" if is_list else f"file.{quoted(field.id)}"
                selects.append(f"SELECT DISTINCT {value} AS value FROM {rows_of_files([one.path for one in sources])}")
            if base is not None:
                value = f"unnest(older.{column.name})" if is_list else f"older.{column.name}"
                kept = f"older.{PART} IN ({', '.join(map(str, base.numbers))})"
                selects.append(f"SELECT DISTINCT ({value})::VARCHAR AS value FROM {older} AS older WHERE {kept}")
            values = " UNION ".join(selects) or "SELECT NULL::VARCHAR AS value"
            known = f"SELECT value::VARCHAR FROM ({values}) WHERE value IS NOT NULL ORDER BY ALL"
            self._run(f"CREATE TYPE {name} AS ENUM ({known})")
            return f"{name}[]" if is_list else name
        is_plain = column.name == '"id"' or (field is None and column.type == "VARCHAR")
        if is_plain or (field is not None and field.type in _PLAIN_TYPES):
            return f"{column.type} {_PLAIN}"
        return column.type


def _filled(part: Part, lang: str, paths: CachePaths) -> frozenset[str]:
    """Return the fields of which every row of a part in a language has a visible text, as its search file says."""
    if not part.is_indexed:
        return frozenset()
    search = ArrayFile(search_file(paths.part(part.name)), part.token)
    try:
        found = set()
        for field in indexed_fields(part.api):
            ends = np.asarray(search.numbers(search_array(lang, field, "text_at")))
            if (ends[1:] > ends[:-1]).all():
                found.add(field)
            del ends
    finally:
        search.close()
    return frozenset(found)


def _as(columns: Sequence[TableColumn], values: Sequence[str]) -> str:
    return ", ".join(f"{value} AS {column.name}" for column, value in zip(columns, values, strict=True))


def _plain_cast(column: TableColumn) -> str:
    """Return a cast that takes the older table's own type of a select field off a value."""
    if column.field is None or column.field.type.facts.kind is not ValueKind.OPTION:
        return ""
    return "::VARCHAR[]" if column.field.type.facts.is_array else "::VARCHAR"


def _moved(base: Base) -> str:
    return ", ".join(f"({before}, {now})" for before, now in base.numbers.items())


def _schema(api: ApiParts) -> str:
    return f"{_MAKING}.{quoted(api.name)}"


def _table(api: ApiParts, lang: str) -> str:
    return f"{_schema(api)}.{quoted(lang)}"

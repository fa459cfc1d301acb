"""A version's data files → the tables of a new DuckDB file: the statements that fill it (design section 4)."""

# ruff: noqa: S608 - identifiers and numbers come from the manifest, paths are quoted; no client text comes here
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import duckdb

from engine.bodies import BodiesWriter, Stored
from engine.cache_file import LAYOUT, SnapshotUnusable, identity
from engine.position_arrays import making_entries, write_arrays
from engine.search_file import is_indexed
from engine.tables import (
    ARRAYS,
    BODIES,
    ENTRY,
    FACTS,
    LANG,
    PLACE,
    ROW,
    entry_numbers_column,
    quoted,
    rows_table,
    value_column,
)
from engine.value_arrays import write_values
from engine.version_files import VersionFiles
from snapshots.columns import search_column, window_columns
from snapshots.manifest import DataFile
from snapshots.model import META_DATES, REFERENCE_TYPES, TEXT_TYPES, Api, Field, FieldType

_TYPES: Final = {
    FieldType.TEXT: "VARCHAR",
    FieldType.TEXTAREA: "VARCHAR USING COMPRESSION uncompressed",
    FieldType.RICHTEXT: "BOOLEAN",
    FieldType.NUMBER: "DOUBLE",
    FieldType.DATETIME: "BIGINT",
    FieldType.BOOLEAN: "BOOLEAN",
    FieldType.SINGLE_SELECT: "VARCHAR",
    FieldType.MULTIPLE_SELECT: "VARCHAR[]",
    FieldType.REFERENCE: "VARCHAR",
    FieldType.REFERENCES: "VARCHAR[]",
    FieldType.IMAGE: "BOOLEAN",
}
# Long texts are kept plain: compressing a million of them costs minutes, and a search has to unpack them all.
_SEARCH_TYPES: Final = {
    FieldType.TEXT: "VARCHAR",
    FieldType.TEXTAREA: "VARCHAR USING COMPRESSION uncompressed",
    FieldType.RICHTEXT: "VARCHAR USING COMPRESSION uncompressed",
}
_NUMBER_BITS: Final = 40
"""More than an entry's number needs."""


class TablesMaker:
    """Fills a new DuckDB file from one version's data files: ``arrange``, ``fill``, ``write_arrays``, ``finish``."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: VersionFiles) -> None:
        self._connection = connection
        self._files = files
        self._manifest = files.manifest
        self._workspace = files.workspace
        self._targets = {
            field.target for api in self._workspace.apis for field in api.fields if field.type in REFERENCE_TYPES
        }

    def arrange(self) -> None:
        """Work out what the rows need to know of each other."""
        for api in self._workspace.apis:
            self._arrange(api)

    def fill(self, filled: set[tuple[str, str, str]]) -> None:
        """Make the tables of all APIs. ``filled``: of which API's language and field every row has a visible text.

        Raises ``SnapshotUnusable`` for files with another number of rows, or not in default order.
        """
        for api in self._workspace.apis:
            self._create_rows(api)
            offset = 0
            for lang, file in self._files.of(api):
                self._insert_rows(api, lang, file, offset, filled)
                offset += file.rows
            self._check_rows(api, offset)

    def write_arrays(self, bodies: BodiesWriter) -> None:
        """Write what is read without a statement, and where it is."""
        columns = "api VARCHAR, name VARCHAR, kind VARCHAR, first BIGINT, count BIGINT"
        self._run(f"CREATE TABLE {quoted(ARRAYS)} ({columns})")
        for api in self._workspace.apis:
            for name, (kind, first, count) in self._arrays(api, bodies):
                text = f"INSERT INTO {quoted(ARRAYS)} VALUES ($api, $name, $kind, $first, $count)"
                self._run(text, api=api.uid, name=name, kind=kind, first=first, count=count)

    def _arrays(self, api: Api, bodies: BodiesWriter) -> Iterator[tuple[str, Stored]]:
        yield from write_arrays(self._connection, bodies, api, self._entry_columns(api), self._linked(api))
        yield from write_values(self._connection, bodies, api)

    def finish(self, bodies: Mapping[str, tuple[int, int]], token: bytes, size: int) -> None:
        """Name the bodies file that belongs to the tables: where each API's are by ``uid``, its token and its bytes."""
        self._run(f"CREATE TABLE {quoted(BODIES)} (api VARCHAR, first BIGINT, rows BIGINT)")
        for uid, (first, rows) in bodies.items():
            self._run(f"INSERT INTO {quoted(BODIES)} VALUES ($api, $first, $rows)", api=uid, first=first, rows=rows)
        facts = f"SELECT {LAYOUT} AS layout, $manifest AS manifest, $token::BLOB AS token, $size AS size"
        self._run(
            f"CREATE TABLE {quoted(FACTS)} AS {facts}",
            manifest=identity(self._manifest),
            token=token,
            size=size,
        )
        self._run("CHECKPOINT")

    def _is_target(self, api: Api) -> bool:
        return api.uid in self._targets

    def _entry_columns(self, api: Api) -> dict[str, str]:
        """By language, the column of ``making_entries`` with its versions' rows; none where nothing refers there."""
        return {lang: f"in{n}" for n, lang in enumerate(self._workspace.languages_of(api)) if self._is_target(api)}

    def _linked(self, api: Api) -> list[Field]:
        """The reference fields whose API is there."""
        return [field for field in api.fields if field.type in REFERENCE_TYPES and self._target(field) is not None]

    def _has_places(self, api: Api) -> bool:
        return len(self._files.of(api)) > 1

    def _run(self, text: str, **parameters: object) -> list[tuple[object, ...]]:
        return self._connection.execute(text, parameters).fetchall()

    def _parquet(self, file: DataFile) -> str:
        """A file's rows as SQL; the position in the file is ``file_row_number``."""
        # Brackets keep the characters of a directory's name that read_parquet would take for a pattern.
        path = re.sub(r"([\[*?])", r"[\1]", str(self._files.path(file))).replace("'", "''")
        return f"read_parquet('{path}', file_row_number=true, hive_partitioning=false)"

    def _arrange(self, api: Api) -> None:
        """Work out what concerns all versions of an API: their places over all languages, and their entries."""
        offset, versions = 0, []
        for lang, file in self._files.of(api):
            number = self._workspace.languages.index(lang)
            versions.append(
                f'SELECT "id" AS id, {offset} + file_row_number AS row, {number} AS lang, '
                'epoch_ms("publishedAt") AS published '
                f"FROM {self._parquet(file)}"
            )
            offset += file.rows
        nothing = "SELECT '' AS id, 0 AS row, 0 AS lang, 0 AS published LIMIT 0"
        if not (self._has_places(api) or self._is_target(api)):
            return
        self._run(f"CREATE TEMP TABLE versions AS {' UNION ALL '.join(versions) or nothing}")
        if self._has_places(api):
            place = "row_number() OVER (ORDER BY published DESC, id, row) - 1"
            self._run(f"CREATE TEMP TABLE {_places(api)} AS SELECT row, {place} AS place FROM versions")
        if self._is_target(api):
            columns = [
                f"coalesce(max(row) FILTER (WHERE lang = {self._workspace.languages.index(lang)}), -1) AS {column}"
                for lang, column in self._entry_columns(api).items()
            ]
            self._run(
                f"CREATE TEMP TABLE {making_entries(api)} AS SELECT row_number() OVER (ORDER BY id) - 1 AS number, * "
                f"FROM (SELECT id, {', '.join(columns)} FROM versions GROUP BY id) ORDER BY number"
            )
        self._run("DROP TABLE versions")

    def _create_rows(self, api: Api) -> None:
        columns = [f"{ROW} BIGINT", f"{LANG} SMALLINT", f"{PLACE} BIGINT", f"{ENTRY} BIGINT", '"id" VARCHAR']
        columns += [f'"{name}" BIGINT' for name in (*META_DATES, "live_from", "live_until")]
        for lang in self._workspace.languages_of(api):
            columns += [f"{quoted(name)} BIGINT" for name in window_columns(lang)]
        for field in api.fields:
            columns.append(f"{value_column(field.id)} {_TYPES[field.type]}")
            if field.type in TEXT_TYPES and not is_indexed(self._manifest, api):
                columns.append(f"{quoted(search_column(field.id))} {_SEARCH_TYPES[field.type]}")
            if field.type in REFERENCE_TYPES:
                array = "[]" if field.type is FieldType.REFERENCES else ""
                columns.append(f"{entry_numbers_column(field)} BIGINT{array}")
        self._run(f"CREATE TABLE {rows_table(api)} ({', '.join(columns)})")

    def _insert_rows(self, api: Api, lang: str, file: DataFile, offset: int, filled: set[tuple[str, str, str]]) -> None:
        """Append one language's versions in the order of the file, which is the default order.

        ``filled``: of which API's language and field every row has a visible text.
        """
        linked = self._linked(api)
        with_link = bool(linked) or self._is_target(api) or self._has_places(api)
        row = f"{offset} + file.file_row_number"
        place, entry = ("link.place", "link.entry") if with_link else (row, row)
        values = [row, str(self._workspace.languages.index(lang)), place, entry, 'file."id"']
        values += [f'epoch_ms(file."{name}")' for name in (*META_DATES, "live_from", "live_until")]
        for other in self._workspace.languages_of(api):
            names = ("live_from", "live_until") if other == lang else window_columns(other)
            values += [f"epoch_ms(file.{quoted(name)})" for name in names]
        for field in api.fields:
            values += self._field_values(api, field, field in linked, (api.uid, lang, field.id) in filled)
        source = f"{self._parquet(file)} AS file"
        if with_link:
            self._link(api, linked, file, offset)
            # A join would not keep the file's order; the positions of both sides are the same by construction.
            source += " POSITIONAL JOIN link"
        self._run(f"INSERT INTO {rows_table(api)} SELECT {', '.join(values)} FROM {source}")
        self._run("DROP TABLE IF EXISTS link")

    def _field_values(self, api: Api, field: Field, linked: bool, filled: bool) -> list[str]:
        name = f"file.{quoted(field.id)}"
        # What has visible text is not empty. Reading a million bodies only to see that takes as long as all the rest.
        has_text = "true" if filled else f"coalesce({name} <> '', false)"
        values = [
            {
                FieldType.RICHTEXT: has_text,
                FieldType.IMAGE: f"{name} IS NOT NULL",
                FieldType.DATETIME: f"epoch_ms({name})",
            }.get(field.type, name)
        ]
        if field.type in TEXT_TYPES and not is_indexed(self._manifest, api):
            values.append(f"file.{quoted(search_column(field.id))}")
        if field.type in REFERENCE_TYPES:
            values.append(f"link.{entry_numbers_column(field)}" if linked else "NULL")
        return values

    def _target(self, field: Field) -> Api | None:
        return None if field.target is None else self._workspace.api_by_uid(field.target)

    def _link(self, api: Api, linked: list[Field], file: DataFile, offset: int) -> None:
        """A table ``link``, row by row beside the file: each row's place and entry, and those its references name."""
        rows, row, joins = self._parquet(file), f"{offset} + file.file_row_number", []
        place, entry = row, row
        if self._has_places(api):
            place = "own_place.place"
            joins.append(f"JOIN {_places(api)} own_place ON own_place.row = {row}")
        if self._is_target(api):
            entry = "own.number"
            joins.append(f'JOIN {making_entries(api)} own ON own.id = file."id"')
        chosen = [f"{place} AS place", f"{entry} AS entry"]
        for n, field in enumerate(linked):
            target = self._target(field)
            assert target is not None  # noqa: S101 - what ``linked`` means, for mypy
            numbers, column = making_entries(target), quoted(field.id)
            if field.type is FieldType.REFERENCE:
                joins.append(f"LEFT JOIN {numbers} to{n} ON to{n}.id = file.{column}")
                chosen.append(f"to{n}.number AS {entry_numbers_column(field)}")
            else:
                # Sorting a list of integers takes half as long as gathering a list in order.
                ordered = f"list_sort(list((place << {_NUMBER_BITS}) | number))"
                joins.append(
                    f"LEFT JOIN (SELECT row, list_transform({ordered}, lambda one: one & {(1 << _NUMBER_BITS) - 1}) "
                    "AS found FROM (SELECT file_row_number AS row, "
                    f"unnest({column}) AS id, generate_subscripts({column}, 1) AS place FROM {rows}) "
                    f"JOIN {numbers} USING (id) GROUP BY row) to{n} ON to{n}.row = file.file_row_number"
                )
                chosen.append(f"coalesce(to{n}.found, []::BIGINT[]) AS {entry_numbers_column(field)}")
        self._run(
            f"CREATE TEMP TABLE link AS SELECT {', '.join(chosen)} FROM {rows} AS file {' '.join(joins)} "
            "ORDER BY file.file_row_number"
        )

    def _check_rows(self, api: Api, rows: int) -> None:
        """Positions and order are what every list leans on, so they are looked at once.

        Raises ``SnapshotUnusable`` for files with another number of rows, or not in default order.
        """
        same_language = f"{LANG} = lag({LANG}) OVER place"
        later = '"publishedAt" < lag("publishedAt") OVER place'
        tied = '"publishedAt" = lag("publishedAt") OVER place AND "id" > lag("id") OVER place'
        wrong = f"{ROW} <> rowid OR ({same_language} AND NOT ({later} OR ({tied})))"
        [(count, misplaced)] = self._run(
            "SELECT count(*), count(*) FILTER (WHERE wrong) FROM "
            f"(SELECT {wrong} AS wrong FROM {rows_table(api)} WINDOW place AS (ORDER BY {ROW}))"
        )
        if count != rows or misplaced:
            raise SnapshotUnusable(
                f"Version {self._manifest.version}: the rows of {api.endpoint} are not as the manifest says "
                f"({rows} rows in default order). Build it again, or activate another version."
            )


def _places(api: Api) -> str:
    """While the file is made: row → place."""
    return quoted(f"{api.endpoint}@places")

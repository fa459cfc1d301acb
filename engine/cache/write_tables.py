"""A version's data files → the tables of a new DuckDB file: the statements that fill it (design section 4)."""

# ruff: noqa: S608 - identifiers and numbers come from the manifest, paths are quoted; no client text comes here
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import partial
from itertools import groupby
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from engine.cache.bodies import BodiesWriter, Stored
from engine.cache.files import LAYOUT, SnapshotUnusable, identity
from engine.cache.row_arrays import write_arrays
from engine.cache.row_links import ApiRows
from engine.cache.search_file import is_indexed
from engine.cache.tables import (
    ARRAYS,
    BODIES,
    ENTRY,
    FACTS,
    LANG,
    PLACE,
    ROW,
    enum_type,
    quoted,
    rows_table,
    value_column,
)
from engine.cache.version_files import VersionFiles
from snapshots.columns import search_column, window_columns
from snapshots.model import META_DATES, REFERENCE_TYPES, TEXT_TYPES, Api, Field, FieldType
from snapshots.store.manifest import DataFile

# What hardly ever repeats is kept plain: looking for what repeats in it costs more than all the rest of a table, and
# compressing a million long texts costs minutes.
_PLAIN: Final = "USING COMPRESSION uncompressed"
_TYPES: Final = {
    FieldType.TEXT: f"VARCHAR {_PLAIN}",
    FieldType.TEXTAREA: f"VARCHAR {_PLAIN}",
    FieldType.RICHTEXT: "BOOLEAN",
    FieldType.NUMBER: "DOUBLE",
    FieldType.DATETIME: "BIGINT",
    FieldType.BOOLEAN: "BOOLEAN",
    FieldType.REFERENCE: "VARCHAR",
    FieldType.REFERENCES: f"VARCHAR[] {_PLAIN}",
    FieldType.IMAGE: "BOOLEAN",
}


class TablesMaker:
    """Fills a new DuckDB file from one version's data files: ``arrange``, ``fill``, ``write_arrays``, ``finish``."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: VersionFiles) -> None:
        self._connection = connection
        self._files = files
        self._manifest = files.manifest
        self._workspace = files.workspace
        self._rows: dict[str, ApiRows] = {}
        self._targets = {
            field.target for api in self._workspace.apis for field in api.fields if field.type in REFERENCE_TYPES
        }

    def arrange(self) -> None:
        """Work out what the rows know of each other. Raises ``SnapshotUnusable`` for files that cannot be read, or have
        another number of rows, or not in default order."""
        for api in self._workspace.apis:
            rows = self._rows[api.uid] = ApiRows(self._files, api)
            if list(map(len, rows.rows.values())) != [file.rows for _, file in self._files.of(api)]:
                raise self._unusable(api)
            if not rows.in_default_order():
                raise self._unusable(api)

    def fill(self, filled: Set[tuple[str, str, str]]) -> None:
        """Make the tables of all APIs. ``filled``: of which API's language and field every row has a visible text.

        Raises ``SnapshotUnusable`` where rows are not where they should be.
        """
        # A transaction that ends with a checkpoint goes to the file alone, not to the log of writes first.
        self._run("SET checkpoint_threshold = '1KB'")
        self._run("BEGIN")
        for api in self._workspace.apis:
            self._create_rows(api)
            offset, link = 0, self._link(api)
            # One statement for many files: what a statement costs by itself is more than a small file does.
            for filled_fields, alike in groupby(self._files.of(api), partial(_filled, api, filled)):
                files = dict(alike)
                rows = sum(file.rows for file in files.values())
                self._connection.register("link", link.slice(offset, rows))
                self._insert_rows(api, files, filled_fields)
                self._connection.unregister("link")
                offset += rows
        self._run("COMMIT")
        self._run("RESET checkpoint_threshold")
        for api in self._workspace.apis:
            self._check_rows(api)

    def write_arrays(self, bodies: BodiesWriter) -> None:
        """Write what is read without a statement, and where it is."""
        stored = [
            {"api": api.uid, "name": name, "kind": kind, "first": first, "count": count}
            for api in self._workspace.apis
            for name, (kind, first, count) in self._arrays(api, bodies)
        ]
        columns = "STRUCT(api VARCHAR, name VARCHAR, kind VARCHAR, first BIGINT, count BIGINT)[]"
        each = f"SELECT unnest($stored::{columns}, recursive := true)"
        self._run(f"CREATE TABLE {quoted(ARRAYS)} AS {each}", stored=stored)

    def _arrays(self, api: Api, bodies: BodiesWriter) -> Iterator[tuple[str, Stored]]:
        languages = self._workspace.languages_of(api) if self._is_target(api) else ()
        yield from write_arrays(self._connection, bodies, self._rows[api.uid], languages, self._linked(api))

    def finish(self, bodies: Mapping[str, tuple[int, int]], token: bytes, size: int) -> None:
        """Name the bodies file that belongs to the tables: where each API's are by ``uid``, its token and its bytes."""
        stored = [{"api": uid, "first": first, "rows": rows} for uid, (first, rows) in bodies.items()]
        columns = "STRUCT(api VARCHAR, first BIGINT, rows BIGINT)[]"
        each = f"SELECT unnest($stored::{columns}, recursive := true)"
        self._run(f"CREATE TABLE {quoted(BODIES)} AS {each}", stored=stored)
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

    def _linked(self, api: Api) -> Iterator[tuple[Field, ApiRows]]:
        """The reference fields whose API is there, with its rows."""
        for field in api.fields:
            if field.type in REFERENCE_TYPES and field.target in self._rows:
                yield field, self._rows[field.target]

    def _has_places(self, api: Api) -> bool:
        return len(self._files.of(api)) > 1

    def _run(self, text: str, **parameters: object) -> list[tuple[object, ...]]:
        return self._connection.execute(text, parameters).fetchall()

    def _parquet(self, files: Iterable[DataFile]) -> str:
        """The rows of files as SQL, one file after the other; the position in its file is ``file_row_number``."""
        # Brackets keep the characters of a directory's name that read_parquet would take for a pattern.
        paths = [re.sub(r"([\[*?])", r"[\1]", str(self._files.path(file))).replace("'", "''") for file in files]
        listed = ", ".join(f"'{path}'" for path in paths)
        return f"read_parquet([{listed}], file_row_number=true, union_by_name=true, hive_partitioning=false)"

    def _create_rows(self, api: Api) -> None:
        columns = [f"{ROW} BIGINT", f"{LANG} SMALLINT", f"{PLACE} BIGINT", f"{ENTRY} BIGINT", f'"id" VARCHAR {_PLAIN}']
        columns += [f'"{name}" BIGINT' for name in (*META_DATES, "live_from", "live_until")]
        for lang in self._workspace.languages_of(api):
            columns += [f"{quoted(name)} BIGINT" for name in window_columns(lang)]
        for field in api.fields:
            kind = _TYPES.get(field.type) or self._create_enum(api, field)
            columns.append(f"{value_column(field.id)} {kind}")
            if field.type in TEXT_TYPES and not is_indexed(self._manifest, api):
                columns.append(f"{quoted(search_column(field.id))} VARCHAR {_PLAIN}")
        self._run(f"CREATE TABLE {rows_table(api)} ({', '.join(columns)})")

    def _create_enum(self, api: Api, field: Field) -> str:
        """Make the type of a select field, with the values the rows have: comparing numbers is several times as fast as
        comparing texts. Returns the type of its column."""
        files = [file for _, file in self._files.of(api)]
        name, value = quoted(enum_type(api, field)), quoted(field.id)
        if field.type is FieldType.MULTIPLE_SELECT:
            value = f"unnest({value})"
        of_rows = f"SELECT DISTINCT {value} AS value FROM {self._parquet(files)}" if files else "SELECT NULL AS value"
        self._run(
            f"CREATE TYPE {name} AS ENUM (SELECT value::VARCHAR FROM ({of_rows}) WHERE value IS NOT NULL ORDER BY ALL)"
        )
        return f"{name}[]" if field.type is FieldType.MULTIPLE_SELECT else name

    def _insert_rows(self, api: Api, files: Mapping[str, DataFile], filled: Set[str]) -> None:
        """Append the versions of some languages, each in the order of the file, which is the default order.

        ``filled``: the fields of which every row has a visible text.
        """
        values = ["link.first + file.file_row_number", "link.lang", "link.place", "link.entry", 'file."id"']
        values += [f'epoch_ms(file."{name}")' for name in (*META_DATES, "live_from", "live_until")]
        for other in self._workspace.languages_of(api):
            # A file has no such columns of its own language.
            for own, elsewhere in zip(("live_from", "live_until"), window_columns(other), strict=True):
                window = f"file.{quoted(elsewhere)}"
                if [*files] == [other]:
                    window = f"file.{own}"
                elif other in files:
                    window = f"CASE link.lang WHEN {self._number(other)} THEN file.{own} ELSE {window} END"
                values.append(f"epoch_ms({window})")
        for field in api.fields:
            values += self._field_values(api, field, field.id in filled)
        # A join would not keep the files' order; the positions of both sides are the same by construction.
        source = f"{self._parquet(files.values())} AS file POSITIONAL JOIN link"
        self._run(f"INSERT INTO {rows_table(api)} SELECT {', '.join(values)} FROM {source}")

    def _number(self, lang: str) -> int:
        return self._workspace.languages.index(lang)

    def _field_values(self, api: Api, field: Field, filled: bool) -> list[str]:
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
        return values

    def _link(self, api: Api) -> pa.Table:
        """Row by row each one's language and the first row of that, its place, and its entry."""
        rows = self._rows[api.uid]
        langs, counts = [*rows.rows], [*map(len, rows.rows.values())]
        positions = np.arange(len(rows.entries))
        return pa.table(
            {
                "lang": np.repeat(np.array([self._number(lang) for lang in langs], np.int16), counts),
                "first": np.repeat(np.array([rows.rows[lang].start for lang in langs], np.int64), counts),
                "place": rows.places() if self._has_places(api) else positions,
                "entry": rows.entries if self._is_target(api) else positions,
            }
        )

    def _check_rows(self, api: Api) -> None:
        """Positions are what every list leans on, so they are looked at once."""
        rows = len(self._rows[api.uid].entries)
        found = self._run(f"SELECT count(*), count(*) FILTER (WHERE {ROW} <> rowid) FROM {rows_table(api)}")
        if found != [(rows, 0)]:
            raise self._unusable(api)

    def _unusable(self, api: Api) -> SnapshotUnusable:
        return SnapshotUnusable(
            f"Version {self._manifest.version}: the rows of {api.endpoint} are not as the manifest says "
            f"({sum(file.rows for _, file in self._files.of(api))} rows in default order). "
            "Build it again, or activate another version."
        )


def _filled(api: Api, filled: Set[tuple[str, str, str]], file: tuple[str, DataFile]) -> frozenset[str]:
    """The fields of which every row in a file's language has a visible text."""
    lang, _ = file
    return frozenset(field.id for field in api.fields if (api.uid, lang, field.id) in filled)

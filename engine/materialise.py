"""A snapshot's Parquet files → one DuckDB file in the cache, made once and shared by all readers (design section 4)."""

# ruff: noqa: S608 - identifiers and numbers come from the manifest, paths are quoted; no client text comes here
from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
from filelock import FileLock

from engine.bodies import TOKEN_BYTES, BodiesWriter, Stored
from engine.cache_file import LAYOUT, SnapshotUnusable, bodies_file, identity, search_file
from engine.position_arrays import making_entries, write_arrays
from engine.search_file import SearchWriter, is_indexed
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
from snapshots.columns import JSON_COLUMN, search_column, window_columns
from snapshots.manifest import DataFile, FileKind, Manifest
from snapshots.model import META_DATES, REFERENCE_TYPES, TEXT_TYPES, Api, Field, FieldType
from snapshots.verification import altered

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
_BODIES_AT_ONCE: Final = 2048
"""Rows: what bounds the memory that bodies take while they are copied."""

_NUMBER_BITS: Final = 40
"""More than an entry's number needs."""


@dataclass(frozen=True, slots=True)
class MaterialiseSettings:
    """What making the DuckDB file may use."""

    memory: str = "1GB"
    threads: int = 2


def materialise(
    snapshot_dir: Path, manifest: Manifest, place: Path, settings: MaterialiseSettings, is_made: Callable[[], bool]
) -> None:
    """Verify every file of a version against the manifest, and make its DuckDB file at ``place``.

    Several processes may do so at once: one works, the others wait and find by ``is_made`` that there is nothing to
    do. A file that is made is complete; work that was cut off leaves only what the next run removes. Files of versions
    that the store no longer has are dropped. Raises ``SnapshotUnusable``.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(place.with_name("making.lock")):
            if is_made():
                return
            for left in place.parent.glob(".*.making*"):
                _remove(left)
            verify_files(snapshot_dir, manifest.files)
            with _scratch(place) as scratch:
                _make(snapshot_dir, manifest, scratch, settings)
                scratch.bodies.replace(bodies_file(place))
                scratch.search.replace(search_file(place))
                scratch.tables.replace(place)  # last: it names the bodies that belong to it
            _drop_pruned(place, snapshot_dir.parent)
    except OSError as error:
        raise SnapshotUnusable(
            f"The cache in {place.parent} cannot be written: {error}. Check its rights and space."
        ) from None


def verify_files(snapshot_dir: Path, files: Sequence[DataFile]) -> None:
    """Hold files against their recorded sizes and SHA-256. Raises ``SnapshotUnusable`` for the first that differs."""
    with ThreadPoolExecutor(2) as pool:
        for file, wrong in zip(files, pool.map(lambda f: altered(snapshot_dir / f.path, f), files), strict=True):
            if wrong is not None:
                raise SnapshotUnusable(
                    f"{snapshot_dir / file.path} {wrong}. Restore the file, or activate another version."
                )


def _drop_pruned(made: Path, snapshots: Path) -> None:
    """Remove the files of versions without a directory in ``snapshots``. Who has them open goes on reading them."""
    for place in made.parent.glob("*.duckdb"):
        if place != made and not (snapshots / place.stem).exists():
            _remove(place)
            _remove(bodies_file(place))
            _remove(search_file(place))


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Scratch:
    """Where the files in the making are, beside their destination, and what DuckDB spills."""

    tables: Path
    bodies: Path
    search: Path
    spill: Path


@contextmanager
def _scratch(place: Path) -> Iterator[_Scratch]:
    """Paths for one run; what is still there at the end of the block goes away."""
    base = f".{place.stem}.making-{secrets.token_hex(4)}"
    scratch = _Scratch(*(place.with_name(base + suffix) for suffix in (".duckdb", ".bodies", ".search", ".spill")))
    try:
        yield scratch
    finally:
        for left in place.parent.glob(f"{base}*"):
            _remove(left)


def _make(snapshot_dir: Path, manifest: Manifest, scratch: _Scratch, settings: MaterialiseSettings) -> None:
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": str(settings.threads),
        "memory_limit": settings.memory,
        "temp_directory": str(scratch.spill),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "arrow_large_buffer_size": "true",
    }
    token = secrets.token_bytes(TOKEN_BYTES)
    try:
        with (
            BodiesWriter(scratch.bodies, token) as bodies,
            SearchWriter(scratch.search, token) as search,
            duckdb.connect(scratch.tables, config=config) as connection,
        ):
            _Materialiser(connection, snapshot_dir, manifest).run(bodies, search, token)
    except duckdb.Error as error:
        raise SnapshotUnusable(
            f"Version {manifest.version} cannot be opened: {error} Build it again, or activate another version."
        ) from None


class _Materialiser:
    """The statements that fill a new DuckDB file from one version's Parquet files."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, snapshot_dir: Path, manifest: Manifest) -> None:
        self._connection = connection
        self._snapshot_dir = snapshot_dir
        self._manifest = manifest
        self._workspace = manifest.workspace
        self._targets = {
            field.target for api in self._workspace.apis for field in api.fields if field.type in REFERENCE_TYPES
        }

    def run(self, bodies: BodiesWriter, search: SearchWriter, token: bytes) -> None:
        # Rows are inserted by one thread, to keep their order; copying the texts meanwhile is the others' work.
        with ThreadPoolExecutor(3) as pool:
            copying = pool.submit(self._copy_bodies, bodies)
            reading = pool.submit(self._write_texts, search)
            for api in self._workspace.apis:
                self._arrange(api)
            filled = reading.result()
            # Most is written by now: the disk gets it while the rest is worked out.
            settling = pool.submit(search.settle)
            searching = pool.submit(self._write_search, search)
            self._fill_tables(filled)
            indexes = copying.result()
            self._write_arrays(bodies)
            settling.result()
            searching.result()
        self._run(f"CREATE TABLE {quoted(BODIES)} (api VARCHAR, first BIGINT, rows BIGINT)")
        for uid, (first, rows) in indexes.items():
            self._run(f"INSERT INTO {quoted(BODIES)} VALUES ($api, $first, $rows)", api=uid, first=first, rows=rows)
        facts = f"SELECT {LAYOUT} AS layout, $manifest AS manifest, $token::BLOB AS token, $size AS size"
        self._run(
            f"CREATE TABLE {quoted(FACTS)} AS {facts}",
            manifest=identity(self._manifest),
            token=token,
            size=bodies.size,
        )
        self._run("CHECKPOINT")

    def _write_arrays(self, bodies: BodiesWriter) -> None:
        columns = "api VARCHAR, name VARCHAR, kind VARCHAR, first BIGINT, count BIGINT"
        self._run(f"CREATE TABLE {quoted(ARRAYS)} ({columns})")
        for api in self._workspace.apis:
            for name, (kind, first, count) in self._arrays(api, bodies):
                text = f"INSERT INTO {quoted(ARRAYS)} VALUES ($api, $name, $kind, $first, $count)"
                self._run(text, api=api.uid, name=name, kind=kind, first=first, count=count)

    def _arrays(self, api: Api, bodies: BodiesWriter) -> Iterator[tuple[str, Stored]]:
        yield from write_arrays(self._connection, bodies, api, self._entry_columns(api), self._linked(api))
        yield from write_values(self._connection, bodies, api)

    def _fill_tables(self, filled: set[tuple[str, str, str]]) -> None:
        for api in self._workspace.apis:
            self._create_rows(api)
            offset = 0
            for lang, file in self._files(api):
                self._insert_rows(api, lang, file, offset, filled)
                offset += file.rows
            self._check_rows(api, offset)

    def _searched(self) -> Iterator[tuple[Api, str, str, int, Path, Path]]:
        """(API, language, field, its first row, data file, index) for all that has an index."""
        from snapshots.search_index import indexed_fields  # noqa: PLC0415 - heavy, and not needed to open what is made

        for api in self._workspace.apis:
            first = 0
            for lang, file in self._files(api):
                index = self._manifest.file(api, lang, FileKind.SEARCH)
                if index is not None and is_indexed(self._manifest, api):
                    for field in indexed_fields(api):
                        yield api, lang, field, first, self._snapshot_dir / file.path, self._snapshot_dir / index.path
                first += file.rows

    def _write_texts(self, search: SearchWriter) -> set[tuple[str, str, str]]:
        """The texts that searches may have to look at. Returns of which API's language and field every row has one."""
        return {
            (api.uid, lang, field)
            for api, lang, field, _, data, _ in self._searched()
            if search.add_texts(api.uid, lang, field, data)
        }

    def _write_search(self, search: SearchWriter) -> None:
        """What terms are looked up in."""
        for api, lang, field, first, _, index in self._searched():
            search.add(api.uid, lang, field, first, index)

    def _copy_bodies(self, bodies: BodiesWriter) -> dict[str, tuple[int, int]]:
        """Write the bodies of all APIs. Returns where those of each are, by ``uid``."""
        with self._connection.cursor() as cursor:
            written = {api.uid: bodies.append(self._bodies(cursor, api)) for api in self._workspace.apis}
        bodies.settle()
        return written

    def _bodies(self, cursor: duckdb.DuckDBPyConnection, api: Api) -> Iterator[tuple[list[bytes], list[memoryview]]]:
        """The bodies of an API's rows in the order of its table, some at a time: how each begins, and its rest."""
        # Heavy to import, and not needed to open what is made.
        import numpy as np  # noqa: PLC0415
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        columns = ["id", *META_DATES, JSON_COLUMN]
        for _, file in self._files(api):
            with pq.ParquetFile(self._snapshot_dir / file.path) as opened:
                for number in range(opened.num_row_groups):
                    group = opened.read_row_group(number, columns=columns, use_threads=False)
                    heads = cursor.from_arrow(group).project(f"{_head()} AS head").to_arrow_table()["head"].to_pylist()
                    done = 0
                    for part in group[JSON_COLUMN].chunks:
                        _, ends, content = part.buffers()
                        width = np.int64 if pa.types.is_large_string(part.type) else np.int32
                        at = np.frombuffer(ends, width, part.offset + len(part) + 1)[part.offset :].tolist()
                        data = memoryview(content)
                        for first in range(0, len(part), _BODIES_AT_ONCE):
                            end = min(first + _BODIES_AT_ONCE, len(part))
                            rests = [data[at[row] + 1 : at[row + 1]] for row in range(first, end)]
                            yield heads[done + first : done + end], rests
                        done += len(part)

    def _files(self, api: Api) -> list[tuple[str, DataFile]]:
        """An API's files with the languages they are in, in the order of its table."""
        files = ((lang, self._manifest.file(api, lang)) for lang in self._workspace.languages_of(api))
        return [(lang, file) for lang, file in files if file is not None and file.rows]

    def _is_target(self, api: Api) -> bool:
        return api.uid in self._targets

    def _entry_columns(self, api: Api) -> dict[str, str]:
        """By language, the column of ``making_entries`` with its versions' rows; none where nothing refers there."""
        return {lang: f"in{n}" for n, lang in enumerate(self._workspace.languages_of(api)) if self._is_target(api)}

    def _linked(self, api: Api) -> list[Field]:
        """The reference fields whose API is there."""
        return [field for field in api.fields if field.type in REFERENCE_TYPES and self._target(field) is not None]

    def _has_places(self, api: Api) -> bool:
        return len(self._files(api)) > 1

    def _run(self, text: str, **parameters: object) -> list[tuple[object, ...]]:
        return self._connection.execute(text, parameters).fetchall()

    def _parquet(self, file: DataFile) -> str:
        """A file's rows as SQL; the position in the file is ``file_row_number``."""
        # Brackets keep the characters of a directory's name that read_parquet would take for a pattern.
        path = re.sub(r"([\[*?])", r"[\1]", str(self._snapshot_dir / file.path)).replace("'", "''")
        return f"read_parquet('{path}', file_row_number=true, hive_partitioning=false)"

    def _arrange(self, api: Api) -> None:
        """Work out what concerns all versions of an API: their places over all languages, and their entries."""
        offset, versions = 0, []
        for lang, file in self._files(api):
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


def _head() -> str:
    """How a body begins, in SQL, as bytes: the meta fields, before the compiled fields without their first bracket."""
    # By itself DuckDB would turn milliseconds into nanoseconds, which the year 9999 does not fit into.
    dates = " || ".join(
        f"',\"{name}\":\"' || strftime(\"{name}\"::TIMESTAMP, '%Y-%m-%dT%H:%M:%S.%gZ') || '\"'" for name in META_DATES
    )
    joint = f"CASE WHEN {JSON_COLUMN} = '{{}}' THEN '' ELSE ',' END"
    return f'encode(\'{{"id":"\' || "id" || \'"\' || {dates} || {joint})'

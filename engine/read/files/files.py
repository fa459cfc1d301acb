"""The parts of one version in the cache, opened together (design section 4)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from engine.identifiers import quoted
from engine.read.files.opened_part import OpenedPart
from engine.read.files.parts import Part
from engine.read.files.paths import CachePaths, tables_file
from engine.read.files.plain_path import plain_path
from engine.read.files.tables import Table, columns_of
from engine.read.files.unusable import CacheUnfit
from snapshots.model import Api
from snapshots.store.manifest import Manifest

_HEADERS: Final = 3 * 4096
"""Bytes of a DuckDB file before its first block."""
_numbers: Final = count(1)


class OpenedVersion(msgspec.Struct, frozen=True):
    """A version's parts, opened, and the connection that statements over them run on."""

    connection: duckdb.DuckDBPyConnection
    parts: Mapping[str, Sequence[OpenedPart]]
    """By the ``uid`` of their API, in the order of its rows."""
    tables: Mapping[tuple[str, str], Table]
    """By the ``uid`` of an API and the language; where there are no rows, an empty one."""

    def all_parts(self) -> Iterator[OpenedPart]:
        """The parts of all APIs."""
        for parts in self.parts.values():
            yield from parts

    def close(self) -> None:
        """Close all files. No statement may be running."""
        self.connection.close()
        for part in self.all_parts():
            part.close()


def open_version(
    paths: CachePaths, manifest: Manifest, parts: Mapping[str, Sequence[Part]], memory: str
) -> OpenedVersion:
    """Open a version's parts, which are those of its manifest. Their DuckDB files are read-only, and hardened:
    statements reach no other file and change no setting.

    ``memory`` bounds DuckDB's memory, such as ``1GB``. Raises ``CacheUnfit`` with the parts that are not there, or not
    complete.
    """
    # Of its own: two databases of one process would write to the same files in it.
    spill = plain_path(paths.workspace) / f".spill-{os.getpid()}-{next(_numbers)}"
    connection = duckdb.connect(":memory:", config=hardened(memory, str(spill)))
    opening = _Opening(connection, paths)
    try:
        for api in manifest.workspace.apis:
            opening.add(api, parts[api.uid])
        opening.check()
        _add_empty_tables(connection, manifest, opening.tables)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except BaseException:
        opening.close()
        raise
    return OpenedVersion(connection, opening.parts, opening.tables)


def hardened(memory: str, spill: str) -> dict[str, str | bool | int | float | list[str]]:
    """Return DuckDB's settings for reading. ``memory`` bounds its memory, such as ``1GB``; ``spill`` is the directory
    for what takes more, empty for none."""
    return {
        "threads": "1",
        "memory_limit": memory,
        "temp_directory": spill,
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
    }


class _Opening:
    """Opens parts one after the other, and tells at the end which of them are not fit for use."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, paths: CachePaths) -> None:
        self._connection = connection
        self._paths = paths
        self._unfit: dict[Part, str] = {}
        self.parts: Final[dict[str, list[OpenedPart]]] = {}
        self.tables: Final[dict[tuple[str, str], Table]] = {}

    def add(self, api: Api, parts: Sequence[Part]) -> None:
        """Open an API's parts."""
        opened = self.parts[api.uid] = []
        first = 0
        for number, part in enumerate(parts):
            directory, database = self._paths.part(part.name), f"{api.endpoint}@{number}"
            try:
                self._attach(tables_file(directory), database)
                opened.append(OpenedPart(directory, part, database, first))
                self.tables.update({(api.uid, lang): table for lang, table in opened[-1].tables()})
            except Exception as error:  # whatever is wrong with a part, it is made again
                self._unfit[part] = str(error) or type(error).__name__
            first += part.rows

    def _attach(self, file: Path, database: str) -> None:
        if not file.is_file():
            raise FileNotFoundError("it is not there")
        path = str(plain_path(self._paths.workspace) / file.relative_to(self._paths.workspace)).replace("'", "''")
        self._connection.execute(f"ATTACH '{path}' AS {quoted(database)} (READ_ONLY)")

    def check(self) -> None:
        """Raise ``CacheUnfit`` where a part could not be opened, or its DuckDB file is another one's, or cut off:
        opening reads little of a file, so that some request would be the first to notice."""
        opened = [one for parts in self.parts.values() for one in parts]
        try:
            schemas = set(self._rows("SELECT database_name, schema_name FROM duckdb_schemas()"))
            sizes = dict(self._rows("SELECT database_name, block_size * total_blocks FROM pragma_database_size()"))
        except duckdb.Error as error:  # it does not say which file it is about
            schemas, sizes = set(), {}
            self._unfit |= dict.fromkeys((one.part for one in opened), str(error))
        for one in opened:
            file = tables_file(self._paths.part(one.part.name))
            if (one.database, one.part.name) not in schemas:
                self._unfit.setdefault(one.part, f"{file.name} does not belong to it")
            elif not file.is_file() or file.stat().st_size < _HEADERS + sizes[one.database]:
                self._unfit[one.part] = f"{file.name} is cut off"
        for part, reason in self._unfit.items():
            raise CacheUnfit(f"{self._paths.part(part.name)} cannot be read: {reason}.", list(self._unfit))

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement).fetchall()

    def close(self) -> None:
        OpenedVersion(self._connection, self.parts, self.tables).close()


def _add_empty_tables(
    connection: duckdb.DuckDBPyConnection, manifest: Manifest, tables: dict[tuple[str, str], Table]
) -> None:
    """Create an empty table for each API and language without rows, so that every statement finds a table."""
    for api in manifest.workspace.apis:
        languages = manifest.workspace.languages_of(api)
        missing = [(api.uid, lang) for lang in languages if (api.uid, lang) not in tables]
        if missing:
            name = quoted(api.endpoint)
            columns = ", ".join(f"{one.name} {one.type}" for one in columns_of(api, languages, is_indexed=False))
            connection.execute(f"CREATE TABLE {name} ({columns})")
            tables |= dict.fromkeys(missing, Table(name, 0))

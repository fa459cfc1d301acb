"""The parts of one version in the cache, and the tables over them, opened together (design section 4)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from engine.database import Setting, open_database
from engine.identifiers import quoted
from engine.read.files.open_parts import close_part, opened_part
from engine.read.files.opened_part import OpenedPart
from engine.read.files.opened_tables import OpenedTables
from engine.read.files.parts import ApiParts, Part, VersionParts
from engine.read.files.paths import CachePaths, tables_file
from engine.read.files.plain_path import plain_path
from engine.read.files.tables import Table, columns_of
from engine.read.files.unusable import CacheUnfit
from snapshots.store.manifest import Manifest

_HEADERS: Final = 3 * 4096
"""Bytes of a DuckDB file before its first block."""
_numbers: Final = count(1)


class OpenedApi(msgspec.Struct, frozen=True):
    """An API's parts and tables, opened."""

    parts: Sequence[OpenedPart]
    tables: OpenedTables | None
    """``None`` for an API without rows."""


class OpenedVersion(msgspec.Struct, frozen=True):
    """A version's parts and tables, opened, and the connection that statements over them run on."""

    connection: duckdb.DuckDBPyConnection
    apis: Mapping[str, OpenedApi]
    """By ``uid``."""
    tables: Mapping[tuple[str, str], Table]
    """By the ``uid`` of an API and the language; where there are no rows, an empty one."""
    paths: CachePaths

    def all_files(self) -> Iterator[OpenedPart | OpenedTables]:
        """The parts and tables of all APIs."""
        return _files_of(self.apis)

    def close(self) -> None:
        """Close all files. No statement may be running."""
        self.connection.close()
        _close_files(self.apis, self.paths)


def _files_of(apis: Mapping[str, OpenedApi]) -> Iterator[OpenedPart | OpenedTables]:
    for api in apis.values():
        yield from api.parts
        if api.tables is not None:
            yield api.tables


def _close_files(apis: Mapping[str, OpenedApi], paths: CachePaths) -> None:
    for opened in _files_of(apis):
        if isinstance(opened, OpenedPart):
            close_part(paths.part(opened.part.name), opened)
        else:
            opened.close()


def open_version(paths: CachePaths, manifest: Manifest, parts: VersionParts, memory: str) -> OpenedVersion:
    """Open a version's parts, which are those of its manifest, and the tables over them. Their DuckDB files are
    read-only, and hardened: statements reach no other file and change no setting.

    ``memory`` bounds DuckDB's memory, such as ``1GB``. Raises ``CacheUnfit`` with the parts and tables that are not
    there, or not complete.
    """
    # Of its own: two databases of one process would write to the same files in it.
    spill = plain_path(paths.workspace) / f".spill-{os.getpid()}-{next(_numbers)}"
    opening = _Opening(hardened(memory, str(spill)), paths)
    try:
        for api in manifest.workspace.apis:
            opening.add(parts[api.uid])
        opening.check()
        _add_empty_tables(opening.connection, manifest, opening.tables)
        opening.connection.execute("SET enable_external_access = false")
        opening.connection.execute("SET lock_configuration = true")
    except BaseException:
        opening.close()
        raise
    return opening.opened()


def hardened(memory: str, spill: str) -> dict[str, Setting]:
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
    """Opens parts and tables one after the other, and tells at the end which of them are not fit for use."""

    def __init__(self, config: Mapping[str, Setting], paths: CachePaths) -> None:
        self._config = config
        self._connected: duckdb.DuckDBPyConnection | None = None
        self._paths = paths
        self._unfit_parts: dict[Part, str] = {}
        self._unfit_tables: dict[str, tuple[ApiParts, str]] = {}
        self._apis: dict[str, OpenedApi] = {}
        self.tables: Final[dict[tuple[str, str], Table]] = {}

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The database, opened when it is first needed: that takes longer than to find that nothing was made yet."""
        if self._connected is None:
            self._connected = open_database(config=self._config)
        return self._connected

    def add(self, api: ApiParts) -> None:
        """Open an API's parts and tables."""
        parts: list[OpenedPart] = []
        self._apis[api.api.uid] = OpenedApi(parts, None)
        for part in api.parts:
            try:
                parts.append(opened_part(self._paths.part(part.name), part))
            except Exception as error:  # whatever is wrong with a part, it is made again
                self._unfit_parts[part] = str(error) or type(error).__name__
        if not api.parts:
            return
        directory, database = self._paths.tables(api.name), f"{api.api.endpoint}@"
        try:
            self._attach(tables_file(directory), database)
            tables = OpenedTables(directory, api, database)
            self._apis[api.api.uid] = OpenedApi(parts, tables)
            self.tables.update({(api.api.uid, lang): table for lang, table in tables.tables().items()})
        except Exception as error:  # as above
            self._unfit_tables[api.name] = (api, str(error) or type(error).__name__)

    def _attach(self, file: Path, database: str) -> None:
        if not file.is_file():
            raise FileNotFoundError("it is not there")
        path = str(plain_path(self._paths.workspace) / file.relative_to(self._paths.workspace)).replace("'", "''")
        self.connection.execute(f"ATTACH '{path}' AS {quoted(database)} (READ_ONLY)")

    def check(self) -> None:
        """Raise ``CacheUnfit`` where something could not be opened, or a DuckDB file is another one's, or cut off:
        opening reads little of a file, so that some request would be the first to notice."""
        opened = [one.tables for one in self._apis.values() if one.tables is not None]
        schemas: set[tuple[Any, ...]] = set()
        sizes: dict[str, int] = {}
        try:
            if opened:
                schemas |= set(self._rows("SELECT database_name, schema_name FROM duckdb_schemas()"))
                sizes |= dict(self._rows("SELECT database_name, block_size * total_blocks FROM pragma_database_size()"))
        except duckdb.Error as error:  # it does not say which file it is about
            schemas, sizes = set(), {}
            self._unfit_tables |= {one.api.name: (one.api, str(error)) for one in opened}
        for one in opened:
            file, name = tables_file(self._paths.tables(one.api.name)), one.api.name
            if (one.database, name) not in schemas:
                self._unfit_tables.setdefault(name, (one.api, f"{file.name} does not belong to it"))
            elif not file.is_file() or file.stat().st_size < _HEADERS + sizes[one.database]:
                self._unfit_tables[name] = (one.api, f"{file.name} is cut off")
        reasons = {self._paths.part(part.name): reason for part, reason in self._unfit_parts.items()}
        reasons |= {self._paths.tables(name): reason for name, (_, reason) in self._unfit_tables.items()}
        for directory, reason in reasons.items():
            tables = [api for api, _ in self._unfit_tables.values()]
            raise CacheUnfit(f"{directory} cannot be read: {reason}.", list(self._unfit_parts), tables)

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement).fetchall()

    def opened(self) -> OpenedVersion:
        """Return what was opened."""
        return OpenedVersion(self.connection, self._apis, self.tables, self._paths)

    def close(self) -> None:
        if self._connected is not None:
            self._connected.close()
        _close_files(self._apis, self._paths)


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

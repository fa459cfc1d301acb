"""One version in the cache, a DuckDB file and a bodies file: what they were made from, and their opening (design 4)."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Final, TypeAlias

import duckdb

from engine.cache.bodies import Bodies
from engine.cache.places import bodies_file, search_file, spill_directory
from engine.cache.search_file import SearchFile
from engine.cache.tables import ARRAYS, BODIES, FACTS, quoted
from snapshots.problems import ParquetryError
from snapshots.store.manifest import Manifest, encode_manifest

Cached: TypeAlias = tuple[duckdb.DuckDBPyConnection, Bodies, SearchFile]
"""A version's files in the cache, opened."""

_hardening: Final = threading.Lock()

_HEADERS: Final = 3 * 4096
"""Bytes of a DuckDB file before its first block."""
LAYOUT: Final = 6
"""Raised whenever the tables change, so that a file of another layout is made anew."""


class SnapshotUnusable(ParquetryError):
    """A version cannot be served: a file is missing or altered, or it cannot be read."""


class CacheUnfit(SnapshotUnusable):
    """A file in the cache is missing, unreadable, or made from something else: it has to be made anew."""


def identity(manifest: Manifest) -> str:
    """What a cache file must have been made from to be used: SHA-256 of the manifest."""
    return hashlib.sha256(encode_manifest(manifest)).hexdigest()


def open_cached(place: Path, manifest: Manifest, memory: str) -> Cached:
    """A version's three files in the cache, the DuckDB file at ``place`` read-only and hardened: its statements
    reach no other file and change no setting.

    ``memory`` bounds DuckDB's memory, such as ``1GB``. Raises ``CacheUnfit`` where they are not there, or were not
    made, complete and together, from this manifest by this layout; ``SnapshotUnusable`` when this process has them
    open with other settings.
    """
    connection = _connect(place, memory)
    try:
        bodies = _checked_bodies(connection, place, manifest)
        try:
            return connection, bodies, SearchFile(search_file(place), bodies.token)
        except BaseException:
            bodies.close()
            raise
    except (duckdb.Error, OSError, ValueError) as error:
        connection.close()
        raise CacheUnfit(f"{place} cannot be read: {error}") from None
    except BaseException:
        connection.close()
        raise


def _connect(place: Path, memory: str) -> duckdb.DuckDBPyConnection:
    if not place.is_file():
        raise CacheUnfit(f"{place} is not there.")
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "memory_limit": memory,
        "temp_directory": str(spill_directory(place)),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
    }
    try:
        # Connections of one process share an opened file, and the first of them locks its settings.
        with _hardening:
            connection = duckdb.connect(place, read_only=True, config=config)
            if connection.execute("SELECT current_setting('lock_configuration')").fetchone() == (False,):
                connection.execute("SET enable_external_access = false")
                connection.execute("SET lock_configuration = true")
    except duckdb.ConnectionException as error:
        raise SnapshotUnusable(f"{place} is open in this process with other settings: {error}") from None
    except duckdb.Error as error:
        raise CacheUnfit(f"{place} cannot be opened: {error}") from None
    return connection


def _checked_bodies(connection: duckdb.DuckDBPyConnection, place: Path, manifest: Manifest) -> Bodies:
    """The bodies file, when both files are what they should be."""
    blocks = connection.execute("SELECT block_size * total_blocks FROM pragma_database_size()").fetchone()
    # Opening reads little of the file, so one that was cut off would only be noticed by some request.
    if blocks is None or place.stat().st_size < _HEADERS + blocks[0]:
        raise CacheUnfit(f"{place} is cut off.")
    facts = connection.execute(f"SELECT layout, manifest, token, size FROM {quoted(FACTS)}").fetchone()  # noqa: S608 - constants
    if facts is None or facts[:2] != (LAYOUT, identity(manifest)):
        raise CacheUnfit(f"{place} was made from something else.")
    rows = connection.execute(f"SELECT api, first, rows FROM {quoted(BODIES)}").fetchall()  # noqa: S608 - constants
    arrays = connection.execute(f"SELECT api, name, kind, first, count FROM {quoted(ARRAYS)}").fetchall()  # noqa: S608 - constants
    _, _, token, size = facts
    return Bodies(
        bodies_file(place),
        token,
        size,
        {api: (first, count) for api, first, count in rows},
        {(api, name): (kind, first, count) for api, name, kind, first, count in arrays},
    )

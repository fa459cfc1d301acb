"""The DuckDB file of one version in the cache: its place, what it was made from, and how it is opened (design 4)."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Final

import duckdb

from engine.tables import FACTS, quoted
from snapshots.manifest import Manifest, encode_manifest
from snapshots.problems import ParquetryError

_hardening: Final = threading.Lock()

LAYOUT: Final = 1
"""Raised whenever the tables change, so that a file of another layout is made anew."""


class SnapshotUnusable(ParquetryError):
    """A version cannot be served: a file is missing or altered, or it cannot be read."""


class CacheUnfit(SnapshotUnusable):
    """A file in the cache is missing, unreadable, or made from something else: it has to be made anew."""


def identity(manifest: Manifest) -> str:
    """What a cache file must have been made from to be used: SHA-256 of the manifest."""
    return hashlib.sha256(encode_manifest(manifest)).hexdigest()


def cache_file(cache_dir: Path, manifest: Manifest) -> Path:
    """Where a version's DuckDB file is: ``<cache>/<workspace>/<version>.duckdb``."""
    return cache_dir / manifest.workspace.id / f"{manifest.version}.duckdb"


def spill_directory(place: Path) -> Path:
    """Where the statements of this process spill to. DuckDB shares an opened file within a process only between
    connections of the same settings, so the readers of one file must agree on this."""
    return place.parent / f".spill-{os.getpid()}"


def connect(place: Path, manifest: Manifest, memory: str) -> duckdb.DuckDBPyConnection:
    """A cache file, opened read-only and hardened: no file but it can be reached, and no setting changed.

    ``memory`` bounds DuckDB's memory, such as ``1GB``. Raises ``CacheUnfit`` for a file that is not there, or was not
    made, complete, from this manifest by this layout; ``SnapshotUnusable`` when this process has it open with other
    settings.
    """
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
        connection = duckdb.connect(place, read_only=True, config=config)
    except duckdb.ConnectionException as error:
        raise SnapshotUnusable(f"{place} is open in this process with other settings: {error}") from None
    except duckdb.Error as error:
        raise CacheUnfit(f"{place} cannot be opened: {error}") from None
    try:
        # Connections of one process share an opened file, and the first of them has locked its settings.
        with _hardening:
            if connection.execute("SELECT current_setting('lock_configuration')").fetchone() == (False,):
                connection.execute("SET enable_external_access = false")
                connection.execute("SET lock_configuration = true")
        row = connection.execute(f"SELECT layout, manifest FROM {quoted(FACTS)}").fetchone()  # noqa: S608 - a constant
        if row == (LAYOUT, identity(manifest)):
            return connection
        reason = "was made from something else"
    except duckdb.Error as error:
        reason = f"cannot be read: {error}"
    connection.close()
    raise CacheUnfit(f"{place} {reason}.")

"""The DuckDB file of one version in the cache: its place, what it was made from, and how it is opened (design 4)."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

import duckdb

from engine.tables import FACTS, quoted
from snapshots.manifest import Manifest, encode_manifest
from snapshots.problems import ParquetryError

LAYOUT: Final = 1
"""Raised whenever the tables change, so that a file of another layout is made anew."""


class SnapshotUnusable(ParquetryError):
    """A version cannot be served: a file is missing or altered, or it cannot be read."""


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


def connect(place: Path, manifest: Manifest, memory: str) -> duckdb.DuckDBPyConnection | None:
    """A cache file, opened read-only and hardened; ``None`` where there is none that was made, complete, from this
    manifest by this layout.

    ``memory`` bounds DuckDB's memory, such as ``1GB``. Raises ``SnapshotUnusable`` when this process has the file
    open with another bound.
    """
    if not place.is_file():
        return None
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "memory_limit": memory,
        "temp_directory": str(spill_directory(place)),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    try:
        connection = duckdb.connect(place, read_only=True, config=config)
    except duckdb.ConnectionException as error:
        raise SnapshotUnusable(f"{place} is open in this process with other settings: {error}") from None
    except duckdb.Error:
        return None
    try:
        row = connection.execute(f"SELECT layout, manifest FROM {quoted(FACTS)}").fetchone()  # noqa: S608 - a constant
    except duckdb.Error:
        row = None
    if row == (LAYOUT, identity(manifest)):
        return connection
    connection.close()
    return None

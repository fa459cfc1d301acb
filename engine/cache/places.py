"""Where the files of a version are in the cache, once they are made (design section 4)."""

from __future__ import annotations

import os
from pathlib import Path


def cache_file(cache_dir: Path, workspace: str, version: str) -> Path:
    """Where a version's DuckDB file is: ``<cache>/<workspace>/<version>.duckdb``."""
    return cache_dir / workspace / f"{version}.duckdb"


def bodies_file(place: Path) -> Path:
    """The bodies file beside a DuckDB file."""
    return place.with_suffix(".bodies")


def search_file(place: Path) -> Path:
    """The search file beside a DuckDB file."""
    return place.with_suffix(".search")


def spill_directory(place: Path) -> Path:
    """Where the statements of this process spill to. DuckDB shares an opened file within a process only between
    connections of the same settings, so the readers of one file must agree on this."""
    return place.parent / f".spill-{os.getpid()}"

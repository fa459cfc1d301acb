"""Read the data files of a snapshot, for tests that look at what a build wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from snapshots.columns import OWN


def stored_rows(*paths: Path) -> list[dict[str, Any]]:
    """The rows of data files, what only readers need beside the rest: ``json``, ``digest``, ``title__search``."""
    found: list[dict[str, Any]] = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            rows = file.read().to_pylist()
        found += [{name: value for name, value in row.items() if name != OWN} | row[OWN] for row in rows]
    return found

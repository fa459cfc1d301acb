"""Open DuckDB databases, which print nothing by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import duckdb

Setting: TypeAlias = "str | bool | int | float | list[str]"


def open_database(
    path: Path | str = ":memory:", *, read_only: bool = False, config: Mapping[str, Setting]
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file, or a database in memory, with these settings. Raises ``duckdb.Error``."""
    connection = duckdb.connect(path, read_only=read_only, config=dict(config))
    # DuckDB takes a program without a file of its own, such as that of ``python -c``, for a person at a prompt, and
    # draws on standard output how far a long statement is.
    connection.execute("SET enable_progress_bar = false")
    return connection

"""The connection that reads data files where they are: those of all versions of a store, or the drafts of one."""

from __future__ import annotations

from pathlib import Path

import duckdb

from engine.database import open_database
from engine.read.files.data_file import path_text
from engine.read.files.files import hardened
from engine.read.files.plain_path import plain_path
from engine.read.files.unusable import SnapshotUnusable
from engine.read.reader.statement import MEMORY, TIME_LIMIT, Statement, StatementRunner


class DataFiles(StatementRunner):
    """Reads the data files below a directory; no other file, and no setting can be changed."""

    def __init__(self, root: Path, memory: str = MEMORY, time_limit: float = TIME_LIMIT) -> None:
        self._root = root.absolute()
        connection = open_database(config=hardened(memory, spill=""))
        connection.execute(f"SET allowed_directories = [{path_text(plain_path(self._root))}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        super().__init__(connection, time_limit)

    def path(self, file: Path) -> Path:
        """Return the path of a file below the directory as statements name it."""
        return plain_path(self._root) / file.absolute().relative_to(self._root)

    def close(self) -> None:
        super().close()
        self._connection.close()

    def _unreadable(self, statement: Statement, error: duckdb.Error) -> SnapshotUnusable:  # of all the same
        return SnapshotUnusable(f"A data file cannot be read: {error}. `cms snapshot verify` says what is damaged.")

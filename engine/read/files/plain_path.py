"""Paths that DuckDB can be told: it reads patterns, queries of URLs and separators into some that are none."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

_SPECIAL: Final = re.compile(r"[*?\[\\]")


@cache
def plain_path(directory: Path) -> Path:
    """Return a path of a directory without characters that DuckDB takes for something else: its own, or a link's that
    lasts as long as the process. Raises ``OSError``."""
    if not _SPECIAL.search(str(directory)):
        return directory
    link_directory = tempfile.mkdtemp(prefix="parquetry-")
    atexit.register(shutil.rmtree, link_directory, ignore_errors=True)
    link = Path(link_directory, "link")
    link.symlink_to(directory.absolute(), target_is_directory=True)
    return link


@contextmanager
def writable_database(database: Path) -> Iterator[Path]:
    """Yield where to write a DuckDB file that is at ``database`` after the block, in its directory as it really is:
    DuckDB follows links before it names the log of writes, for which it takes ``?`` and what follows for a query."""
    if "?" not in str(database.resolve()):
        yield database
        return
    with tempfile.TemporaryDirectory(prefix="parquetry-") as elsewhere:
        yield Path(elsewhere, database.name)
        with Path(elsewhere, database.name).open("rb") as made, database.open("xb") as file:
            shutil.copyfileobj(made, file)
            file.flush()
            os.fsync(file.fileno())

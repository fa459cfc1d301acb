"""Paths that DuckDB can be told: it reads patterns, queries of URLs and separators into some that are none."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
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
    place = tempfile.mkdtemp(prefix="parquetry-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    link = Path(place, "link")
    link.symlink_to(directory.absolute(), target_is_directory=True)
    return link

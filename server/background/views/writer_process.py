"""Write the views that workers collected to the counts and the analysts' file, for a store in a directory."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Event

from engine.views.gathering.stored_views import FiledViews
from engine.views.gathering.writer import ViewWriter
from server.background.views.spools import spools
from server.logs import LOGGER
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

ROUND_SECONDS = 1.0
PAUSE_SECONDS = 2.0
"""Pause after a round that wrote counts: each such round makes every worker read the counts again."""
LAST_ROUND_SECONDS = 2.0
"""Seconds that the last round waits for the lock and the analysts' file."""

_log = logging.getLogger(LOGGER)


def write_views(root: Path, retention_days: int | None, stopping: Event) -> None:
    """Write the views of all workspaces of the store at ``root``, a round a second, until ``stopping`` is set."""
    writers: dict[Path, ViewWriter] = {}
    complaints: dict[Path, str] = {}
    pause = ROUND_SECONDS
    while not stopping.wait(pause):
        pause = ROUND_SECONDS
        for views in spools(root):
            writer = writers.setdefault(views, ViewWriter(views, retention_days))
            written = _round(complaints, writer)
            if written is not None and written.counted:
                pause = PAUSE_SECONDS
    for views in spools(root):
        writer = writers.get(views) or ViewWriter(views, retention_days)
        _round({}, writer, wait=LAST_ROUND_SECONDS, flush=True)


def _round(
    complaints: dict[Path, str], writer: ViewWriter, *, wait: float = 0.0, flush: bool = False
) -> FiledViews | None:
    """Take one step. Views that cannot be written stay in the spool and are tried again; a new complaint is logged
    once."""
    written = None
    try:
        written = writer.round(now_ms(), time.monotonic(), wait=wait, flush=flush)
    except (ParquetryError, OSError) as error:
        if complaints.get(writer.views) != str(error):
            _log.error("%s", error)
        complaints[writer.views] = str(error)
    except Exception:
        _log.exception("%s: writing page views failed; it is tried again", writer.views)
    else:
        complaints.pop(writer.views, None)
    return written

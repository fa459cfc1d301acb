"""The writer of page views as a process: started by one worker of a machine, off its event loop.

It is a process of its own because the file it writes is open to analysts: whatever they do to it, answers go on.
"""

from __future__ import annotations

import logging
import logging.config
import time
from pathlib import Path

from engine.views.gathering.stored_views import Written
from engine.views.gathering.writer import ViewWriter
from server.logs import LOGGER, log_config
from server.processes.child import NICENESS, until_told
from server.processes.elected import ElectedProcess
from server.processes.standing_back import stand_back
from server.views.gathering_process import gather_views
from server.views.spools import spools
from snapshots.problems import ParquetryError
from snapshots.store.store import Store
from snapshots.times import now_ms

ROUND_SECONDS = 1.0
PAUSE_SECONDS = 2.0
"""Pause after a round that wrote counts: each such round makes every worker read the counts again."""
LAST_ROUND_SECONDS = 2.0
"""Seconds that the last round waits for the lock and the analysts' file."""
RESTART_SECONDS = 5.0
LOCK = "page-views.lock"

_log = logging.getLogger(LOGGER)


def view_writer_process(
    store: Store, log_format: str, retention_days: int | None, bucket: str | None = None
) -> ElectedProcess:
    """Return the writer's process. For a local store there is none as long as there is nothing to write; for one in a
    ``bucket``, which ``store`` mirrors, there always is, since it also gets the counts of other machines."""
    place = (str(store.root),) if bucket is None else (bucket, str(store.root), str(store.cache))
    return ElectedProcess(
        "page-view-writer",
        write_views if bucket is None else gather_views,
        (*place, log_format, retention_days),
        store.cache / LOCK,
        look_seconds=ROUND_SECONDS,
        restart_seconds=RESTART_SECONDS,
        is_wanted=lambda: bucket is not None or bool(spools(store.root)),
    )


def write_views(root: str, log_format: str, retention_days: int | None) -> None:
    """Run the writer's process: a round a second for each workspace, until SIGTERM or the end of its parent."""
    logging.config.dictConfig(log_config(log_format))
    stand_back(NICENESS)
    stopping = until_told()
    writers: dict[Path, ViewWriter] = {}
    complaints: dict[Path, str] = {}
    pause = ROUND_SECONDS
    while not stopping.wait(pause):
        pause = ROUND_SECONDS
        for views in spools(Path(root)):
            writer = writers.setdefault(views, ViewWriter(views, retention_days))
            written = _round(complaints, writer)
            if written is not None and written.counted:
                pause = PAUSE_SECONDS
    for views in spools(Path(root)):
        writer = writers.get(views) or ViewWriter(views, retention_days)
        _round({}, writer, wait=LAST_ROUND_SECONDS, flush=True)


def _round(
    complaints: dict[Path, str], writer: ViewWriter, *, wait: float = 0.0, flush: bool = False
) -> Written | None:
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

"""The writer of page views as a process: started by one worker of a machine, off its event loop.

It is a process of its own because the file it writes is open to analysts: whatever they do to it, answers go on.
"""

from __future__ import annotations

import fcntl
import logging
import logging.config
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from engine.page_views.collecting.spool import SPOOL
from engine.page_views.counting.writer import VIEWS, ViewWriter, Written
from server.logs import LOGGER, log_config
from server.standing_back import stand_back
from snapshots.problems import ParquetryError
from snapshots.store.store import Store
from snapshots.times import now_ms

ROUND_SECONDS = 1.0
PAUSE_SECONDS = 2.0
"""Pause after a round that wrote counts: each such round makes every worker read the counts again."""
NICENESS = 10
"""The writer's niceness: it shares the processors with the answers."""
LAST_ROUND_SECONDS = 2.0
"""Seconds that the last round waits for the lock and the analysts' file."""
STOP_SECONDS = 8.0
RESTART_SECONDS = 5.0
LOCK = "page-views.lock"

_log = logging.getLogger(LOGGER)


class ViewWriting:
    """Keeps the writer running between ``start`` and ``stop``, in the worker that got the lock.

    There is no process as long as there is nothing to write.
    """

    def __init__(self, store: Store, log_format: str, retention_days: int | None) -> None:
        self._store = store
        self._arguments = (str(store.root), log_format, retention_days)
        self._lock: int | None = None
        self._process: BaseProcess | None = None
        self._started_at = float("-inf")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keep-view-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the writer after a last round."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._process is not None and self._process.is_alive():
            self._process.terminate()
            self._process.join(STOP_SECONDS)
            if self._process.is_alive():
                _log.warning("the page-view writer did not end in time; what is left is written at the next start")
                self._process.kill()
                self._process.join()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _run(self) -> None:
        while not self._stopping.wait(ROUND_SECONDS):
            try:
                self._keep()
            except Exception:
                _log.exception("the page-view writer could not be started; it is tried again")

    def _keep(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        # In this order: without its store the lock's directory is not to be made.
        if not spools(self._store.root) or not self._elected():
            return
        if time.monotonic() < self._started_at + RESTART_SECONDS:
            return
        if self._process is not None:
            _log.error("the page-view writer ended with status %s; it is started again", self._process.exitcode)
        self._started_at = time.monotonic()
        self._process = multiprocessing.get_context("spawn").Process(
            target=write_views, args=self._arguments, name="page-view-writer", daemon=True
        )
        self._process.start()

    def _elected(self) -> bool:
        if self._lock is None:
            self._store.cache.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._store.cache / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(lock)  # it is tried again every second
                if isinstance(error, BlockingIOError):
                    return False
                raise
            self._lock = lock
        return True


def spools(root: Path) -> list[Path]:
    """Return the views directories of a store in which views may be waiting. A directory that cannot be looked at is
    among them: its own writer reports that, and the others go on."""
    return [spool.parent for spool in root.glob(f"*/{VIEWS}/{SPOOL}") if not _is_empty(spool)]


def _is_empty(directory: Path) -> bool:
    try:
        return next(directory.iterdir(), None) is None
    except OSError:
        return False


def write_views(root: str, log_format: str, retention_days: int | None) -> None:
    """Run the writer's process: a round a second for each workspace, until SIGTERM or the end of its parent."""
    logging.config.dictConfig(log_config(log_format))
    stand_back(NICENESS)
    stopping = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C goes to the server, which tells us
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent, stopping), name="end-with-worker", daemon=True).start()
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


def _end_with(parent: BaseProcess, stopping: threading.Event) -> None:
    parent.join()
    stopping.set()

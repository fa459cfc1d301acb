"""The mirror as a process: one for all servers of a machine that share a cache, beside those that answer.

It is a process of its own so that what it downloads and checks takes as little as possible from answers.
"""

from __future__ import annotations

import logging
import logging.config
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from server.logs import LOGGER, log_config
from server.mirror.freshness import Freshness
from server.mirror.mirror import POLL_SECONDS, Mirror
from server.mirror.silence import silence_told
from server.processes.child import NICENESS, until_told
from server.processes.elected import ElectedProcess
from server.processes.standing_back import stand_back
from snapshots.problems import ParquetryError
from snapshots.store.buckets.place import is_bucket
from snapshots.store.durable import keep_from_others, make_directory, writing
from snapshots.store.locations import open_objects
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms

LOCK: Final = ".mirror.lock"
LOOK_SECONDS: Final = 0.5
"""Seconds between two looks whether the process is there."""
RESTART_SECONDS: Final = 2.0

_log = logging.getLogger(LOGGER)


@contextmanager
def mirroring(location: str, mirror: Store, log_format: str, kept_seconds: int) -> Iterator[None]:
    """Keep ``mirror`` up to date with the store at ``location`` during the block; a directory needs no mirror.

    Versions stay in it for ``kept_seconds`` after others took their places.
    Raises ``StoreError`` where the URL is none, the extra for buckets is missing or the mirror cannot be written.
    """
    if not is_bucket(location):
        yield
        return
    open_objects(location)  # says what is wrong with the settings before anything is started
    with writing(mirror.root):
        make_directory(mirror.root)
    keeping = ElectedProcess(
        "mirror",
        mirror_store,
        (location, str(mirror.root), log_format, kept_seconds),
        mirror.root / LOCK,
        look_seconds=LOOK_SECONDS,
        restart_seconds=RESTART_SECONDS,
    )
    keeping.start()
    try:
        with silence_told(Freshness(mirror, None, now_ms)):
            yield
    finally:
        keeping.stop()


def mirror_store(location: str, root: str, log_format: str, kept_seconds: int) -> None:
    """Run the mirror's process: a poll a second, until SIGTERM or the end of its parent."""
    keep_from_others()
    logging.config.dictConfig(log_config(log_format))
    stand_back(NICENESS)
    stopping = until_told(when_left=lambda: os._exit(0))  # a download goes on at the next start
    mirror = Mirror(open_objects(location), open_store(root), now_ms, kept_seconds * 1000)
    complaint = None
    due = time.monotonic()
    while True:
        try:
            mirror.poll()
            complaint = None
        except (ParquetryError, OSError) as error:  # the disk
            if str(error) != complaint:
                _log.error("the mirror cannot be kept: %s", error)
            complaint = str(error)
        except Exception:
            _log.exception("mirroring the store failed; it is tried again")
        # At a fixed rate, but without making up for polls that an outage has held up.
        due = max(due + POLL_SECONDS, time.monotonic())
        if stopping.wait(due - time.monotonic()):
            break
    mirror.stop()

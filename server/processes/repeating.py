"""A step that is taken again and again, whatever stands in its way."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event
from typing import Final

from server.logs import LOGGER
from snapshots.problems import ParquetryError

FAILED_SECONDS: Final = 30.0
"""Seconds after which a step that failed is taken again at the latest: it may be wrong for a moment only, and is told
to be until it succeeds."""

_log = logging.getLogger(LOGGER)


def repeat(
    step: Callable[[], float | None],
    seconds: float,
    stopping: Event,
    *,
    trouble: str,
    over: str | None = None,
    level: int = logging.ERROR,
) -> None:
    """Take a step now and every so many ``seconds``, or those that it returns, until ``stopping`` is set; after a
    failure, ``FAILED_SECONDS`` later at the latest.

    A failure is logged once as ``trouble``, which has a place for its message, and its end as ``over``.
    """
    complaint: str | None = None
    while True:
        pause = min(seconds, FAILED_SECONDS)
        try:
            returned = step()
        except (ParquetryError, OSError) as error:
            if str(error) != complaint:
                _log.log(level, trouble, error)
            complaint = str(error)
        except Exception as error:
            if repr(error) != complaint:
                _log.exception("%s; it is tried again", trouble.partition(":")[0])
            complaint = repr(error)
        else:
            pause = seconds if returned is None else returned
            if complaint is not None and over is not None:
                _log.info(over)
            complaint = None
        if stopping.wait(pause):
            return


def attempt(step: Callable[[], None], trouble: str) -> None:
    """Take a step once, at the end; a failure is logged as ``trouble``, which has a place for its message."""
    try:
        step()
    except (ParquetryError, OSError) as error:
        _log.error(trouble, error)
    except Exception:
        _log.exception("%s", trouble.partition(":")[0])

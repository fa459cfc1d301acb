"""Show the progress of long work as a bar on a terminal."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

from cli.output.lines import console_of
from cli.output.wording import size

if TYPE_CHECKING:
    from rich.progress import Progress

QUIET_SECONDS = 0.3
"""Work that takes fewer seconds than this shows no progress bar."""


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give the function that a long job calls with (step, bytes done, bytes in all); 0 bytes in all: not counted.

    On a terminal the calls become a bar on standard error, removed after the block; elsewhere nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    bar = _Bar()
    try:
        yield bar.tell
    finally:
        bar.stop()


class _Bar:
    """A progress bar that appears after ``QUIET_SECONDS`` of work, even if no progress is told by then."""

    def __init__(self) -> None:
        began = time.monotonic()
        self._shown_from = began + QUIET_SECONDS
        self._what, self._what_began = "", began
        self._done, self._total = 0, 0
        self._timer: Timer | None = None
        self._progress: Progress | None = None
        self._lock = Lock()

    def tell(self, what: str, done: int, total: int) -> None:
        with self._lock:
            now = time.monotonic()
            if what != self._what:
                self._what, self._what_began = what, now
            self._done, self._total = done, total
            if self._progress is not None or now >= self._shown_from:
                self._show()
            elif self._timer is None:
                self._timer = Timer(self._shown_from - now, self._show_late)
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._shown_from = math.inf
            if self._progress is not None:
                self._progress.stop()

    def _show_late(self) -> None:
        with self._lock:
            if self._progress is None and time.monotonic() >= self._shown_from:
                self._show()

    def _show(self) -> None:
        if self._progress is None:
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[counts]}"),
                console=console_of(stderr=True),
                transient=True,
            )
            self._progress.start()
        total, done = self._total or None, self._done
        counts = _counts(self._done, self._total, time.monotonic() - self._what_began)
        tasks = self._progress.tasks
        if not tasks or tasks[-1].description != self._what:
            for task in tasks:
                self._progress.remove_task(task.id)
            self._progress.add_task(self._what, total=total, completed=done, counts=counts)
        else:
            self._progress.update(tasks[-1].id, total=total, completed=done, counts=counts)


def _counts(done: int, total: int, seconds: float) -> str:
    """Return the progress of a step after ``seconds``, and the time left at that speed:
    ``60%  1.2 MB of 2.0 MB  0:08 left``."""
    if not total:
        return ""
    text = f"{done / total:.0%}  {size(done)} of {size(total)}"
    if 0 < done < total and seconds >= 1:
        minutes, rest = divmod(round(seconds / done * (total - done)), 60)
        text += f"  {minutes}:{rest:02} left"
    return text

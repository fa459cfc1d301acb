"""The time limit of statements: one that runs over its deadline is interrupted (design section 4)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_TICK: Final = 0.05
"""Seconds between two checks while anything runs: a statement may end this much later than its deadline."""


class Watchdog:
    """Interrupts what runs over its deadline, from one thread that sleeps while nothing runs.

    A timer of its own for every statement would cost a thread each, many times what a small statement takes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[object, tuple[float, Callable[[], None]]] = {}
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="statement-limit", daemon=True)
        self._thread.start()

    @contextmanager
    def until(self, deadline: float, interrupt: Callable[[], None]) -> Iterator[None]:
        """Call ``interrupt`` if the block still runs at ``deadline`` (``time.monotonic`` seconds)."""
        token = object()
        with self._lock:
            self._running[token] = (deadline, interrupt)
        if not self._wake.is_set():
            self._wake.set()
        try:
            yield
        finally:
            # Taking the lock makes sure that no interrupt still on its way reaches the next statement.
            with self._lock:
                self._running.pop(token, None)

    def close(self) -> None:
        """End the thread. Nothing may run any more."""
        self._closing.set()
        self._wake.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closing.is_set():
            self._wake.wait()
            self._closing.wait(_TICK)
            now = time.monotonic()
            with self._lock:
                for deadline, interrupt in self._running.values():
                    if now >= deadline:
                        interrupt()  # again at every check, until the statement has ended
                if not self._running and not self._closing.is_set():
                    self._wake.clear()

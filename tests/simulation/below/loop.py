"""An event loop whose time and waiting are the scheduler's: what an actor runs where the product runs uvicorn."""

from __future__ import annotations

import asyncio
import threading
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any


class Loop(BaseEventLoop):
    """One loop of one actor. Other actors reach it by ``call_soon_threadsafe`` alone."""

    def __init__(self) -> None:
        super().__init__()
        self._woken = threading.Event()
        self._selector = self  # where the base class waits for files, of which there are none
        self.set_task_factory(_task)

    def run_forever(self) -> None:
        """Go on until the actor dies, or ``stop`` is called."""
        asyncio._set_running_loop(self)
        self._thread_id = threading.get_ident()
        try:
            while not self._stopping:
                self._run_once()
        finally:
            self._stopping, self._thread_id = False, None
            asyncio._set_running_loop(None)

    def run_in_executor(  # type: ignore[override]  # its futures are simulated ones
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Have a thread do something; the future is one of this loop."""
        future = self.create_future()

        def note(outcome: Callable[[Any], object], value: Any) -> None:
            if not future.done():
                outcome(value)

        def run() -> None:
            try:
                result = func(*args)
            except Exception as error:
                self.call_soon_threadsafe(note, future.set_exception, error)
            else:
                self.call_soon_threadsafe(note, future.set_result, result)

        if executor is None:
            threading.Thread(target=run, name="to-thread", daemon=True).start()
        else:
            executor.submit(run)
        return future

    def select(self, timeout: float | None) -> list[Any]:
        """Wait until something is to be done."""
        if timeout is None or timeout > 0:
            self._woken.wait(timeout)
        self._woken.clear()
        return []

    def _process_events(self, events: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        self._woken.set()

    def __del__(self) -> None:
        """Say nothing: a loop ends with its process."""


def _task(loop: Any, work: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    task = asyncio.Task(work, loop=loop, **options)
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # its process was killed
    return task

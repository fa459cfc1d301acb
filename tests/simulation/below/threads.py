"""What the product takes from ``threading`` and ``concurrent.futures``, made of actors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any

from tests.simulation.below.scheduler import SECOND, Actor, Scheduler

_FIRST_LOOK = 50
"""Microseconds after which whoever waits for a lock tries it again."""


def threads_of(scheduler: Scheduler) -> dict[str, Any]:
    """Return the classes in the place of those of ``threading``, by name, and ``ThreadPoolExecutor``."""

    class Event:
        def __init__(self) -> None:
            self._is_set = False
            self._waiting: list[Actor] = []

        def is_set(self) -> bool:
            return self._is_set

        def set(self) -> None:
            self._is_set = True
            for actor in self._waiting:
                scheduler.wake(actor)
            self._waiting.clear()

        def clear(self) -> None:
            self._is_set = False

        def wait(self, timeout: float | None = None) -> bool:
            actor = scheduler.current
            if actor is None or self._is_set:
                return self._is_set
            self._waiting.append(actor)
            if timeout is not None:
                scheduler.wake(actor, max(1, round(timeout * SECOND)))
            scheduler.steps += 1
            scheduler.switch(actor)
            if actor in self._waiting:
                self._waiting.remove(actor)
            return self._is_set

    class Lock:
        def __init__(self) -> None:
            self._holder: Any = None
            self._depth = 0

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            pause = _FIRST_LOOK
            deadline = scheduler.now + round(timeout * SECOND) if timeout >= 0 else None
            while self._holder is not None and self._is_taken():
                if not blocking or (deadline is not None and scheduler.now >= deadline):
                    return False
                if scheduler.current is None:
                    raise RuntimeError("a lock is held that nobody can free")
                scheduler.pause(pause)
                pause = min(2 * pause, 10_000)
            self._holder = scheduler.current or self
            self._depth += 1
            return True

        def _is_taken(self) -> bool:
            return True

        def release(self) -> None:
            self._depth -= 1
            if not self._depth:
                self._holder = None

        def locked(self) -> bool:
            return self._holder is not None

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *_: object) -> None:
            self.release()

    class RLock(Lock):
        def _is_taken(self) -> bool:
            return self._holder is not (scheduler.current or self)

    class Condition:
        def __init__(self, lock: Any = None) -> None:
            self._lock = lock or RLock()
            self._waiting: list[Event] = []

        def acquire(self, *arguments: Any) -> bool:
            acquired: bool = self._lock.acquire(*arguments)
            return acquired

        def release(self) -> None:
            self._lock.release()

        def wait(self, timeout: float | None = None) -> bool:
            called = Event()
            self._waiting.append(called)
            self._lock.release()
            try:
                return called.wait(timeout)
            finally:
                if called in self._waiting:
                    self._waiting.remove(called)
                self._lock.acquire()

        def notify(self, number: int = 1) -> None:
            for called in self._waiting[:number]:
                called.set()
            del self._waiting[:number]

        def notify_all(self) -> None:
            self.notify(len(self._waiting))

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *_: object) -> None:
            self.release()

    class Thread:
        def __init__(
            self,
            group: None = None,
            target: Callable[..., object] | None = None,
            name: str | None = None,
            args: Iterable[Any] = (),
            kwargs: dict[str, Any] | None = None,
            *,
            daemon: bool | None = None,
        ) -> None:
            self.name = name or "thread"
            self.daemon = daemon
            self._work = lambda: target(*args, **(kwargs or {})) if target is not None else None
            self._ended: Event | None = None

        def start(self) -> None:
            assert scheduler.current is not None
            process = scheduler.current.process
            self._ended = ended = Event()

            def run() -> None:
                try:
                    self._work()
                finally:
                    ended.set()

            scheduler.spawn(process, f"{process.name}/{self.name}", run)

        def is_alive(self) -> bool:
            return self._ended is not None and not self._ended.is_set()

        def join(self, timeout: float | None = None) -> None:
            if self._ended is not None:
                self._ended.wait(timeout)

    class Timer(Thread):
        """Is only there for what takes too long to end, which nothing does here."""

        def __init__(self, interval: float, function: Callable[..., object], *args: Any) -> None:
            super().__init__()

        def start(self) -> None:
            pass

        def cancel(self) -> None:
            pass

    class Future:
        def __init__(self) -> None:
            self._ended = Event()
            self._result: Any = None
            self._error: BaseException | None = None
            self.is_cancelled = False
            self._callbacks: list[Callable[[Any], object]] = []

        def cancelled(self) -> bool:
            return self.is_cancelled

        def add_done_callback(self, callback: Callable[[Any], object]) -> None:
            if self.done() or self.is_cancelled:
                callback(self)
            else:
                self._callbacks.append(callback)

        def done(self) -> bool:
            return self._ended.is_set()

        def cancel(self) -> bool:
            if not self.done() and not self.is_cancelled:
                self.is_cancelled = True
                self._call_back()
            return self.is_cancelled

        def _call_back(self) -> None:
            called, self._callbacks = self._callbacks, []
            for callback in called:
                callback(self)

        def result(self, timeout: float | None = None) -> Any:
            self._ended.wait(timeout)
            if self.is_cancelled:
                raise CancelledError
            if self._error is not None:
                raise self._error
            return self._result

        def run(self, work: Callable[[], Any]) -> None:
            try:
                if not self.is_cancelled:
                    self._result = work()
            except Exception as error:
                self._error = error
            finally:
                self._ended.set()
                self._call_back()

    class Pool:
        def __init__(self, max_workers: int | None = None, thread_name_prefix: str = "pool", **_: Any) -> None:
            self._most = max_workers or 4
            self._name = thread_name_prefix or "pool"
            self._queue: deque[tuple[Future, Callable[[], Any]]] = deque()
            self._working = 0
            self._begun: list[Future] = []

        def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
            future = Future()
            if scheduler.current is None:
                future.run(lambda: work(*args, **kwargs))
                return future
            self._begun = [one for one in self._begun if not one.done()]
            self._begun.append(future)
            self._queue.append((future, lambda: work(*args, **kwargs)))
            if self._working < self._most:
                self._working += 1
                process = scheduler.current.process
                scheduler.spawn(process, f"{process.name}/{self._name}", self._run)
            return future

        def _run(self) -> None:
            try:
                while self._queue:
                    future, work = self._queue.popleft()
                    future.run(work)
            finally:
                self._working -= 1

        def map(self, work: Callable[..., Any], *items: Iterable[Any]) -> Iterator[Any]:
            futures = [self.submit(work, *one) for one in zip(*items, strict=False)]
            return iter([future.result() for future in futures])

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            if cancel_futures:
                for future, _ in self._queue:
                    future.cancel()
            if wait and scheduler.current is not None:
                for future in list(self._begun):
                    future._ended.wait()

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: object) -> None:
            self.shutdown()

    return {
        "Event": Event,
        "Lock": Lock,
        "RLock": RLock,
        "Condition": Condition,
        "Thread": Thread,
        "Timer": Timer,
        "ThreadPoolExecutor": Pool,
    }

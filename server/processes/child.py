"""A process that a server starts and looks after: it answers while it goes on, and ends with whoever started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final

ANSWER_SECONDS: Final = 30.0
"""Seconds without an answer after which a process hangs."""

_ASK: Final = b"?"
_READY: Final = b"ready"
_RETIRE: Final = b"retire"


class Child:
    """One process, and how long it has owed an answer."""

    def __init__(self, name: str, target: Callable[..., None], *arguments: Any) -> None:
        """Start a process that calls ``target`` with ``arguments``; it gets SIGTERM when this one is gone."""
        context = multiprocessing.get_context("spawn")
        self._questions, answers = context.Pipe()
        self.started_at = time.monotonic()
        self.is_ready = False
        """Whether it has said by ``tell_ready`` that it does its work."""
        self._asked_at: float | None = None
        self.process = context.Process(target=_run, args=(answers, target, *arguments), name=name)
        self.process.start()
        answers.close()

    @property
    def exitcode(self) -> int | None:
        """``None`` as long as it lives."""
        return self.process.exitcode

    def hangs(self) -> bool:
        """Whether it has owed an answer for too long; asks again where it has given one. Waits for nothing."""
        with suppress(OSError, EOFError):  # dead, which is told by its exit code
            while self._questions.poll():
                if self._questions.recv_bytes() == _READY:
                    self.is_ready = True
                else:
                    self._asked_at = None
            if self._asked_at is None:
                self._asked_at = time.monotonic()
                self._questions.send_bytes(_ASK)
        return self._asked_at is not None and time.monotonic() - self._asked_at > ANSWER_SECONDS

    def retire(self) -> None:
        """Tell it that another process has taken over (``when_retired``)."""
        with suppress(OSError):  # it is gone
            self._questions.send_bytes(_RETIRE)

    def kill(self) -> None:
        """End it now."""
        self.process.kill()
        self.process.join()

    def end(self, seconds: float) -> bool:
        """Wait for the end of a process that was told to end, and kill it after ``seconds``; return whether it ended by
        itself."""
        self.process.join(max(0.0, seconds))
        ended = self.exitcode is not None
        if not ended:
            self.kill()
        self.close()
        return ended

    def close(self) -> None:
        """Give up what is left of a process that has ended."""
        self._questions.close()
        self.process.close()


class _Parent:
    """The process that started this one, as this one sees it."""

    def __init__(self) -> None:
        self._answers: Connection | None = None
        self._sending = threading.Lock()
        self._retiring = threading.Event()

    def answer(self, answers: Connection) -> None:
        """Answer it as long as it is there, then end this process."""
        self._answers = answers
        with suppress(OSError, EOFError):
            while True:
                if (told := answers.recv_bytes()) == _RETIRE:
                    self._retiring.set()
                else:
                    self.send(told)
        os.kill(os.getpid(), signal.SIGTERM)  # whoever started this process is gone, and can tell it nothing

    def send(self, message: bytes) -> None:
        if self._answers is not None:
            with self._sending, suppress(OSError):
                self._answers.send_bytes(message)

    def wait_for_retirement(self, then: Callable[[], None]) -> None:
        self._retiring.wait()
        then()


_parent: Final = _Parent()


def tell_ready() -> None:
    """Tell whoever started this process that it does its work; in one that nobody started so, do nothing."""
    _parent.send(_READY)


def when_retired(then: Callable[[], None]) -> None:
    """Call ``then``, in a thread, once whoever started this process tells it that another one has taken over."""
    threading.Thread(target=_parent.wait_for_retirement, args=(then,), name="await-successor", daemon=True).start()


def _run(answers: Connection, target: Callable[..., None], *arguments: Any) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal's goes to all its processes
    threading.Thread(target=_parent.answer, args=(answers,), name="answer-supervisor", daemon=True).start()
    target(*arguments)

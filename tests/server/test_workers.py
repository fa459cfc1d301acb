"""Workers that cannot be started for a while."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from uvicorn import Config

from server import workers
from server.processes.child import Child
from server.states.clock_watch import steady_ms
from server.states.states import States
from server.workers import ServerWorkers
from tests.server.processes.test_child import running, work
from tests.sites.halting import has_ended
from tests.sites.served_site import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks the processes up in /proc")


async def nothing(*_arguments: object) -> None:
    """Stand for an application."""


def test_one_that_a_full_machine_cannot_start_again_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = iter([None, None, *[OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))] * 2])

    def started(name: str, *_arguments: object) -> Child:
        refusal = next(refusals, None)
        if refusal is not None:
            raise refusal
        return Child(name, work, tmp_path)

    monkeypatch.setattr(workers, "Child", started)
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.01)
    killed: list[int] = []
    awaited = workers.wait

    def wait(sentinels: Sequence[int], seconds: float) -> None:
        """Kill one when both are there, and end the server when there are two again."""
        if not killed:
            eventually(lambda: len(running(tmp_path)) == 2)
            killed.append(min(running(tmp_path)))
            (tmp_path / str(killed[0])).unlink()
            os.kill(killed[0], signal.SIGKILL)
            eventually(lambda: has_ended(killed[0]))
        elif caplog.text.count("cannot be started") == 2 and len(running(tmp_path)) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        awaited(sentinels, seconds)

    monkeypatch.setattr(workers, "wait", wait)
    with socket.socket() as listener:
        ServerWorkers(Config(nothing, workers=2), listener, States("server", steady_ms)).run()
    assert running(tmp_path) == set(), "all were told to end"
    assert caplog.text.count("a worker process cannot be started: [Errno 11]") == 2

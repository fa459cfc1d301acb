"""A process that is looked after: told to end, killed where it does not, and gone when whoever started it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from server.processes import child
from server.processes.child import Child
from tests.sites.served_site import eventually


def work(started: Path) -> None:
    """Note that a process has started, and wait for its end."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    (started / str(os.getpid())).touch()
    ended.wait()
    (started / str(os.getpid())).unlink()


def work_without_end(started: Path) -> None:
    """Go on, whatever one is told."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (started / str(os.getpid())).touch()
    threading.Event().wait()


def running(started: Path) -> set[int]:
    return {int(file.name) for file in started.iterdir()}


def test_one_that_is_told_to_end_does_its_last_work(tmp_path: Path) -> None:
    one = Child("work", work, tmp_path)
    eventually(lambda: running(tmp_path) == {one.process.pid})
    one.process.terminate()
    assert one.end(60)
    assert running(tmp_path) == set()


def test_one_that_does_not_end_is_killed(tmp_path: Path) -> None:
    one = Child("work", work_without_end, tmp_path)
    eventually(lambda: running(tmp_path))
    (pid,) = running(tmp_path)
    one.process.terminate()
    assert not one.end(0.2)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_that_stands_still_hangs_until_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Child("work", work, tmp_path)
    eventually(lambda: running(tmp_path))
    assert not one.hangs()
    os.kill(one.process.pid or 0, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(child, "ANSWER_SECONDS", 0.1)
        eventually(one.hangs)
        os.kill(one.process.pid or 0, signal.SIGCONT)
    eventually(lambda: not one.hangs())
    one.kill()
    assert one.exitcode == -signal.SIGKILL
    one.close()


PARENT = """
import sys, time
from pathlib import Path
from server.processes.child import Child
from tests.server.processes.test_child import work
if __name__ == "__main__":
    kept = Child("work", work, Path(sys.argv[1]))
    time.sleep(60)
"""


def test_one_ends_with_whoever_started_it(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], cwd=Path(__file__).parents[3]) as parent:
        eventually(lambda: running(tmp_path))
        parent.kill()
    eventually(lambda: not running(tmp_path))

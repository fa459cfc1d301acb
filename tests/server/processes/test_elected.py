"""One process for all that want it: started again when it ends, taken over when its keeper is gone."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from server.processes import elected
from server.processes.child import until_told
from server.processes.elected import ElectedProcess
from tests.server.views.test_collection import open_files
from tests.sites.served_site import eventually


def work(started: Path) -> None:
    """Note that a process has started, and wait for its end."""
    stopping = until_told()
    (started / str(os.getpid())).touch()
    stopping.wait(60)
    (started / str(os.getpid())).unlink()


def work_without_end(started: Path) -> None:
    """Go on, whatever one is told."""
    until_told()
    (started / str(os.getpid())).touch()
    signal.pause()
    signal.pause()


@pytest.fixture
def started(tmp_path: Path) -> Path:
    (tmp_path / "started").mkdir()
    return tmp_path / "started"


def kept(started: Path, target: Callable[[Path], None] = work, *, is_wanted: bool = True) -> ElectedProcess:
    return ElectedProcess(
        "worker",
        target,
        (started,),
        started.parent / "cache" / "worker.lock",
        look_seconds=0.05,
        restart_seconds=0.2,
        is_wanted=lambda: is_wanted,
    )


def running(started: Path) -> set[int]:
    return {int(file.name) for file in started.iterdir()}


def test_there_is_one_and_the_next_keeper_takes_over(started: Path) -> None:
    keepers = [kept(started), kept(started)]
    keepers[0].start()
    eventually(lambda: len(running(started)) == 1, within=60)
    keepers[1].start()
    (first,) = running(started)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: running(started) > {first}, within=60)
    keepers[0].stop()
    eventually(lambda: len(running(started)) == 2, within=60)  # the one that was killed could not take its note back
    keepers[1].stop()
    assert running(started) == {first}


def test_nothing_is_made_where_it_is_not_wanted(started: Path) -> None:
    keeper = kept(started, is_wanted=False)
    keeper._keep()
    assert [place.name for place in started.parent.iterdir()] == ["started"]
    keeper.stop()


def test_one_that_does_not_end_is_killed(started: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elected, "STOP_SECONDS", 0.2)
    keeper = kept(started, work_without_end)
    keeper.start()
    eventually(lambda: len(running(started)) == 1, within=60)
    (process,) = running(started)
    keeper.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_lock_that_cannot_be_had_holds_no_file(started: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    keeper = kept(started)
    monkeypatch.setattr(fcntl, "flock", refused)
    for _ in range(3):
        with pytest.raises(OSError, match=os.strerror(errno.ENOLCK)):
            keeper._elected()
    assert open_files(started.parent) == []

"""The main process while a server process that died cannot be replaced at the first try."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pytest

from server.main_process import main_process
from server.main_process.main_process import RESTART_SECONDS, MainProcess
from server.main_process.service_manager import ServiceManager

OUT_OF_MEMORY = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


class Started:
    """Stands for a server process that was started: it does what the test sets."""

    def __init__(self, pid: int, started_at: float, *, replaces: bool, follows_dead: bool) -> None:
        self.pid = pid
        self.started_at = started_at
        self.replaces = replaces
        self.follows_dead = follows_dead
        self.version: str | None = None
        self.status: int | None = None
        self.link = None
        self.kept: dict[str, object] = {}
        self.is_told_to_end = False
        self.failures: list[str] = []

    def look(self) -> None: ...

    def hangs(self) -> bool:
        return False

    def retire(self) -> None: ...

    def tell_failure(self, why: str) -> None:
        self.failures.append(why)

    def end(self) -> None:
        self.is_told_to_end = True

    def kill(self) -> None:
        self.status = -signal.SIGKILL

    def close(self) -> None: ...


class Machine:
    """A main process whose time passes when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.started: list[Started] = []
        self.refusals: list[OSError] = []
        """What the next starts fail with."""
        monkeypatch.setattr(main_process, "Generation", self._start)
        monkeypatch.setattr(main_process, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.main = MainProcess(["serve"], {}, ServiceManager({}), ready_seconds=300)
        self.main._start()

    def _start(
        self, _command: Sequence[str], _sockets: Mapping[str, object], *, replaces: bool, follows_dead: bool
    ) -> Started:
        if self.refusals:
            raise self.refusals.pop(0)
        pid = len(self.started) + 1
        self.started.append(Started(pid, self.now, replaces=replaces, follows_dead=follows_dead))
        return self.started[-1]

    def is_at_its_end(self, after: float = RESTART_SECONDS) -> bool:
        """Let time pass, and return whether the main process has ended then."""
        self.now += after
        return self.main._step()

    def answers(self) -> Started:
        """Let the newest get ready, and return it."""
        new = self.started[-1]
        new.version = "1.0.0"
        assert not self.is_at_its_end()
        serving: object = self.main._serving
        assert serving is new
        return new


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Machine:
    caplog.set_level("INFO")
    return Machine(monkeypatch)


def test_a_dead_one_is_replaced_once_another_can_be_started(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    machine.answers().status = -signal.SIGKILL
    machine.refusals = [OUT_OF_MEMORY, OUT_OF_MEMORY]
    assert not machine.is_at_its_end()
    assert not machine.is_at_its_end(RESTART_SECONDS / 4)
    assert len(machine.refusals) == 1, "the next try is not made at once"
    assert not machine.is_at_its_end()
    assert len(machine.started) == 1
    assert caplog.text.count("it cannot be started: [Errno 12] Cannot allocate memory; it is tried again") == 2
    assert not machine.is_at_its_end()
    assert [one.follows_dead for one in machine.started] == [False, True]
    machine.answers()
    assert "version 1.0.0 answers again, in process 2" in caplog.text


def test_a_dead_one_is_replaced_though_the_first_that_follows_fails(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.answers().status = -signal.SIGKILL
    assert not machine.is_at_its_end()
    machine.started[1].status = 1
    assert not machine.is_at_its_end()
    why = "it ended with status 1 before it was ready"
    assert f"server process 2 does not take the place of the one that ended: {why}" in caplog.text
    assert machine.started[2].follows_dead
    machine.answers()


@pytest.mark.parametrize("has_reload", [False, True])
def test_one_that_hangs_at_its_start_is_given_up_where_the_one_before_died(
    machine: Machine, caplog: pytest.LogCaptureFixture, has_reload: bool
) -> None:
    first = machine.answers()
    machine.main._is_reload_wanted = has_reload
    if has_reload:
        assert not machine.is_at_its_end()
        assert machine.started[1].replaces
    first.status = -signal.SIGKILL
    assert not machine.is_at_its_end()
    hanging = machine.started[1]
    assert hanging.follows_dead is not has_reload
    assert not machine.is_at_its_end(290)
    assert not hanging.is_told_to_end
    assert not machine.is_at_its_end(20)
    assert hanging.is_told_to_end
    assert "it was not ready within 300 s (CMS_RELOAD_SECONDS)" in caplog.text
    assert machine.started[2].follows_dead
    machine.main._is_reload_wanted = True
    machine.answers()
    assert machine.started[3].replaces, "the reload waits no longer"


def test_one_that_fails_at_a_reload_leaves_the_other(machine: Machine) -> None:
    first = machine.answers()
    machine.main._is_reload_wanted = True
    assert not machine.is_at_its_end()
    machine.started[1].status = 1
    assert not machine.is_at_its_end()
    assert first.failures == ["it ended with status 1 before it was ready"]
    assert not first.is_told_to_end


def test_a_start_that_fails_is_the_end_where_nothing_has_answered_yet(machine: Machine) -> None:
    assert not machine.is_at_its_end(10_000), "the first may take its time"
    machine.started[0].status = 3
    assert machine.is_at_its_end()
    assert machine.main._status == 3
    assert len(machine.started) == 1

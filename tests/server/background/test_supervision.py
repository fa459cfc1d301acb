"""The looking after a keeper that cannot be started for a while, and after what one leaves that cannot end."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from server.background import keeper, supervision
from server.background.keeper import Socket, keep
from server.background.supervision import KeeperSupervision, kept
from server.processes.child import Child
from server.settings import Settings
from server.states.clock_watch import steady_ms
from server.states.states import States
from tests.server.processes.test_child import running, work
from tests.sites.halting import has_ended
from tests.sites.served_site import eventually


def kept_by(settings: Settings, _log: object, _console: object) -> None:
    """Stand for a keeper, beside the store of the settings."""
    work(Path(settings.store).parent)


@pytest.mark.slow
def test_one_that_a_full_machine_cannot_start_again_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = iter([None, *[OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))] * 2])

    def started(*arguments: Any) -> Child:
        refusal = next(refusals, None)
        if refusal is not None:
            raise refusal
        return Child(*arguments)

    monkeypatch.setattr(supervision, "Child", started)
    monkeypatch.setattr(supervision, "keep", kept_by)
    monkeypatch.setattr(supervision, "RESTART_SECONDS", 0.02)
    monkeypatch.setattr(supervision, "LOOK_SECONDS", 0.01)
    with kept(Settings(store=str(tmp_path / "store")), {}, States("server", steady_ms)):
        eventually(lambda: running(tmp_path))
        [killed] = running(tmp_path)
        (tmp_path / str(killed)).unlink()
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: running(tmp_path))
    assert running(tmp_path) == set(), "it was told to end"
    assert caplog.text.count("the keeper cannot be started: [Errno 11]") == 2


class Dead:
    """Stands for a keeper that has ended."""

    exitcode = 1
    is_ready = False

    def retire(self) -> None: ...

    def close(self) -> None: ...


class Locked(KeeperSupervision):
    """Finds a keeper taken away while another thread may be telling it something."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "_keeper" and "_keeper" in vars(self):
            assert self._changing.locked()
        super().__setattr__(name, value)


def test_a_keeper_is_told_of_its_retirement_or_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    retired: list[str] = []
    monkeypatch.setattr(supervision, "Child", lambda *_: SimpleNamespace(retire=lambda: retired.append("new")))
    one = Locked((), None, States("server", steady_ms), None)
    with one._changing:
        one._keeper = Dead()  # type: ignore[assignment]
    one.retire()
    one._look()
    assert retired == ["new"], "one that is started later is retired, too"


def keep_without_end(settings: Settings, log: dict[str, Any], console: Socket) -> None:
    """Be a keeper of which a part goes on until all of it is ended, as one may that waits for a bucket."""
    keeper._work_with_the_lock = lambda *_: threading.Event().wait()  # type: ignore[assignment]
    keeper.LAST_SECONDS = 0.5  # type: ignore[misc]
    (Path(settings.store).parent / str(os.getpid())).touch()
    keep(settings, log, console)


SERVER = """
import sys, tempfile, threading
from pathlib import Path
from server.background import supervision
from server.settings import Settings
from server.states.clock_watch import steady_ms
from server.states.states import States
from tests.server.background.test_supervision import keep_without_end
if __name__ == "__main__":
    tempfile.tempdir = sys.argv[1]
    supervision.keep = keep_without_end
    states = States("server", steady_ms)
    with supervision.kept(Settings(store=sys.argv[1] + "/store", console=True), {"version": 1}, states):
        threading.Event().wait()
"""


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory whose path leaves room for the name of a socket."""
    with TemporaryDirectory(prefix="kept-") as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks the process up in /proc")
def test_a_killed_server_leaves_no_socket_though_its_keeper_cannot_end_its_work(short_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER, str(short_path)], cwd=Path(__file__).parents[3]) as server:
        eventually(lambda: [one for one in short_path.iterdir() if one.name.isdigit()])
        [pid] = (one.name for one in short_path.iterdir() if one.name.isdigit())
        # The handler of the signal that ends it: before, there is nobody to remove anything.
        eventually(lambda: int(_status(pid)["SigCgt"], 16) & 1 << signal.SIGTERM - 1)
        assert len(list(short_path.glob("parquetry-console-*"))) == 1
        server.kill()
    eventually(lambda: has_ended(pid))
    assert list(short_path.glob("parquetry-console-*")) == []


def _status(pid: str) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

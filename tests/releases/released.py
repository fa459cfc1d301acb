"""The program as it was released, run with the packages that this one has: its commands and its server."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.programs.command_line import Ran
from tests.servers.ports import free_port

FROZEN = Path(__file__).parents[1] / "frozen" / "releases"
RELEASES = tuple(sorted(path.name for path in FROZEN.iterdir() if path.is_dir()))
"""The days of the releases, the oldest first."""
BEFORE_BUCKETS = RELEASES[0]
"""The one that knows neither buckets, webhooks nor an audit log."""
DEADLINE = 60.0

_COMMAND = [sys.executable, "-c", "from cli.main import main; main()"]


@dataclass(frozen=True)
class Release:
    """A released program, unpacked, and a store that it has made: two snapshot versions and two keys."""

    day: str
    program: Path
    store: Path
    key: str
    """The whole text of the key "Site"."""

    def run(self, *arguments: str) -> Ran:
        """Run a command of the release on its store."""
        done = subprocess.run(
            [*_COMMAND, *arguments],
            cwd=self.store.parent,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def told(self, *arguments: str) -> Any:
        """Return the JSON document that a command of the release prints, which has to succeed."""
        ran = self.run(*arguments, "--json")
        assert ran.status == 0, ran.err
        return ran.json

    def python(self, program: str) -> str:
        """Return what a Python program prints that imports the modules of the release."""
        done = subprocess.run(
            [sys.executable, "-c", program, str(self.store)],
            cwd=self.store.parent,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[Server]:
        """The server of the release over its store, once it answers."""
        port = free_port()
        with (self.store.parent / f"server-{port}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [*_COMMAND, "serve", "--port", str(port)],
                cwd=self.store.parent,
                env=self._environment(),
                stdout=log,
                stderr=log,
            )
            server = Server(port)
            try:
                _wait(lambda: server.status("/readyz", None) == 200, process)
                yield server
            finally:
                process.terminate()
                process.wait(DEADLINE)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.program), "CMS_STORE": str(self.store)}


@dataclass(frozen=True)
class Server:
    """A running server of a release."""

    port: int

    def status(self, path: str, key: str | None) -> int | None:
        """Return the status of an answer; ``None`` where there is none."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if key is not None:
            request.add_header("X-API-KEY", key)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:  # noqa: S310 - of this machine
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return None

    def wait(self, path: str, key: str, status: int) -> None:
        """Wait until a request with a key gets a status."""
        _wait(lambda: self.status(path, key) == status)


@pytest.fixture(scope="session", params=RELEASES)
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The day of a release and its program."""
    folder = tmp_path_factory.mktemp("program")
    _unpack(FROZEN / request.param / "program.tar.xz", folder)
    return request.param, folder


@pytest.fixture
def release(unpacked: tuple[str, Path], tmp_path: Path) -> Release:
    """A release with a store of its own."""
    day, program = unpacked
    _unpack(FROZEN / day / "store.tar.xz", tmp_path)
    return Release(day, program, tmp_path / "store", (tmp_path / "key.txt").read_text().strip())


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


def _wait(done: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + DEADLINE
    while not done():
        assert process is None or process.poll() is None, "the server has ended"
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)

"""The program as it was released, run with the packages that this one has: its commands and its server."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
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

_MAIN = "from cli.main import main; main()"
_COPIED = """
import contextlib, importlib, json, os, pkgutil, sys, traceback
for package in ("cli", "engine", "snapshots"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)

def status_of(program):
    try:
        exec(program, {"__name__": "__main__"})
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

for order in sys.stdin:
    program, arguments, directory, environment, *files = json.loads(order)
    if copy := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
        continue
    for descriptor, file in enumerate(files):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    sys.argv[:] = arguments
    status = status_of(program)
    sys.stdout.flush()
    os._exit(status)  # an interpreter that is taken apart looks at all that was imported
"""
"""Imports all of a release once, and runs each program that it is told of in a copy of itself."""


class Program:
    """A released program, unpacked in a folder: what runs its commands without a second of imports for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COPIED],
            cwd=folder,
            # With threads it could not be copied.
            env={**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, arguments: tuple[str, ...], directory: Path, environment: Mapping[str, str]) -> Ran:
        """Run a Python program that imports the modules of the release, with ``sys.argv`` and environment of its
        own."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out, err = self.folder / "out", self.folder / "err"
        order = [program, arguments, str(directory), dict(environment), os.devnull, str(out), str(err)]
        print(json.dumps(order), file=self._process.stdin, flush=True)
        assert select.select([self._process.stdout], [], [], DEADLINE)[0], "it has not ended"
        status = int(self._process.stdout.readline())
        return Ran(status, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))

    def close(self) -> None:
        self._process.communicate(timeout=DEADLINE)


@dataclass(frozen=True)
class Release:
    """A released program, and a store that it has made: two snapshot versions and two keys."""

    day: str
    program: Program
    store: Path
    key: str
    """The whole text of the key "Site"."""

    def run(self, *arguments: str) -> Ran:
        """Run a command of the release on its store."""
        return self.program.run(_MAIN, ("cms", *arguments), self.store.parent, self._environment())

    def told(self, *arguments: str) -> Any:
        """Return the JSON document that a command of the release prints, which has to succeed."""
        ran = self.run(*arguments, "--json")
        assert ran.status == 0, ran.err
        return ran.json

    def python(self, program: str) -> str:
        """Return what a Python program prints that imports the modules of the release."""
        ran = self.program.run(program, ("-c", str(self.store)), self.store.parent, self._environment())
        assert ran.status == 0, ran.err
        return ran.out

    @contextmanager
    def serving(self) -> Iterator[Server]:
        """The server of the release over its store, once it answers."""
        port = free_port()
        with (self.store.parent / f"server-{port}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, "serve", "--port", str(port)],
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
        return {**os.environ, "PYTHONPATH": str(self.program.folder), "CMS_STORE": str(self.store)}


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
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
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
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Program]]:
    """The day of a release and its program."""
    folder = tmp_path_factory.mktemp("program")
    _unpack(FROZEN / request.param / "program.tar.xz", folder)
    program = Program(folder)
    try:
        yield request.param, program
    finally:
        program.close()


@pytest.fixture
def release(unpacked: tuple[str, Program], tmp_path: Path) -> Release:
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

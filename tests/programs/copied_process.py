"""Processes without the half second that each would import for: copies of one that has imported everything.

Every process that runs tests starts that one when it first needs it. It waits for programs, and forks a copy of itself
for each, which runs the program as ``python -c`` would: as its main module, with arguments, environment, output and
process group of its own. That servers and builds start from nothing too is tested where ``cms`` starts them.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from tests.programs.copied_children import copy_children

ROOT = Path(__file__).resolve().parents[2]
IMPORTED = (
    "server.run",
    "server.console.process.serving",
    "server.delivery.last_use",
    "engine.read.materialise.making",
    "snapshots.build.build",
    # What these import late.
    "anyio._backends._asyncio",
    "crawleruseragents",
    "httpcore2",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.resource_tracker",
    "numpy.ma",
    "pyarrow.dataset",
    "server.console.process.forwarding",
    "snapshots.build.data_files",
    "snapshots.build.incremental",
    "snapshots.build.workers",
    "snapshots.definitions.workspace",
    "snapshots.translations.lost_references",
    "uvicorn.lifespan.off",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.loops.uvloop",
    "uvloop",
    # The commands that tests run most.
    "cli.keys.command",
    "cli.main",
    "cli.query.command",
    "cli.serving.dev",
    "cli.snapshot.command",
    "rich.console",
    "rich.table",
    "server.dev.builds",
    "server.dev.events",
    "server.dev.page",
    "server.dev.watching",
    "typer._click.decorators",
)
ONE_MESSAGE = 1 << 20
ONE_NUMBER = 12
"""Bytes in which the number of a process, and then how it ended, are told."""
WAITING = """
import sys, tests.programs.copied_process as copied
try:
    exec(copied.next_program(int(sys.argv[1])))
except SystemExit as ended:
    copied.end(ended.code)
copied.end()
"""


class Copy:
    """One such process. Its methods do what those of ``subprocess.Popen`` do."""

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        env: Mapping[str, str],
        errors: IO[str] | IO[bytes],
        *,
        new_group: bool,
        children: bool,
    ) -> None:
        output, theirs = os.pipe()
        self._ended, status = os.pipe()
        self.stdout = os.fdopen(output)
        order = json.dumps([program, ["-c", *arguments], dict(env), new_group, children]).encode()
        try:
            socket.send_fds(_orders(), [order], [theirs, errors.fileno(), status])
        finally:
            os.close(theirs)
            os.close(status)
        self.pid = int(os.read(self._ended, ONE_NUMBER))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self._read()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self._read()
        assert self.returncode is not None
        return self.returncode

    def _read(self) -> None:
        self.returncode = os.waitstatus_to_exitcode(int(os.read(self._ended, ONE_NUMBER)))
        os.close(self._ended)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, which is not said yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, None]:
        with self.stdout:
            rest = self.stdout.read() if not self.stdout.closed else ""
        self.wait()
        return rest, None


def started(
    program: str,
    arguments: Sequence[str],
    env: Mapping[str, str],
    errors: IO[str] | IO[bytes],
    *,
    new_group: bool = False,
    children: bool = False,
) -> Copy | subprocess.Popen[str]:
    """Run a program with the project's root as directory; what it writes on standard output is for the caller.
    ``children`` has the processes that it starts copied too: then one more is among them, that copies."""
    if sys.platform == "linux":
        return Copy(program, arguments, env, errors, new_group=new_group, children=children)
    return started_from_nothing(["-c", program, *arguments], env, errors, new_group=new_group)


def started_from_nothing(
    arguments: Sequence[str], env: Mapping[str, str], errors: IO[str] | IO[bytes], *, new_group: bool = False
) -> subprocess.Popen[str]:
    """The same with any arguments of ``python``, in a process that imports all by itself."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=new_group,
    )


def kill_group(process: Copy | subprocess.Popen[str]) -> None:
    """End a process that was started with ``new_group``, and what it started. It may have ended by itself."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@cache
def _orders() -> socket.socket:
    """Where the process that is copied takes orders; it ends when this end is closed, with the test process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        copied = subprocess.Popen(
            [sys.executable, "-c", WAITING, str(theirs.fileno())],
            cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # with threads it could not be copied
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(_end, ours, copied)
    return ours


def _end(orders: socket.socket, copied: subprocess.Popen[bytes]) -> None:
    orders.close()
    copied.wait()


def next_program(descriptor: int) -> str:
    """Called in the process that is copied; returns in each copy, with the program to run there."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=descriptor)
    while True:
        order, descriptors, _, _ = socket.recv_fds(orders, ONE_MESSAGE, 3)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not order:
            sys.exit()
        if os.fork():
            for one in descriptors:
                os.close(one)
            continue
        orders.close()
        program, arguments, environment, new_group, children = json.loads(order)
        output, errors, status = descriptors
        if pid := os.fork():
            _tell_the_end(pid, status, new_group=new_group)
        if new_group:
            os.setpgid(0, 0)
        os.close(status)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.close(output)
        os.close(errors)
        # Those of the copied process remember that it could seek in what it wrote to.
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[:] = arguments
        signal.signal(signal.SIGINT, interrupt)
        return (copy_children() if children else None) or str(program)


def end(code: object = None) -> None:
    """End this process as Python does, but for giving back all that was ever imported: that takes half a second."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            stream.flush()
    os._exit((code or 0) & 0xFF)


def _tell_the_end(pid: int, status: int, *, new_group: bool) -> None:
    """Between the two there is one that waits for the copy, and has nothing open but where it tells so."""
    if new_group:
        os.setpgid(pid, pid)  # both do it: whoever learns of the copy can end its group, and what it starts is in it
    os.closerange(0, status)
    os.closerange(status + 1, 1024)
    os.write(status, b"%*d" % (ONE_NUMBER, pid))
    ended = os.waitpid(pid, 0)[1]
    os.write(status, b"%*d" % (ONE_NUMBER, ended))
    os._exit(0)

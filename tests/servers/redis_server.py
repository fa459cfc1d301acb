"""A real Redis or Valkey server on a free port of this machine, for the tests that need one."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.ports import free_port

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
DEADLINE = 60.0

needs_redis = pytest.mark.skipif(PROGRAM is None, reason="neither redis-server nor valkey-server is installed")


class RedisServer:
    """One server process, which can be ended and started again on the same port."""

    def __init__(self, directory: Path, *, password: str | None = None) -> None:
        self._directory = directory
        self._password = password
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        login = f":{self._password}@" if self._password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        assert PROGRAM is not None
        command = [
            PROGRAM,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self._directory),
        ]
        if self._password:
            command += ["--requirepass", self._password]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, "the Redis server does not answer"
                time.sleep(0.01)

    def send(self, number: int) -> None:
        """Send a signal: SIGSTOP makes it take connections and answer nothing, SIGCONT goes on."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(DEADLINE)
            self._process = None


@contextmanager
def redis_server(directory: Path, *, password: str | None = None) -> Iterator[RedisServer]:
    server = RedisServer(directory, password=password)
    server.start()
    try:
        yield server
    finally:
        server.stop()

"""A server of an installed program, which is replaced while it runs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.programs.installed_program import InstalledProgram
from tests.sites.served_site import DEADLINE, Site, eventually
from tests.sites.steady_load import Load

VERSIONS = ("1.0.0-rc.1", "2.0.0")


class ReloadedServer:
    """A running ``cms serve``."""

    def __init__(self, command: list[str], environment: dict[str, str], files: tuple[int, ...], log_file: Path) -> None:
        self._command = command
        self._environment = environment
        self._files = files
        self.port = 0
        self._start(log_file)

    def _start(self, log_file: Path) -> None:
        self.log_file = log_file
        with log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [*self._command, "--port", str(self.port)],
                env=self._environment,
                cwd=log_file.parent,
                stderr=log,
                pass_fds=self._files,
            )

    def wait(self) -> None:
        """Wait until it answers."""
        eventually(lambda: "listening on" in self.log() or self.process.poll() is not None)
        found = re.search(r"listening on http://127\.0\.0\.1:([0-9]+)", self.log())
        assert found is not None, self.log()
        self.port = int(found[1])
        eventually(lambda: self.get("/readyz")[0] == 200)

    def restart(self, log_file: Path) -> None:
        """End it, and start it again at the same port."""
        self.process.terminate()
        assert self.process.wait(DEADLINE) == 0
        self._start(log_file)
        self.wait()

    def log(self) -> str:
        return self.log_file.read_text()

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def get(self, target: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request("GET", target, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def state(self) -> dict[str, Any]:
        """What ``/readyz`` says."""
        found: dict[str, Any] = json.loads(self.get("/readyz")[1])
        return found

    def troubles(self) -> dict[str, str]:
        """What ``/readyz`` says is wrong, by name."""
        return {str(one["what"]): str(one["message"]) for one in self.state()["troubles"]}

    def version(self) -> str:
        """The version of the program that answers."""
        return str(self.state()["program"]["version"])

    def reloads(self) -> int:
        return self.log().count("reloaded: version")

    def failed_reloads(self) -> int:
        return self.log().count("the reload failed")


def viewed_site(directory: Path) -> Site:
    """A site whose pages may report views."""
    site = Site(directory)
    (site.source / "workspace.yaml").write_text("id: acme\nlanguages: [en]\ndomains: [acme.example]\n")
    site.publish("one")
    return site


@contextmanager
def serving_installed(
    program: InstalledProgram,
    site: Site,
    log_file: Path,
    *,
    workers: int = 1,
    before: Sequence[str] = (),
    files: tuple[int, ...] = (),
    **variables: str,
) -> Iterator[ReloadedServer]:
    """Run the installed program's ``cms serve`` over a site's store, at a free port, with the descriptors ``files``;
    ``before`` is a command that runs it."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CMS_")}
    environment |= {"CMS_CONSOLE": "1", "CMS_PUBLIC_URL": "http://127.0.0.1", "CMS_TRUSTED_PROXIES": "127.0.0.1"}
    environment |= {"CMS_LOG_FORMAT": "text", **variables}
    command = [*before, str(program.command), "serve", "--store", str(site.store.root), "--workers", str(workers)]
    server = ReloadedServer(command, environment, files, log_file)
    try:
        server.wait()
        yield server
    finally:
        server.process.terminate()
        try:
            server.process.wait(DEADLINE)
        finally:
            server.process.kill()
            server.process.wait()


async def reloads(server: ReloadedServer, program: InstalledProgram, load: Load, number: int) -> None:
    """Install the other version and reload, so many times, while a load runs."""
    for turn in range(number):
        version = VERSIONS[(turn + 1) % len(VERSIONS)]
        await asyncio.to_thread(program.install, version)
        server.reload()
        until = asyncio.get_running_loop().time() + 10 * DEADLINE
        while server.reloads() <= turn and server.failed_reloads() == 0:
            assert asyncio.get_running_loop().time() < until, server.log()[-3000:]
            await asyncio.sleep(0.05)
        assert server.failed_reloads() == 0, server.log()[-3000:]
        assert await asyncio.to_thread(server.version) in VERSIONS
        while load.begun < load.total * (turn + 1) / (number + 1):
            await asyncio.sleep(0.05)

"""The guides: each is one session at a terminal, typed in from top to bottom, and has to print what the page shows.

A fenced block with a ``title`` is a file that is written; ``console`` blocks are typed into one shell, in the directory
that the shell is in. ``terminal=second`` is a command that keeps running beside it until the page ends, and
``fails=yes`` a block whose last command says "no". What ``needs=typescript`` is left out where there is no npm.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.project.test_docs import Block, blocks, check_links, matches, write
from tests.server.reference.test_openapi_clients import node_modules
from tests.servers.ports import free_port

__all__ = ["node_modules"]  # a fixture

GUIDES = (
    "getting-started.md",
    "content-teams.md",
    "app-developers.md",
    "operators.md",
    "coming-from.md",
    "webhooks.md",
)
PORTS = (":8787", ":9464")
"""Where a server and its metrics are on a page; the tests take free ports instead."""
_SECONDS = 30.0

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "curl", "git"))), reason="needs bash, curl and git on this machine"
)


class Terminal:
    """One shell, and what runs beside it."""

    def __init__(self, directory: Path) -> None:
        self._ports = {shown: f":{free_port()}" for shown in PORTS}
        programs = directory / "bin"
        programs.mkdir()
        for name, command in (("cms", f"{sys.executable} -m cli.main"), ("python", sys.executable)):
            (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (programs / name).chmod(0o755)
        self.home = directory / "home"
        self.home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CMS_", "GIT_"))}
        who = {"NAME": "Mika", "EMAIL": "mika@example.com"}
        self._env = {
            **kept,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "HOME": str(self.home),
            "TMPDIR": str(directory),
            "CMS_PORT": self._ports[PORTS[0]][1:],
            "NO_COLOR": "1",
            **{f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in who.items()},
        }
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.home,
            env=self._env,
            text=True,
        )
        self._beside: list[subprocess.Popen[bytes]] = []

    def type(self, command: str) -> tuple[str, int]:
        """What a command prints on either stream, and its exit status."""
        end = f"--- {os.urandom(8).hex()}"
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        command = self.with_ports(command)
        self._shell.stdin.write(f"{command}\nprintf '\\n{end} %s\\n' $?\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.startswith(end):
                output = "".join(lines).removesuffix("\n")
                return self._as_shown(output), int(line.removeprefix(end))
            lines.append(line)
        raise AssertionError(f"the shell ended in {command}:\n{''.join(lines)}")

    def with_ports(self, text: str) -> str:
        """A text of a page with the ports that are taken in place of those that it shows."""
        for shown, taken in self._ports.items():
            text = text.replace(shown, taken)
        return text

    def _as_shown(self, text: str) -> str:
        for shown, taken in self._ports.items():
            text = text.replace(taken, shown)
        return text

    def directory(self) -> Path:
        return Path(self.type("pwd")[0].strip())

    def start(self, command: str) -> None:
        """A command that goes on, as in a second terminal; returns once it serves."""
        process = subprocess.Popen(
            ["bash", "-c", self.with_ports(command)],  # it becomes the command: signals reach it
            cwd=self.directory(),
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._beside.append(process)
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1{self._ports[PORTS[0]]}/readyz", timeout=5):
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"{command} does not serve (status {process.poll()})")

    def close(self) -> None:
        for process in self._beside:
            process.send_signal(signal.SIGTERM)
        for process in self._beside:
            process.wait(_SECONDS)
        self._shell.communicate("exit\n", _SECONDS)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def typed(block: Block) -> Iterator[tuple[str, str]]:
    """(command, output shown) of each command; a line that ends in a backslash goes on in the next."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command += f"\n{more}"
        yield command, shown


@pytest.mark.parametrize("name", GUIDES)
def test_links_lead_somewhere(name: str) -> None:
    check_links(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_can_be_followed(name: str, terminal: Terminal, request: pytest.FixtureRequest) -> None:
    ran, waited = 0, False
    for block in blocks(name):
        where = f"{name}:{block.line}"
        if "title" in block.settings:
            assert f"`{block.settings['title']}`" in block.before, f"{where}: the file's name is not said above it"
            write(terminal.directory(), replace(block, text=terminal.with_ports(block.text)))
            continue
        if block.language == "sh":
            readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
            assert block.text in readme, f"{where}: only what the README says may go untried"
            continue
        assert block.language == "console", where
        if block.settings.get("needs") == "typescript":
            if not (shutil.which("node") and shutil.which("npm")):
                continue
            terminal.type(f'PATH="{request.getfixturevalue("node_modules")}/.bin:$PATH"')
        for command, shown in typed(block):
            if block.settings.get("terminal") == "second":
                terminal.start(command)
                continue
            found, status = terminal.type(command)
            until = time.monotonic() + (_SECONDS if waited else 0)
            while not matches(shown.rstrip("\n"), found.rstrip("\n")) and time.monotonic() < until:
                time.sleep(0.1)  # what the page waits for takes longer on a machine that is busy
                found, status = terminal.type(command)
            waited = command.startswith("sleep ")
            assert matches(shown.rstrip("\n"), found.rstrip("\n")), f"{where}: {command}\n{found}"
            assert (status != 0) == (block.settings.get("fails") == "yes"), f"{where}: {command}: {status}\n{found}"
            ran += 1
    assert ran > 5

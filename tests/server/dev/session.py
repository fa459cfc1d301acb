"""A running ``cms dev`` over a workspace, asked and saved to by tests."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from tests.programs.command_line import CMS
from tests.programs.copied_process import Copy, started, started_from_nothing
from tests.sites.served_site import DEADLINE, Answer, eventually

PROGRAM = f"import os, sys; os.dup2(2, 1); sys.stdout.reconfigure(line_buffering=True); {CMS[-1]}"
"""``cms``, with all that it prints in one file."""


@dataclass
class Session:
    """A running ``cms dev``."""

    root: Path
    process: subprocess.Popen[str] | Copy
    output: Path
    host: str = ""

    def text(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def get(self, target: str, method: str = "GET", **headers: str) -> Answer:
        connection = HTTPConnection(self.host, timeout=DEADLINE)
        try:
            connection.request(method, target, headers={**headers})
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def page(self, target: str = "/") -> LexborHTMLParser:
        answer = self.get(target)
        assert answer.status == 200, answer.body
        return LexborHTMLParser(answer.body)

    def build_number(self) -> int:
        return int(self.get("/_dev/state").json["build"])

    def save(self, name: str, text: str) -> None:
        """Save a file, and wait until that was built or refused."""
        before = self.build_number()
        (self.root / name).write_text(text, encoding="utf-8")
        eventually(lambda: self.build_number() > before)

    def key(self) -> str:
        """The session's key, as it was printed."""
        [key] = re.findall(r"pq_\w{12,}", self.text())
        return str(key)

    def title(self) -> str:
        """What a client with the session's key gets of an entry."""
        answer = self.get("/v1/site/blog/one", **{"X-API-KEY": self.key()})
        return str(answer.json["title"])


@contextmanager
def running(root: Path, output: Path, *options: str, from_nothing: bool = False) -> Iterator[Session]:
    """Run ``cms dev`` on a free port; ``from_nothing`` has it import all by itself."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CMS_")}
    arguments = ["dev", str(root), "--port", "0", *options]
    process: subprocess.Popen[str] | Copy
    with output.open("w") as log:
        if from_nothing:
            process = started_from_nothing(["-c", PROGRAM, *arguments], environment, log)
        else:
            process = started(PROGRAM, arguments, environment, log, children=True)
    session = Session(root, process, output)
    try:
        eventually(lambda: "built in" in session.text() or "Not built" in session.text() or process.poll() is not None)
        [session.host] = re.findall(r"http://(127\.0\.0\.1:[0-9]+)/\n", session.text())[:1]
        yield session
    finally:
        process.kill()
        process.communicate()

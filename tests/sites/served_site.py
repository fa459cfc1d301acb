"""A small site built by the real build into a real store, and the real server over it in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from engine.access.keys.access import AccessFile, issue_key
from engine.access.keys.keys import Key
from snapshots.build.build import build
from snapshots.store.objects import ANY
from snapshots.store.store import Store, WorkspaceStore, open_store
from snapshots.times import now_ms
from tests.programs.copied_process import Copy, started, started_from_nothing

DEADLINE = 300.0
"""Seconds after which a test that waits for something gives up: generous, as the machine may be busy."""

POSTS = """\
uid: api_posts0000001
name: Posts
endpoint: posts
kind: list
fields:
  - {id: title, name: Title, type: text}
"""
SITE = """\
uid: api_site00000001
name: Site
endpoint: site
kind: object
fields:
  - {id: title, name: Title, type: text}
"""
SERVE = """
import json, os, sys, time
from engine.read.query.plan import ListPlan
from server.delivery import delivery
from server.run import run_server
from server.settings import read_settings
from server.workspaces import workspaces
if "://" not in sys.argv[1]:
    workspaces.FIRST_WAIT_SECONDS = 60.0  # a machine that is busy opens the small ones late
answer_to = delivery.answer_to
def slowly(plan, source):
    if not isinstance(plan, ListPlan):
        return answer_to(plan, source)
    print(sys.argv[3], file=sys.stderr, flush=True)
    slow = json.loads(sys.argv[2])
    if isinstance(slow, str):
        while not os.path.exists(slow):
            time.sleep(0.01)
    else:
        time.sleep(slow)
    return answer_to(plan, source)
if len(sys.argv) > 2:
    delivery.answer_to = slowly
    delivery.is_small = lambda *_: False
run_server(read_settings(json.loads(sys.argv[1])), on_listening=lambda address: print(address, flush=True))
"""
BEGUN = "a slow list has begun"
"""What the log of a server with ``slow`` says of each list."""
SCRIPT = ["-c", SERVE]
"""What ``serving`` runs."""


class Site:
    """One workspace of a store. Every entry of a version carries that version's text as its title."""

    def __init__(self, directory: Path, workspace: str = "acme", *, entries: int = 3) -> None:
        self.workspace = workspace
        self.entries = entries
        self.source = directory / f"source-{workspace}"
        self.store: Store = open_store(directory / "store")
        self.place: WorkspaceStore = self.store.workspace(workspace)
        (self.source / "apis").mkdir(parents=True)
        (self.source / "content").mkdir()
        (self.source / "workspace.yaml").write_text(f"id: {workspace}\nlanguages: [en]\n")
        (self.source / "apis" / "posts.yaml").write_text(POSTS)
        (self.source / "apis" / "site.yaml").write_text(SITE)

    def publish(self, text: str, *, activate: bool = True) -> str:
        """Build a version in which every entry says ``text``."""
        date = "2026-01-01T00:00:00Z"
        lines = [{"id": f"post-{n}", "createdAt": date, "title": text} for n in range(self.entries)]
        (self.source / "content" / "posts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (self.source / "content" / "site.yaml").write_text(f'title: "{text}"\ncreatedAt: {date}\n')
        return build(self.source, self.store, now=now_ms(), activate=activate, allow_breaking=True).version

    def activate(self, version: str) -> None:
        self.place.activate(version, expected=ANY, by="test", now=now_ms())

    def key(self, **settings: Any) -> tuple[Key, str]:
        """Issue a key: (the key, its text). Its rate limit is out of the way unless given."""
        settings.setdefault("rate_limit", 1_000_000)
        return issue_key(
            self.access, name="test", now=now_ms(), zone=UTC, scope=settings.pop("scope", None), **settings
        )

    @property
    def access(self) -> AccessFile:
        return AccessFile(self.place.directory)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        assert self.headers["content-type"] == "application/json"
        assert set(self.json) == {"message"}
        return str(self.json["message"])


@dataclass
class Running:
    """A server process."""

    process: subprocess.Popen[str] | Copy
    host: str
    log_file: Path
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every request."""

    def get(self, target: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        connection = HTTPConnection(self.host, timeout=DEADLINE)
        try:
            connection.request(method, target, headers={**self.headers, **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def log(self) -> str:
        return self.log_file.read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the process and wait for it: its exit status."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)


@contextmanager
def serving(
    store: Store,
    log_file: Path,
    *,
    key: str | None = None,
    slow: float | Path | None = None,
    new_group: bool = False,
    from_nothing: bool = False,
    location: str | None = None,
    **settings: object,
) -> Iterator[Running]:
    """Run the server over a store on a free port. ``settings`` are flags, or variables where in capitals; with
    ``slow``, every list logs ``BEGUN`` and takes so many seconds longer, or until a file is there, and none is refused
    because a busy machine begins it late; ``new_group`` gives it and its workers a process group; ``from_nothing`` has
    it import all by itself, as one that is measured must; ``location`` is the URL of a store in a bucket, of which
    ``store`` is the mirror."""
    patience = {} if slow is None else {"queue_seconds": DEADLINE}
    given = {k: v for k, v in settings.items() if k.islower()}
    flags = {"store": location or str(store.root), "port": 0, **patience, **given}
    variables = {k: str(v) for k, v in settings.items() if k.isupper()}
    arguments = [json.dumps(flags), *([] if slow is None else [json.dumps(slow, default=str), BEGUN])]
    environment = {**os.environ, **variables}
    process: subprocess.Popen[str] | Copy
    with log_file.open("w") as log:
        if SCRIPT[0] == "-c" and not from_nothing:
            process = started(SCRIPT[1], arguments, environment, log, new_group=new_group, children=True)
        else:
            process = started_from_nothing([*SCRIPT, *arguments], environment, log, new_group=new_group)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+", address), log_file.read_text()
        yield Running(process, address[7:], log_file, {"X-API-KEY": key} if key else {})
    finally:
        process.kill()
        process.communicate()


def eventually(holds: Callable[[], object], *, within: float = DEADLINE) -> float:
    """Wait until something holds: the seconds that took. Fails after ``within``."""
    began = time.monotonic()
    pause = 0.005
    while not holds():
        assert time.monotonic() - began < within, f"did not come to hold within {within} s"
        time.sleep(pause)
        pause = min(1.5 * pause, 0.05)  # what is waited for needs the processor more than who asks
    return time.monotonic() - began

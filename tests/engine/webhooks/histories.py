"""Random histories of a workspace: activations, rollbacks, flips, prunes, and senders and receivers that fail.

Time is simulated. What is real is all that decides: versions in a store, the ledger's file, and the dispatcher.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from engine.timeline.changes import ChangeKind
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point, parse_point
from engine.webhooks.dispatcher import ActiveVersion, Dispatcher
from engine.webhooks.editing import add_endpoint, disable_endpoint, enable_endpoint, replay
from engine.webhooks.endpoint import Endpoint, InvalidWebhook
from engine.webhooks.post import Post, PostResult
from engine.webhooks.webhooks_file import WebhooksFile
from snapshots.model import ALWAYS, NEVER, Api, ApiKind, Field, FieldType, Workspace
from snapshots.problems import ParquetryError
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.objects import Expected
from snapshots.store.store import WorkspaceStore, new_version, open_store
from tests.stores.snapshot_builder import write_snapshot

TITLE = (Field("title", "Title", FieldType.TEXT),)
BLOG = Api("api_blog", "Blog", "blog", ApiKind.LIST, True, TITLE)
NEWS = Api("api_news", "News", "news", ApiKind.LIST, False, TITLE)
WORKSPACE = Workspace(id="acme", name="Acme", languages=("ja", "en"), apis=(BLOG, NEWS))
FILES = (("blog", "ja"), ("blog", "en"), ("news", "ja"))
START = 1_800_000_000_000
FLIPS = [START + number * 60_000 for number in range(1, 40)]
IDS = "abcdefgh"

Row = dict[str, Any]
Visible = dict[tuple[str, str, str], str]
"""(API, entry, language) → the title."""


@dataclass
class Pool:
    """Versions to choose from, written once for all histories."""

    directory: Path
    rows: dict[str, dict[tuple[str, str], list[Row]]] = field(default_factory=dict)

    def fill(self, count: int) -> None:
        random = Random(1)
        for number in range(count):
            rows = {file: [_row(random, one) for one in IDS if random.random() < 0.7] for file in FILES}
            version = new_version(START - 1_000_000 + number, f"{number:08x}")
            (self.directory / version).mkdir(parents=True)
            write_snapshot(self.directory / version, WORKSPACE, rows, version=version)
            self.rows[version] = rows

    def visible(self, point: Point) -> Visible:
        """What every list returns at a point, by the rule of visibility written down once more."""
        return {
            (api, row["id"], lang): row["title"]
            for (api, lang), rows in self.rows[point.version].items()
            for row in rows
            if row["live_from"] <= point.at < row["live_until"]
        }


def _row(random: Random, entry: str) -> Row:
    begin = random.choice([ALWAYS, ALWAYS, *random.sample(FLIPS, 3)])
    end = random.choice([NEVER, NEVER, *random.sample(FLIPS, 3)])
    return {"id": entry, "title": random.choice("xyz"), "live_from": begin, "live_until": end}


class Killed(BaseException):
    """The sender was killed at this instant."""


class Disk(DirectoryObjects):
    """A store on which writing may fail, or be the last thing that a sender did."""

    def __init__(self, root: Path, random: Random) -> None:
        super().__init__(root)
        self._random = random
        self.risk = 0.0

    def replace(self, key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        match self._random.random() / self.risk if self.risk else 1:
            case fate if fate < 0.3:
                raise Killed
            case fate if fate < 0.6:
                super().replace(key, data, expected, private=private)
                raise Killed
            case fate if fate < 1:
                raise StoreError("the disk is full")
        return super().replace(key, data, expected, private=private)


class Client:
    """A receiver that applies events to what it holds, each once."""

    def __init__(self, pool: Pool, holds: Visible, api: str | None, lang: str | None) -> None:
        self.pool = pool
        self.holds = holds
        self.api = api
        self.lang = lang
        self.seen: set[str] = set()
        self.points: list[Point] = []
        self.is_told_again = False
        """Whether it may hear of changes that it has made already."""

    def sees(self, point: Point) -> Visible:
        """What there is for it at a point."""
        return {
            one: title
            for one, title in self.pool.visible(point).items()
            if self.api in (None, one[0]) and self.lang in (None, one[2])
        }

    def take(self, request: Post) -> None:
        message, event = request.headers["webhook-id"], json.loads(request.body)
        if message in self.seen or event["type"] != "content.changed":
            return
        self.seen.add(message)
        data = event["data"]
        point = parse_point(data["snapshot"])
        self.points.append(point)
        there = self.sees(point)
        if data.get("truncated"):
            self.holds = there
            return
        for change in data["changes"]:
            one = (change["api"], change["id"], change["lang"])
            before = self.holds.get(one)
            if change["change"] == ChangeKind.UNPUBLISHED:
                assert self.is_told_again or before is not None
                self.holds.pop(one, None)
            else:
                assert self.is_told_again or (before is None) == (change["change"] == ChangeKind.PUBLISHED)
                self.holds[one] = there[one]


@dataclass
class Reign:
    """A version that was current for a while."""

    version: str
    since: int
    until: int = NEVER


class History:
    """One workspace through time."""

    def __init__(self, pool: Pool, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.pool = pool
        self.now = START
        self.place: WorkspaceStore = open_store(folder).workspace("acme")
        self.place.snapshots.mkdir(parents=True)
        self.disk = Disk(folder, self.random)
        self.file = WebhooksFile(self.disk, "acme")
        self.reigns: list[Reign] = []
        self.kept = ComparedFiles()
        self.activate()
        self.clients: dict[str, Client] = {}
        for api, lang in ((None, None), ("blog", None), (None, "en")):
            self.add(api, lang)
        self.dispatchers = [self.dispatcher(), self.dispatcher()]
        self.stale: tuple[Endpoint, ...] = self.file.read()

    def dispatcher(self) -> Dispatcher:
        return Dispatcher(self.place, self.file, tuple, self.kept, clock=lambda: self.now, chance=self.random.random)

    def add(self, api: str | None, lang: str | None) -> None:
        found = None if api is None else WORKSPACE.api(api)
        endpoint, _ = add_endpoint(
            WebhooksFile(DirectoryObjects(self.disk.root), "acme"),
            f"https://receiver.example/{len(self.clients)}",
            form="standard",
            token=None,
            apis=None if found is None else frozenset({found.uid}),
            langs=None if lang is None else frozenset({lang}),
            reasons=None,
            current=self.current.version,
            allow_loopback=False,
            now=self.now,
        )
        client = Client(self.pool, {}, api, lang)
        client.holds = client.sees(Point(self.current.version, self.now))
        self.clients[endpoint.url] = client

    @property
    def current(self) -> Reign:
        return self.reigns[-1]

    def activate(self) -> None:
        """Make any version current, an older or a newer one."""
        version = self.random.choice(sorted(self.pool.rows))
        if self.reigns:
            if version == self.current.version:
                return
            self.current.until = self.now
        link = self.place.snapshots / version
        if not link.exists():
            link.symlink_to(self.pool.directory / version, target_is_directory=True)
        self.reigns.append(Reign(version, self.now))

    def prune(self) -> None:
        """Drop a version that is not current, which the sender may still need."""
        gone = [link for link in self.place.snapshots.iterdir() if link.name != self.current.version]
        if gone:
            self.random.choice(gone).unlink()

    def toggle(self) -> None:
        """Have a person disable a webhook, or enable it."""
        file = WebhooksFile(DirectoryObjects(self.disk.root), "acme")
        endpoint = self.random.choice(file.read())
        (disable_endpoint if endpoint.stopped is None else enable_endpoint)(file, endpoint.id, self.now)

    def replay(self) -> None:
        """Have a person tell a webhook again."""
        file = WebhooksFile(DirectoryObjects(self.disk.root), "acme")
        endpoint = self.random.choice(file.read())
        with suppress(InvalidWebhook):
            replay(file, endpoint.id, None, self.now)
            self.clients[endpoint.url].is_told_again = True

    def wait(self) -> None:
        self.now += self.random.choice([1, 100, 5_000, 60_000, 60_000, 400_000, 7_200_000])

    def send(self, request: Post, _now: int) -> PostResult:
        """Hand a request to its receiver: accepted, refused, lost on the way or back, or the sender's last deed."""
        fate = self.random.random() / (self.disk.risk or 1)
        client = self.clients[f"https://{request.target.host}{request.target.path}"]
        if self.disk.risk and fate < 0.1:
            raise Killed
        if self.disk.risk and fate < 0.5:
            return PostResult(500, "it answered 500", self.random.choice([None, 3.0, 7_200.0]))
        client.take(request)
        if self.disk.risk and fate < 0.6:
            raise Killed
        if self.disk.risk and fate < 1:
            return PostResult(None, "no answer within 15 s")
        return PostResult(200)

    def tell(self) -> None:
        """Let one of two senders do what it finds due, sometimes by an old list of webhooks."""
        which = self.random.randrange(2)
        endpoints = self.stale if self.random.random() < 0.3 else self.file.read()
        self.stale = endpoints
        for endpoint in endpoints:
            self._tell(which, endpoint)

    def _tell(self, which: int, endpoint: Endpoint) -> bool:
        served = ActiveVersion(self.current.version, self.current.since)
        try:
            due = self.dispatchers[which].due_at(endpoint, served, self.now)
            if due is None or due > self.now:
                return False
            self.dispatchers[which].deliver(endpoint, served, self.send)
        except Killed:
            self.dispatchers[which] = self.dispatcher()
        except ParquetryError:
            pass
        return True

    def live(self, steps: int) -> None:
        """Let as many things happen, in any order."""
        deeds: list[tuple[Callable[[], None], int]] = [
            (self.activate, 3),
            (self.wait, 6),
            (self.tell, 12),
            (self.prune, 1),
            (self.toggle, 1),
            (self.replay, 1),
        ]
        for _ in range(steps):
            self.disk.risk = self.random.choice([0, 0.3, 0.8])
            (deed,) = self.random.choices([deed for deed, _ in deeds], [weight for _, weight in deeds])
            deed()

    def settle(self) -> None:
        """Let all faults end, and everything be told that there is to tell."""
        self.disk.risk = 0
        for _ in range(1000):
            due = []
            for endpoint in self.file.read():
                if endpoint.stopped is not None:
                    enable_endpoint(self.file, endpoint.id, self.now)
                    due.append(self.now)
                    continue
                at = self.dispatchers[0].due_at(
                    endpoint, ActiveVersion(self.current.version, self.current.since), self.now
                )
                if at is not None and (endpoint.pending is not None or at <= self.now):
                    due.append(at)
                    if at <= self.now:
                        self._tell(0, endpoint)
            if not due:
                return
            self.now = max(self.now, min(due))
        raise AssertionError("it never settles")

    def check(self) -> None:
        """Every receiver holds what lists return now, and was only told of states that were."""
        here = Point(self.current.version, self.now)
        for client in self.clients.values():
            assert client.holds == client.sees(here)
            for point in client.points:
                assert any(one.version == point.version and one.since <= point.at <= one.until for one in self.reigns)

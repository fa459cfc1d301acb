"""What the senders of webhooks ask of a bucket: little, however many workspaces, processes and machines there are."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from engine.timeline.points import Point
from engine.webhooks.editing import add_endpoint, delete_endpoint, disable_endpoint
from engine.webhooks.endpoint import Endpoint, Pending
from engine.webhooks.webhooks_file import WEBHOOKS, WebhooksFile
from server.background.election import LEASE, LEASE_MS, RENEW_MS, Election
from server.background.webhooks.sender import WebhookSending
from server.logs import LOGGER
from server.states.clock_watch import steady_ms
from server.states.mail_watch import MailWatch
from server.states.states import States
from snapshots.store.changes import CHANGES, announce
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.objects import Expected, ObjectContent, Unchanged
from snapshots.store.store import Store, open_store

NOW = 1_800_000_000_000
ROUND_MS = 250
VERSION = "20270115T080000000Z-1a2b3c4d"


class Bucket(DirectoryObjects):
    """A directory that counts the requests for each key, and can refuse those that write one."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: Counter[str] = Counter()
        self.refused: str | None = None

    def read(self, key: str) -> ObjectContent | None:
        self.asked[key] += 1
        return super().read(key)

    def read_if_changed(self, key: str, tag: str) -> ObjectContent | Unchanged | None:
        return super().read_if_changed(key, tag)  # which reads

    def replace(self, key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        self.asked[key] += 1
        if key == self.refused:
            raise StoreError(f"cannot write {key}: AccessDenied.")
        self.asked[key] -= 1  # which the comparison adds
        return super().replace(key, data, expected, private=private)

    def total(self) -> int:
        return sum(self.asked.values())


class Gauges:
    def __init__(self) -> None:
        self.waiting: dict[str, int] = {}

    def webhooks_waiting(self, workspace: str, count: int, _oldest: float) -> None:
        self.waiting[workspace] = count


class World:
    """A bucket with workspaces of which nothing is served yet, and a clock."""

    def __init__(self, folder: Path, workspaces: int = 1) -> None:
        self.folder = folder
        self.now = NOW
        self.location = folder / "bucket"
        self.elections: dict[WebhookSending, Election] = {}
        self.people = DirectoryObjects(self.location)
        self.sources: list[Any] = [
            SimpleNamespace(id=f"w{number}", keys=(), served=None, place=None) for number in range(workspaces)
        ]

    def file(self, workspace: str = "w0") -> WebhooksFile:
        return WebhooksFile(self.people, workspace)

    def add(self, workspace: str = "w0") -> Endpoint:
        endpoint, _ = add_endpoint(
            self.file(workspace), "https://receiver.example/", form="standard", token=None, apis=None, langs=None,
            reasons=None, current=VERSION, allow_loopback=False, now=NOW,
        )  # fmt: skip
        announce(self.people, workspace)  # as of a bucket
        return endpoint

    def hint(self) -> str:
        found = self.people.read(CHANGES)
        return "" if found is None else found.tag

    def sender(self, machine: str = "one") -> tuple[WebhookSending, Bucket, Gauges]:
        """A process that sends on a machine, what it asks, and what its metrics say."""
        bucket, gauges = Bucket(self.location), Gauges()
        mirror = open_store(self.folder / machine)
        mirror.cache.mkdir(parents=True, exist_ok=True)
        election = Election(bucket, mirror.cache, lambda: self.now)
        sending = WebhookSending(
            mirror,
            Store(mirror.root, mirror.cache, bucket),
            SimpleNamespace(all=lambda: self.sources),  # type: ignore[arg-type]
            holds=election.holds,
            readers=1,
            allow_loopback=False,
            smtp_url=None,
            states=(states := States("keeper", steady_ms)),
            watch=MailWatch(None, states),
            metrics=gauges,  # type: ignore[arg-type]
            clock=lambda: self.now,
            hint=self.hint,
        )
        self.elections[sending] = election
        return sending, bucket, gauges

    def live(self, minutes: float, *senders: WebhookSending) -> None:
        for _ in range(int(minutes * 60_000 / ROUND_MS)):
            self.now += ROUND_MS
            for sending in senders:
                self.elections[sending].renew()
                sending.round()


def test_looking_for_webhooks_costs_the_one_machine_that_sends_little_and_the_others_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, workspaces=40)
    for number in range(5):
        world.add(f"w{number}")
    (here, bucket, _), (there, others, _) = world.sender("here"), world.sender("there")
    world.live(1, here, there)
    bucket.asked.clear()
    others.asked.clear()
    world.live(42, here, there)
    assert bucket.asked[LEASE] == 42 * 60_000 // RENEW_MS
    assert bucket.total() - bucket.asked[LEASE] in (8, 9), "one in five minutes"
    assert set(others.asked) == {LEASE}
    assert others.total() <= 42 * 3


def test_a_change_that_people_made_is_looked_for_in_its_workspace_alone(tmp_path: Path) -> None:
    world = World(tmp_path, workspaces=40)
    endpoint = world.add()
    sending, bucket, _ = world.sender()
    world.live(1, sending)
    disable_endpoint(world.file(), endpoint.id, world.now)
    announce(world.people, "w0")
    bucket.asked.clear()
    sending.round()
    assert bucket.asked == {CHANGES: 1, f"w0/{WEBHOOKS}": 1}
    sending.round()
    assert bucket.total() == 2


@pytest.mark.undisturbed
def test_a_store_that_refuses_the_lease_is_asked_seldom(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add()
    sending, bucket, _ = world.sender()
    bucket.refused = LEASE
    for _ in range(12 * LEASE_MS // ROUND_MS):
        world.now += ROUND_MS
        with suppress(StoreError):
            world.elections[sending].renew()
        with pytest.raises(StoreError, match="AccessDenied"):
            sending.round()
    assert bucket.asked[LEASE] == 12 * 2, "to read it and to write it"
    bucket.refused = None
    world.live(1, sending)


def test_a_damaged_file_is_complained_of_once_and_read_again_when_it_is_repaired(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(LOGGER), "propagate", True)
    world = World(tmp_path)
    world.add()
    path = world.location / "w0" / WEBHOOKS
    whole = path.read_bytes()
    path.write_bytes(b"{")
    sending, bucket, gauges = world.sender()
    world.live(2, sending)
    assert [record.message for record in caplog.records] == [
        f"w0: webhooks wait: {path} is damaged: Input data was truncated. No webhook is sent until it is repaired; "
        "without the file, there are none."
    ]
    assert gauges.waiting == {}
    path.write_bytes(whole)
    bucket.asked.clear()
    world.live(1, sending)
    assert bucket.asked[f"w0/{WEBHOOKS}"] > 0, "it is read again"


def test_nothing_waits_where_the_webhook_is_gone_or_another_machine_sends(tmp_path: Path) -> None:
    world = World(tmp_path)
    endpoint = world.add()
    point = Point(VERSION, NOW)
    failing = replace(endpoint, pending=Pending(point, NOW, failures=3, next_at=NOW + 10**9))
    world.file().edit(lambda _: ((failing,), None))
    (here, _, gauges), (there, _, others) = world.sender("here"), world.sender("there")
    world.live(0.1, here, there)
    assert (gauges.waiting, others.waiting) == ({"w0": 1}, {})
    world.live(2, there)
    assert others.waiting == {"w0": 1}
    world.live(0.1, here, there)
    assert gauges.waiting == {"w0": 0}
    delete_endpoint(world.file(), endpoint.id)
    announce(world.people, "w0")
    world.live(0.1, here, there)
    assert others.waiting == {"w0": 0}

"""Versions that servers have open stay when old ones are deleted: what servers note of them, and how long it holds."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from engine.administration.administrator import operator
from engine.administration.heartbeats import IN_USE_MS, READERS, ServedVersion, in_use
from engine.administration.versions import Pruned, prune
from server.background.heartbeat import CHANGED_MS, FIRST_MS, Heartbeat
from server.workspaces.served_note import ServedNote
from snapshots.times import now_ms
from tests.sites.served_site import Site, eventually, serving

MINUTE = 60_000


class Server:
    """What a server notes in a store, on a clock of its own that began ``ahead`` milliseconds before the store's."""

    def __init__(self, site: Site, ahead: int) -> None:
        self.clock = now_ms() + ahead
        self._site = site
        self.begin()
        self.clock += FIRST_MS

    def begin(self) -> None:
        self._heartbeat = Heartbeat(self._site.store, self._site.store.objects, lambda: self.clock)
        self._note = ServedNote(self._site.store, lambda: self.clock)

    def serve(self, version: str, *kept: str, after: int = 0) -> None:
        self.clock += after + CHANGED_MS
        self._note.write({"acme": ServedVersion(version, self.clock, None, kept)})
        self._heartbeat.write()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("in-use"))
    for text in ("one", "two", "three", "four", "five"):
        site.publish(text)
    return site


def used(site: Site, after: int = 0) -> set[str]:
    return set(in_use(site.store.objects, "acme", now_ms() + after))


@pytest.mark.parametrize("ahead", [0, -90 * MINUTE, 90 * MINUTE], ids=["alike", "slow", "fast"])
def test_what_was_open_within_the_hour_is_in_use_whatever_the_server_s_clock_says(site: Site, ahead: int) -> None:
    five, four, three, *_ = site.place.versions()
    server = Server(site, ahead)
    try:
        server.serve(three, four)
        assert used(site) == {three, four}
        server.serve(five, after=30 * MINUTE)
        assert used(site) == {five, four, three}
        assert used(site, IN_USE_MS // 2) == {five}
        server.begin()  # the keeper was killed: another one goes on
        server.clock += FIRST_MS
        server.serve(five, after=20 * MINUTE)
        assert used(site) == {five, four, three}
        server.serve(five, after=10 * MINUTE)
        assert used(site) == {five}
        assert used(site, IN_USE_MS + MINUTE) == set()
    finally:
        for path in (site.store.root / READERS).iterdir():
            path.unlink()


def test_old_versions_that_are_in_use_stay(tmp_path: Path) -> None:
    site = Site(tmp_path)
    one, two, three, four, five = [site.publish(text) for text in ("one", "two", "three", "four", "five")]
    Server(site, 0).serve(two, three)
    (site.store.root / READERS / "damaged.json").write_bytes(b"{")
    pruned = prune(operator(site.place, now_ms()), 1)
    assert (pruned.removed, list(pruned.spared)) == ([one], [three, two])
    assert list(pruned.spared.values()) == [[os.uname().nodename]] * 2
    assert site.place.versions() == [five, four, three, two]
    old = time.time() - IN_USE_MS / 1000 - 60
    for path in (site.store.root / READERS).iterdir():
        os.utime(path, (old, old))
    pruned = prune(operator(site.place, now_ms()), 1)
    assert pruned == Pruned([three, two], pruned.freed, {}, [])


@pytest.mark.slow
def test_pinned_requests_are_answered_after_a_prune(tmp_path: Path) -> None:
    site = Site(tmp_path)
    first = site.publish("one")
    _, key = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=key) as server:
        told = server.get("/v1/acme/posts").headers
        pin = {"X-Snapshot": f"{told['x-snapshot']}@{told['x-snapshot-at']}"}
        for text in ("two", "three"):
            version = site.publish(text)
            eventually(lambda version=version: server.get("/v1/acme/posts").headers["x-snapshot"] == version)
        eventually(lambda: first in in_use(site.store.objects, "acme", now_ms()))
        assert prune(operator(site.place, now_ms()), 1).removed == []
        assert server.get("/v1/acme/posts", headers=pin).json["contents"][0]["title"] == "one"
        assert server.stop() == 0
    assert prune(operator(site.place, now_ms()), 1).removed == [first]

"""The last use of keys, as servers write it: on the disk within fifteen seconds, and at their end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from engine.access.keys import access
from engine.access.keys.last_use import last_uses
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.times import now_ms
from tests.sites import served_site
from tests.sites.served_site import Running, Site, eventually, serving

QUICK = """
import server.delivery.last_use
server.delivery.last_use.WRITE_SECONDS = 0.2
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.publish("one")
    return site


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of one process that write last uses five times a second."""
    monkeypatch.setattr(served_site, "SCRIPT", ["-c", QUICK + served_site.SERVE])


def use(server: Running, text: str, target: str = "/v1/acme/posts") -> int:
    return server.get(target, headers={"X-API-KEY": text}).status


def used(site: Site, key_id: str) -> int:
    return last_uses(DirectoryObjects(site.store.root), site.workspace).get(key_id, 0)


@pytest.mark.usefixtures("quick")
def test_last_use_of_several_servers(site: Site, tmp_path: Path) -> None:
    key, text = site.key()
    off, disabled = site.key()
    access.disable_key(site.access, off.prefix)
    with serving(site.store, tmp_path / "one") as one, serving(site.store, tmp_path / "two") as two:
        began = now_ms()
        assert use(one, text) == 200
        assert use(one, disabled) == 401
        assert use(one, text + "x") == 401
        eventually(lambda: used(site, key.id) >= began)
        first = used(site, key.id)
        assert use(two, text, "/v1/acme/nothing") == 404
        eventually(lambda: used(site, key.id) > first)
        second = used(site, key.id)
        assert one.stop(signal.SIGKILL) == two.stop(signal.SIGKILL) == -signal.SIGKILL
        assert last_uses(DirectoryObjects(site.store.root), site.workspace) == {key.id: second}
    folder = site.place.directory / "last_use"
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    with serving(site.store, tmp_path / "three"):
        eventually(lambda: [path.name for path in folder.iterdir()] == ["folded.json"])
        assert last_uses(DirectoryObjects(site.store.root), site.workspace) == {key.id: second}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_ends_writes_the_last_uses(site: Site, tmp_path: Path, workers: int) -> None:
    """With the real fifteen seconds between two writes: a thousand requests cost none."""
    key, text = site.key(rate_limit=100_000)
    with serving(site.store, tmp_path / "log", workers=workers) as server:
        began = now_ms()
        for _ in range(50):
            eventually(lambda: use(server, text) == 200)  # each worker, once it has opened the content
        assert last_uses(DirectoryObjects(site.store.root), site.workspace) == {}
        assert server.stop() == 0
    assert used(site, key.id) >= began

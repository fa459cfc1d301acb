"""A store that is destroyed under load comes back with everything that was acknowledged before its backup."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.access.audit.log import AuditLog
from engine.administration.administrator import operator
from engine.administration.keys import issue_key
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.programs.command_line import process
from tests.sites.served_site import Running, Site, eventually, serving
from tests.sites.viewed_site import post, site_with_domains, total

PAGES = 20


class Load:
    """Who publishes, issues keys and views pages all the time, and what was acknowledged to them."""

    def __init__(self) -> None:
        self.done: dict[str, list[str]] = {}
        self.begun: dict[str, int] = {}
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def add(self, name: str, act: Callable[[], str]) -> None:
        self.done[name], self.begun[name] = [], 0

        def work() -> None:
            while not self._stopping.is_set():
                self.begun[name] += 1
                try:
                    self.done[name].append(act())
                except Exception:  # the store is gone
                    return

        self._threads.append(threading.Thread(target=work))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def view(server: Running, number: int) -> str:
    path = f"/page-{number % PAGES}"
    answer = post(server, {"path": path}, visitor=f"203.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}")
    assert answer.status == 204
    return path


@pytest.mark.slow
def test_nothing_that_was_acknowledged_before_a_backup_is_lost(tmp_path: Path) -> None:
    site = site_with_domains(tmp_path)
    _, key = site.key(validity="none")
    place, numbers = tmp_path / "place", iter(range(10_000_000))
    load, environment = Load(), {**os.environ, "CMS_STORE": str(site.store.root)}
    with serving(site.store, tmp_path / "log", key=key, workers=2, CMS_TRUSTED_PROXIES="127.0.0.1") as server:
        load.add("views", lambda: view(server, next(numbers)))
        load.add("versions", lambda: site.publish(f"version {next(numbers)}"))
        load.add("keys", lambda: issued(site))
        load.start()
        try:
            for _ in range(3):
                eventually(lambda: all(len(done) > 3 for done in load.done.values()))
                before = {name: list(done) for name, done in load.done.items()}
                ran = process("backup", place, "--json", env=environment)
                assert ran.status == 0, ran.err
            known, begun = before, dict(load.begun)
            shutil.rmtree(site.store.root, ignore_errors=True)  # somebody is writing into it
            server.process.kill()
        finally:
            load.stop()
    shutil.rmtree(site.store.root, ignore_errors=True)
    ran = process("restore", place, env=environment)
    assert ran.status == 0, ran.err
    restored = open_store(site.store.root).workspace("acme")
    assert set(known["versions"]) <= set(restored.versions())
    current = restored.current()
    assert current is not None
    assert current.version >= max(known["versions"])
    assert [restored.verify(version) for version in restored.versions()] == [[]] * len(restored.versions())
    log = AuditLog(restored.objects, "acme")
    told = [one.sentence for month in log.months() for one in log.entries(month)]
    assert len([one for one in told if one.startswith("Issued the key")]) >= len(known["keys"])
    with serving(open_store(site.store.root), tmp_path / "log-2", key=key) as server:
        assert server.get("/v1/acme/posts").headers["x-snapshot"] == current.version
        for one in known["keys"]:
            assert server.get("/v1/acme/posts", headers={"X-API-KEY": one}).status == 200

        def counted() -> int:
            return sum(total(server, "paths", f"/page-{number}") for number in range(PAGES))

        eventually(lambda: counted() >= len(known["views"]))
        for number in range(PAGES):
            path = f"/page-{number}"
            assert total(server, "paths", path) >= known["views"].count(path), path
        assert counted() <= begun["views"]
        assert server.stop() == 0
    verified = process("views", "verify", env=environment)
    assert (verified.status, verified.out) == (0, "Everything adds up.\n"), verified.err


def issued(site: Site) -> str:
    by = operator(site.place, now_ms())
    facts = site.place.manifest(site.place.versions()[0]).workspace
    return issue_key(by, facts, name="Load", scope=None)[1]

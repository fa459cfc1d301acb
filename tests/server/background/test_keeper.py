"""The keeper beside the workers: killed, halted, and taken over by that of another server."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server.background import keeper
from server.background.election import HOLDER
from server.background.presence import keeper_lock
from server.processes.child import Child
from server.settings import Settings
from server.states.clock_watch import steady_ms
from server.states.mail_watch import MailWatch
from server.states.pages import FOLDER
from server.states.states import States
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.store import Store
from tests.server.background.keepers import is_kept, keeper_of, stands_back
from tests.sites import served_site
from tests.sites.halting import halt
from tests.sites.served_site import Running, Site, eventually, serving
from tests.sites.server_workers import workers_of
from tests.sites.viewed_site import HEADERS, post, site_with_domains

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks the processes up in /proc")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_with_domains(tmp_path)


@pytest.fixture
def server(site: Site, tmp_path: Path) -> Iterator[Running]:
    with serving(site.store, tmp_path / "log") as running:
        eventually(lambda: running.get("/readyz").status == 200)
        yield running


def viewed(server: Running, path: str) -> None:
    """Report a view of a path, and wait until it is counted, once."""
    assert post(server, {"path": path}, HEADERS).status == 204
    eventually(lambda: server.get(f"/pv/acme/counts?path={path}").json["paths"][path])
    assert server.get(f"/pv/acme/counts?path={path}").json["paths"][path] == 1


def test_one_that_is_killed_is_started_again(server: Running) -> None:
    for path in ("/a", "/b", "/c"):
        before = keeper_of(server)
        os.kill(before, signal.SIGKILL)
        eventually(lambda before=before: is_kept(server) and keeper_of(server) != before)  # type: ignore[misc]
        viewed(server, path)
    eventually(lambda: server.log().count("the keeper ended with status -9; it is started again") == 3)
    assert server.stop() == 0


def test_it_is_told_that_there_is_none(site: Site, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log", workers=2) as server:
        eventually(lambda: server.get("/readyz").status == 200)
        eventually(lambda: is_kept(server))
        halt(server.process.pid)  # which would start another
        os.kill(keeper_of(server), signal.SIGKILL)
        eventually(lambda: not is_kept(server))
        told = server.get("/readyz")
        assert told.status == 200, "content is served all the same"
        assert "The keeper is not running" in told.json["keeper"]["problem"]
        os.kill(server.process.pid, signal.SIGCONT)
        eventually(lambda: is_kept(server))
        assert server.get("/readyz").json["keeper"]["problem"] is None
        assert server.stop() == 0


def test_one_whose_cache_is_deleted_begins_anew(site: Site, server: Running) -> None:
    eventually(lambda: is_kept(server))
    before = keeper_of(server)
    shutil.rmtree(site.store.cache)
    eventually(lambda: is_kept(server) and keeper_of(server) != before)
    viewed(server, "/a")
    assert server.stop() == 0


def test_one_that_stands_still_is_replaced(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = (
        "from server.background import supervision\nfrom server.processes import child\nchild.ANSWER_SECONDS = 3.0\n"
    )
    monkeypatch.setattr(served_site, "SCRIPT", ["-c", quick + served_site.SERVE])
    with serving(site.store, tmp_path / "log") as server:
        eventually(lambda: server.get("/readyz").status == 200)
        before = keeper_of(server)
        halt(before)
        eventually(lambda: "the keeper has not answered for" in server.log())
        eventually(lambda: is_kept(server) and keeper_of(server) != before)
        viewed(server, "/a")


def test_of_two_servers_over_one_cache_one_keeps_and_the_other_takes_over(
    site: Site, server: Running, tmp_path: Path
) -> None:
    eventually(lambda: is_kept(server))
    with serving(site.store, tmp_path / "other") as other:
        eventually(lambda: other.get("/readyz").status == 200)
        waiting = keeper_of(other)
        viewed(other, "/a")
        viewed(server, "/b")
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        viewed(other, "/c")
        assert keeper_of(other) == waiting, "it was there, and has the lock now"
        assert other.stop() == 0


def test_it_has_a_lower_priority_than_the_workers(server: Running) -> None:
    eventually(lambda: stands_back(keeper_of(server)))
    assert os.getpriority(os.PRIO_PROCESS, server.process.pid) == os.getpriority(os.PRIO_PROCESS, 0)


def test_workers_that_are_killed_leave_it_alone(site: Site, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log", workers=2) as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        before = keeper_of(server)
        for pid in workers_of(server):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: server.log().count("serving snapshot version") == 4)
        assert keeper_of(server) == before


def test_what_fails_in_one_part_ends_all_of_them(caplog: pytest.LogCaptureFixture) -> None:
    stopping = threading.Event()

    def fail(_stopping: threading.Event) -> None:
        raise ValueError("no work")

    assert not keeper._do_all([lambda stopping: stopping.wait(60) and None, fail], stopping)
    assert stopping.is_set()


def test_one_that_is_retired_tells_no_troubles_any_more(site: Site) -> None:
    pages = site.store.cache / FOLDER
    one = Child("keeper", keeper.keep, Settings(str(site.store.root)), {"version": 1}, None)
    try:
        eventually(lambda: list(pages.glob("keeper-*.json")))
        one.retire()
        eventually(lambda: not list(pages.glob("keeper-*.json")))
        assert one.exitcode is None, "workers may still need its console"
    finally:
        one.process.terminate()
        assert one.end(served_site.DEADLINE)


class InABucket(Settings):
    """The settings of a machine whose bucket is a directory."""

    def open_store(self) -> Store:
        return Store(Path(self.store), Path(self.store, ".cache"))

    def open_shared_store(self) -> Store:
        return Store(Path(self.store), Path(self.store, ".cache"), DirectoryObjects(Path(f"{self.store}-bucket")))


def test_one_that_cannot_write_its_name_waits_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings, stopping, keeping = InABucket(str(tmp_path / "mirror")), threading.Event(), threading.Event()
    store = settings.open_store()
    (store.cache / HOLDER).mkdir(parents=True)  # can be written no more than a file on a full disk
    looks: list[None] = []
    monkeypatch.setattr(keeper, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(keeper, "_keep", lambda *_: keeping.set())
    monkeypatch.setattr(keeper, "make_directory", lambda _: looks.append(None))
    with ThreadPoolExecutor(1) as pool:
        states = States("keeper", steady_ms)
        watch = MailWatch(None, states)
        working = pool.submit(keeper._work_with_the_lock, settings, states, watch, stopping)
        try:
            eventually(lambda: len(looks) > 2 or working.done())
            eventually(keeper_lock(store).is_free)
            assert not keeping.is_set()
            (store.cache / HOLDER).rmdir()
            eventually(lambda: keeping.is_set() or working.done())
        finally:
            stopping.set()
        working.result()
    assert keeping.is_set()
    assert caplog.text.count("page views, webhooks and expiry e-mails wait: cannot write") == 1

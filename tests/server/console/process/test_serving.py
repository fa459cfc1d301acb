"""The console in the keeper: killed, stopped and told to end, with what reads and browsers see of it."""

from __future__ import annotations

import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from server.console.process.waiting_requests import MOST_OF_SESSION, MOST_OF_STRANGERS, MOST_OF_VISITOR
from tests.server.background.keepers import keeper_of, stands_back
from tests.server.console.browsing import OWNER, Browser, console, site_with_members
from tests.sites.halting import halt, has_ended
from tests.sites.served_site import Running, Site, eventually, serving
from tests.sites.server_workers import told_by_each, workers_of

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks the processes up in /proc")]

HOME = "/console/acme"
POSTS = "/v1/acme/posts"
STRANGERS = 1000
"""As many connections as a worker has, where nobody sets another number."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture
def server(site: Site, tmp_path: Path) -> Iterator[Running]:
    with console(site, tmp_path / "log") as running:
        running.headers["X-API-KEY"] = site.key()[1]
        eventually(lambda: running.get(POSTS).status == 200)
        yield running


@pytest.fixture
def owner(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, OWNER)
    return browser


def folder_of(pid: int) -> Path:
    """The directory of the socket at which a process listens."""
    [address] = addresses_of(pid)
    return Path(address).parent


def addresses_of(pid: int) -> set[str]:
    """The sockets for consoles at which a process listens."""
    own = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            own.add(str(link.readlink()))
    return {row[7] for row in unix_sockets("parquetry-console-") if f"socket:[{row[6]}]" in own}


def unix_sockets(address: str) -> list[list[str]]:
    """The rows of the kernel's table whose address has this text: one who listens, and one for each who connected."""
    return [row.split() for row in Path("/proc/net/unix").read_text().splitlines() if address in row]


def test_one_that_is_killed_is_started_again(server: Running, owner: Browser) -> None:
    before = keeper_of(server)
    folder = folder_of(before)
    eventually(lambda: len(unix_sockets(f"{folder}/")) == 1)  # nothing of the sign-in is left
    halt(before)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(owner.get, HOME)
        eventually(lambda: len(unix_sockets(f"{folder}/")) > 1)
        os.kill(before, signal.SIGKILL)
        assert waiting.result().status == 200  # the next one takes what the last one has not taken
    assert keeper_of(server) != before
    eventually(lambda: "the keeper ended with status -9; it is started again" in server.log())


def test_kills_under_load(server: Running, owner: Browser) -> None:
    """Everybody gets an answer: a page, or that there is none."""
    over = threading.Event()
    statuses: list[int] = []

    def ask() -> None:
        while not over.is_set():
            statuses.append(owner.get(HOME).status)

    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(ask) for _ in range(8)]
        try:
            for _ in range(3):
                pid, asked = keeper_of(server), len(statuses)
                eventually(lambda asked=asked: 200 in statuses[asked:])  # type: ignore[misc]  # mypy infers no default
                os.kill(pid, signal.SIGKILL)
                eventually(lambda pid=pid: keeper_of(server) != pid)  # type: ignore[misc]
        finally:
            over.set()
        for one in asking:
            one.result()
    assert set(statuses) <= {200, 503}
    assert owner.get(HOME).status == 200
    assert server.get(POSTS).status == 200


@contextmanager
def too_many_waiting(server: Running, ask: Callable[[], int], status: int, most: int) -> Iterator[None]:
    """Have the console stand still, with one more asking than may wait. After the block it goes on, and all who waited
    get a ``status``."""
    ask()  # from then on the worker knows of a session
    pid = keeper_of(server)
    halt(pid)
    try:
        with ThreadPoolExecutor(most + 1) as pool:
            asked = [pool.submit(ask) for _ in range(most + 1)]
            eventually(lambda: any(one.done() for one in asked))  # the one that is too many
            yield
            os.kill(pid, signal.SIGCONT)
            assert sorted(one.result() for one in asked) == [status] * most + [503]
    finally:
        os.kill(pid, signal.SIGCONT)


def test_reads_go_on_while_it_stands_still(server: Running, owner: Browser) -> None:
    with too_many_waiting(server, lambda: owner.get(HOME).status, 200, MOST_OF_SESSION):
        assert {server.get(POSTS).status for _ in range(50)} == {200}
    assert owner.get(HOME).status == 200


def test_a_request_under_way_is_answered_when_the_server_ends(server: Running, owner: Browser) -> None:
    pid = keeper_of(server)
    folder = folder_of(pid)
    assert folder.stat().st_mode & 0o777 == 0o700, "nobody else may send anything there"
    eventually(lambda: len(unix_sockets(f"{folder}/")) == 1)  # nothing of the sign-in is left
    halt(pid)
    statuses: list[int] = []
    asking = threading.Thread(target=lambda: statuses.append(owner.get(HOME).status))
    asking.start()
    eventually(lambda: len(unix_sockets(f"{folder}/")) > 1)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)  # it may not end before that request is answered
    os.kill(pid, signal.SIGCONT)
    assert server.process.wait(60) == 0
    asking.join()
    assert statuses == [200]
    assert not folder.exists()
    assert not Path(f"/proc/{pid}").exists()


def test_it_ends_with_a_server_that_is_killed(server: Running, owner: Browser) -> None:
    assert owner.get(HOME).status == 200
    pid = keeper_of(server)
    folder = folder_of(pid)
    server.stop(signal.SIGKILL)
    eventually(lambda: has_ended(pid))
    eventually(lambda: not folder.exists())


def test_all_workers_have_one(site: Site, tmp_path: Path) -> None:
    with console(site, tmp_path / "log", workers=3) as server:
        browser = Browser(server)
        browser.sign_in(site.store.root, OWNER)
        pid = keeper_of(server)
        eventually(lambda: stands_back(pid))
        eventually(lambda: server.log().count("serving snapshot version") == 3)
        assert told_by_each(server, lambda: browser.get(HOME).status) == [200] * 3
        for worker in workers_of(server):
            os.kill(worker, signal.SIGKILL)
        eventually(lambda: server.log().count("serving snapshot version") == 6)
        assert told_by_each(server, lambda: browser.get(HOME).status) == [200] * 3
        assert keeper_of(server) == pid


def test_there_is_none_unless_switched_on(site: Site, tmp_path: Path) -> None:
    with serving(site.store, tmp_path / "log") as server:
        eventually(lambda: server.get("/readyz").status == 200)
        assert addresses_of(keeper_of(server)) == set()
        assert server.get("/console").status == 404


@pytest.mark.parametrize("folder", ["x" * 100, "none"])
def test_a_machine_without_a_place_for_its_socket(site: Site, tmp_path: Path, folder: str) -> None:
    place = tmp_path / folder
    if folder != "none":
        place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(site.store.root), str(place)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert re.fullmatch(r"The console has no place for its socket: .* 60 characters\.\n", done.stdout)
    assert not place.exists() or list(place.iterdir()) == []


PROGRAM = """
import sys, tempfile
from server.background.supervision import ConsoleNotServed, kept
from server.settings import Settings
from server.states.clock_watch import steady_ms
from server.states.states import States
tempfile.tempdir = sys.argv[2]  # what TMPDIR sets, but for a directory that is not there
try:
    with kept(Settings(store=sys.argv[1], console=True), {}, States("server", steady_ms)):
        pass
except ConsoleNotServed as error:
    print(error)
    sys.exit(3)
"""


@pytest.mark.parametrize("addresses", [1, STRANGERS])
def test_strangers_keep_no_member_out(site: Site, tmp_path: Path, addresses: int) -> None:
    """A thousand strangers' requests wait at once, from one address or from as many: a member's is answered."""
    with ExitStack() as entered:
        server = entered.enter_context(console(site, tmp_path / "log"))
        member = Browser(server)
        member.sign_in(site.store.root, OWNER)
        assert member.get(HOME).status == 200
        pid = keeper_of(server)
        halt(pid)
        try:
            host, port = server.host.split(":")
            strangers = []
            for number in range(STRANGERS):
                place = number % addresses
                address = f"127.1.{place // 250}.{1 + place % 250}"
                one = socket.create_connection((host, int(port)), timeout=60, source_address=(address, 0))
                entered.enter_context(one)
                one.sendall(b"GET /console/acme HTTP/1.1\r\nhost: x\r\n\r\n")
                strangers.append(one)
            waiting = MOST_OF_VISITOR if addresses == 1 else MOST_OF_STRANGERS
            refused: set[socket.socket] = set()
            by_descriptor = {one.fileno(): one for one in strangers}

            # Not select(), which knows no descriptors from 1,024 on.
            answered = entered.enter_context(selectors.DefaultSelector())
            for one in strangers:
                answered.register(one, selectors.EVENT_READ)

            def all_others_are_refused() -> bool:
                refused.update(by_descriptor[key.fd] for key, _ in answered.select(0))
                return len(refused) == STRANGERS - waiting

            eventually(all_others_are_refused)
            assert {one.recv(12) for one in refused} == {b"HTTP/1.1 503"}
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(lambda: member.get(HOME).status)
                with pytest.raises(TimeoutError):
                    asked.result(0.2)  # it waits, and is not refused
                os.kill(pid, signal.SIGCONT)
                assert asked.result(60) == 200
            assert {one.recv(12) for one in strangers if one not in refused} == {b"HTTP/1.1 303"}
        finally:
            os.kill(pid, signal.SIGCONT)

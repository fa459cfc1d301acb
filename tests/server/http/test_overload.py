"""More than can be answered: quick refusals, and nobody who searches, sends or reads slowly holds up the others."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from server.http.connections import LEAST_READ, READ_SECONDS, WRITE_SECONDS, Connections
from tests.sites.served_site import Running, Site, eventually, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = Site(tmp_path_factory.mktemp("overload"), entries=100)
    made.publish("long " * 4000)
    return made


@contextmanager
def served(site: Site, log: Path, **settings: object) -> Iterator[Running]:
    _, key = site.key()
    with serving(site.store, log, key=key, **settings) as server:  # type: ignore[arg-type]  # some settings are named parameters of ``serving``
        eventually(lambda: server.get("/v1/acme/_schema").status == 200)
        yield server


def connect(server: Running, sent: bytes = b"") -> socket.socket:
    host, _, port = server.host.partition(":")
    opened = socket.create_connection((host, int(port)), timeout=60)
    opened.sendall(sent)
    return opened


def request(server: Running, target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: x\r\nX-API-KEY: {server.headers['X-API-KEY']}\r\n\r\n".encode()


def test_more_searches_than_can_be_made_are_refused_and_the_rest_goes_on(site: Site, tmp_path: Path) -> None:
    """Every list takes half a second here, whatever it asks for; with one thread for searches, two fit in a second."""
    with (
        served(site, tmp_path / "log", slow=0.5, CMS_THREADS=2, queue_seconds=1) as server,
        ThreadPoolExecutor(40) as pool,
    ):
        assert server.get("/v1/acme/posts/post-1").status == 200
        searches = [pool.submit(server.get, f"/v1/acme/posts?q=long&limit=1&offset={n}") for n in range(30)]
        time.sleep(0.2)
        assert server.get("/v1/acme/posts/post-2").status == 200, "a look-up, not made before"
        assert server.get("/v1/acme/posts/post-1").status == 200, "a kept answer"
        assert not all(search.done() for search in searches), "while the searches are still waiting"
        answers = [search.result() for search in searches]
        refused = [answer for answer in answers if answer.status != 200]
        assert 1 <= len(answers) - len(refused) <= 10
        for answer in refused:
            assert answer.status == 503
            assert answer.headers["retry-after"] == "1"
            assert "The server is busy" in answer.message
        assert server.get("/v1/acme/posts?q=long&limit=1").status == 200, "and then it is over"


def test_too_many_connections_push_out_the_one_that_waits_longest(site: Site, tmp_path: Path) -> None:
    with served(site, tmp_path / "log", CMS_CONNECTIONS=10) as server, ExitStack() as stack:
        idle = [stack.enter_context(connect(server, b"GET /v1/acme/posts HTTP/1.1\r\nX-Slow: ")) for _ in range(40)]
        for n in range(20):
            assert server.get(f"/v1/acme/posts/post-{n}").status == 200
        ended = [one for one in idle if gone(one)]
        assert len(ended) >= 30, "the newest few may still be there"


def test_where_all_connections_are_being_answered_a_new_one_is_refused(site: Site, tmp_path: Path) -> None:
    let_go = tmp_path / "let go"
    with served(site, tmp_path / "log", CMS_CONNECTIONS=2, slow=let_go) as server, ExitStack() as stack:
        busy = [stack.enter_context(connect(server, request(server, f"/v1/acme/posts?limit={n}"))) for n in (1, 2)]
        eventually(lambda: server.get("/healthz").status == 503)
        answer = server.get("/healthz")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "connections" in answer.message
        let_go.touch()
        assert all(one.recv(15) == b"HTTP/1.1 200 OK" for one in busy)


def test_who_asks_much_at_once_and_goes_leaves_no_errors(site: Site, tmp_path: Path) -> None:
    with served(site, tmp_path / "log") as server:
        for target in ("/v1/acme/posts?limit=100", "/v1/acme/posts?limit=100&offset=1", "/v1/acme/posts?limit=100"):
            with connect(server) as reader:
                reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                reader.sendall(request(server, target) * 10)
                assert reader.recv(15) == b"HTTP/1.1 200 OK"
                time.sleep(0.1)
        assert server.get("/v1/acme/posts/post-1").status == 200
        assert server.stop() == 0
        assert "Traceback" not in server.log()


def gone(opened: socket.socket) -> bool:
    """Whether the server has ended a connection."""
    opened.settimeout(0.05)
    try:
        return not opened.recv(1)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_request_must_come_in_time_and_others_do_not_notice(site: Site, tmp_path: Path) -> None:
    with served(site, tmp_path / "log") as server, ExitStack() as stack:
        began = time.monotonic()
        silent = stack.enter_context(connect(server))
        half = stack.enter_context(connect(server, request(server, "/v1/acme/posts/post-1")[:-2]))
        views = b"POST /pv/acme HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
        body = stack.enter_context(connect(server, views))
        answered = stack.enter_context(connect(server, views.replace(b"/pv/acme", b"/healthz")))
        reader = stack.enter_context(connect(server))
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(request(server, "/v1/acme/posts?limit=100"))  # two megabytes that nobody reads
        while time.monotonic() < began + READ_SECONDS - 1:
            assert server.get("/v1/acme/posts?limit=1").status == 200
            half.sendall(b"X-Slow: 1\r\n")
            time.sleep(0.5)
        with suppress(ConnectionResetError):
            assert silent.recv(100) == b""
        answer = half.recv(1000)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert set(json.loads(answer.rpartition(b"\r\n\r\n")[2])) == {"message"}
        with suppress(ConnectionResetError):
            assert body.recv(100) == b""
        received = b""
        with suppress(ConnectionResetError):
            while more := answered.recv(1000):
                received += more
        assert received.startswith(b"HTTP/1.1 405 ")
        assert received.count(b"HTTP/1.1 ") == 1, "it was answered, without its body"
        assert time.monotonic() - began >= READ_SECONDS


class Slow:
    """A connection whose client reads so many bytes a second."""

    reading_since: float | None = None
    idle_since: float | None = None

    def __init__(self, unsent: int, rate: int) -> None:
        self.left = unsent
        self.rate = rate
        self.is_cut = False

    def unsent(self) -> int:
        return self.left

    def untaken(self) -> int:
        return self.left

    def refuse_late(self) -> None:
        raise AssertionError

    def end(self) -> None:
        raise AssertionError

    def cut(self) -> None:
        self.is_cut = True


@pytest.mark.parametrize(("rate", "cut"), [(0, True), (100, True), (LEAST_READ // 10, False), (100_000, False)])
def test_an_answer_must_be_read_in_time(rate: int, cut: bool) -> None:
    connections = Connections(10)
    slow = Slow(1 << 20, rate)
    assert connections.admit(slow)
    for second in range(int(WRITE_SECONDS) + 3):
        connections.sweep(float(second))
        slow.left = max(0, slow.left - rate)
    assert slow.is_cut is cut


def test_answers_that_nobody_reads_do_not_fill_the_memory() -> None:
    connections = Connections(100)
    for _ in range(50):
        connections.admit(Slow(8 << 20, 100))
    assert connections.has_room()
    connections.sweep(0.0)
    assert not connections.has_room()

"""Clients at 5 KB/s and connections that freeze, through the sample configurations of nginx and Caddy and without.

Whoever reads slowly gets all of it, and whoever is quick is answered all the while.
"""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.servers.proxies import caddy_before, nginx_before
from tests.sites.served_site import Running, Site, serving

pytestmark = pytest.mark.slow

RATE = 5_000
"""Bytes a second that a slow client reads."""
SLOW = 40
FROZEN = 150
"""Connections that say half of a request and then nothing, and as many that never read their answer."""
TITLE = "w" * 12_000
PATH = "/v1/acme/posts"


@contextmanager
def without_proxy(_directory: Path, server: int) -> Iterator[int]:
    """Have clients ask the server itself."""
    yield server


IN_FRONT: dict[str, Callable[..., AbstractContextManager[int]]] = {
    "nothing": without_proxy,
    "nginx": nginx_before,
    "caddy": caddy_before,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    directory = tmp_path_factory.mktemp("slow")
    site = Site(directory)
    site.publish(TITLE)
    with serving(site.store, directory / "log", key=site.key()[1]) as running:
        while running.get(PATH).status != 200:
            time.sleep(0.05)
        yield running


def read_slowly(port: int, key: str) -> bytes:
    """Return the answer that a client gets who reads ``RATE`` bytes a second."""
    with socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.settimeout(60)
        opened.connect(("127.0.0.1", port))
        opened.sendall(f"GET {PATH} HTTP/1.1\r\nHost: x\r\nX-API-KEY: {key}\r\nConnection: close\r\n\r\n".encode())
        got, began = b"", time.monotonic()
        while more := opened.recv(1000):
            got += more
            time.sleep(max(0.0, len(got) / RATE - (time.monotonic() - began)))
    return got


def frozen(port: int, key: str, stack: ExitStack) -> None:
    """Open connections that freeze in the middle of a request or of an answer."""
    for number in range(2 * FROZEN):
        opened = stack.enter_context(socket.socket())
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.connect(("127.0.0.1", port))
        rest = "" if number % 2 else "\r\n"
        opened.sendall(f"GET {PATH}?page={number} HTTP/1.1\r\nHost: x\r\nX-API-KEY: {key}\r\n{rest}".encode())


def quick(port: int, key: str) -> int:
    """Return the status that a quick client gets, on a connection of its own."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", PATH, headers={"X-API-KEY": key, "Host": "x"})
        response = connection.getresponse()
        return response.status if TITLE.encode() in response.read() else -response.status


@pytest.mark.parametrize("proxy", list(IN_FRONT))
def test_slow_clients_get_all_and_quick_ones_wait_for_nobody(served: Running, tmp_path: Path, proxy: str) -> None:
    if proxy != "nothing" and shutil.which(proxy) is None:
        pytest.skip(f"needs {proxy} on this machine")
    key, server = served.headers["X-API-KEY"], int(served.host.rpartition(":")[2])
    with IN_FRONT[proxy](tmp_path, server) as port, ExitStack() as stack, ThreadPoolExecutor(SLOW) as threads:
        frozen(port, key, stack)
        slow = [threads.submit(read_slowly, port, key) for _ in range(SLOW)]
        statuses = [quick(port, key)]
        while not all(one.done() for one in slow):
            statuses.append(quick(port, key))
        assert set(statuses) == {200}
        for one in slow:
            head, _, body = one.result().partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            assert body.count(b"w") >= 3 * len(TITLE), "whole, in chunks or in one piece"

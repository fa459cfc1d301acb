"""Requests for pictures whose clients hang up before the picture is made."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import uvicorn

from server.http.protocol import DeliveryProtocol
from server.pictures import workshop
from server.pictures.workshop import processors
from server.settings import Settings
from snapshots.locks import FileLock
from snapshots.store.store import Store, open_store
from tests.server.pictures.picture_site import drawn, encoded, keep_pictures
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import DEADLINE, eventually

PLACES = 3
"""Pictures that may wait, beside as many as are made at once."""
SLOTS = max(1, processors() - 1)


@contextmanager
def listening(store: Store) -> Iterator[tuple[str, int]]:
    """The server, in this process: its address."""
    config = uvicorn.Config(
        quiet_app(Settings(store=str(store.root))),
        http=DeliveryProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            eventually(lambda: server.started)
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def nothing_is_made(store: Store) -> Iterator[None]:
    """Others of this machine make as many pictures as may be made at once."""
    with ExitStack() as taken:
        for number in range(SLOTS):
            lock = FileLock(store.cache / ".pictures" / f"making-{number}.lock")
            assert lock.take(10)
            taken.callback(lock.leave)
        yield


def asking(address: tuple[str, int], target: str) -> socket.socket:
    """A connection that has asked for a picture."""
    connection = socket.create_connection(address, timeout=DEADLINE)
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    return connection


def status_of(connection: socket.socket) -> int:
    """The status of the answer, when it is there. Closes the connection."""
    with connection:
        return int(connection.makefile("rb").readline().split()[1])


def is_refused(address: tuple[str, int], target: str) -> bool:
    """Ask for a picture, and hang up if no answer comes soon: the refusal of a full queue comes at once."""
    with asking(address, target) as connection:
        return bool(select.select([connection], [], [], 1)[0]) and status_of(connection) == 503


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(workshop, "MOST_WAITING", PLACES)
    monkeypatch.setattr(workshop, "WAIT_SECONDS", 10 * DEADLINE)  # nobody leaves for having waited too long
    return open_store(tmp_path / "store")


@pytest.fixture
def path(store: Store) -> str:
    return keep_pictures(store, {"photo.jpg": encoded(drawn(1000, 600), "JPEG")})["photo.jpg"]


def test_they_leave_the_queue(store: Store, path: str) -> None:
    forms = [f"{path}?w={width}&fm={form}" for form in ("jpg", "png", "webp") for width in (64, 96, 128, 256, 384, 640)]
    with listening(store) as address:
        assert status_of(asking(address, forms.pop())) == 200
        with nothing_is_made(store):
            waiting = [asking(address, form) for form in forms[: PLACES + SLOTS]]
            eventually(lambda: is_refused(address, forms[-1]))
            for one in waiting:
                one.close()
            eventually(lambda: not is_refused(address, forms[-1]))
        eventually(lambda: status_of(asking(address, forms[-1])) == 200)


def test_one_that_somebody_still_waits_for_stays_in_the_queue(store: Store, path: str) -> None:
    with listening(store) as address:
        assert status_of(asking(address, f"{path}?w=64")) == 200
        with nothing_is_made(store):
            patient, impatient = (asking(address, f"{path}?w=96") for _ in range(2))
            impatient.close()
        assert status_of(patient) == 200

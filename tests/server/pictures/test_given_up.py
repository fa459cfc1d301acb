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


def is_waiting(connection: socket.socket) -> bool:
    """Whether no answer has come after a while: the refusal of a full queue comes at once."""
    return not select.select([connection], [], [], 1)[0]


def test_they_leave_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workshop, "MOST_WAITING", PLACES)
    monkeypatch.setattr(workshop, "WAIT_SECONDS", 10 * DEADLINE)  # nobody leaves for having waited too long
    store = open_store(tmp_path / "store")
    path = keep_pictures(store, {"photo.jpg": encoded(drawn(1000, 600), "JPEG")})["photo.jpg"]
    forms = [f"{path}?w={width}&fm={form}" for form in ("jpg", "png", "webp") for width in (64, 96, 128, 256, 384, 640)]
    with listening(store) as address:
        assert status_of(asking(address, forms.pop())) == 200
        with nothing_is_made(store):
            waiting = [asking(address, form) for form in forms[: PLACES + SLOTS]]
            eventually(lambda: status_of(asking(address, forms[-1])) == 503)
            patient = asking(address, forms[0])  # for the same as one of those who go
            for one in waiting:
                one.close()
            admitted: list[socket.socket] = []

            def is_admitted() -> bool:
                another = asking(address, forms[-1])
                if is_waiting(another):
                    admitted.append(another)
                else:
                    another.close()
                return bool(admitted)

            eventually(is_admitted)
        assert status_of(patient) == 200
        assert status_of(admitted[0]) == 200

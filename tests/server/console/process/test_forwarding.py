"""What browsers get when the console's process answers, and when it does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from server.app import create_app
from server.console.form_bounds import LARGEST_FORM
from server.console.process import forwarding, places
from server.console.process.messages import Answered, PassedOn
from server.settings import Settings
from tests.sites.served_site import Site

HTML = [(b"content-type", b"text/html")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.publish("one")
    return site


@contextmanager
def console(site: Site, answer: Callable[[bytes], bytes | None]) -> Iterator[TestClient]:
    """A server whose console's process is this: the bytes that come → the bytes that go; ``None`` says nothing until
    the end."""
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as asked:
            told = answer(asked.read())
            if told is None:
                over.wait(30)
            else:
                connection.sendall(told)

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:  # the paths of pytest are too long
        listener.bind(f"{folder}/console")
        listener.listen()
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        settings = Settings(store=str(site.store.root), public_url="https://acme.example/cms")
        with TestClient(create_app(settings, console=f"{folder}/console"), follow_redirects=False) as client:
            yield client
            over.set()
        listener.shutdown(socket.SHUT_RDWR)


def test_all_of_a_request_goes_there_and_all_of_the_answer_comes_back(site: Site) -> None:
    seen: list[PassedOn] = []

    def answer(said: bytes) -> bytes:
        seen.append(msgspec.msgpack.decode(said, type=PassedOn))
        headers = [*HTML, (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
        return msgspec.msgpack.encode(Answered(303, headers, b"<p>" + b"x" * 5_000_000, "acme"))

    with console(site, answer) as client:
        found = client.post("/console/a%2Fb/%E3%81%82?q=1&q=%20", content=b"a=1", headers={"Cookie": "c=3"})
        assert found.status_code == 303
        assert found.headers.get_list("set-cookie") == ["a=1", "b=2"]
        assert len(found.content) == 5_000_003
        client.get("/console", headers={"X-Request-Id": "mine"})
        assert client.head("/console").content == b""
        assert client.get("/consoles").status_code == 404
    first, second, third = seen
    assert (first.method, first.raw_path, first.query) == ("POST", b"/console/a%2Fb/%E3%81%82", b"q=1&q=%20")
    assert first.body == b"a=1"
    assert (b"cookie", b"c=3") in first.headers
    assert (second.method, second.body) == ("GET", b"")
    assert third.method == "HEAD"


def test_no_more_of_a_form_goes_there_than_can_be_taken(site: Site) -> None:
    sizes = []

    def answer(said: bytes) -> bytes:
        sizes.append(len(msgspec.msgpack.decode(said, type=PassedOn).body))
        return msgspec.msgpack.encode(Answered(413, HTML, b"", None))

    with console(site, answer) as client:
        assert client.post("/console/-/sign-in", content=b"x" * LARGEST_FORM).status_code == 413
        assert client.portal is not None
        left = client.portal.call(posted, client.app, 1000)
    assert sizes == [LARGEST_FORM, LARGEST_FORM + 1024]
    assert left == 1000 - 65, "nothing is read on"


async def posted(app: ASGIApp, pieces: int) -> int:
    """Send a form in pieces of 1,024 bytes: the number of those that were not asked for."""
    scope = {"type": "http", "method": "POST", "path": "/console", "raw_path": b"/console", "query_string": b""}

    async def receive() -> Message:
        nonlocal pieces
        pieces -= 1
        return {"type": "http.request", "body": b"x" * 1024, "more_body": pieces > 0}

    async def send(_: Message) -> None:
        pass

    await app({**scope, "headers": [], "state": {}}, receive, send)
    return pieces


WHOLE = msgspec.msgpack.encode(Answered(200, HTML, b"fine", None))


@pytest.mark.parametrize("said", [b"", WHOLE[:-1], b"\xc1", msgspec.msgpack.encode({"status": 200})])
def test_half_an_answer_is_none(site: Site, said: bytes) -> None:
    with console(site, lambda _: said) as client:
        found = client.get("/console")
    assert found.status_code == 503
    assert "being restarted" in found.text
    assert found.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert 'href="/cms/console/-/files/' in found.text  # with the prefix of the proxy


def test_who_waits_too_long_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "ANSWER_SECONDS", 0.1)
    with console(site, lambda _: None) as client:
        found = client.post("/console/acme/versions/rollback", content=b"")
    assert found.status_code == 503
    assert "check whether the change was made" in found.text


def test_there_are_only_so_many_who_wait(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MOST_OF_STRANGERS", 1)
    held, release = threading.Event(), threading.Event()

    def answer(_: bytes) -> bytes:
        held.set()
        release.wait(30)
        return WHOLE

    with console(site, answer) as client:
        statuses: list[int] = []
        waiting = threading.Thread(target=lambda: statuses.append(client.get("/console").status_code))
        waiting.start()
        assert held.wait(30)
        found = client.get("/console")
        assert (found.status_code, found.headers["retry-after"]) == (503, "1")
        assert "too many requests" in found.text
        release.set()
        waiting.join()
        assert statuses == [200]
        assert client.get("/console").status_code == 200


def test_without_its_process_there_is_no_console(site: Site, tmp_path: Path) -> None:
    settings = Settings(store=str(site.store.root))
    with TestClient(create_app(settings, console=str(tmp_path / "none"))) as client:
        assert client.get("/console").status_code == 503
        assert client.get("/healthz").status_code == 200
    with TestClient(create_app(settings)) as client:
        assert client.get("/console").status_code == 404

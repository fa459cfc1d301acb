"""What browsers get when the console answers, and when it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from tempfile import TemporaryDirectory

import msgspec
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from server.app import create_app
from server.console.form_bounds import LARGEST_FORM
from server.console.process import forwarding, waiting_requests
from server.settings import Settings
from tests.sites.served_site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.publish("one")
    return site


class Asked(msgspec.Struct):
    """A request, as the console gets it."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes


@contextmanager
def console(site: Site, answer: Callable[[Asked], bytes | None]) -> Iterator[TestClient]:
    """A server whose console is this: a request → the bytes that go back; ``None`` says nothing until the end."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            said = answer(Asked(self.command, self.path, self.headers.items(), body))
            if said is None:
                over.wait(30)
            else:
                self.wfile.write(said)

        do_GET = do_HEAD = do_POST = _answer  # noqa: N815 - the library's names

    # The paths of pytest are too long.
    with TemporaryDirectory() as folder, ThreadingUnixStreamServer(f"{folder}/console", Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        settings = Settings(store=str(site.store.root), public_url="https://acme.example/cms")
        with TestClient(create_app(settings, console=f"{folder}/console"), follow_redirects=False) as client:
            yield client
            over.set()
        served.shutdown()


def response(status: int, body: bytes, *headers: str) -> bytes:
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} X", "content-type: text/html", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def test_all_of_a_request_goes_there_and_all_of_the_answer_comes_back(site: Site) -> None:
    seen: list[Asked] = []

    def answer(asked: Asked) -> bytes:
        seen.append(asked)
        body = b"<p>" + b"x" * 5_000_000
        whole = response(303, body, "set-cookie: a=1", "set-cookie: b=2", "parquetry-workspace: acme")
        return whole[: -len(body)] if asked.method == "HEAD" else whole

    with console(site, answer) as client:
        target, headers = "/console/a%2Fb/%E3%81%82?q=1&q=%20", {"Cookie": "c=3", "Parquetry-Visitor": "forged"}
        found = client.post(target, content=b"a=1", headers=headers)
        assert found.status_code == 303
        assert found.headers.get_list("set-cookie") == ["a=1", "b=2"]
        assert found.headers.get_list("content-length") == ["5000003"]
        assert "parquetry-workspace" not in found.headers, "that is said to the worker alone"
        assert len(found.content) == 5_000_003
        client.get("/console", headers={"X-Request-Id": "mine"})
        assert client.head("/console").content == b""
        assert client.get("/consoles").status_code == 404
    first, second, third = seen
    assert (first.method, first.target) == ("POST", "/console/a%2Fb/%E3%81%82?q=1&q=%20")
    assert first.body == b"a=1"
    assert ("cookie", "c=3") in first.headers
    assert [value for name, value in first.headers if name == "parquetry-visitor"] != ["forged"]
    assert (second.method, second.body) == ("GET", b"")
    assert [value for name, value in second.headers if name == "x-request-id"] == ["mine"]
    assert third.method == "HEAD"


def test_no_more_of_a_form_goes_there_than_can_be_taken(site: Site) -> None:
    sizes = []

    def answer(asked: Asked) -> bytes:
        sizes.append(len(asked.body))
        return response(413, b"")

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


WHOLE = response(200, b"fine")


@pytest.mark.parametrize("said", [b"", WHOLE[:-1], WHOLE[:30], b"\xc1\r\n\r\n"])
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
    monkeypatch.setattr(waiting_requests, "MOST_OF_STRANGERS", 1)
    held, release = threading.Event(), threading.Event()

    def answer(_: Asked) -> bytes:
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


def test_without_its_socket_there_is_no_console(site: Site, tmp_path: Path) -> None:
    settings = Settings(store=str(site.store.root))
    with TestClient(create_app(settings, console=str(tmp_path / "none"))) as client:
        assert client.get("/console").status_code == 503
        assert client.get("/healthz").status_code == 200
    with TestClient(create_app(settings)) as client:
        assert client.get("/console").status_code == 404

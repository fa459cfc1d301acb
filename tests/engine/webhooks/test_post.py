"""Requests to a real receiver over TLS, and to everything that is not one."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import pytest

from engine.webhooks.addresses import Address, parse_target
from engine.webhooks.post import Post, PostResult, WebhookClient, system_resolver
from tests.servers.webhook_receiver import Receiver, Reply, receiver

NOW = 1_767_225_600_000  # 2026-01-01T00:00:00Z


def stands_for(*addresses: str) -> Callable[[str, int], Awaitable[list[Address]]]:
    """A resolver for which every name has these addresses."""

    async def resolve(_host: str, _port: int) -> list[Address]:
        return [ip_address(address) for address in addresses]

    return resolve


def post(
    url: str,
    *,
    addresses: tuple[str, ...] = ("127.0.0.1",),
    ca: Path | None = None,
    allow: bool = True,
    seconds: float = 15.0,
    body: bytes = b"{}",
) -> PostResult:
    request = Post(parse_target(url, allow_loopback=True), {"x-test": "1"}, body)
    trust = ssl.create_default_context(cafile=ca)
    sending = WebhookClient(allow_loopback=allow, trust=trust, resolve=stands_for(*addresses), seconds=seconds)
    return asyncio.run(sending.post(request, NOW))


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Receiver]:
    with receiver(tmp_path) as running:
        yield running


@contextmanager
def answering(answer: bytes, *, then_wait: float = 0.0) -> Iterator[int]:
    """A port at which every connection is answered with these bytes, whatever it sends."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                for byte in [answer] if not then_wait else [answer[at : at + 1] for at in range(len(answer))]:
                    try:
                        connection.sendall(byte)
                    except OSError:
                        break
                    time.sleep(then_wait)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def test_a_request_arrives_whole_with_its_headers(hooked: Receiver) -> None:
    body = b'{"x":"' + b"y" * 19_000 + b'"}'
    assert post(hooked.url("/a/b?c=d"), ca=hooked.ca, body=body) == PostResult(200)
    (got,) = hooked.received
    assert (got.path, got.body) == ("/a/b?c=d", body)
    assert got.headers == {
        "host": f"localhost:{hooked.port}",
        "user-agent": got.headers["user-agent"],
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        "x-test": "1",
    }
    assert got.headers["user-agent"].startswith("Parquetry-Webhooks/")


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (Reply(204), PostResult(204)),
        (Reply(299), PostResult(299)),
        (Reply(300), PostResult(300, "it answered 300: redirects are not followed")),
        (Reply(302, (("location", "/x"),)), PostResult(302, "it answered 302: redirects are not followed")),
        (Reply(404), PostResult(404, "it answered 404")),
        (Reply(410), PostResult(410, "it answered 410")),
        (Reply(429, (("Retry-After", "120"),)), PostResult(429, "it answered 429", 120.0)),
        (Reply(503, (("retry-after", "Thu, 01 Jan 2026 00:01:00 GMT"),)), PostResult(503, "it answered 503", 60.0)),
        (Reply(503, (("retry-after", "Thu, 01 Jan 2025 00:01:00 GMT"),)), PostResult(503, "it answered 503", 0.0)),
        (Reply(503, (("retry-after", "soon"),)), PostResult(503, "it answered 503")),
        (Reply(500, (("retry-after", "-1"),)), PostResult(500, "it answered 500")),
    ],
)
def test_answers_are_understood(hooked: Receiver, reply: Reply, answer: PostResult) -> None:
    hooked.reply = lambda _: reply
    assert post(hooked.url(), ca=hooked.ca) == answer
    assert len(hooked.received) == 1


def test_a_receiver_that_hangs_is_left_in_time(hooked: Receiver) -> None:
    hooked.reply = lambda _: Reply(wait=30)
    assert post(hooked.url(), ca=hooked.ca, seconds=0.3) == PostResult(None, "no answer within 0.3 s")


def test_so_is_one_that_answers_drop_by_drop() -> None:
    with answering(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 1000 + b"\r\n", then_wait=0.01) as port:
        assert post(f"http://localhost:{port}/", seconds=0.3) == PostResult(None, "no answer within 0.3 s")


@pytest.mark.parametrize(
    ("bytes_sent", "refusal"),
    [
        (b"", "it closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\nx: y", "it closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "what it answers is not HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70_000, "too long a head"),
    ],
)
def test_what_is_no_answer_is_a_failure(bytes_sent: bytes, refusal: str) -> None:
    with answering(bytes_sent) as port:
        assert post(f"http://localhost:{port}/") == PostResult(None, refusal)


def test_a_provisional_answer_is_not_the_answer() -> None:
    with answering(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"
    ) as port:
        assert post(f"http://localhost:{port}/") == PostResult(202)


def test_a_certificate_has_to_be_trusted_and_for_the_name(tmp_path: Path, hooked: Receiver) -> None:
    untrusted = post(hooked.url())
    assert untrusted.refusal is not None
    assert untrusted.refusal.startswith("its certificate cannot be trusted")
    (tmp_path / "other").mkdir()
    with receiver(tmp_path / "other", host="other.example") as other:
        wrong = post(other.url(), ca=other.ca)
        assert wrong.refusal is not None
        assert "Hostname mismatch" in wrong.refusal
        assert other.received == []
        # The name of the URL counts, whatever its address is.
        assert post(other.url(host="other.example"), ca=other.ca).accepted
    assert hooked.received == []


def test_plain_http_is_not_spoken_to_a_receiver_of_https_and_the_reverse(tmp_path: Path, hooked: Receiver) -> None:
    assert not post(f"http://localhost:{hooked.port}/", seconds=2).accepted
    (tmp_path / "plain").mkdir()
    with receiver(tmp_path / "plain", tls=False) as plain:
        assert post(plain.url()).accepted
        refusal = post(f"https://localhost:{plain.port}/").refusal
        assert refusal is not None
        assert refusal.startswith("TLS failed")


@pytest.mark.parametrize(
    "forbidden", ["10.1.2.3", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "192.0.0.8"]
)
def test_a_name_with_a_forbidden_address_is_not_connected_to(hooked: Receiver, forbidden: str) -> None:
    for addresses in ((forbidden,), ("127.0.0.1", forbidden)):
        answer = post(hooked.url(), addresses=addresses, ca=hooked.ca)
        assert answer.refusal is not None
        assert f"at {ip_address(forbidden)}, which is not a public address" in answer.refusal
    assert hooked.received == []


def test_loopback_needs_the_setting(hooked: Receiver) -> None:
    answer = post(hooked.url(), ca=hooked.ca, allow=False)
    assert "not a public address" in (answer.refusal or "")
    assert hooked.received == []


def test_the_next_address_is_tried_where_one_does_not_accept_connections(hooked: Receiver) -> None:
    assert post(hooked.url(), addresses=("::1", "127.0.0.1"), ca=hooked.ca).accepted


def test_a_refused_connection_and_an_unknown_name_are_failures() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert post(f"http://localhost:{port}/") == PostResult(None, "it cannot be reached: Connection refused")
    with ThreadPoolExecutor(1) as threads:
        sending = WebhookClient(
            allow_loopback=True, trust=ssl.create_default_context(), resolve=system_resolver(threads), seconds=10
        )
        request = Post(parse_target("https://does-not-exist.invalid/", allow_loopback=False), {}, b"{}")
        assert asyncio.run(sending.post(request, NOW)) == PostResult(None, "its name cannot be resolved")


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost"])
def test_every_spelling_of_this_machine_is_recognised(host: str) -> None:
    with ThreadPoolExecutor(1) as threads:
        sending = WebhookClient(
            allow_loopback=False, trust=ssl.create_default_context(), resolve=system_resolver(threads), seconds=10
        )
        request = Post(parse_target(f"https://{host}/", allow_loopback=False), {}, b"{}")
        answer = asyncio.run(sending.post(request, NOW))
    assert "which is not a public address" in (answer.refusal or "")


def test_a_proxy_of_the_environment_is_not_used(hooked: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert post(hooked.url(), ca=hooked.ca).accepted

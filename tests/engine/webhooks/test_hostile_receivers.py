"""Whatever bytes a receiver answers with are an outcome: accepted, or refused for a reason that people can read."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.webhooks.addresses import parse_target
from engine.webhooks.post import LONGEST_HEAD, Post, PostResult, WebhookClient
from engine.webhooks.schedule import LONGEST_WISH, next_try
from tests.engine.webhooks.test_post import NOW, answering, post, stands_for
from tests.generated.budget import RANDOM, TIMES

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello",
            PostResult(101, "it answered 101"),
        ),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", PostResult(101, "it answered 101")),
        (b"HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n" * 3 + b"HTTP/1.1 500 x\r\n\r\n", "it answered 500"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * LONGEST_HEAD, "too long a head"),
        (b"HTTP/1.1 042 What\r\n\r\n", "it answered 42"),
        (b"HTTP/1.1 999 What\r\n\r\n", "it answered 999"),
        (b"HTTP/1.1 2000 What\r\n\r\n", "what it answers is not HTTP"),
        (b"HTTP/1.1 -200 OK\r\n\r\n", "what it answers is not HTTP"),
        (b"HTTP/1.1 20", "it closed the connection without an answer"),
        (b"hello, world\n" * 100, "what it answers is not HTTP"),
        (b"\x00" * 100, "what it answers is not HTTP"),
        (OK + b"x: \x00\r\n\r\n", "what it answers is not HTTP"),
        (b"HTTP/1.1 200 d\xe9j\xe0 vu \xff\r\n\r\n", None),
        (b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello", None),
        (OK + b"transfer-encoding: chunked\r\n\r\nZZ\r\nnot a chunk", None),
        (OK + b"content-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope", None),
        (OK + b"content-length: 0\r\n\r\nHTTP/1.1 500 x\r\n\r\n", None),
        (OK + b"\r\n" + b"x" * 1_000_000, None),
        (b"HTTP/1.1 500 x\r\n\r\n" + b"x" * 1_000_000, "it answered 500"),
    ],
)
def test_an_answer_is_what_its_first_final_head_says(sent: bytes, answer: PostResult | str | None) -> None:
    with answering(sent) as port:
        got = post(f"http://localhost:{port}/", seconds=10)
    if isinstance(answer, PostResult):
        assert got == answer
    else:
        assert (got.refusal, got.retry_after) == (answer, None)


@pytest.mark.parametrize(
    ("wish", "seconds"),
    [
        ("9" * 12, 1e9),
        ("9" * 5000, 1e9),
        ("0" * 5000 + "7", 7.0),
        ("-9" * 12, None),
        ("1e400", None),
        ("inf", None),
        ("NaN", None),
        ("٣", None),
        ("Fri, 31 Dec 9999 23:59:59 -2300", 1e9),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 1e9),
        ("Fri, 31 Dec 10000 23:59:59 GMT", None),
        ("Sat, 01 Jan 0001 00:00:00 +2300", 0.0),
        ("Sat, 01 Jan 0001 00:00:00", 0.0),
        ("Thu, 01 Jan 2026 00:01:00 +9999999999", None),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Thu, 01 Jan 2026", None),
        (", , ,", None),
        ("", None),
    ],
)
def test_a_wish_to_be_left_alone_is_never_a_failure_of_ours(wish: str, seconds: float | None) -> None:
    with answering(b"HTTP/1.1 503 x\r\nretry-after: " + wish.encode() + b"\r\n\r\n") as port:
        got = post(f"http://localhost:{port}/", seconds=10)
    assert (got.status, got.refusal) == (503, "it answered 503")
    if seconds != 1e9:
        assert got.retry_after == seconds
    else:
        assert next_try(1, NOW, got.retry_after, 0.0) == NOW + LONGEST_WISH


VERSIONS = st.sampled_from([*[b"HTTP/1.1"] * 9, b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"ICY", b"\x16\x03\x01", b""])
STATUSES = st.one_of(
    st.sampled_from([b"200", b"204", b"100", b"101", b"103", b"301", b"410", b"503", b"500"]),
    st.integers(-9, 9999).map(lambda number: str(number).encode()),
)
REASONS = st.sampled_from([b"", b" ", b" OK", b" d\xe9j\xe0 vu", b" \x00", b" " + b"x" * 9000])
WISHES = st.one_of(
    st.integers(-9, 10**40).map(lambda number: str(number).encode()),
    st.builds(
        lambda day, month, year, hour, zone: f"Fri, {day} {month} {year} {hour}:00:00 {zone}".encode(),
        st.integers(0, 40),
        st.sampled_from(["Jan", "Feb", "Dec", "Foo"]),
        st.one_of(st.sampled_from([0, 1, 69, 1970, 9999, 10_000]), st.integers(0, 10**30)),
        st.integers(0, 30),
        st.sampled_from(["GMT", "", "-2359", "+2359", "+9999", "+99999999999999", "ZZZ"]),
    ),
    st.binary(max_size=20),
)
FIELDS = st.one_of(
    WISHES.map(lambda wish: b"Retry-After: " + wish),
    st.just(b"connection: upgrade\r\nupgrade: x"),
    st.sampled_from(
        [
            *(b"connection: close", b"location: /", b"content-encoding: gzip"),
            *(b"content-length: 5", b"content-length: -1", b"content-length: " + b"9" * 30, b"content-length: 0"),
            *(b"transfer-encoding: chunked", b"transfer-encoding: gzip, chunked", b"transfer-encoding: x"),
            *(b" folded", b": nameless", b"x", b"x: \x00", b"x: \xff", b"x: " + b"y" * 9000),
        ]
    ),
)
HEADS = st.builds(
    lambda version, status, reason, fields, end: b"\r\n".join([version + b" " + status + reason, *fields]) + end,
    *(VERSIONS, STATUSES, REASONS, st.lists(FIELDS, max_size=3)),
    st.sampled_from([*[b"\r\n\r\n"] * 5, b"\n\n", b"\r\n", b""]),
)
BODIES = st.sampled_from(
    [b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"f" * 17 + b"\r\n", b"\x15\x03\x03\x00\x02\x02\x28"]
)
PIECES = st.one_of(
    st.builds(lambda head, more: [head, *more], HEADS, st.lists(st.one_of(HEADS, BODIES), max_size=4)),
    st.lists(st.binary(max_size=40), max_size=3),
)


class HostileReceiver:
    """Answers every connection with the bytes that are set, in pieces, and closes it as it is told."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.resets = False
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for piece in self.pieces:
                        connection.sendall(piece)
                    if self.resets:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    else:
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass
                except OSError:
                    pass


@contextmanager
def hostile_receiver() -> Iterator[HostileReceiver]:
    running = HostileReceiver()
    try:
        yield running
    finally:
        running.server.shutdown(socket.SHUT_RDWR)
        running.server.close()
        running.thread.join()


def test_any_bytes_of_a_receiver_are_an_outcome(caplog: pytest.LogCaptureFixture) -> None:
    with hostile_receiver() as running, asyncio.Runner() as runner:
        sending = WebhookClient(
            allow_loopback=True, trust=ssl.create_default_context(), resolve=stands_for("127.0.0.1"), seconds=5
        )

        @settings(RANDOM, max_examples=200 * TIMES)
        @given(
            st.one_of(
                st.builds(lambda head, more: [head, *more], HEADS, st.lists(st.one_of(HEADS, BODIES), max_size=4)),
                st.lists(st.binary(max_size=40), max_size=3),
            ),
            st.booleans(),
            st.booleans(),
        )
        def hold(pieces: list[bytes], resets: bool, tls: bool) -> None:
            running.pieces, running.resets = pieces, resets
            scheme = "https" if tls else "http"
            request = Post(parse_target(f"{scheme}://localhost:{running.port}/", allow_loopback=True), {}, b"{}")
            answer = runner.run(sending.post(request, NOW))
            assert answer.accepted == (answer.status is not None and 200 <= answer.status < 300)
            assert "unexpectedly" not in (answer.refusal or "")
            later = next_try(1, NOW, answer.retry_after, 1.0)
            assert later is not None
            assert NOW < later <= NOW + LONGEST_WISH

        hold()
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []

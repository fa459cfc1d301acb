"""Any bytes at all, over a socket: every answer is JSON, failures are ``{message}``, and none is a 500.

``PARQUETRY_EXAMPLES`` multiplies the number of examples.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.contract.cases import DRAFT_MARK
from tests.contract.service import Service, running
from tests.generated.budget import RANDOM, TIMES

FUZZ = settings(RANDOM, max_examples=200 * TIMES)
CONTENT = {200, 400, 404}
"""What a request with a good key may get."""

FRAGMENTS = [
    *(b"'", b'"', b"`", b";--", b"' OR '1'='1", b"'); DROP TABLE x;--", b"UNION SELECT * FROM read_csv('/etc/passwd')"),
    *(
        b"$1",
        b"?",
        b":x",
        b"{}",
        b"{0}",
        b"%s",
        b"%(x)s",
        b"${jndi:x}",
        b"\\",
        b"\\x00",
        b"/*",
        b"*/",
        b"COPY",
        b"PRAGMA",
    ),
    *(
        b"..",
        b"../..",
        b"..%2f..%2f",
        b"%2e%2e",
        b"/",
        b"//",
        b"%2F",
        b"/etc/passwd",
        b"C:\\",
        b"~",
        b".",
        b"%00",
        b"file://x",
    ),
    *(
        b"[",
        b"]",
        b"[and]",
        b"[or]",
        b"[equals]",
        b"[contains]",
        b"[exists]",
        b"[[[[",
        b"%5B",
        b"%5D",
        b"title[equals]",
        b"rank[",
    ),
    *(b"%", b"%%", b"%2", b"%zz", b"%u1234", b"%FF", b"%C0%AF", b"%ED%A0%80", b"%F4%90%80%80", b"%E6%9D", b"%25", b"+"),
    *(text.encode() for text in ("東京", "é", "🎉", "\u202e", "\ufeff", "ﷺ")),
    *(b"\x80", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\x01", b"\x7f", b"\t"),
    *(
        b"&",
        b"=",
        b"&&",
        b"==",
        b"#",
        b",",
        b",,",
        b"-",
        b"--",
        b"_",
        b"null",
        b"NaN",
        b"1e999",
        b"0x10",
        b"-0",
        b"9" * 400,
    ),
    *(
        b"id",
        b"title",
        b"rank",
        b"eventAt",
        b"author",
        b"related",
        b"en",
        b"ja",
        b"true",
        b"_langs",
        b"alpha",
        b"bravo-key",
    ),
    *(b"2020-01-01", b"0000-00-00", b"99999-01-01", b"2020-01-01T24:00:00Z", b"2020-01-01T00:00:00+99:99", b"1", b"2"),
]
PARAMETERS = [
    *(b"limit", b"offset", b"orders", b"filters", b"q", b"depth", b"fields", b"lang", b"lang_fallback", b"include"),
    *(b"draftKey", b"ids", b"days", b"x"),
]
HEADS = [b"/v1/acme/articles", b"/v1/acme/articles/alpha", b"/v1/acme/site", b"/v1/acme/scores", b"/v1/acme/_schema"]

junk = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=8)), max_size=5).map(b"".join)


def sendable(text: bytes) -> bytes:
    """The bytes that can stand in a request line: what would end it is percent-encoded, all else stays raw."""
    return text.replace(b" ", b"%20").replace(b"\r", b"%0D").replace(b"\n", b"%0A").replace(b"\x00", b"%00")


def encoded(text: bytes) -> bytes:
    return quote_from_bytes(text, safe="").encode()


parts = st.one_of(junk.map(encoded), junk.map(encoded), junk.map(sendable))
queries = st.lists(st.tuples(st.sampled_from(PARAMETERS), parts).map(b"=".join), max_size=4).map(b"&".join)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("fuzz")) as service:
        yield service
        assert service.get("/v1/acme/articles").status == 200, "the server did not survive"


def exchange(service: Service, data: bytes, method: str = "GET") -> tuple[int, bytes]:
    """Send raw bytes, read one answer; checks what holds for every answer."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(data)
        response = HTTPResponse(connection, method=method)
        response.begin()
        body = response.read()
        response.close()
    assert response.status < 500, (data, body)
    if method != "HEAD":
        assert response.headers["content-type"] == "application/json", (data, body)
        if response.status != 200:
            check_message(body)
    return response.status, body


def check_message(body: bytes) -> None:
    message: Any = json.loads(body)
    assert list(message) == ["message"]
    assert isinstance(message["message"], str)
    assert message["message"]


def get(service: Service, target: bytes, headers: bytes = b"") -> int:
    """GET with a good key. Whatever comes, it is nothing unpublished."""
    key = service.keys["all"].encode()
    data = (
        b"GET "
        + target
        + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-KEY: "
        + key
        + b"\r\n"
        + headers
        + b"\r\n"
    )
    status, body = exchange(service, data)
    assert DRAFT_MARK not in body.decode()
    return status


@FUZZ
@given(head=st.sampled_from(HEADS), query=queries)
def test_parameters(service: Service, head: bytes, query: bytes) -> None:
    keyless = query.replace(b"bravo-key", b"bravo-kez")
    assert get(service, head + b"?" + keyless) in CONTENT


@FUZZ
@given(segments=st.lists(st.one_of(st.sampled_from([b"v1", b"acme", b"articles", b"_schema", b""]), parts), max_size=6))
def test_paths(service: Service, segments: list[bytes]) -> None:
    path = b"/" + b"/".join(segments).replace(b"?", b"%3F").replace(b"#", b"%23")
    assume(path != b"/")  # the one page
    assert get(service, path) in {200, 400, 403, 404}


@FUZZ
@given(entry=parts)
def test_entry_ids_and_endpoints(service: Service, entry: bytes) -> None:
    segment = entry.replace(b"/", b"%2F").replace(b"?", b"%3F").replace(b"#", b"%23")
    assert get(service, b"/v1/acme/articles/" + segment) in CONTENT
    assert get(service, b"/v1/acme/" + segment) in CONTENT


def header_value(text: bytes) -> bytes:
    return text.replace(b"\r", b"").replace(b"\n", b"")


@FUZZ
@given(key=junk.map(header_value), draft=junk.map(header_value))
def test_headers(service: Service, key: bytes, draft: bytes) -> None:
    start = b"GET /v1/acme/articles/alpha HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    status, _ = exchange(service, start + b"X-API-KEY: " + key + b"\r\n\r\n")
    assert status in {400, 401}
    assert get(service, b"/v1/acme/articles/alpha", b"X-Draft-Key: " + draft + b"\r\n") in CONTENT


@FUZZ
@given(data=st.one_of(st.binary(min_size=1, max_size=200), junk))
def test_what_is_no_request_at_all(service: Service, data: bytes) -> None:
    """Bytes that need not be HTTP: an answer in JSON, or the connection waits for more and then is closed."""
    method = data.split(b" ", 1)[0]
    if method in {b"HEAD", b"CONNECT"}:
        return
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(data + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    if answer:
        status = int(answer.split(b" ", 2)[1])
        assert 400 <= status < 500
        check_message(answer.split(b"\r\n\r\n", 1)[1])


def test_bodies_and_methods(service: Service) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "GET", "OPTIONS", "FOO", "get"):
        for body in (b"", b"x" * 100_000, b"\x00\xff", b'{"contents": []}'):
            send_body(service, method, body)


def send_body(service: Service, method: str, body: bytes) -> None:
    data = (
        f"{method} /v1/acme/articles HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(data)
        response = HTTPResponse(connection, method=method)
        response.begin()
        text = response.read()
        response.close()
    allowed = {204} if method == "OPTIONS" else set()
    assert response.status in {400, 401, 405} | allowed, (method, body[:20])
    if response.status != 204:
        check_message(text)


LENGTHS = (
    (b"articles?q=" + b"x" * 60_000, 400),
    (b"articles?filters=" + b"[" * 60_000, 400),
    (b"articles?filters=" + b"title[equals]" * 4_000, 400),
    (b"articles?filters=" + b"[and]" * 12_000, 400),
    (b"articles?orders=" + b"title," * 10_000, 400),
    (b"articles?fields=" + b"title," * 10_000, 400),
    (b"articles?limit=" + b"9" * 60_000, 400),
    (b"articles?offset=" + b"1" * 60_000, 400),
    (b"articles?filters=rank[equals]" + b"1" * 900, 400),
    (b"articles?filters=rank[equals]0." + b"1" * 900, 200),
    (b"articles?filters=rank[equals]1e" + b"9" * 900, 400),
    (b"articles?filters=rank[equals]1e-" + b"9" * 900, 200),
    (b"articles?filters=eventAt[less_than]2020-01-01T00:00:00." + b"9" * 900, 200),
    (b"articles?" + b"a=1&" * 15_000, 200),
    (b"articles?" + b"limit=1&" * 7_000, 200),
    (b"articles?" + b"&" * 60_000, 200),
    (b"articles?draftKey=" + b"k" * 60_000, 200),
    (b"articles/alpha?draftKey=" + b"k" * 60_000, 400),
    (b"articles/" + b"a" * 60_000, 404),
    (b"a" * 60_000, 404),
    (b"/" * 60_000, 404),
    (b"articles?lang=" + b"ja," * 20_000, 400),
    (b"articles?include=" + b"_langs," * 8_000, 400),
    (b"articles?include=" + b"_langs," * 8_000 + b"_langs", 200),
)


def test_lengths(service: Service) -> None:
    for target, expected in LENGTHS:
        assert get(service, b"/v1/acme/" + target) == expected, target[:40]


@pytest.mark.parametrize("size", [70_000, 1_000_000])
def test_requests_that_are_too_long(service: Service, size: int) -> None:
    """Such a request need not be read to its end: an answer, or a connection that was closed on it."""
    for data in (
        b"GET /v1/acme/articles?q=" + b"x" * size + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/acme/articles HTTP/1.1\r\nHost: x\r\nX-API-KEY: " + b"x" * size + b"\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
            try:
                connection.sendall(data)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            except ConnectionError:
                continue
        assert int(answer.split(b" ", 2)[1]) in {400, 401, 414, 431}
        check_message(answer.split(b"\r\n\r\n", 1)[1])

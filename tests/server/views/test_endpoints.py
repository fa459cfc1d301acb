"""Page views over HTTP: what is recorded and answered."""

from __future__ import annotations

import json
import random
import re
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.sites.served_site import DEADLINE, Running, Site, eventually, serving
from tests.sites.server_workers import told_by_each
from tests.sites.viewed_site import CHROME, DOMAINS, HEADERS, post, site_with_domains, total, wait_for_both_workers


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_domains(tmp_path_factory.mktemp("views"))


@pytest.fixture(scope="module")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    key = site.key(validity="none")[1]
    log = tmp_path_factory.mktemp("log") / "log"
    with serving(site.store, log, key=key, workers=2, CMS_TRUSTED_PROXIES="127.0.0.1") as running:
        wait_for_both_workers(running)
        yield running
        assert running.stop() == 0
        assert "ERROR" not in running.log()


@pytest.mark.slow
def test_views_are_counted_and_shown_everywhere_within_ten_seconds(server: Running) -> None:
    answers = [post(server, {"path": "/a/"}, visitor=f"203.0.113.{n}") for n in range(5)]
    answers += [post(server, {"path": "/a", "entryId": "post-1"}, visitor=f"203.0.113.{n}") for n in range(7)]
    assert {(answer.status, answer.body) for answer in answers} == {(204, b"")}
    assert {answer.headers["access-control-allow-origin"] for answer in answers} == {"*"}
    # Each worker looks at the counts by itself.
    counted_all = (5, 7)
    eventually(
        lambda: (
            set(told_by_each(server, lambda: (total(server, "paths", "/a"), total(server, "entries", "post-1"))))
            == {counted_all}
        )
    )

    def shown() -> None:
        views = server.get("/v1/acme/_views/posts?ids=post-1,post-2,nothing,unseen&days=1").json
        counted, nothing = {"total": 7, "recent": 7}, {"total": 0, "recent": 0}
        assert views["days"] == 1
        assert views["views"] == {"post-1": counted, "post-2": nothing, "nothing": nothing, "unseen": nothing}
        for orders, ids in (("-views", "post-1 post-0 post-2"), ("views", "post-0 post-2 post-1")):
            contents = server.get(f"/v1/acme/posts?orders={orders}").json["contents"]
            assert " ".join(entry["id"] for entry in contents) == ids

    told_by_each(server, shown)


def test_only_entries_that_the_key_can_read_now_have_counts(server: Running) -> None:
    for visitor in ("203.0.113.1", "203.0.113.2"):
        for entry in ("unseen", "site", "elsewhere"):
            post(server, {"path": "/", "entryId": entry}, visitor=visitor)
    eventually(lambda: told_by_each(server, lambda: total(server, "entries", "elsewhere")) == [2, 2])
    assert told_by_each(server, lambda: _views(server, "site", "site")) == [{"site": 2}] * 2
    # One that is not published counts like one that is no entry of the API, so that views ask for no ID.
    none = {"unseen": 0, "site": 0, "elsewhere": 0}
    assert told_by_each(server, lambda: _views(server, "posts", "unseen,site,elsewhere")) == [none] * 2


def _views(server: Running, endpoint: str, ids: str) -> dict[str, int]:
    """The total of each ID, which is also what of it is recent."""
    views = server.get(f"/v1/acme/_views/{endpoint}?ids={ids}").json["views"]
    assert all(found["recent"] == found["total"] for found in views.values())
    return {name: found["total"] for name, found in views.items()}


def wait_until_counted(server: Running, path: str) -> None:
    """Wait until all that the workers were told so far counts: each is told of one more view, which is counted last."""
    visitors = iter(("2001:db8:a::1", "2001:db8:b::1"))
    told_by_each(server, lambda: post(server, {"path": path}, visitor=next(visitors)))
    eventually(lambda: told_by_each(server, lambda: total(server, "paths", path)) == [2, 2])


def test_a_duplicate_is_one_whichever_worker_it_reaches(server: Running) -> None:
    for visitor in ("2001:db8::1", "2001:db8::2"):
        told_by_each(server, lambda visitor=visitor: post(server, {"path": "/dup"}, visitor=visitor))  # type: ignore[misc]
    post(server, {"path": "/dup"}, {"User-Agent": CHROME.replace("130", "131")}, visitor="2001:db8::1")
    post(server, {"path": "/dup"}, visitor="2001:db8:0:1::1")
    wait_until_counted(server, "/after-duplicates")
    # The first two are one visitor, as their addresses are in one /64.
    assert told_by_each(server, lambda: total(server, "paths", "/dup")) == [3, 3]


NOTHING_TO_COUNT: list[tuple[object, dict[str, str]]] = [
    ({"path": "/no/foreign"}, {"Origin": "https://other.example"}),
    ({"path": "/no/origin"}, {"Origin": ""}),
    ({"path": "/no/localhost"}, {"Origin": "http://localhost:3000"}),
    ({"path": "/no/json"}, {"Content-Type": "application/json"}),
    ({"path": "/no/bot"}, {"User-Agent": "Googlebot/2.1 (+http://www.google.com/bot.html)"}),
    ({"path": "/no/agent"}, {"User-Agent": ""}),
    ({"path": "no/slash"}, {}),
    ({"path": "/no/id", "entryId": "n o"}, {}),
    (b"{", {}),
    (b"", {}),
    (b" " * 9000 + b'{"path": "/no/indented"}', {}),
    (b'{"path": "/no/padded"}' + b" " * 300_000, {}),
    (random.Random(1).randbytes(500), {}),
]


def test_everything_else_is_204_and_counts_nothing(server: Running) -> None:
    for body, headers in NOTHING_TO_COUNT:
        for visitor in ("203.0.113.8", "203.0.113.9"):
            answer = post(server, body, headers, visitor)
            assert (answer.status, answer.body) == (204, b""), (body, headers)
    wait_until_counted(server, "/after-nothing")
    paths = sorted(set(re.findall(r"/?no/\w+", str(NOTHING_TO_COUNT))))
    query = "&".join(f"path={path}" for path in paths)
    assert server.get(f"/pv/acme/counts?{query}").json["paths"] == dict.fromkeys(paths, 0)


def view(path: str, *more: str, body: bytes = b"", version: str = "1.1", target: str = "/pv/acme") -> bytes:
    body = body or json.dumps({"path": path}).encode()
    length = () if "Transfer-Encoding: chunked" in more else (f"Content-Length: {len(body)}",)
    fields = ("Host: x", "X-Forwarded-For: 203.0.113.77", *(f"{k}: {v}" for k, v in HEADERS.items()), *length, *more)
    return "\r\n".join((f"POST {target} HTTP/{version}", *fields, "", "")).encode() + body


CHUNKED = b'9\r\n{"path": \r\na\r\n"/w/chunk"\r\n1\r\n}\r\n0\r\n\r\n'
WAYS: dict[str, tuple[list[bytes], list[int], list[str]]] = {
    "the body in two pieces": ([view("/w/two")[:-5], view("/w/two")[-5:]], [204], ["/w/two"]),
    "byte by byte": ([bytes([byte]) for byte in view("/w/bytes")], [204], ["/w/bytes"]),
    "two at once": ([view("/w/first") + view("/w/second")], [204, 204], ["/w/first", "/w/second"]),
    "many at once": (
        [b"".join(view(f"/w/many{n}") for n in range(30))],
        [204] * 30,
        [f"/w/many{n}" for n in range(30)],
    ),
    "a question right behind it": (
        [view("/w/asked") + b"GET /pv/acme/counts?path=/ HTTP/1.1\r\nHost: x\r\n\r\n" + view("/w/after")],
        [204, 200, 204],
        ["/w/asked", "/w/after"],
    ),
    "in chunks": ([view("", "Transfer-Encoding: chunked", body=CHUNKED)], [204], ["/w/chunk"]),
    "asked to wait": ([view("/w/wait", "Expect: 100-continue")], [100, 204], ["/w/wait"]),
    "too large": (
        [view("", body=b'{"path": "/w/large", "x": "%b"}' % (b"x" * 70_000)), view("/w/small")],
        [204, 204],
        ["/w/small"],
    ),
    "the last one": ([view("/w/last", "Connection: close")], [204], ["/w/last"]),
    "in HTTP/1.0": ([view("/w/old", version="1.0")], [204], ["/w/old"]),
    "with a query": ([view("/w/query", target="/pv/acme?x=/pv/y")], [204], ["/w/query"]),
    "to an escaped address": ([view("/w/escaped", target="/pv/ac%6De")], [204], ["/w/escaped"]),
    "to a whole address": ([view("/w/whole", target="http://x/pv/acme")], [204], ["/w/whole"]),
    "to another place": ([view("/w/else", target="/pv/acme/"), view("/w/nobody", target="/pv/nobody")], [404, 204], []),
    "by somebody who does not wait": ([view("/w/gone")], [], ["/w/gone"]),
}


def test_however_a_view_comes_in_it_counts_and_is_answered(server: Running) -> None:
    for way, (sent, statuses, _) in WAYS.items():
        received = sent_in_pieces(server, sent, len(statuses))
        assert [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", received)] == statuses, way
        closed = b"Connection: close" in sent[0] or b"HTTP/1.0" in sent[0]
        assert closed == (b"\r\nconnection: close\r\n" in received), way
    paths = sorted(path for _, _, counted in WAYS.values() for path in counted)
    query = "&".join(f"path={path}" for path in [*paths, "/w/large", "/w/else"])
    expected = dict.fromkeys(paths, 1) | {"/w/large": 0, "/w/else": 0}
    eventually(lambda: server.get(f"/pv/acme/counts?{query}").json["paths"] == expected)


def sent_in_pieces(server: Running, sent: list[bytes], answers: int) -> bytes:
    """What comes back over one connection, until so many answers are there whole, or it ends."""
    host, port = server.host.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in sent:
            connection.sendall(piece)
            if len(sent) > 1:
                time.sleep(0.002)
        received = b""
        while answers and (received.count(b"HTTP/1.1 ") < answers or not received.endswith((b"\r\n\r\n", b"}"))):
            more = connection.recv(65536)
            assert more, received
            received += more
        if b"\r\nconnection: close\r\n" in received:
            assert connection.recv(1) == b""
        return received


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_no_view_of_a_workspace_that_has_just_appeared_is_lost(tmp_path: Path, workers: int) -> None:
    first = site_with_domains(tmp_path)
    with serving(first.store, tmp_path / "log", CMS_TRUSTED_PROXIES="127.0.0.1", workers=workers) as server:
        eventually(lambda: server.log().count("serving snapshot version") == workers)
        assert post(server, {"path": "/early"}, workspace="late").status == 204
        late = Site(tmp_path, "late")
        with (late.source / "workspace.yaml").open("a") as file:
            file.write(DOMAINS)
        version = late.publish("one", activate=False)
        data = next((late.place.snapshots / version).glob("*/*/*.parquet"))
        whole = data.read_bytes()
        data.write_bytes(bytes(len(whole)))  # until it is whole again, no worker can open the version
        late.activate(version)
        for number in range(40):
            visitor = f"198.51.100.{number}"
            assert post(server, {"path": "/late"}, visitor=visitor, workspace="late").status == 204
            assert post(server, {"path": "x", "entryId": "late"}, visitor=visitor, workspace="late").status == 204
            assert post(server, {"path": "/late"}, {"Origin": "https://o.example"}, workspace="late").status == 204
        assert "late: serving snapshot version" not in server.log()
        data.write_bytes(whole)

        def counted(path: str) -> object:
            return server.get(f"/pv/late/counts?path={path}&entryId=late").json

        eventually(lambda: counted("/late") == {"entries": {"late": 0}, "paths": {"/late": 40}})
        assert counted("/early")["paths"] == {"/early": 0}
        eventually(lambda: server.log().count("late: serving snapshot version") == workers)


def test_an_unknown_workspace(server: Running) -> None:
    connection = HTTPConnection(server.host, timeout=DEADLINE)
    connection.request("POST", "/pv/nobody", b'{"path": "/"}', HEADERS)
    assert connection.getresponse().status == 204
    connection.close()
    answer = server.get("/pv/nobody/counts")
    assert (answer.status, answer.message) == (404, "There is no such workspace.")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 200),
        ("&".join(f"entryId=e{n}" for n in range(50)) + "&" + "&".join(f"path=/{n}" for n in range(50)), 200),
        ("&".join(f"entryId=e{n}" for n in range(51)), 400),
        ("&".join("path=/a" for n in range(51)), 400),
    ],
)
def test_public_counts_and_their_headers(server: Running, query: str, status: int) -> None:
    answer = server.get(f"/pv/acme/counts?{query}", headers={"X-API-KEY": ""})
    assert answer.status == status
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cache-control"] == "public, max-age=60, s-maxage=300"
    if not query:
        assert answer.json == {"entries": {}, "paths": {}}


def test_public_counts_are_keyed_by_what_was_asked(server: Running) -> None:
    answer = server.get(
        "/pv/acme/counts?path=/a&path=/a/%3Fx&path=a&path=%2Fa%2F&path=%FF&entryId=&entryId=a%20b&path="
    )
    assert answer.json["entries"] == {"": 0, "a b": 0}
    assert set(answer.json["paths"]) == {"/a", "/a/?x", "a", "/a/", "\ufffd", ""}
    assert answer.json["paths"]["/a"] == answer.json["paths"]["/a/"] == answer.json["paths"]["/a/?x"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "ids=",
        "ids=a,",
        "ids=a%20b",
        "ids=" + "x" * 65,
        "ids=" + ",".join(f"e{n}" for n in range(101)),
        "ids=a&days=0",
        "ids=a&days=366",
        "ids=a&days=",
        "ids=a&days=07",
        "ids=a&days=-1",
    ],
)
def test_views_requests_that_are_refused(server: Running, query: str) -> None:
    answer = server.get(f"/v1/acme/_views/posts?{query}")
    assert (answer.status, bool(answer.message)) == (400, True)
    assert answer.headers["cache-control"] == "private, no-store"


def test_views_requests_that_find_nothing(server: Running) -> None:
    assert server.get("/v1/acme/_views/nothing?ids=a").status == 404
    assert server.get("/v1/acme/_views/posts?ids=a", headers={"X-API-KEY": "x"}).status == 401
    assert server.get("/v1/acme/_views/posts?ids=" + ",".join(f"e{n}" for n in range(100))).status == 200
    assert server.get("/v1/acme/_views/posts?ids=a&days=365").json == {
        "days": 365,
        "views": {"a": {"total": 0, "recent": 0}},
    }


def test_nothing_personal_is_in_any_file(site: Site, server: Running) -> None:
    post(server, {"path": "/personal"}, {"User-Agent": CHROME + " Distinct/77"}, visitor="192.0.2.199")
    eventually(lambda: total(server, "paths", "/personal") == 1)
    for path in site.store.root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert b"192.0.2.199" not in data, path
            assert b"Distinct/77" not in data, path
    assert "192.0.2.199" not in server.log()

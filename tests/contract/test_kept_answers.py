"""Kept answers against answers made anew: whoever asks, however it is written, and wherever the clock goes."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from server.settings import Settings
from snapshots.build.build import build
from snapshots.columns import FileKind
from snapshots.model import ALWAYS, NEVER
from snapshots.times import parse_datetime
from tests.contract.service import DAY, NOW, ZONE, Service
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

KEYS = ("all", "all", "all", "narrow", "narrow", "foreign", "disabled", "expired", "early", "none")
TARGETS = [
    *("articles", "articles?limit=1", "articles?limit=%31", "articles?limit=1&limit=3", "articles?lang=ja"),
    *("articles?lang=ja&lang_fallback=true", "articles?lang=ja&lang_fallback=true&include=_langs", "articles?depth=2"),
    *("articles?orders=-views,title", "articles?depth=0", "articles?q=a", "articles?draftKey={draft}", "topics"),
    *("articles?filters=title[contains]a&offset=1", "articles?filters=author[exists]", "authors?depth=2"),
    *("articles/alpha", "articles/%61lpha", "articles/alpha?depth=2", "articles/alpha?lang=ja", "articles/unborn"),
    *("articles/alpha?lang=ja&lang_fallback=true", "articles/echo?depth=2", "site", "site?depth=2", "site?lang=ja"),
    *("articles/bravo", "articles/bravo?draftKey={draft}", "articles/bravo?%64raftKey={draft}", "articles/memo"),
    *("articles/bravo?draftKey={draft}&draftKey=other", "articles/bravo?draftKey=other&draftKey={draft}"),
    *("articles/bravo?draftKey", "_schema", "_views/articles?ids=alpha", "banner", "promo", "promo?lang=ja"),
    *("articles?limit=1&limit=3", "articles?sort=title", "articles?fields=titel", "site?fields=titel", "_schema?x=1"),
    *("articles?filters=category[equals]nws", "_views/articles?ids=alpha&id=x", "_openapi", "_openapi?depth=1&x=1"),
    *("_types/python", "_types/python?client=false", "_types/typescript?clint=false", "_types/rust"),
]
FLIPPING = [
    *("articles?limit=1", "articles?lang=ja&include=_langs", "articles?lang=ja&lang_fallback=true&fields=id"),
    *("site", "site?depth=2", "site?lang=ja&lang_fallback=true", "articles/delta?include=_langs"),
    *(
        "articles/alpha?depth=2",
        "articles?q=e&fields=id",
        "articles?filters=title[not_contains]a&orders=title&fields=id",
    ),
]
HEADERS = [
    *([()] * 6),
    *([("x-DRAFT-kEy", "{draft}")], [("X-Draft-Key", "")], [("X-Draft-Key", "{draft}"), ("x-draft-key", "{draft}")]),
    *([("Accept-Encoding", "gzip;q=0, identity")], [("Range", "bytes=0-1"), ("If-None-Match", "*")]),
    [("X-API-KEY", "again")],
    *([[("Prefer", "handling=strict")]] * 4),
    *([("prefer", "handling=lenient, handling=strict")], [("Prefer", "wait=1"), ("Prefer", 'Handling="strict"; a=b')]),
]


@pytest.fixture(scope="module")
def anew(running_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The same content, keys and clock, without a cache."""
    cache = tmp_path_factory.mktemp("anew")
    settings = Settings(store=str(running_service.store.root), cache=str(cache), answer_cache=0)
    with TestClient(quiet_app(settings, clock=lambda: running_service.now)) as client:
        eventually(lambda: all(found["version"] for found in client.get("/readyz").json()["workspaces"]))
        yield client


def flips(service: Service) -> list[int]:
    """Every instant at which an entry or a key begins or ends to be valid, in UTC milliseconds."""
    workspace = service.store.workspace("acme")
    current = workspace.current()
    assert current is not None
    found = set()
    for file in workspace.manifest(current.version).files:
        if file.kind is FileKind.PUBLISHED:
            table = pq.read_table(Path(workspace.snapshots / current.version / file.path), partitioning=None)
            for name in ("live_from", "live_until"):
                found.update(table[name].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist())
    midnight = NOW - NOW % DAY - 9 * 3_600_000
    found.update((midnight + 30 * DAY, midnight - 35 * DAY, midnight - 34 * DAY))
    return sorted(found - {None, ALWAYS, NEVER})


def test_a_kept_answer_is_the_one_that_would_be_made(service: Service, anew: TestClient) -> None:
    choose = random.Random(6)
    instants = [at + offset for at in flips(service) for offset in (-1, 0)] + [NOW] * 4
    draft = service.draft_key("articles", "bravo", "en")
    statuses = set()
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        for _ in range(80):
            target = "/v1/acme/" + choose.choice(TARGETS).format(draft=draft)
            method = choose.choice(["GET", "GET", "HEAD"])
            headers = [(name, value.format(draft=draft)) for name, value in choose.choice(HEADERS)]
            at, who = choose.choice(instants), choose.choice(KEYS)
            # Thrice the same, so that the request is remembered; then another clock, or another key.
            for service.now, key in [(at, who)] * 3 + [(choose.choice(instants), who), (at, choose.choice(KEYS))]:
                sent = [*headers, *([("X-API-KEY", service.keys[key])] if key in service.keys else [])]
                statuses.add(compare(service, connection, anew, method, target, sent))
    assert {200, 400, 401, 403, 404} <= statuses


def test_a_kept_answer_ends_at_whatever_flip_touches_it(service: Service, anew: TestClient) -> None:
    sent = [("X-API-KEY", service.keys["all"])]
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        for at in flips(service):
            for service.now in (at - 1, at):
                for target in FLIPPING:
                    compare(service, connection, anew, "GET", f"/v1/acme/{target}", sent)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_kept_answer_ends_with_what_it_refers_to(tmp_path: Path, depth: int) -> None:
    """Three APIs, each referring to the next one; only an entry of the last one comes, and goes again."""
    site = Site(tmp_path)
    chain = ["site", "posts", "ends"][2 - depth :]
    for endpoint, target in zip(chain, [*chain[1:], None], strict=True):
        field = (
            "{id: text, name: T, type: text}"
            if target is None
            else f"{{id: on, name: O, type: reference, api: {target}}}"
        )
        (site.source / "apis" / f"{endpoint}.yaml").write_text(
            f"uid: api_{endpoint:_<12}\nname: A\nendpoint: {endpoint}\nkind: list\nfields:\n  - {field}\n"
        )
        (site.source / "content" / endpoint).mkdir()
        (site.source / "content" / endpoint / "one.yaml").write_text(
            "createdAt: 2020-01-01T00:00:00Z\n"
            + ("publishStart: 2030-01-01T00:00:00Z\npublishEnd: 2031-01-01T00:00:00Z" if target is None else "on: one")
        )
    build(site.source, site.store, now=NOW)
    _, text = site.key(validity="none")
    first, last = (parse_datetime(f"{year}-01-01T00:00:00Z", ZONE) for year in (2030, 2031))
    clock = [first]
    with TestClient(quiet_app(Settings(store=str(site.store.root)), clock=lambda: clock[0])) as client:
        for clock[0], there in [(first - 1, False), (first, True), (last - 1, True), (last, False), (first, True)] * 2:
            for _ in range(2):
                answer = client.get(f"/v1/acme/{chain[0]}/one?depth={depth}", headers={"X-API-KEY": text}).json()
                for _ in range(depth):
                    answer = answer["on"]
                assert (answer is not None) is there, clock[0]


def test_a_kept_answer_ends_with_a_language_that_it_tells_of(tmp_path: Path) -> None:
    site = Site(tmp_path)
    (site.source / "workspace.yaml").write_text("id: acme\nlanguages: [en, ja]\n")
    definition = site.source / "apis" / "posts.yaml"
    definition.write_text(definition.read_text() + "multilingual: true\n")
    (site.source / "content" / "posts.ja.jsonl").write_text(
        '{"id": "post-0", "createdAt": "2020-01-01T00:00:00Z", "publishStart": "2030-01-01T00:00:00Z"}\n'
    )
    site.publish("one")
    _, text = site.key(validity="none")
    at = parse_datetime("2030-01-01T00:00:00Z", ZONE)
    clock = [at]
    with TestClient(quiet_app(Settings(store=str(site.store.root)), clock=lambda: clock[0])) as client:
        for clock[0] in (at - 1, at, at - 1):
            for target in ("posts/post-0?include=_langs", "posts?include=_langs&limit=1"):
                answer = client.get(f"/v1/acme/{target}", headers={"X-API-KEY": text}).json()
                [entry] = answer.get("contents", [answer])
                assert entry["_langs"]["available"] == (["en", "ja"] if clock[0] == at else ["en"])


def compare(
    service: Service,
    connection: socket.socket,
    anew: TestClient,
    method: str,
    target: str,
    sent: list[tuple[str, str]],
) -> int:
    """The status of a request, whose answer must be the one made anew."""
    again = anew.request(method, target, headers=[("Accept-Encoding", "identity"), *sent])
    status, body, told = asked(connection, method, target, sent)
    where = (method, target, sent, service.now)
    assert (status, body) == (again.status_code, again.content), where
    for name in ("content-length", "x-snapshot", "etag", "vary", "preference-applied", "x-ignored-parameters"):
        assert told.get(name) == again.headers.get(name), (name, *where)
    return status


def asked(
    connection: socket.socket, method: str, target: str, headers: list[tuple[str, str]]
) -> tuple[int, bytes, dict[str, str]]:
    """One request of many over a connection: (status, body, headers, their names in lower case)."""
    lines = [f"{method} {target} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers), "", ""]
    connection.sendall("\r\n".join(lines).encode("latin-1"))
    response = HTTPResponse(connection, method=method)
    response.begin()
    body = response.read()
    told = {name.lower(): value for name, value in response.getheaders()}
    response.close()
    return response.status, body, told

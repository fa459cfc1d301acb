"""Requests for content: the same answer wherever it is made, counted once for its key, and what its headers tell."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from engine.read.query.parameters import KNOWN
from server.delivery import delivery
from server.http.headers import LONGEST_IGNORED, MOST_IGNORED
from server.reference.document import service_document
from server.settings import Settings
from snapshots.build.build import build
from snapshots.times import now_ms
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

FIELDS = """\
  - {id: rank, name: Rank, type: number}
  - {id: kind, name: Kind, type: single_select}
  - {id: next, name: Next, type: reference, api: posts}
"""
DATES = "filters=publishedAt[less_than]2030-01-01T00:00:00Z"
TARGETS = [
    *("posts?limit=1", "posts?limit=16", "posts?limit=33&depth=0", f"posts?limit=3&{DATES}", "posts?_=1", "site?a=1"),
    *("posts/post-7", "posts/post%2D7?limit=1", "posts?orders=-rank", "posts?orders=rank&limit=5&offset=30", "site"),
    *("posts?filters=rank[greater_than]3[or]kind[exists]&orders=publishedAt,rank", "posts?orders=title", "posts?q=one"),
    *(f"posts?{DATES}[and]next[equals]post-3[and]kind[not_equals]a", "posts?filters=id[equals]post-1"),
    *("posts?orders=rank&q=one", "posts?orders=rank,title", "posts?orders=views", "posts?orders=rank,-views"),
    *("posts?filters=next[equals]missing", "posts?filters=title[contains]on", "posts?filters=rank[equals]3&offset=9"),
    *("_schema", "_views/posts?ids=post-1", "posts?limit=0", "posts?orders=nothing", "posts?filters=rank[contains]3"),
    *("posts/nothing", "posts/", "nothing", "site/one", "posts?lang=xx", "_views/posts?ids="),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("delivery"))
    with (site.source / "apis" / "posts.yaml").open("a") as file:
        file.write(FIELDS)
    posts = [
        {"id": f"post-{n}", "createdAt": "2026-01-01", "title": "one", "rank": n * 7 % 11, "kind": "ab"[n % 2]}
        | {"next": f"post-{(n + 1) % 40}"}
        for n in range(40)
    ]
    (site.source / "content" / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    (site.source / "content" / "site.yaml").write_text("title: one\ncreatedAt: 2026-01-01\n")
    build(site.source, site.store, now=now_ms())
    return site


@pytest.fixture
def client(site: Site) -> Iterator[TestClient]:
    with TestClient(quiet_app(Settings(store=str(site.store.root)))) as client:
        client.headers = {"X-API-KEY": site.key(rate_limit=1000)[1], "Accept-Encoding": "identity"}
        eventually(lambda: client.get("/v1/acme/_schema").status_code == 200)
        yield client


def remaining(answer: httpx.Response) -> int:
    """How many requests the key has left."""
    found = re.search("r=([0-9]+)", answer.headers["ratelimit"])
    assert found is not None
    return int(found[1])


def test_an_answer_is_the_same_wherever_it_is_made(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for is_long in (None, False, True):
        if is_long is not None:
            monkeypatch.setattr(delivery, "is_small", lambda *_: False)
            monkeypatch.setattr(delivery, "is_long", lambda *_, is_long=is_long: is_long)
        for target in TARGETS:
            again = target + ("&" if "?" in target else "?") + "&" * len(found.get(target, ()))  # which is not kept
            answer = client.get(f"/v1/acme/{again}")
            found.setdefault(target, []).append((answer.status_code, answer.content, answer.headers.get("etag")))
    for target, answers in found.items():
        assert len(answers) == 3
        assert len(set(answers)) == 1, target
    assert {status for [(status, _, _), *_] in found.values()} == {200, 400, 404}


def test_every_request_is_counted_once_however_often_it_was_answered_before(client: TestClient) -> None:
    left = remaining(client.get("/v1/acme/_schema"))
    for target in TARGETS:
        for headers in ({}, {}, {"If-None-Match": "*"}, {"X-Draft-Key": "k"}, {"Accept-Encoding": "gzip;q=1"}):
            answer = client.get(f"/v1/acme/{target}", headers=headers)
            if "ratelimit" in answer.headers:
                left -= 1
                assert remaining(answer) == left, (target, headers)
            else:
                assert target == "posts/", "an unknown route is not looked at by any key"


@pytest.mark.parametrize("target", ["posts?limit=40", "posts/post-1", "_schema", "_views/posts?ids=post-1"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_who_has_the_answer_gets_304(client: TestClient, target: str, method: str) -> None:
    url = f"/v1/acme/{target}"
    first = client.get(url)
    etag = first.headers["etag"]
    assert re.fullmatch('"[^"]+"', etag), "strong"
    for _ in range(2):
        for names in (etag, f"W/{etag}", f'"other", {etag}', f'W/"x" ,{etag},"y"', "*"):
            answer = client.request(method, url, headers={"If-None-Match": names})
            assert (answer.status_code, answer.content) == (304, b""), names
            for name in ("etag", "vary", "cache-control", "x-snapshot", "access-control-allow-origin"):
                assert answer.headers[name] == first.headers[name]
            assert not {"content-length", "content-type", "transfer-encoding"} & set(answer.headers)
        for names in ('"other"', etag.strip('"'), "", f'{etag[:-1]}-gzip"', "**"):
            answer = client.request(method, url, headers={"If-None-Match": names})
            assert answer.status_code == 200, names
            assert answer.headers["etag"] == etag


def test_every_coding_and_every_body_has_a_tag_of_its_own(client: TestClient) -> None:
    tags = {}
    for coding in ("identity", "gzip", "zstd", "br"):
        answer = client.get("/v1/acme/posts?limit=40", headers={"Accept-Encoding": coding})
        assert answer.headers.get("content-encoding", "identity") == coding
        tags[coding] = answer.headers["etag"]
    assert len(set(tags.values())) == 4
    for accepted, named, status in (("gzip", "gzip", 304), ("gzip", "identity", 200), ("identity", "gzip", 200)):
        headers = {"Accept-Encoding": accepted, "If-None-Match": tags[named]}
        assert client.get("/v1/acme/posts?limit=40", headers=headers).status_code == status
    assert client.get("/v1/acme/posts?limit=39").headers["etag"] != tags["identity"]
    assert client.get("/v1/acme/posts?limit=40&").headers["etag"] == tags["identity"], "the same body"


def test_failures_have_no_tag(client: TestClient) -> None:
    for target in ("posts?limit=0", "posts/nothing", "nothing"):
        answer = client.get(f"/v1/acme/{target}", headers={"If-None-Match": "*"})
        assert answer.status_code in (400, 404)
        assert "etag" not in answer.headers


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("posts?limit=1", None),
        ("posts?limit=1&&=x&", None),
        ("posts?Limit=1", "Limit"),
        ("posts?_=1&page=2&_=3", "_, page"),
        ("posts?draftKey=x&ids=1&days=2", None),
        ("posts/post-1?filters=x&%66ields=id&ord%65r=x", "order"),
        ("posts?%E6%9D%B1=1&a%2Cb%0D%0Ac=1&x+y=1", "%E6%9D%B1, a%2Cb%0D%0Ac, x%20y"),
        ("posts?%FF=1&a=1", "a"),
        ("_schema?limit=1&preview=1", "preview"),
        ("_views/posts?ids=post-1&day=3", "day"),
        ("site?" + "x" * 500, "x" * LONGEST_IGNORED + "..."),
        ("site?" + "&".join(f"x{n}=1" for n in range(100)), ", ".join(f"x{n}" for n in range(MOST_IGNORED))),
    ],
)
def test_parameters_that_nothing_has_are_named(client: TestClient, target: str, named: str | None) -> None:
    tag = client.get(f"/v1/acme/{target}").headers["etag"]
    for headers in ({}, {"If-None-Match": tag}, {"Accept-Encoding": "gzip;q=1, identity;q=0"}):
        for _ in range(2):
            answer = client.get(f"/v1/acme/{target}", headers=headers)
            assert answer.status_code in (200, 304)
            assert answer.headers.get("x-ignored-parameters") == named


def test_the_parameters_known_are_those_of_the_reference() -> None:
    named = {
        found["name"]
        for name, found in service_document()["components"]["parameters"].items()
        if found["in"] == "query"
    }
    assert named - {"path", "entryId"} == KNOWN, "the two are those of public counts"


def test_any_page_may_read_the_headers(client: TestClient) -> None:
    answer = client.get("/v1/acme/posts?x=1")
    # Stands for all, but only beside any origin and without cookies (Fetch Standard, 3.3.2).
    assert answer.headers["access-control-expose-headers"] == answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    allowed = client.options("/v1/acme/posts").headers["access-control-allow-headers"]
    expected = {"X-API-KEY", "X-Draft-Key", "X-Snapshot", "If-None-Match", "Prefer", "traceparent", "tracestate"}
    assert expected == {name.strip() for name in allowed.split(",")}


def test_401_says_how_to_authenticate_and_nothing_else_does(client: TestClient) -> None:
    for key in ("unknown", ""):
        answer = client.get("/v1/acme/posts", headers={"X-API-KEY": key})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == 'ApiKey header="X-API-KEY"'
    for target in ("posts", "posts?limit=0", "nothing"):
        assert "www-authenticate" not in client.get(f"/v1/acme/{target}").headers


def test_a_compressed_answer_is_the_answer(client: TestClient) -> None:
    whole = client.get("/v1/acme/posts?limit=40").content
    for _ in range(2):
        with client.stream("GET", "/v1/acme/posts?limit=40", headers={"Accept-Encoding": "gzip"}) as answer:
            assert gzip.decompress(b"".join(answer.iter_raw())) == whole

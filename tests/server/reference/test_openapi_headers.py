"""The headers of the OpenAPI document, held against real answers: every header sent is described, and the reverse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from server.delivery import delivery
from server.reference.document import service_document
from server.settings import Settings
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

OF_HTTP = {"content-type", "content-length", "date"}
"""Headers that HTTP or OpenAPI itself speaks of."""
SOMETIMES = {"x-ignored-parameters", "content-encoding", "x-next-change", "preference-applied", "traceparent"}
"""Headers of some requests only; all are asked for below."""
UNADMITTED = {"x-snapshot", "x-snapshot-at", "ratelimit", "ratelimit-policy"}
"""Headers that a failure of the server carries where the key was accepted before."""
LIST, ENTRY = "/v1/{workspace}/{endpoint}", "/v1/{workspace}/{endpoint}/{entryId}"
SCHEMA, VIEWS = "/v1/{workspace}/_schema", "/v1/{workspace}/_views/{endpoint}"
COUNTS = "/pv/{workspace}/counts"
DOCUMENT = service_document()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("headers"), entries=60)
    site.publish("one")
    return site


@pytest.fixture(scope="module")
def client(site: Site) -> Iterator[TestClient]:
    app = quiet_app(Settings(store=str(site.store.root)))
    with TestClient(app, raise_server_exceptions=False) as client:
        client.headers = {"X-API-KEY": site.key()[1], "Accept-Encoding": "gzip"}
        eventually(lambda: client.get("/v1/acme/_schema").status_code == 200)
        yield client


def resolved(found: dict[str, Any]) -> dict[str, Any]:
    """An object of the document; for a reference, the component it names."""
    for name in found["$ref"].removeprefix("#/").split("/") if "$ref" in found else ():
        found = (DOCUMENT if name == "components" else found)[name]
    return found


def check(answer: httpx.Response, path: str, status: int, method: str = "get") -> None:
    """Hold the headers of an answer, and their constant values, against the document."""
    assert answer.status_code == status, answer.text
    response = resolved(DOCUMENT["paths"][path][method]["responses"][str(status)])
    known = {name.lower(): resolved(header) for name, header in response["headers"].items()}
    left_out = SOMETIMES | UNADMITTED if status >= 500 else SOMETIMES
    assert known.keys() - left_out <= set(answer.headers) - OF_HTTP <= known.keys()
    assert not [name for name in known.keys() & left_out if known[name].get("required")]
    assert status != 304 or "content-encoding" not in known
    for name in known.keys() & set(answer.headers):
        if "const" in known[name]["schema"]:
            assert answer.headers[name] == known[name]["schema"]["const"]


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("posts?x=1", LIST),
        ("site?x=1", LIST),
        ("posts/post-1?x=1", ENTRY),
        ("_schema?x=1", SCHEMA),
        ("_views/posts?ids=post-1&x=1", VIEWS),
    ],
)
def test_the_headers_of_content(client: TestClient, target: str, path: str) -> None:
    answer = client.get(f"/v1/acme/{target}")
    check(answer, path, 200)
    assert answer.headers["x-ignored-parameters"] == "x"
    again = client.get(f"/v1/acme/{target}", headers={"If-None-Match": answer.headers["etag"]})
    check(again, path, 304)
    assert again.headers["x-ignored-parameters"] == "x"


def test_a_coding_is_described(client: TestClient) -> None:
    answer = client.get("/v1/acme/posts?limit=60")
    check(answer, LIST, 200)
    assert answer.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(("target", "status"), [("posts?fields=title", 200), ("posts?x=1", 400), ("nothing", 404)])
def test_strict_reading_in_a_trace_is_described(client: TestClient, target: str, status: int) -> None:
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    answer = client.get(f"/v1/acme/{target}", headers={"Prefer": "handling=strict", "traceparent": trace})
    check(answer, LIST, status)
    assert re.fullmatch(
        DOCUMENT["components"]["headers"]["traceparent"]["schema"]["pattern"], answer.headers["traceparent"]
    )
    assert answer.headers["preference-applied"] == "handling=strict"
    assert (
        "vary" not in answer.headers
        or answer.headers["vary"] in DOCUMENT["components"]["headers"]["Vary"]["schema"]["enum"]
    )


@pytest.mark.parametrize(
    ("target", "path", "headers", "status"),
    [
        ("/v1/acme/posts?limit=500", LIST, {}, 400),
        ("/v1/acme/_views/posts?ids=", VIEWS, {}, 400),
        ("/v1/acme/posts", LIST, {"X-API-KEY": ""}, 401),
        ("/v1/acme/_schema", SCHEMA, {"X-API-KEY": "pq_no"}, 401),
        ("/v1/other/posts", LIST, {}, 403),
        ("/v1/acme/nothing", LIST, {}, 404),
        ("/v1/acme/posts", LIST, {"X-Snapshot": "20200101T000000000Z-00000000@2020-01-01T00:00:00Z"}, 410),
        ("/v1/acme/_schema", SCHEMA, {"X-Snapshot": "now"}, 400),
        ("/v1/acme/posts/nothing", ENTRY, {}, 404),
    ],
)
def test_the_headers_of_refusals(
    client: TestClient, target: str, path: str, headers: dict[str, str], status: int
) -> None:
    check(client.get(target, headers=headers), path, status)


def test_the_headers_of_a_rate_limit(client: TestClient, site: Site) -> None:
    headers = {"X-API-KEY": site.key(rate_limit=1)[1]}
    eventually(lambda: client.get("/v1/acme/posts", headers=headers).status_code == 429)
    check(client.get("/v1/acme/posts", headers=headers), LIST, 429)


def test_the_headers_of_failures(client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(delivery, "answer_to", broken)
    check(client.get("/v1/acme/posts?limit=7"), LIST, 500)
    empty = Site(tmp_path)
    with TestClient(quiet_app(Settings(store=str(empty.store.root)))) as unready:
        headers = {"X-API-KEY": empty.key()[1]}
        eventually(lambda: unready.get("/v1/acme/posts", headers=headers).status_code == 503)
        check(unready.get("/v1/acme/posts", headers=headers), LIST, 503)
        check(unready.get("/readyz"), "/readyz", 503)


def test_the_headers_of_page_views(client: TestClient) -> None:
    check(client.post("/pv/acme", content="{}"), "/pv/{workspace}", 204, "post")
    counts = client.get("/pv/acme/counts?path=/")
    check(counts, COUNTS, 200)
    check(client.get("/pv/acme/counts?path=/", headers={"If-None-Match": counts.headers["etag"]}), COUNTS, 304)
    check(client.get("/pv/nothing/counts?path=/"), COUNTS, 404)
    check(client.get("/pv/acme/counts", params={"entryId": [f"post-{n}" for n in range(51)]}), COUNTS, 400)


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/.well-known/api-catalog"])
def test_the_headers_of_what_the_service_says_of_itself(client: TestClient, path: str) -> None:
    answer = client.get(path)
    check(answer, path, 200)
    check(client.get(path, headers={"If-None-Match": answer.headers["etag"]}), path, 304)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_the_headers_of_health(client: TestClient, path: str) -> None:
    check(client.get(path), path, 200)

"""Contract 9: what the service tells of itself, without a key and before any workspace is ready."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from starlette.testclient import TestClient

from server.app import create_app
from server.http.compression import SMALLEST
from server.reference import site
from server.settings import Settings
from tests.programs.openapi_rules import broken_rules
from tests.sites.quiet_app import quiet_app

KEYLESS = ["/", "/openapi.json", "/docs", "/.well-known/api-catalog", *(f"/docs/{name}" for name in site.FILES)]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server whose store holds nothing yet."""
    store = tmp_path_factory.mktemp("reference") / "store"
    with TestClient(quiet_app(Settings(store=str(store)))) as client:
        yield client


@pytest.fixture(scope="module")
def document(client: TestClient) -> Any:
    return client.get("/openapi.json").json()


@pytest.mark.parametrize("path", KEYLESS)
def test_no_key_and_no_workspace_is_needed(client: TestClient, path: str) -> None:
    assert client.get("/readyz").status_code == 503
    answer = client.get(path, headers={"Accept-Encoding": "identity"})
    assert answer.status_code == 200
    assert answer.content
    assert answer.headers["cache-control"].startswith("public, max-age=")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "content-encoding" not in answer.headers
    head = client.head(path, headers={"Accept-Encoding": "identity"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(answer.content))
    for coding in ("gzip", "br", "zstd"):
        packed = client.get(path, headers={"Accept-Encoding": coding})
        assert packed.headers.get("content-encoding") == (coding if len(answer.content) >= SMALLEST else None)
        content = packed.content
        if content.startswith(zstandard.FRAME_HEADER):  # which the client does not decode by itself
            content = zstandard.ZstdDecompressor().decompress(content)
        assert content == answer.content
        assert answer.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"
    refused = client.get(path, headers={"Accept-Encoding": "gzip;q=0"})
    assert "content-encoding" not in refused.headers


@pytest.mark.parametrize("path", KEYLESS)
def test_what_a_client_has_is_not_sent_again(client: TestClient, path: str) -> None:
    etag = client.get(path).headers["etag"]
    again = client.get(path, headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": 'W/"other"'}).status_code == 200


@pytest.mark.parametrize("path", KEYLESS)
def test_other_methods_are_refused(client: TestClient, path: str) -> None:
    answer = client.post(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.json()["message"]


@pytest.mark.parametrize(
    "path", ["/docs/", "/docs/nothing.js", "/docs/..%2f..%2fapp.py", "/docs/page.html", "/openapi.json/"]
)
def test_nothing_else_is_there(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["message"]


@pytest.mark.parametrize("path", ["/openapi.json", "/.well-known/api-catalog"])
def test_any_page_may_read_what_is_for_programs(client: TestClient, path: str) -> None:
    assert client.get(path).headers["access-control-allow-origin"] == "*"


def test_the_catalog_is_a_link_set(client: TestClient) -> None:
    """RFC 9727: the media type with its profile, links to the endpoints and their descriptions, ``Link`` on HEAD."""
    answer = client.get("/.well-known/api-catalog")
    kind, _, profile = answer.headers["content-type"].partition("; ")
    assert kind == "application/linkset+json"
    assert profile == 'profile="https://www.rfc-editor.org/info/rfc9727"'
    contexts = {context.pop("anchor"): context for context in answer.json()["linkset"]}
    assert [item["href"] for item in contexts["/.well-known/api-catalog"]["item"]] == ["/v1", "/pv"]
    for anchor in ("/v1", "/pv"):
        for relation in ("service-desc", "service-doc"):
            [link] = contexts[anchor][relation]
            described = client.get(link["href"])
            assert described.status_code == 200
            assert described.headers["content-type"].startswith(link["type"])
    links = client.head("/.well-known/api-catalog").headers["link"]
    assert set(re.findall(r'<([^>]+)>; rel="([a-z-]+)"', links)) == {
        ("/.well-known/api-catalog", "api-catalog"),
        ("/openapi.json", "service-desc"),
        ("/docs", "service-doc"),
    }


def test_the_document_is_openapi_3_1(document: Any) -> None:
    assert document["openapi"].startswith("3.1.")
    assert broken_rules(document) == []


def test_the_validator_sees_faults(document: Any) -> None:
    broken = {**document, "paths": {"/x": {"get": {"responses": {"200": {}}}}}}
    assert broken_rules(broken) != []


def test_every_route_is_in_the_document(document: Any) -> None:
    routes = {route.path for route in create_app(Settings(store="unused")).routes}
    assert set(document["paths"]) == routes - {"/docs/{file}"}


@pytest.mark.parametrize(("path", "links"), [("/", 5), ("/docs", 5)])
def test_a_page_asks_for_nothing_elsewhere(client: TestClient, path: str, links: int) -> None:
    page = client.get(path)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    wanted = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(wanted) >= links
    for target in wanted:
        assert client.get(f"/{target}").status_code in {200, 503}, target
    policy = dict(part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";"))
    assert policy.pop("img-src") == "'self' data:"
    assert policy.pop("default-src") == "'none'"
    assert set(policy.values()) == {"'self'", "'none'"}


def test_the_page_is_part_of_the_package() -> None:
    found = {path.name for path in (Path(site.__file__).parent / "page").iterdir()}
    assert found == {"home.html", "home.css", "page.html", "page.css", "own.js", "page.js", "icon.svg"}

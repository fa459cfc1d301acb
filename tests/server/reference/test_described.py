"""``_types`` and ``_openapi`` over HTTP: what one key may read, described for programs, and nothing of content."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.testclient import TestClient

from server.settings import Settings
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

HIDDEN = """\
uid: api_secrets00001
name: Hidden Things
endpoint: hidden-things
kind: list
description: Nobody outside knows of this.
fields:
  - {id: unseen, name: Unseen, type: text}
"""
SHOP = """\
uid: api_shop00000001
name: Shop
endpoint: shop
kind: list
description: |
  What is for sale.

  One entry a product.
fields:
  - {id: name, name: Name, type: text, required: true}
  - {id: kind, name: Kind, type: single_select, options: [loaf, roll], description: The shelf it lies on.}
  - {id: text, name: Text, type: richtext}
  - {id: next, name: Next, type: reference, api: shop}
  - {id: secret, name: Secret, type: reference, api: hidden-things}
  - {id: any, name: Any, type: references, apis: [shop, hidden-things]}
  - id: rows
    name: Rows
    type: groups
    fields:
      - {id: size, name: Size, type: number, description: In grams.}
"""
TARGETS = ("_openapi", "_types/typescript", "_types/python", "_types/typescript?client=microcms")
NARROW = frozenset({"api_shop00000001", "api_posts0000001"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = Site(tmp_path_factory.mktemp("described"))
    (site.source / "workspace.yaml").write_text("id: acme\nname: Acme\nlanguages: [en, ja]\n")
    (site.source / "apis" / "hidden.yaml").write_text(HIDDEN)
    (site.source / "apis" / "shop.yaml").write_text(SHOP)
    site.publish("one")
    return site


@pytest.fixture(scope="module")
def narrow(site: Site) -> dict[str, str]:
    return {"X-API-KEY": site.key(scope=NARROW)[1]}


@pytest.fixture(scope="module")
def client(site: Site, narrow: dict[str, str]) -> Iterator[TestClient]:
    _, key = site.key()
    settings = Settings(store=str(site.store.root), public_url="https://content.example")
    with TestClient(quiet_app(settings), raise_server_exceptions=False) as client:
        client.headers = {"X-API-KEY": key}
        eventually(lambda: client.get("/v1/acme/_schema").status_code == 200)
        yield client


def get(client: TestClient, target: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.get(f"/v1/acme/{target}", headers=headers)


def test_the_document_tells_what_the_definitions_say(client: TestClient) -> None:
    answer = get(client, "_openapi")
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    assert document["servers"] == [{"url": "https://content.example"}]
    assert "`en`, the main language, `ja`" in document["info"]["description"]
    listed = document["paths"]["/v1/acme/shop"]["get"]
    assert "What is for sale.\n\nOne entry a product." in listed["description"]
    shop = document["components"]["schemas"]["Shop"]
    assert "One entry a product." in shop["description"]
    fields = shop["properties"]
    assert fields["kind"]["enum"] == ["loaf", "roll", None]
    assert fields["kind"]["description"] == "Kind\n\nThe shelf it lies on."
    assert "`hidden-things`" in fields["secret"]["description"]
    assert "`shop`, `hidden-things`" in fields["any"]["description"]
    assert "HTML" in fields["text"]["description"]
    assert fields["rows"]["items"]["anyOf"][0]["properties"]["size"]["description"] == "Size\n\nIn grams."


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_key_may_not_read_is_not_named(client: TestClient, narrow: dict[str, str], target: str) -> None:
    every, limited = get(client, target).text, get(client, target, narrow).text
    for word in ("hidden-things", "HiddenThings", "Hidden Things", "unseen", "api_secrets", "Nobody outside"):
        assert word not in limited, word
    assert "hidden-things" in every
    assert '"site"' not in limited.replace('"shop"', "")


def test_a_target_that_a_key_may_not_read_is_an_id(client: TestClient, narrow: dict[str, str]) -> None:
    fields = get(client, "_openapi", narrow).json()["components"]["schemas"]["Shop"]["properties"]
    assert fields["secret"]["type"] == ["string", "null"]
    assert fields["secret"]["description"] == "Secret"
    source = get(client, "_types/python?client=false", narrow).text
    shop = next(
        part for part in ast.parse(source).body if isinstance(part, ast.ClassDef) and part.name.endswith("Shop")
    )
    members = {
        part.target.id: ast.unparse(part.annotation)
        for part in shop.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    assert members["secret"] == "str | None"


@pytest.mark.parametrize("target", TARGETS)
def test_they_are_answers_like_others(client: TestClient, site: Site, target: str) -> None:
    answer, schema = get(client, target), get(client, "_schema")
    assert answer.status_code == 200
    expected = "application/json" if target == "_openapi" else "text/plain; charset=utf-8"
    assert answer.headers["content-type"] == expected
    for name in ("cache-control", "access-control-allow-origin", "x-snapshot", "x-content-tags", "ratelimit-policy"):
        assert answer.headers[name] == schema.headers[name], name
    assert {"etag", "ratelimit", "x-snapshot-at"} <= set(answer.headers)
    again = get(client, target, {"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = client.head(f"/v1/acme/{target}")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == answer.headers["etag"]
    pinned = {"X-Snapshot": f"{answer.headers['x-snapshot']}@{answer.headers['x-snapshot-at']}"}
    assert get(client, target, pinned).content == answer.content
    assert client.options(f"/v1/acme/{target}").status_code == 204
    assert client.post(f"/v1/acme/{target}").status_code == 405
    assert get(client, target, {"X-API-KEY": ""}).status_code == 401
    few = {"X-API-KEY": site.key(rate_limit=1)[1]}
    eventually(lambda: get(client, target, few).status_code == 200)
    assert get(client, target, few).status_code == 429


def test_a_key_of_another_workspace(client: TestClient) -> None:
    assert client.get("/v1/other/_openapi").status_code == 403
    assert client.get("/v1/other/_types/python").status_code == 403


@pytest.mark.parametrize("target", TARGETS)
def test_content_makes_no_difference(client: TestClient, site: Site, target: str) -> None:
    """They depend on definitions only, so a new version with other entries leaves them as they are."""
    before = get(client, target)
    version = site.publish(f"another {target}")
    eventually(lambda: get(client, "_schema").headers["x-snapshot"] == version)
    again = get(client, target, {"If-None-Match": before.headers["etag"]})
    assert again.status_code == 304
    assert again.headers["x-snapshot"] == version


def test_ways_of_asking_differ_in_headers_only(client: TestClient) -> None:
    plain, odd = get(client, "_openapi"), get(client, "_openapi?x=1&y")
    assert odd.content == plain.content
    assert odd.headers["x-ignored-parameters"] == "x, y"
    assert "x-ignored-parameters" not in get(client, "_openapi").headers
    strict = get(client, "_openapi", {"Prefer": "handling=strict"})
    assert (strict.content, strict.headers["preference-applied"]) == (plain.content, "handling=strict")


@pytest.mark.parametrize("target", TARGETS)
def test_a_changed_definition_shows(client: TestClient, site: Site, target: str) -> None:
    before = get(client, target)
    assert "just_added" not in before.text
    definition = site.source / "apis" / "posts.yaml"
    text = definition.read_text()
    definition.write_text(f"{text}  - {{id: just_added, name: Just added, type: text}}\n")
    version = site.publish("with a field")
    eventually(lambda: get(client, "_schema").headers["x-snapshot"] == version)
    assert "just_added" in get(client, target, {"If-None-Match": before.headers["etag"]}).text
    definition.write_text(text)
    version = site.publish("without it")
    eventually(lambda: get(client, "_schema").headers["x-snapshot"] == version)
    assert get(client, target).text == before.text


def test_the_client_may_be_left_out(client: TestClient) -> None:
    whole, types = (get(client, f"_types/typescript{query}").text for query in ("", "?client=false"))
    assert "export class Client" in whole
    assert "export class Client" not in types
    assert get(client, "_types/typescript?client=true").text == whole
    assert "createClient" in get(client, "_types/typescript?client=microcms").text


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        (
            "_types/rust",
            404,
            'There are no types for "rust". There are: typescript, python. Write _types/typescript or',
        ),
        ("_types/Typescript", 404, 'Did you mean "typescript"?'),
        ("_types/pyton?client=never", 404, 'Did you mean "python"?'),
        ("_types/python?client=no", 400, 'client: expected true or false, got "no".'),
        ("_types/python?client=microcms", 400, "client: expected true or false"),
        ("_types/typescript?client=", 400, 'client: expected true, false or microcms, got "".'),
    ],
)
def test_what_there_is_not(client: TestClient, target: str, status: int, said: str) -> None:
    answer = get(client, target)
    assert answer.status_code == status
    assert said in answer.json()["message"]


def test_the_schema_keeps_its_keys(client: TestClient) -> None:
    """Contract 2.3: descriptions, options and targets are told by the other two."""
    schema: dict[str, Any] = get(client, "_schema").json()
    shop = next(api for api in schema["apis"] if api["endpoint"] == "shop")
    assert set(shop) == {"name", "endpoint", "kind", "fields"}
    assert {frozenset(field) - {"fields"} for field in shop["fields"]} == {
        frozenset({"id", "name", "type", "required"})
    }

"""The OpenAPI documents against what the server answers: examples, every depth and language, names that meet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.read.query.parameters import MAX_LIMIT
from engine.typed.names import type_names
from server.reference.document import service_document
from server.reference.workspace_document import workspace_document
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from tests.contract.service import Service, running
from tests.programs.openapi_rules import broken_rules
from tests.sites.example_server import ExampleServer, example_server

Json = dict[str, Any]


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("contract")) as service:
        yield service


def problems(document: Json, name: str, value: object) -> list[str]:
    """What is wrong with a value by one of a document's schemas."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


def acme(service: Service) -> Workspace:
    place = service.store.workspace("acme")
    current = place.current()
    assert current is not None
    return place.manifest(current.version).workspace


def test_all_that_is_computed_is_filled_in(contract: Service) -> None:
    for document in (service_document(), workspace_document(acme(contract), "/")):
        assert "${" not in json.dumps(document)
        assert document["components"]["parameters"]["limit"]["schema"]["maximum"] == MAX_LIMIT


def test_the_document_of_a_workspace_is_openapi_3_1(contract: Service) -> None:
    document = workspace_document(acme(contract), "https://api.example/")
    assert broken_rules(document) == []
    assert document["servers"] == [{"url": "https://api.example"}]
    assert not [path for path in document["paths"] if "{workspace}" in path or "{endpoint}" in path]


@pytest.mark.parametrize(
    ("query", "ending"),
    [
        ("depth=0", "Depth0"),
        ("", ""),
        ("depth=1&include=_langs", ""),
        ("depth=2", "Depth2"),
        ("depth=2&lang=ja&lang_fallback=true&include=_langs", "Depth2"),
        ("fields=", ""),
        ("fields=title,author,related,parent,value&depth=2", "Part"),
        ("fields=id", "Part"),
    ],
)
def test_entries_are_of_the_schema_of_their_depth(contract: Service, query: str, ending: str) -> None:
    """Contract 4.8 and 4.9: all rows of all APIs have the shape that the document gives for the depth."""
    workspace = acme(contract)
    document = workspace_document(workspace, "/")
    service = service_document()
    names = type_names(workspace, ())
    seen = 0
    for api in workspace.apis:
        given = query if api.multilingual else re.sub("&lang=ja&lang_fallback=true", "", query)
        answer = contract.get(f"/v1/acme/{api.endpoint}?limit=100&{given}")
        if answer.status == 404:
            continue
        assert answer.status == 200, answer.body
        kind = "List" if api.kind is ApiKind.LIST else ""
        assert problems(document, names[api.uid] + ending + kind, answer.json()) == []
        assert problems(service, "EntryList" if kind else "Entry", answer.json()) == []
        seen += len(answer.json()["contents"]) if kind else 1
    assert seen > 15


def test_schemas_tell_depths_apart(contract: Service) -> None:
    document = workspace_document(acme(contract), "/")
    whole = contract.get("/v1/acme/articles/alpha?depth=2").json()
    assert problems(document, "ArticlesDepth2", whole) == []
    assert problems(document, "Articles", whole) != []
    assert problems(document, "ArticlesDepth0", whole) != []
    assert problems(document, "Articles", {**whole, "rank": "7"}) != []
    assert problems(document, "ArticlesPart", {"id": "x", "title": None}) == []
    assert problems(document, "Articles", {"id": "x"}) != []


def test_drafts_and_narrow_keys_are_of_the_schemas_too(contract: Service) -> None:
    document = workspace_document(acme(contract), "/")
    draft = contract.get("/v1/acme/articles/sketch?draftKey=sketch-key")
    assert draft.json()["title"] is None, "a draft may lack what is required of published versions"
    assert problems(document, "ArticlesPart", draft.json()) == []
    narrow = contract.get("/v1/acme/articles?limit=100", key="narrow").json()
    assert problems(document, "ArticlesList", narrow) == []


def test_the_schema_endpoint_and_the_failures(contract: Service) -> None:
    document = service_document()
    assert problems(document, "Schema", contract.get("/v1/acme/_schema").json()) == []
    assert problems(document, "Views", contract.get("/v1/acme/_views/articles?ids=alpha,none").json()) == []
    assert problems(document, "PublicCounts", contract.get("/pv/acme/counts?entryId=alpha&path=/x").json()) == []
    assert problems(document, "Readiness", contract.get("/readyz").json()) == []
    assert problems(document, "Error", contract.get("/v1/acme/articles?limit=0").json()) == []
    assert problems(document, "Error", {"message": "x", "detail": "y"}) != []


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("example")) as server:
        yield server


def examples(document: Json) -> Iterator[tuple[str, Json, Json]]:
    """(path, schema, example) of every example of an answer."""
    for path, item in document["paths"].items():
        for operation in item.values():
            for answer in operation["responses"].values():
                for content in answer.get("content", {}).values():
                    for shown in content.get("examples", {}).values():
                        yield path, content["schema"], shown


def test_examples_are_of_their_schemas() -> None:
    document = service_document()
    found = list(examples(document))
    assert len(found) > 6
    for _, schema, shown in found:
        whole = {**schema, "components": document["components"]}
        assert list(Draft202012Validator(whole).iter_errors(shown["value"])) == []


def test_examples_of_content_are_what_the_example_workspace_answers(example: ExampleServer) -> None:
    compared = 0
    for path, _, shown in examples(service_document()):
        query = re.search(r"\(`(fields|q)(=[^`]*)`\)", shown["summary"])
        if query is None:
            continue
        target = "shop" if "shop" in shown["summary"] else "breads"
        entry = "/melon-bread" if path.endswith("{entryId}") else ""
        answer = example.get(f"{target}{entry}?{query[1]}{query[2]}")
        assert json.dumps(answer, ensure_ascii=False) == json.dumps(shown["value"], ensure_ascii=False)
        compared += 1
    assert compared == 5


def api(endpoint: str, *fields: Field) -> Api:
    return Api(f"api_{endpoint}", endpoint, endpoint, ApiKind.LIST, False, fields)


def test_names_of_types_never_meet() -> None:
    endpoints = ["a-b", "a_b", "aB", "blog", "blog-list", "blog-part", "image", "3d", "blogDepth0", "x"]
    workspace = Workspace("w", "W", ("en",), apis=tuple(map(api, endpoints)))
    names = type_names(workspace, {"Image", "XQuery"})
    assert names["api_x"] != "X"
    assert len({name.lower() for name in names.values()}) == len(endpoints)
    assert names["api_blog"] == "Blog"
    assert names["api_image"] != "Image"
    assert names["api_3d"] == "Api3d"
    assert all(name.isidentifier() for name in names.values())
    document = workspace_document(workspace, "/")
    assert broken_rules(document) == []


def test_a_reference_without_a_target_is_an_id() -> None:
    fields = (Field("one", "One", FieldType.REFERENCE), Field("many", "Many", FieldType.REFERENCES, required=True))
    document = workspace_document(Workspace("w", "W", ("en",), apis=(api("posts", *fields),)), "/")
    meta = dict.fromkeys(("createdAt", "updatedAt", "publishedAt"), "2026-01-01T00:00:00.000Z")
    for ending in ("", "Depth0", "Depth2"):
        assert problems(document, f"Posts{ending}", {"id": "x", **meta, "one": "y", "many": ["z"]}) == []
        assert problems(document, f"Posts{ending}", {"id": "x", **meta, "one": {"id": "y"}, "many": []}) != []

"""Contract 2.3, decision 18: _schema."""

from __future__ import annotations

from tests.contract.cases import answers, check_all, missing, refuses
from tests.contract.service import Service


def field(field_id: str, name: str, kind: str, *, required: bool = False) -> dict[str, object]:
    return {"id": field_id, "name": name, "type": kind, "required": required}


ARTICLES = {
    "name": "Articles",
    "endpoint": "articles",
    "kind": "list",
    "fields": [
        field("title", "Title", "text", required=True),
        field("summary", "Summary", "textarea"),
        field("body", "Body", "richtext"),
        field("rank", "Rank", "number"),
        field("eventAt", "Event date", "datetime"),
        field("featured", "Featured", "boolean"),
        field("category", "Category", "single_select"),
        field("tags", "Tags", "multiple_select"),
        field("author", "Author", "reference"),
        field("related", "Related", "references"),
        field("topic", "Topic", "reference"),
        field("cover", "Cover", "image"),
        field("origin", "Origin", "reference"),
        field("sources", "Sources", "references"),
    ],
}
AUTHORS = {
    "name": "Authors",
    "endpoint": "authors",
    "kind": "list",
    "fields": [
        field("name", "Name", "text", required=True),
        field("bio", "Bio", "richtext"),
        field("born", "Born", "datetime"),
        field("mentor", "Mentor", "reference"),
        field("interests", "Interests", "references"),
    ],
}
SITE = {
    "name": "Site settings",
    "endpoint": "site",
    "kind": "object",
    "fields": [
        field("title", "Title", "text", required=True),
        field("lead", "Lead", "richtext"),
        field("featured", "Featured article", "reference"),
        field("picks", "Picks", "references"),
    ],
}


def titled(endpoint: str, name: str, kind: str) -> dict[str, object]:
    return {"name": name, "endpoint": endpoint, "kind": kind, "fields": [field("title", "Title", "text")]}


ALL = {
    "workspace": "acme",
    "apis": [
        ARTICLES,
        AUTHORS,
        titled("banner", "Banner", "object"),
        titled("blank", "Blank", "object"),
        titled("empty", "Empty", "list"),
        titled("imprint", "Imprint", "object"),
        titled("promo", "Promotion", "object"),
        {
            "name": "Scores",
            "endpoint": "scores",
            "kind": "list",
            "fields": [
                field("value", "Value", "number"),
                field("at", "At", "datetime"),
                field("passed", "Passed", "boolean"),
                field("marks", "Marks", "multiple_select"),
            ],
        },
        SITE,
        {
            "name": "Topics",
            "endpoint": "topics",
            "kind": "list",
            "fields": [
                field("label", "Label", "text"),
                field("note", "Note", "richtext"),
                field("parent", "Parent", "reference"),
            ],
        },
    ],
}

CASES = [
    answers("2.3 every API of the workspace, its fields and their types", "_schema", ALL),
    answers(
        "2.7 only the APIs allowed for the key",
        "_schema",
        {"workspace": "acme", "apis": [ARTICLES, AUTHORS, SITE]},
        key="narrow",
    ),
    answers("D4 parameters have no effect, however malformed", "_schema?limit=&lang=xx&depth=9&draftKey=", ALL),
    answers("D4 X-Draft-Key has no effect", "_schema", ALL, headers={"X-Draft-Key": ""}),
    missing("D3 a trailing slash", "_schema/"),
    missing("D3 an ID", "_schema/articles"),
    missing("D3 in capitals", "_SCHEMA"),
    refuses("5 needs a key", "_schema", status=401, key="none"),
    refuses("5 of another workspace", "_schema", status=403, key="foreign"),
]


def test_schema(service: Service) -> None:
    check_all(service, CASES)

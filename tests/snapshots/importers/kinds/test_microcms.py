"""Folders with the answers and schemas of microCMS, small and made by hand in the documented form."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.losses import Unreadable
from snapshots.importers.writing.values import MAX_OPTIONS
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import answers, imported, write_files

QUOTE, HERO = "2021-12-16T09:25:38.146Z", "2021-12-16T09:34:43.870Z"
DATES = {
    "createdAt": "2025-01-01T00:00:00.000Z",
    "updatedAt": "2025-03-01T00:00:00.000Z",
    "publishedAt": "2025-02-01T00:00:00.000Z",
    "revisedAt": "2025-02-02T00:00:00.000Z",
}
BLOG_SCHEMA = {
    "apiName": "ブログ",
    "apiEndpoint": "blog",
    "apiType": ["LIST"],
    "apiFields": [
        {"fieldId": "title", "name": "題", "kind": "text", "required": True},
        {"fieldId": "body", "kind": "richEditorV2"},
        {"fieldId": "note", "kind": "textArea"},
        {"fieldId": "cover", "kind": "media"},
        {"fieldId": "gallery", "kind": "mediaList"},
        {"fieldId": "date", "kind": "date"},
        {"fieldId": "pinned", "kind": "boolean"},
        {"fieldId": "price", "kind": "number"},
        {
            "fieldId": "category",
            "kind": "select",
            "multipleSelect": False,
            "selectItems": [{"id": "a", "value": "news"}],
        },
        {"fieldId": "tags", "kind": "select", "multipleSelect": True, "selectItems": [{"id": "b", "value": "x"}]},
        {"fieldId": "author", "kind": "relation", "referencedApiEndpoint": "authors"},
        {"fieldId": "related", "kind": "relationList", "referencedApiEndpoint": "blog"},
        {"fieldId": "lead", "kind": "custom", "customFieldCreatedAt": QUOTE},
        {"fieldId": "blocks", "kind": "repeater", "customFieldCreatedAtList": [QUOTE, HERO]},
        {"fieldId": "quotes", "kind": "repeater", "customFieldCreatedAtList": [QUOTE]},
        {"fieldId": "extra", "kind": "iframe"},
        {"fieldId": "pdf", "kind": "file"},
        {"fieldId": "status", "kind": "text"},
        {"fieldId": "views", "kind": "number"},
        {"fieldId": "kebab-case", "kind": "text"},
    ],
    "customFields": [
        {
            "createdAt": QUOTE,
            "fieldId": "quote",
            "name": "引用",
            "fields": [
                {"idValue": "a", "fieldId": "text", "kind": "textArea", "required": True},
                {"idValue": "b", "fieldId": "by", "kind": "relation", "referencedApiEndpoint": "authors"},
            ],
        },
        {"createdAt": HERO, "fieldId": "hero-image", "name": "Hero", "fields": [{"fieldId": "image", "kind": "media"}]},
    ],
}
IMAGE = {"url": "https://images.example/a.png", "height": 600, "width": 800}
FIRST = {
    "id": "first",
    **DATES,
    "title": "<b>最初</b> & more",
    "body": '<p onclick="x()">Hi <img src="https://images.example/b.png" alt="" width="10" height="10"></p>',
    "note": "two\nlines",
    "cover": IMAGE,
    "gallery": [IMAGE, {"url": "https://images.example/b.png", "width": 10, "height": 10, "alt": "B"}],
    "date": "2025-05-01T15:00:00.000Z",
    "pinned": True,
    "price": 12.5,
    "category": ["news"],
    "tags": ["x", "unlisted"],
    "author": {"id": "mika", **DATES, "name": "Mika"},
    "related": [{"id": "second"}],
    "lead": {"fieldId": "quote", "text": "Good!", "by": {"id": "mika"}},
    "blocks": [{"fieldId": "quote", "text": "Two"}, {"fieldId": "hero-image", "image": IMAGE}],
    "quotes": [{"fieldId": "quote", "text": "Three", "by": None}],
    "extra": {"lat": 1.5, "tags": ["a"]},
    "pdf": {"url": "https://files.example/a.pdf", "fileSize": 1234},
    "status": "my own",
    "views": 7,
    "kebab-case": "kept",
}
EXPORT: dict[str, Any] = {
    "blog.schema.json": BLOG_SCHEMA,
    "blog.json": {
        "contents": [
            FIRST,
            {"id": "second", **DATES, "title": "Second", "category": []},
            {"id": "third", "createdAt": DATES["createdAt"], "title": "Never published", "publishedAt": None},
        ],
        "totalCount": 3,
        "offset": 0,
        "limit": 100,
    },
    "blog.drafts.json": [{**FIRST, "title": "Changed"}, {"id": "second", **DATES, "title": "Second", "category": []}],
    "authors.schema.json": {"apiFields": [{"fieldId": "name", "kind": "text", "required": True}], "customFields": []},
    "authors.json": {
        "contents": [
            {"id": "mika", **DATES, "name": "Mika", "status": ["PUBLISH_AND_DRAFT"], "draftKey": "abc123"},
            {"id": "ken", **DATES, "name": "Ken", "status": ["DRAFT"], "draftKey": "def"},
            {"id": "rei", **DATES, "status": ["DRAFT"], "reservationTime": {"publishTime": "2099-01-01T00:00:00Z"}},
            {"id": "old", **DATES, "status": ["CLOSED"]},
        ]
    },
    "site.schema.json": {"apiFields": [{"fieldId": "headline", "kind": "text"}]},
    "site.json": {**DATES, "headline": "Bread"},
    "stray.json": {"contents": []},
}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def test_every_kind_of_field(cms: Cms, tmp_path: Path) -> None:
    made = imported("microcms", write_files(tmp_path / "export", EXPORT), tmp_path / "site")
    assert answers(cms, made, "blog/first?depth=0") == {
        "id": "first",
        "createdAt": DATES["createdAt"],
        "updatedAt": DATES["updatedAt"],
        "publishedAt": DATES["publishedAt"],
        "title": "<b>最初</b> & more",
        "body": '<p>Hi <img src="https://images.example/b.png" alt="" width="10" height="10"></p>',
        "note": "two\nlines",
        "cover": {**IMAGE, "alt": None},
        "gallery": [{**IMAGE, "alt": None}, FIRST["gallery"][1]],  # type: ignore[index]
        "date": "2025-05-01T15:00:00.000Z",
        "pinned": True,
        "price": 12.5,
        "category": "news",
        "tags": ["x", "unlisted"],
        "author": "mika",
        "related": ["second"],
        "lead": {"text": "Good!", "by": "mika"},
        "blocks": [
            {"fieldId": "quote", "text": "Two", "by": None},
            {"fieldId": "hero_image", "image": {**IMAGE, "alt": None}},
        ],
        "quotes": [{"text": "Three", "by": None}],
        "extra": {"lat": 1.5, "tags": ["a"]},
        "pdf": {"url": "https://files.example/a.pdf", "fileSize": 1234},
        "status": "my own",
        "views_value": 7,
        "kebab_case": "kept",
    }
    assert answers(cms, made, "site")["headline"] == "Bread"
    assert "kind: object" in made.text("apis/site.yaml")


def test_states_drafts_and_schedules(cms: Cms, tmp_path: Path) -> None:
    made = imported("microcms", write_files(tmp_path / "export", EXPORT), tmp_path / "site")
    assert made.files() == [
        *("authors/ken.yaml", "authors/mika.yaml", "authors/old.yaml", "authors/rei.yaml"),
        *("blog/first.draft.yaml", "blog/first.yaml", "blog/second.yaml", "blog/third.yaml", "site/site.yaml"),
    ]
    assert {one["id"] for one in answers(cms, made, "blog?fields=id")["contents"]} == {"first", "second"}
    assert [one["id"] for one in answers(cms, made, "authors?fields=id")["contents"]] == ["mika"]
    later = answers(cms, made, "authors?fields=id", "--at", "2099-01-02T00:00:00Z")
    assert {one["id"] for one in later["contents"]} == {"mika", "rei"}
    assert "draftKey: abc123" in made.text("content/authors/mika.yaml")


def test_losses_are_told(tmp_path: Path) -> None:
    made = imported("microcms", write_files(tmp_path / "export", EXPORT), tmp_path / "site")
    assert made.lost("onclick of <p>").places == ["blog/first: body", "blog/first.draft: body"]
    assert made.lost("the option 'unlisted'").places == ["blog/first: tags"]
    assert "blog.json: first" in made.lost("revisedAt").places
    assert made.lost("field ID views").why.endswith("it is now views_value")
    assert made.lost("extension field").places == ["blog.extra"]
    assert made.lost("rule of authors.name").places == ["authors/rei"]
    assert made.lost("there is no stray.schema.json").places == ["stray.json"]


def test_contents_that_the_answer_lacks_are_told(tmp_path: Path) -> None:
    answer = {**EXPORT["blog.json"], "totalCount": 12}
    made = imported("microcms", write_files(tmp_path / "export", {**EXPORT, "blog.json": answer}), tmp_path / "site")
    found = next(loss for loss in made.losses if loss.what == "contents of an API")
    assert (found.count, found.places, found.why.partition(":")[0]) == (9, ["blog.json"], "the answer has 3 of 12")


def test_a_reference_without_a_stated_api_leads_to_the_one_that_has_what_it_names(cms: Cms, tmp_path: Path) -> None:
    inside = {"createdAt": QUOTE, "fieldId": "box", "fields": [{"fieldId": "who", "kind": "relationList"}]}
    files = {
        "a.schema.json": {
            "apiFields": [
                {"fieldId": "to", "kind": "relation"},
                {"fieldId": "box", "kind": "custom", "customFieldCreatedAt": QUOTE},
                {"fieldId": "gone", "kind": "relation"},
            ],
            "customFields": [inside],
        },
        "a.json": [{"id": "one", **DATES, "to": "two", "box": {"who": [{"id": "three"}]}, "gone": "away"}],
        "b.schema.json": {"apiFields": [{"fieldId": "n", "kind": "text"}]},
        "b.json": {"contents": [{"id": "two", **DATES, "n": "Two"}]},
        "c.schema.json": {"apiFields": [{"fieldId": "n", "kind": "text"}]},
        "c.json": {"contents": [{"id": "three", **DATES, "n": "Three"}]},
    }
    made = imported(
        "microcms", write_files(tmp_path / "export", files), tmp_path / "site", language="en", warnings=None
    )
    answer = answers(cms, made, "a/one")
    assert (answer["to"]["n"], answer["box"]["who"][0]["n"], answer["gone"]) == ("Two", "Three", "away")
    assert made.lost("no API has what it names").places == ["a.gone"]
    assert "languages: [en]" in made.text("workspace.yaml")


def test_files_as_microcms_names_them_and_csv(cms: Cms, tmp_path: Path) -> None:
    """The same contents as CSV: the API answers alike."""
    fields = BLOG_SCHEMA["apiFields"]
    columns = [*DATES, *(field["fieldId"] for field in fields)]
    first = {
        **{name: value if isinstance(value, str) else json.dumps(value) for name, value in FIRST.items()},
        "pinned": "TRUE",
        "category": "news",
        "tags": "x,unlisted",
        "author": "mika",
        "related": "second",
        "cover": json.dumps(IMAGE),
    }
    table = [{**first, "コンテンツID\n※": "first"}, {**DATES, "title": "Second", "コンテンツID\n※": "second"}]
    out = io.StringIO()
    writer = csv.DictWriter(out, ["コンテンツID\n※", *columns], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(table)
    authors = {name: EXPORT[name] for name in ("authors.schema.json", "authors.json")}
    named = {
        "api-blog-20250501120000.json": {"apiFields": []},
        "api-blog-20260501120000.json": BLOG_SCHEMA,
        "blog.csv": out.getvalue().encode("utf-8-sig"),
        **authors,
    }
    made = imported("microcms", write_files(tmp_path / "named", named), tmp_path / "site")
    assert "is a newer schema" in made.lost("newer schema").why
    answer = {"contents": EXPORT["blog.json"]["contents"][:2]}
    plain = {"blog.schema.json": BLOG_SCHEMA, "blog.json": answer, **authors}
    other = imported("microcms", write_files(tmp_path / "plain", plain), tmp_path / "other")
    for entry in ("first", "second"):
        assert answers(cms, made, f"blog/{entry}?depth=2") == answers(cms, other, f"blog/{entry}?depth=2")


def test_contents_of_which_csv_does_not_say_that_they_are_published_are_drafts(cms: Cms, tmp_path: Path) -> None:
    schema = {"apiFields": [{"fieldId": "title", "kind": "text"}, {"fieldId": "on", "kind": "boolean"}]}
    files = {
        "a.schema.json": schema,
        "a-20260101120000.csv": 'id;title;on\none;One, "1";TRUE\n;Two;FALSE;more\n',
        "b.schema.json": schema,
        "b.csv": "id,title,status\none,One,公開中\ntwo,Two,下書き\n",
        "stray.csv": "id\n1\n",
    }
    made = imported("microcms", write_files(tmp_path / "export", files), tmp_path / "site")
    assert made.files() == ["a/one.yaml", "a/row-3.yaml", "b/one.yaml", "b/two.yaml"]
    assert made.lost("are drafts").count == 2
    assert "status: draft" in made.text("content/a/one.yaml")
    assert [one["id"] for one in answers(cms, made, "b")["contents"]] == ["one"]
    assert made.lost("more cells than").places == ["a-20260101120000.csv:3"]
    assert made.lost("named by its line").places == ["a-20260101120000.csv:3"]
    assert made.lost("there is no stray.schema.json").places == ["stray.csv"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"blog.json": {}}, "has no <endpoint>.schema.json"),
        ({"blog.schema.json": []}, "blog.schema.json: there is no list 'apiFields'"),
        ({"blog.schema.json": '{"apiFields": [\n,]}'}, "blog.schema.json:2: broken JSON"),
        (
            {"blog.schema.json": {"apiFields": []}, "blog.json": '{"contents": [\n{"id": "a"},\n{"id": }]}'},
            "blog.json:3: broken",
        ),
        (
            {"blog.schema.json": {"apiFields": []}, "blog.json": b'{"contents": [\n"\xff"]}'},
            "blog.json:2: not valid UTF-8",
        ),
        (
            {"blog.schema.json": {"apiType": "LIST", "apiFields": []}, "blog.json": {"message": "Forbidden"}},
            "'message' is not expected",
        ),
        ({"blog.schema.json": {"apiFields": []}, "blog.json": "[" * 100_000}, "nested too deep"),
    ],
)
def test_what_is_no_export_says_so(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        imported("microcms", write_files(tmp_path / "export", files), tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_very_many_unlisted_options_are_no_options_any_more(cms: Cms, tmp_path: Path) -> None:
    select = {"fieldId": "tag", "kind": "select", "selectItems": [{"value": "x"}]}
    contents = [{"id": f"e{number}", **DATES, "tag": [f"t{number}"]} for number in range(MAX_OPTIONS + 5)]
    files = {"a.schema.json": {"apiFields": [select]}, "a.json": contents}
    made = imported("microcms", write_files(tmp_path / "export", files), tmp_path / "site")
    assert "options" not in made.text("apis/a.yaml")
    assert made.lost("any text is allowed").count == 1
    assert answers(cms, made, f"a/e{MAX_OPTIONS + 4}")["tag"] == f"t{MAX_OPTIONS + 4}"

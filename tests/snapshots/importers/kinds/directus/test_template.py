"""Templates of Directus, small and made by hand in the documented form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.losses import Unreadable
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import answers, imported, write_files

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\6\0\0\0"
CAT, MENU = "13d36e5e-3244-4a00-8adb-543a7c72cd7f", "23d36e5e-3244-4a00-8adb-543a7c72cd7f"


def collection(name: str, **meta: Any) -> dict[str, Any]:
    return {"collection": name, "meta": {"singleton": False, **meta}, "schema": {"name": name}}


def field(
    owner: str, name: str, kind: str, interface: str | None = None, *special: str, **options: Any
) -> dict[str, Any]:
    schema = None if kind == "alias" else {"is_primary_key": name in ("id", "code")}
    meta = {"special": list(special) or None, "interface": interface, "options": options or None, "required": False}
    return {"collection": owner, "field": name, "type": kind, "schema": schema, "meta": meta}


def relation(owner: str, name: str, target: str | None, **meta: Any) -> dict[str, Any]:
    return {"collection": owner, "field": name, "related_collection": target, "meta": meta}


TEMPLATE: dict[str, Any] = {
    "collections.json": [
        {"collection": "folder", "meta": {}, "schema": None},
        collection("posts", archive_field="status"),
        collection("posts_translations"),
        collection("posts_tags"),
        collection("posts_files"),
        collection("posts_blocks"),
        collection("tags"),
        collection("people"),
        collection("block_hero"),
        collection("block_quote"),
        collection("languages"),
        collection("globals", singleton=True),
        collection("directus_users"),
    ],
    "fields.json": [
        field("posts", "id", "integer"),
        field("posts", "status", "string", "select-dropdown"),
        field("posts", "sort", "integer"),
        field("posts", "date_created", "timestamp", None, "date-created"),
        field("posts", "date_updated", "timestamp", None, "date-updated"),
        field("posts", "user_created", "uuid", None, "user-created"),
        field("posts", "published_at", "timestamp"),
        field("posts", "title", "string", "input"),
        field("posts", "body", "text", "input-rich-text-html"),
        field("posts", "note", "text", "input-multiline"),
        field("posts", "color", "string", "select-dropdown", choices=[{"text": "Red", "value": "red"}]),
        field("posts", "labels", "json", "tags"),
        field("posts", "links", "json", "list",
              fields=[{"field": "label", "type": "string"}, {"field": "a b", "type": "integer"}]),
        field("posts", "data", "json", "input-code"),
        field("posts", "rating", "decimal"),
        field("posts", "pinned", "boolean"),
        field("posts", "password", "hash"),
        field("posts", "cover", "uuid", "file-image", "file"),
        field("posts", "author", "uuid", "select-dropdown-m2o", "m2o"),
        field("posts", "owner", "uuid", "select-dropdown-m2o", "m2o"),
        field("posts", "tags", "alias", "list-m2m", "m2m"),
        field("posts", "gallery", "alias", "files", "files"),
        field("posts", "blocks", "alias", "list-m2a", "m2a"),
        field("posts", "translations", "alias", "translations", "translations", defaultLanguage="en-US"),
        field("posts", "divider", "alias", "presentation-divider", "alias", "no-data"),
        field("posts_translations", "id", "integer"),
        field("posts_translations", "posts_id", "integer"),
        field("posts_translations", "languages_code", "string"),
        field("posts_translations", "title", "string", "input"),
        field("posts_translations", "summary", "text", "input-rich-text-md"),
        *(field("posts_tags", name, "integer") for name in ("id", "posts_id", "tags_id", "sort")),
        *(field("posts_files", name, "integer") for name in ("id", "posts_id", "directus_files_id")),
        *(field("posts_blocks", name, "string") for name in ("id", "posts_id", "item", "collection", "sort")),
        field("tags", "id", "integer"),
        field("tags", "name", "string"),
        field("people", "id", "uuid"),
        field("people", "name", "string"),
        field("people", "posts", "alias", "list-o2m", "o2m"),
        field("block_hero", "id", "uuid"),
        field("block_hero", "headline", "string"),
        field("block_quote", "id", "uuid"),
        field("block_quote", "text", "text"),
        field("languages", "code", "string"),
        field("languages", "name", "string"),
        field("globals", "id", "integer"),
        field("globals", "headline", "string"),
    ],
    "relations.json": [
        relation("posts", "cover", "directus_files"),
        relation("posts", "author", "people", one_field="posts"),
        relation("posts", "owner", "directus_users"),
        relation("posts_translations", "posts_id", "posts", one_field="translations", junction_field="languages_code"),
        relation("posts_translations", "languages_code", "languages", junction_field="posts_id"),
        relation("posts_tags", "posts_id", "posts", one_field="tags", junction_field="tags_id", sort_field="sort"),
        relation("posts_tags", "tags_id", "tags", junction_field="posts_id"),
        relation("posts_files", "posts_id", "posts", one_field="gallery", junction_field="directus_files_id"),
        relation("posts_files", "directus_files_id", "directus_files", junction_field="posts_id"),
        relation("posts_blocks", "posts_id", "posts", one_field="blocks", junction_field="item", sort_field="sort"),
        relation("posts_blocks", "item", None, junction_field="posts_id", one_collection_field="collection",
                 one_allowed_collections=["block_hero", "block_quote"]),
    ],
    "files.json": [
        {"id": CAT, "filename_disk": f"{CAT}.png", "filename_download": "cat.png", "title": "Cat", "type": "image/png",
         "width": 32, "height": 16, "filesize": "45"},
        {"id": MENU, "filename_disk": f"{MENU}.pdf", "filename_download": "menu.pdf", "type": "application/pdf"},
    ],
    f"assets/{CAT}.png": PNG,
    "content/posts.json": [
        {
            **{"id": 1, "status": "published", "sort": 1, "title": "Hello", "note": "two\nlines", "color": "red"},
            **{"date_created": "2025-01-01T00:00:00Z", "date_updated": "2025-03-01T00:00:00Z", "user_created": "u"},
            **{"published_at": "2025-02-01T00:00:00Z", "labels": ["a"], "data": {"x": 1}},
            **{"rating": "4.50000", "pinned": True},
            "body": f'<p style="x">Hi <img src="https://cms.example/assets/{CAT}?width=3"></p>',
            **{"links": [{"label": "A", "a b": 1}], "cover": CAT, "author": "p1", "owner": "u", "password": "x"},
            **{"tags": [1, 2], "gallery": [1], "blocks": [1], "translations": [1, 2]},
        },
        {"id": 2, "status": "review", "title": "Not yet"},
        {"id": 3, "status": "archived", "title": "Old"},
    ],
    "content/posts_translations.json": [
        {"id": 1, "posts_id": 1, "languages_code": "en-US", "title": "Hello!", "summary": "A **bold** word"},
        {"id": 2, "posts_id": 1, "languages_code": "fr-FR", "title": "Bonjour", "summary": None},
        {"id": 3, "posts_id": 2, "languages_code": "fr-FR", "title": None, "summary": ""},
        {"id": 4, "posts_id": 1, "languages_code": "xx", "title": "?"},
    ],
    "content/posts_tags.json": [
        {"id": 1, "posts_id": 1, "tags_id": 2, "sort": 2},
        {"id": 2, "posts_id": 1, "tags_id": {"id": 1}, "sort": 1},
    ],
    "content/posts_files.json": [{"id": 1, "posts_id": 1, "directus_files_id": CAT}],
    "content/posts_blocks.json": [
        {"id": 1, "posts_id": "1", "item": "q", "collection": "block_quote", "sort": 2},
        {"id": 2, "posts_id": "1", "item": "h", "collection": "block_hero", "sort": 1},
    ],
    "content/tags.json": [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}],
    "content/people.json": [{"id": "p1", "name": "Mika", "posts": [1]}],
    "content/block_hero.json": [{"id": "h", "headline": "Big"}],
    "content/block_quote.json": [{"id": "q", "text": "Good!"}],
    "content/languages.json": [{"code": "fr-FR", "name": "French"}, {"code": "en-US", "name": "English"}],
    "content/globals.json": {"id": 1, "headline": "Bread"},
}  # fmt: skip


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def test_every_kind_of_field_and_relation(cms: Cms, tmp_path: Path) -> None:
    made = imported("directus", write_files(tmp_path / "template/src", TEMPLATE).parent, tmp_path / "site")
    hello = answers(cms, made, "posts/1?depth=1")
    cat = {"url": f"/assets/{CAT}", "width": 32, "height": 16, "alt": "Cat"}
    assert (hello["createdAt"], hello["updatedAt"]) == ("2025-01-01T00:00:00.000Z", "2025-03-01T00:00:00.000Z")
    assert (hello["publishedAt"], hello["published_at"]) == ("2025-02-01T00:00:00.000Z",) * 2
    assert (hello["title"], hello["note"], hello["color"], hello["labels"]) == ("Hello!", "two\nlines", "red", ["a"])
    assert (hello["summary"], hello["data"]) == ("<p>A <strong>bold</strong> word</p>\n", {"x": 1})
    assert hello["body"] == f'<p>Hi <img src="https://cms.example/assets/{CAT}?width=3"></p>'
    assert (hello["rating"], hello["pinned"], hello["links"]) == (4.5, True, [{"label": "A", "a_b": 1}])
    assert (hello["cover"], hello["gallery"], hello["author"]["name"]) == (cat, [cat], "Mika")
    assert [one["name"] for one in hello["tags"]] == ["one", "two"]
    assert [(one["_api"], one["id"]) for one in hello["blocks"]] == [("block_hero", "h"), ("block_quote", "q")]
    assert answers(cms, made, "people/p1?depth=0&fields=posts")["posts"] == ["1"]
    assert answers(cms, made, "globals")["headline"] == "Bread"


def test_translations_states_and_losses(cms: Cms, tmp_path: Path) -> None:
    made = imported("directus", write_files(tmp_path / "template", TEMPLATE), tmp_path / "site")
    assert [name for name in made.files() if name.startswith("posts")] == [
        *("posts/1.fr-FR.yaml", "posts/1.yaml", "posts/2.yaml", "posts/3.yaml"),
    ]
    assert {path.name for path in (made.root / "apis").iterdir()} == {
        *("posts.yaml", "tags.yaml", "people.yaml", "block_hero.yaml", "block_quote.yaml", "globals.yaml"),
    }
    french = answers(cms, made, "posts/1?lang=fr-FR&fields=title,rating,summary")
    assert (french["title"], french["rating"]) == ("Bonjour", 4.5)
    assert "languages: [en-US, fr-FR]" in made.text("workspace.yaml")
    assert [one["id"] for one in answers(cms, made, "posts?fields=id")["contents"]] == ["1"]
    assert made.lost("the field 'user_created'").places == ["posts"]
    assert made.lost("the field 'password'").places == ["posts"]
    assert made.lost("directus_users").what == "the field 'owner'"
    assert made.lost("the language 'xx'").places == ["posts 1"]
    assert made.lost("the status 'review'").places == ["posts 2"]
    assert made.lost("the status 'archived'").count == 1
    assert made.lost("style of <p>").count == 2
    assert made.lost("relative to the server of Directus").count > 1


STATES = ("published", "draft", "archived", "review", None, "scheduled")


def states_template(field_of: dict[str, str], kind: str = "string") -> dict[str, Any]:
    """Two collections in two languages, with a row for each state in the field of each table that has one."""
    made: dict[str, Any] = {
        "collections.json": [collection("languages")],
        "fields.json": [field("languages", "code", "string")],
        "relations.json": [],
        "content/languages.json": [{"code": "en"}, {"code": "fr"}],
    }
    for name in ("posts", "pages"):
        table = f"{name}_translations"
        for one in (name, table):
            made["collections.json"].append(collection(one, archive_field=field_of.get(one)))
            made["fields.json"] += [field(one, "id", "integer"), field(one, "title", "string")]
            made["fields.json"] += [field(one, field_of[one], kind)] if one in field_of else []
        made["fields.json"] += [
            field(name, "date_created", "timestamp", None, "date-created"),
            field(name, "translations", "alias", "translations", "translations", defaultLanguage="en"),
            field(table, "posts_id", "integer"),
            field(table, "languages_code", "string"),
        ]
        made["relations.json"] += [
            relation(table, "posts_id", name, one_field="translations", junction_field="languages_code"),
            relation(table, "languages_code", "languages", junction_field="posts_id"),
        ]
        made[f"content/{name}.json"], made[f"content/{table}.json"] = [], []
    return made


def add_row(made: dict[str, Any], name: str, number: int, row: Any, **languages: Any) -> None:
    """Add a row, and its translations by language, each with the columns besides its title."""
    made[f"content/{name}.json"].append({"id": number, "date_created": "2025-01-01T00:00:00Z", "title": "T", **row})
    table = made[f"content/{name}_translations.json"]
    for code, columns in languages.items():
        table.append({"id": len(table) + 1, "posts_id": number, "languages_code": code, "title": code, **columns})


def published(made: Any) -> set[str]:
    """The content files that are no drafts."""
    return {name for name in made.files() if "status: draft" not in made.text(f"content/{name}")}


def test_many_states_in_two_collections_and_languages(cms: Cms, tmp_path: Path) -> None:
    template = states_template({"posts": "status", "pages": "state"})
    for name, column in (("posts", "status"), ("pages", "state")):
        for number, state in enumerate(STATES, 1):
            add_row(template, name, number, {column: state}, en={}, fr={})
    made = imported("directus", write_files(tmp_path / "template", template), tmp_path / "site")
    assert published(made) == {"posts/1.yaml", "posts/1.fr.yaml", "pages/1.yaml", "pages/1.fr.yaml"}
    assert len(made.files()) == 2 * 2 * len(STATES)
    told = {(loss.what, loss.places[0].partition(" ")[0]): (loss.count, loss.places) for loss in made.losses}
    for name in ("posts", "pages"):
        assert told.pop(("the status 'archived'", name)) == (1, [f"{name} 3"])
        assert told.pop(("the status 'review'", name)) == (1, [f"{name} 4"])
        assert told.pop(("a missing status", name)) == (1, [f"{name} 5"])
        assert told.pop(("the status 'scheduled'", name)) == (2, [f"{name} 6 en", f"{name} 6 fr"])
    assert told == {}
    assert [one["id"] for one in answers(cms, made, "posts?lang=fr&fields=id")["contents"]] == ["1"]


def test_a_state_of_each_language_and_the_rows_too(tmp_path: Path) -> None:
    template = states_template({"posts": "status", "posts_translations": "status", "pages_translations": "status"})
    live, draft = {"status": "published"}, {"status": "draft"}
    add_row(template, "posts", 1, live, en=live, fr=draft)
    add_row(template, "posts", 2, live, en={"status": "review"}, fr=live)
    add_row(template, "posts", 3, draft, en=live, fr=live)
    add_row(template, "posts", 4, live, en={"status": None}, fr={})
    add_row(template, "pages", 1, {}, en=live, fr=draft)
    add_row(template, "pages", 2, {}, fr=live)
    made = imported("directus", write_files(tmp_path / "template", template), tmp_path / "site")
    assert published(made) == {
        *("posts/1.yaml", "posts/2.fr.yaml", "posts/4.yaml", "posts/4.fr.yaml"),
        *("pages/1.yaml", "pages/2.fr.yaml"),
    }
    assert made.lost("the status 'review'").places == ["posts 2 en"]
    assert made.lost("a missing status").places == ["pages 2 en"]
    assert "status" not in made.text("apis/posts.yaml")


def test_archived_rows_of_a_field_that_is_true_or_false_are_not_published(tmp_path: Path) -> None:
    template = states_template({"posts": "archived"}, "boolean")
    for number, state in enumerate((False, True, None), 1):
        add_row(template, "posts", number, {"archived": state})
    made = imported("directus", write_files(tmp_path / "template", template), tmp_path / "site")
    assert published(made) == {"posts/1.yaml", "posts/3.yaml"}
    assert made.lost("an archived row ('archived')").places == ["posts 2"]


def test_rows_that_a_field_calls_published_or_not_without_a_status(tmp_path: Path) -> None:
    template = states_template({})
    template["fields.json"] += [field(name, "published", "boolean") for name in ("posts", "pages")]
    template["fields.json"].append(field("pages", "status", "string"))
    for number, state in enumerate((True, False, None), 1):
        add_row(template, "posts", number, {"published": state})
        add_row(template, "pages", number, {"published": state, "status": "published"})
    made = imported("directus", write_files(tmp_path / "template", template), tmp_path / "site")
    assert published(made) == {"posts/1.yaml", "pages/1.yaml", "pages/2.yaml", "pages/3.yaml"}
    assert made.lost("a row that is not published ('published')").places == ["posts 2", "posts 3"]
    assert "published" not in made.text("apis/posts.yaml")
    assert "id: published, type: boolean" in made.text("apis/pages.yaml")


def test_e_mail_addresses_are_left_out_and_told_and_empty_texts_stay(cms: Cms, tmp_path: Path) -> None:
    people = [{"id": "a", "name": "Mika", "email": "mika@private.example"}, {"id": "b", "name": "", "email": None}]
    files = {
        "collections.json": [collection("people"), collection("directus_users")],
        "fields.json": [field("people", name, "string") for name in ("id", "name", "email")],
        "relations.json": [],
        "content/people.json": people,
        "content/directus_users.json": [{"id": "u", "email": "admin@private.example"}],
    }
    made = imported("directus", write_files(tmp_path / "template", files), tmp_path / "site", warnings=None)
    assert [answers(cms, made, f"people/{one}?fields=name")["name"] for one in "ab"] == ["Mika", ""]
    assert made.lost("e-mail addresses").what == "the field 'email'"
    assert not [path for path in made.root.rglob("*.yaml") if "private.example" in path.read_text()]


def test_files_of_the_template_are_copied(cms: Cms, tmp_path: Path) -> None:
    made = imported("directus", write_files(tmp_path / "template", TEMPLATE), tmp_path / "site", assets="media")
    hello = answers(cms, made, "posts/1?fields=cover,gallery,body")
    assert hello["cover"]["url"].startswith("/assets/site/cat-")
    assert hello["gallery"] == [hello["cover"]]
    assert f'<img src="{hello["cover"]["url"]}"' in hello["body"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.json": {}}, "it has no collections.json and fields.json"),
        ({"collections.json": [], "fields.json": []}, "has no relations.json"),
        ({"collections.json": [], "fields.json": "[\n{]", "relations.json": []}, "fields.json:2: broken JSON"),
    ],
)
def test_what_is_no_template_says_so(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        imported("directus", write_files(tmp_path / "template", files), tmp_path / "site")

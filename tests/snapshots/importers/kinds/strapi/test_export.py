"""Exports of Strapi 5 and 4, small and made by hand in the documented form."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.losses import Unreadable
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import answers, imported, write_files

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\6\0\0\0"
ARTICLE, AUTHOR, HOME, SEO, QUOTE, FILE = (
    *("api::article.article", "api::author.author", "api::home.home"),
    *("shared.seo", "shared.quote", "plugin::upload.file"),
)


def relation(kind: str, target: str, **more: str) -> dict[str, str]:
    return {"type": "relation", "relation": kind, "target": target, **more}


def schemas(*, localized: bool = True) -> list[dict[str, Any]]:
    attributes = {
        "title": {"type": "string", "required": True},
        "slug": {"type": "uid"},
        "body": {"type": "blocks"},
        "text": {"type": "richtext"},
        "rating": {"type": "integer"},
        "big": {"type": "biginteger"},
        "on": {"type": "date"},
        "at": {"type": "time"},
        "pinned": {"type": "boolean"},
        "mood": {"type": "enumeration", "enum": ["good", "bad"]},
        "data": {"type": "json"},
        "secret": {"type": "password"},
        "inside": {"type": "string", "private": True},
        "cover": {"type": "media", "multiple": False, "allowedTypes": ["images"]},
        "files": {"type": "media", "multiple": True},
        "author": relation("manyToOne", AUTHOR, inversedBy="articles"),
        "related": relation("manyToMany", ARTICLE),
        "owner": relation("oneToOne", "plugin::users-permissions.user"),
        "seo": {"type": "component", "component": SEO},
        "quotes": {"type": "component", "component": QUOTE, "repeatable": True},
        "blocks": {"type": "dynamiczone", "components": [QUOTE, SEO]},
        "status": {"type": "string"},
        "createdAt": {"type": "datetime"},
        "localizations": relation("oneToMany", ARTICLE),
    }
    i18n = {"pluginOptions": {"i18n": {"localized": localized}}}
    return [
        {
            **{"uid": ARTICLE, "kind": "collectionType", "options": {"draftAndPublish": True}, **i18n},
            "info": {"singularName": "article", "pluralName": "articles", "displayName": "Article"},
            "attributes": attributes,
        },
        {
            **{"uid": AUTHOR, "kind": "collectionType", "options": {"draftAndPublish": False}},
            "info": {"singularName": "author", "pluralName": "authors", "displayName": "Author"},
            "attributes": {"name": {"type": "string"}, "articles": relation("oneToMany", ARTICLE, mappedBy="author")},
        },
        {
            **{"uid": HOME, "kind": "singleType", "options": {"draftAndPublish": False}},
            "info": {"singularName": "home", "pluralName": "homes", "displayName": "Home"},
            "attributes": {"headline": {"type": "string"}},
        },
        {
            "uid": SEO,
            "modelType": "component",
            "info": {"displayName": "SEO"},
            "attributes": {"title": {"type": "string"}, "image": {"type": "media", "allowedTypes": ["images"]}},
        },
        {
            "uid": QUOTE,
            "modelType": "component",
            "info": {"displayName": "Quote"},
            "attributes": {"text": {"type": "text", "required": True}, "by": relation("oneToOne", AUTHOR)},
        },
        {"uid": FILE, "attributes": {}},
    ]


def row(kind: str, number: int, **data: Any) -> dict[str, Any]:
    dates = {"createdAt": "2025-01-01T00:00:00.000Z", "updatedAt": "2025-03-01T00:00:00.000Z"}
    return {"type": kind, "id": number, "data": {**dates, **data}}


def link(kind: str, ref: int, field: str, target: str, other: int, **more: Any) -> dict[str, Any]:
    left = {"type": kind, "ref": ref, "field": field, "pos": more.pop("pos", None)}
    return {"kind": "relation.basic", "left": left, "right": {"type": target, "ref": other, **more}}


def media(file: int, kind: str, ref: int, field: str, place: int = 1) -> dict[str, Any]:
    right = {"type": kind, "ref": ref, "field": field, "pos": place}
    return {"kind": "relation.morph", "left": {"type": FILE, "ref": file, "field": "related"}, "right": right}


def words(text: str, **marks: bool) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, **marks}]


BLOCKS = [
    {"type": "heading", "level": 2, "children": [{"type": "text", "text": "A <b>plan</b>"}]},
    {"type": "paragraph", "children": [
        *words("one", bold=True), {"type": "link", "url": "https://a.example", "children": words("x")}]},
    {"type": "list", "format": "ordered", "children": [{"type": "list-item", "children": words("item")}]},
    {"type": "quote", "children": [{"type": "text", "text": "said"}]},
    {"type": "code", "language": "js", "children": [{"type": "text", "text": "a < b"}]},
    {"type": "image", "image": {"url": "/uploads/cat_1.png", "alternativeText": "Cat"}, "children": words("")},
    {"type": "chart", "children": []},
]  # fmt: skip
HELLO: dict[str, Any] = {
    **{
        "documentId": "doc1",
        "locale": "en",
        "title": "Hello",
        "slug": "hello",
        "body": BLOCKS,
        "text": "A **bold** word",
    },
    **{"rating": 5, "big": "9007199254740993", "on": "2025-06-01", "at": "10:00:00", "pinned": False, "mood": "good"},
    **{"data": {"a": [1]}, "secret": "hash", "inside": "x", "status": "mine"},
    "seo": {"id": 7, "title": "SEO"},
    "quotes": [{"id": 1, "text": "One"}, {"id": 2, "text": "Two"}],
    "blocks": [{"__component": QUOTE, "id": 3, "text": "Three"}, {"__component": SEO, "id": 8, "title": "Four"}],
}
PUBLISHED = {"publishedAt": "2025-02-01T00:00:00.000Z"}
CAT = {"name": "cat.png", "alternativeText": "A cat", "width": 32, "height": 16, "hash": "cat_1", "ext": ".png",
       "mime": "image/png", "size": 1.5, "url": "/uploads/cat_1.png"}  # fmt: skip
MENU = {
    **CAT,
    "name": "menu.pdf",
    "hash": "menu_2",
    "ext": ".pdf",
    "mime": "application/pdf",
    "url": "/uploads/menu_2.pdf",
}
V5: dict[str, Any] = {
    "metadata.json": {"strapi": {"version": "5.0.0"}},
    "schemas/schemas_00001.jsonl": schemas(),
    "entities/entities_00001.jsonl": [
        row(ARTICLE, 1, **HELLO, publishedAt=None),
        row(ARTICLE, 2, **HELLO, **PUBLISHED),
        row(ARTICLE, 3, documentId="doc1", locale="de", title="Hallo", **PUBLISHED),
        row(ARTICLE, 4, documentId="doc2", locale="en", title="Changed", publishedAt=None),
        row(ARTICLE, 5, documentId="doc2", locale="en", title="Second", **PUBLISHED),
        row(ARTICLE, 6, documentId="doc3", locale="en", title="New", publishedAt=None),
        row(AUTHOR, 1, documentId="mika", name="Mika"),
        row(HOME, 1, documentId="home1", headline="Bread", **PUBLISHED),
        row(FILE, 1, **CAT),
        row(FILE, 2, **MENU),
        row("plugin::i18n.locale", 1, code="en"),
        row("plugin::i18n.locale", 2, code="de"),
        row("api::gone.gone", 1),
        row("plugin::menus.menu", 1),
    ],
    "links/links_00001.jsonl": [
        *(link(ARTICLE, number, "author", AUTHOR, 1) for number in (1, 2)),
        *(link(ARTICLE, number, "related", ARTICLE, other, pos=place)
          for number, other, place in [(1, 4, 2), (2, 5, 2), (1, 3, 1), (2, 3, 1), (2, 99, 3)]),
        link(QUOTE, 2, "by", AUTHOR, 1),
        *(media(1, ARTICLE, number, "cover") for number in (1, 2)),
        *(media(2, ARTICLE, number, "files") for number in (1, 2)),
        media(1, SEO, 7, "image"),
        media(1, SEO, 8, "image"),
    ],
    "configuration/configuration_00001.jsonl": [
        {"type": "core-store", "value": {"key": "plugin_i18n_default_locale", "value": '"en"', "type": "string"}}
    ],
    "assets/uploads/cat_1.png": PNG,
}  # fmt: skip


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def archived(root: Path, files: dict[str, Any]) -> Path:
    """The export as the archive that Strapi writes."""
    folder = write_files(root / "files", files)
    with tarfile.open(root / "export.tar.gz", "w:gz") as archive:
        for name in files:
            data = (folder / name).read_bytes()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return root / "export.tar.gz"


def test_every_kind_of_attribute_of_version_5(cms: Cms, tmp_path: Path) -> None:
    made = imported("strapi", archived(tmp_path, V5), tmp_path / "site")
    cat = {"url": "/uploads/cat_1.png", "width": 32, "height": 16, "alt": "A cat"}
    hello = answers(
        cms, made, "articles/doc1?depth=1&fields=title,slug,body,text,rating,big,on,at,pinned,mood,data,status"
    )
    assert hello == {
        **{
            "id": "doc1",
            "title": "Hello",
            "slug": "hello",
            "text": "<p>A <strong>bold</strong> word</p>\n",
            "rating": 5,
        },
        **{"big": "9007199254740993", "on": "2025-06-01T00:00:00.000Z", "at": "10:00:00", "pinned": False},
        **{"mood": "good", "data": {"a": [1]}, "status": "mine"},
        "body": (
            '<h2>A &lt;b&gt;plan&lt;/b&gt;</h2><p><strong>one</strong><a href="https://a.example">x</a></p>'
            "<ol><li>item</li></ol><blockquote>said</blockquote>"
            '<pre><code class="language-js">a &lt; b</code></pre>'
            '<figure><img src="/uploads/cat_1.png" alt="Cat"></figure>'
        ),
    }
    more = answers(cms, made, "articles/doc1?depth=1&fields=cover,files,author,related,seo,quotes,blocks")
    assert (more["cover"], more["files"]) == (cat, [{"file": {"url": "/uploads/menu_2.pdf", "fileSize": 1500}}])
    assert (more["author"]["name"], [one["id"] for one in more["related"]]) == ("Mika", ["doc1", "doc2"])
    assert more["seo"] == {"title": "SEO", "image": cat}
    assert [(one["text"], one["by"] and one["by"]["name"]) for one in more["quotes"]] == [
        ("One", None),
        ("Two", "Mika"),
    ]
    assert [one["fieldId"] for one in more["blocks"]] == ["shared_quote", "shared_seo"]
    assert more["blocks"][1]["image"] == cat
    assert [one["id"] for one in answers(cms, made, "authors/mika")["articles"]] == ["doc1"]
    assert answers(cms, made, "home")["headline"] == "Bread"


def test_drafts_locales_and_losses(cms: Cms, tmp_path: Path) -> None:
    made = imported("strapi", archived(tmp_path, V5), tmp_path / "site")
    assert made.files() == [
        *("articles/doc1.de.yaml", "articles/doc1.yaml", "articles/doc2.draft.yaml", "articles/doc2.yaml"),
        *("articles/doc3.yaml", "authors/mika.yaml", "home/home.yaml"),
    ]
    assert {one["id"] for one in answers(cms, made, "articles?fields=id")["contents"]} == {"doc1", "doc2"}
    assert answers(cms, made, "articles/doc1?lang=de&fields=title")["title"] == "Hallo"
    assert "languages: [en, de]" in made.text("workspace.yaml")
    assert made.lost("passwords").places == ["articles"]
    assert made.lost("it is private").places == ["articles"]
    assert made.lost("plugin::users-permissions.user").what == "the attribute 'owner'"
    assert made.lost("'chart'").count == 2
    assert made.lost("an alternative text").count > 0
    assert made.lost("an entry of plugin::menus.menu").places == ["plugin::menus.menu 1"]
    assert made.lost("does not have its schema").places == ["api::gone.gone 1"]
    assert made.lost("does not have the entry").places == [f"{ARTICLE} 2"]
    assert made.lost("relative to the server of Strapi").count > 1


def test_uploads_in_the_export_are_copied(cms: Cms, tmp_path: Path) -> None:
    made = imported("strapi", archived(tmp_path, V5), tmp_path / "site", assets="media/strapi")
    hello = answers(cms, made, "articles/doc1?fields=cover,body")
    assert hello["cover"]["url"].startswith("/assets/site/cat-")
    assert '<img src="/assets/site/cat-' in hello["body"]
    assert made.lost("a copy of menu.pdf").count > 1


def test_markdown_stays_markdown_where_a_type_has_one_such_text(cms: Cms, tmp_path: Path) -> None:
    plain = {
        "uid": ARTICLE,
        "options": {},
        "info": {"pluralName": "articles"},
        "attributes": {"text": {"type": "richtext"}},
    }
    files = {
        "schemas/schemas_00001.jsonl": [plain],
        "entities/entities_00001.jsonl": [
            row(ARTICLE, 1, documentId="a", text="A **bold** word\n\n![x](/uploads/x.png)"),
            row(ARTICLE, 2, documentId="b", text="![x](x.png) <script>y</script>"),
        ],
    }
    made = imported("strapi", write_files(tmp_path / "export", files), tmp_path / "site")
    assert made.files() == ["articles/a.md", "articles/b.yaml"]
    assert made.text("content/articles/a.md").endswith("---\nA **bold** word\n\n![x](/uploads/x.png)\n")
    assert answers(cms, made, "articles/b?fields=text")["text"] == '<p><img src="/x.png" alt="x" loading="lazy"> </p>\n'
    assert made.lost("the address x.png").places == ["articles/b: text"]


def test_locales_of_version_4_are_linked_rows(cms: Cms, tmp_path: Path) -> None:
    files = {
        "schemas/schemas_00001.jsonl": schemas(),
        "entities/entities_00001.jsonl": [
            row(ARTICLE, 12, locale="en", title="Hello", **PUBLISHED),
            row(ARTICLE, 7, locale="de", title="Hallo", **PUBLISHED),
            row(ARTICLE, 30, locale="fr", title="Bonjour", publishedAt=None),
            row(ARTICLE, 31, locale="en", title="Other", **PUBLISHED),
            row(AUTHOR, 1, name="Mika"),
        ],
        "links/links_00001.jsonl": [
            link(ARTICLE, 12, "localizations", ARTICLE, 7),
            link(ARTICLE, 7, "localizations", ARTICLE, 12),
            link(ARTICLE, 12, "localizations", ARTICLE, 30),
            link(ARTICLE, 31, "related", ARTICLE, 12),
        ],
        "configuration/c.jsonl": [
            {"type": "core-store", "value": {"key": "plugin_i18n_default_locale", "value": '"de"'}}
        ],
    }
    made = imported("strapi", write_files(tmp_path / "export", files), tmp_path / "site")
    assert made.files() == [
        "articles/31.en.yaml",
        "articles/7.en.yaml",
        "articles/7.fr.yaml",
        "articles/7.yaml",
        "authors/1.yaml",
    ]
    assert answers(cms, made, "articles/7?lang=en&fields=title")["title"] == "Hello"
    assert answers(cms, made, "articles/31?lang=en&fields=related&depth=0")["related"] == ["7"]
    assert "status: draft" in made.text("content/articles/7.fr.yaml")


def author_export(attributes: dict[str, Any], *rows: dict[str, Any]) -> dict[str, Any]:
    """An export of authors with these attributes beside their names."""
    author = {**schemas()[1], "attributes": {"name": {"type": "string"}, **attributes}}
    return {"schemas/schemas_1.jsonl": [author], "entities/entities_1.jsonl": list(rows), "links/links_1.jsonl": []}


def test_an_empty_text_stays_what_strapi_answers(cms: Cms, tmp_path: Path) -> None:
    """The API of Strapi answers an empty text where one was saved, and null where none was."""
    attributes = {"bio": {"type": "text"}, "note": {"type": "richtext"}, "mood": schemas()[0]["attributes"]["mood"]}
    first = row(AUTHOR, 1, documentId="mika", name="Mika", bio="", note="", mood="")
    second = row(AUTHOR, 2, documentId="ken", name="Ken", bio=None)
    made = imported(
        "strapi", write_files(tmp_path / "export", author_export(attributes, first, second)), tmp_path / "site"
    )
    mika, ken = (answers(cms, made, f"authors/{one}?fields=bio,note,mood") for one in ("mika", "ken"))
    assert mika == {"id": "mika", "bio": "", "note": "", "mood": None}
    assert ken == {"id": "ken", "bio": None, "note": None, "mood": None}


def test_e_mail_addresses_are_left_out_and_told(cms: Cms, tmp_path: Path) -> None:
    mika = row(AUTHOR, 1, documentId="mika", name="Mika", contact="mika@private.example")
    export = author_export({"contact": {"type": "email", "required": True}}, mika)
    made = imported("strapi", write_files(tmp_path / "export", export), tmp_path / "site")
    assert answers(cms, made, "authors/mika")["name"] == "Mika"
    assert made.lost("e-mail addresses").what == "the attribute 'contact'"
    assert not [path for path in made.root.rglob("*.yaml") if "private.example" in path.read_text()]


def test_a_published_entry_that_says_that_it_may_not_be_for_everybody_is_left_out(cms: Cms, tmp_path: Path) -> None:
    """``noindex`` too: until a person says what it means here, it is not public."""
    rows = [
        row(AUTHOR, 1, documentId="mika", name="Mika", noindex=True),
        row(AUTHOR, 2, documentId="ken", name="Ken", noindex=False),
        row(AUTHOR, 3, documentId="rei", name="Rei"),
    ]
    export = write_files(tmp_path / "export", author_export({"noindex": {"type": "boolean"}}, *rows))
    made = imported("strapi", export, tmp_path / "site", warnings=None)
    assert {one["id"] for one in answers(cms, made, "authors?fields=id")["contents"]} == {"ken", "rei"}
    found = made.lost("may mean that it is not for everybody")
    assert (found.count, found.places) == (1, ["authors/mika"])
    assert "hidden: [noindex]" in made.text("apis/authors.yaml")


def test_components_in_components_have_an_end(tmp_path: Path) -> None:
    loop = {
        "uid": "a.b",
        "attributes": {"inner": {"type": "component", "component": "a.b", "repeatable": True}, "x": {"type": "string"}},
    }
    value: dict[str, Any] = {"x": "deepest"}
    for _ in range(9):
        value = {"x": "y", "inner": [value]}
    top = {
        "uid": ARTICLE,
        "options": {},
        "info": {"pluralName": "articles"},
        "attributes": {"one": {"type": "component", "component": "a.b"}},
    }
    files = {
        "schemas/schemas_00001.jsonl": [top, loop],
        "entities/entities_00001.jsonl": [row(ARTICLE, 1, documentId="a", one=value)],
    }
    made = imported("strapi", write_files(tmp_path / "export", files), tmp_path / "site")
    assert "deepest" in made.text("content/articles/a.yaml")


def test_what_is_no_export_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz.enc").write_bytes(b"x")
    with pytest.raises(Unreadable, match=r"is encrypted\. Export with `strapi export --no-encrypt`"):
        imported("strapi", tmp_path / "a.tar.gz.enc", tmp_path / "site")
    with pytest.raises(Unreadable, match="it has no folder 'schemas'"):
        imported("strapi", archived(tmp_path, {"metadata.json": {}}), tmp_path / "site")
    broken = {"schemas/schemas_00001.jsonl": json.dumps(schemas()[0]) + "\n{\n"}
    with pytest.raises(Unreadable, match=r"schemas_00001\.jsonl:2: broken JSON"):
        imported("strapi", write_files(tmp_path / "broken", broken), tmp_path / "site")

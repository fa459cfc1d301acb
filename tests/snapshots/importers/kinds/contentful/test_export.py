"""Exports of Contentful, small and made by hand in the documented form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.kinds.contentful.rich_text import rich_text_html
from snapshots.importers.losses import Unreadable
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import answers, imported, write_files

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\6\0\0\0"


def link(kind: str, wanted: str) -> dict[str, Any]:
    return {"sys": {"type": "Link", "linkType": kind, "id": wanted}}


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    plain = {"id": name, "name": name.title(), "type": kind, "localized": False, "required": False, "validations": []}
    return {**plain, **more}


def entry(wanted: str, kind: str, fields: dict[str, Any], **sys: Any) -> dict[str, Any]:
    plain = {
        "id": wanted,
        "type": "Entry",
        "createdAt": "2025-01-01T00:00:00.000Z",
        "updatedAt": "2025-03-01T00:00:00.000Z",
        "firstPublishedAt": "2025-02-01T00:00:00.000Z",
        "publishedVersion": 4,
        "version": 5,
        "contentType": link("ContentType", kind),
    }
    return {"metadata": {"tags": []}, "sys": {**plain, **sys}, "fields": fields}


def asset(wanted: str, name: str, kind: str, title: str) -> dict[str, Any]:
    url = f"//images.ctfassets.net/space/{wanted}/token/{name}"
    details: dict[str, Any] = {"size": 99} | (
        {"image": {"width": 32, "height": 16}} if kind.startswith("image/") else {}
    )
    file = {"url": url, "details": details, "fileName": name, "contentType": kind}
    return {"sys": {"id": wanted, "type": "Asset"}, "fields": {"title": {"en-US": title}, "file": {"en-US": file}}}


def node(kind: str, *content: Any, **data: Any) -> dict[str, Any]:
    return {"nodeType": kind, "content": list(content), "data": data}


def words(value: str, *marks: str) -> dict[str, Any]:
    return {"nodeType": "text", "value": value, "marks": [{"type": mark} for mark in marks], "data": {}}


RICH = node(
    "document",
    node("heading-2", words("A <b>bold</b> plan")),
    node(
        "paragraph",
        words("one ", "bold"),
        words("two", "italic", "code"),
        node("hyperlink", words("x"), uri="https://a.example/?a=1&b=2"),
    ),
    node("unordered-list", node("list-item", node("paragraph", words("item")))),
    node("embedded-asset-block", target=link("Asset", "cat")),
    node("embedded-entry-block", target=link("Entry", "mika")),
    node(
        "paragraph",
        node("entry-hyperlink", words("Mika"), target=link("Entry", "mika")),
        node("asset-hyperlink", words("PDF"), target=link("Asset", "menu")),
    ),
    node("hr"),
    node("hyperlink", words("bad"), uri="javascript:alert(1)"),
)
EXPORT: dict[str, Any] = {
    "contentTypes": [
        {
            "sys": {"id": "post"},
            "name": "Post",
            "fields": [
                field("title", "Symbol", localized=True, required=True),
                field("body", "RichText", localized=True),
                field("text", "Text"),
                field("mark", "Text"),
                field("rating", "Integer"),
                field("on", "Date"),
                field("pinned", "Boolean"),
                field("place", "Location"),
                field("color", "Symbol", validations=[{"in": ["red", "blue"]}]),
                field("tags", "Array", items={"type": "Symbol"}),
                field("author", "Link", linkType="Entry", validations=[{"linkContentType": ["person"]}]),
                field("related", "Array", items={"type": "Link", "linkType": "Entry", "validations": []}),
                field("cover", "Link", linkType="Asset"),
                field(
                    "gallery",
                    "Array",
                    items={"type": "Link", "linkType": "Asset", "validations": [{"linkMimetypeGroup": ["image"]}]},
                ),
                field("files", "Array", items={"type": "Link", "linkType": "Asset"}),
                field("hidden", "Symbol", omitted=True),
            ],
        },
        {"sys": {"id": "person"}, "name": "Person", "fields": [field("name", "Symbol")]},
    ],
    "editorInterfaces": [
        {"sys": {"contentType": link("ContentType", "post")}, "controls": [{"fieldId": "mark", "widgetId": "markdown"}]}
    ],
    "locales": [
        {"code": "en-US", "default": True, "fallbackCode": None},
        {"code": "de", "default": False, "fallbackCode": "en-US"},
        {"code": "ja", "default": False, "fallbackCode": None},
    ],
    "assets": [asset("cat", "cat.png", "image/png", 'A "cat"'), asset("menu", "menu.pdf", "application/pdf", "Menu")],
    "entries": [
        entry(
            "5KsDBWseXY6QegucYAoacS",
            "post",
            {
                "title": {"en-US": "Hello", "de": "Hallo", "ja": "こんにちは"},
                "body": {"en-US": RICH, "de": node("document", node("paragraph", words("Kurz")))},
                "text": {"en-US": "plain <i>text</i>"},
                "mark": {"en-US": "A **bold** word"},
                "rating": {"en-US": 5},
                "on": {"en-US": "2025-06-01T10:00+02:00"},
                "pinned": {"en-US": False},
                "place": {"en-US": {"lat": 1.5, "lon": 2}},
                "color": {"en-US": "red"},
                "tags": {"en-US": ["a", "b"]},
                "author": {"en-US": link("Entry", "mika")},
                "related": {"en-US": [link("Entry", "mika"), link("Entry", "draft"), link("Entry", "gone")]},
                "cover": {"en-US": link("Asset", "cat")},
                "gallery": {"en-US": [link("Asset", "cat"), link("Asset", "none")]},
                "files": {"en-US": [link("Asset", "menu")]},
                "hidden": {"en-US": "x"},
            },
        ),
        entry("mika", "person", {"name": {"en-US": "Mika"}}),
        entry("draft", "post", {"title": {"en-US": "New"}}, publishedVersion=None),
        entry("changed", "post", {"title": {"en-US": "Half done"}}, version=9),
        entry("gone", "post", {"title": {"en-US": "Old"}}, archivedVersion=3),
        entry("odd", "none", {}),
    ],
}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def test_every_kind_of_field(cms: Cms, tmp_path: Path) -> None:
    source = write_files(tmp_path / "export", {"space.json": EXPORT}) / "space.json"
    made = imported("contentful", source, tmp_path / "site", warnings=3)
    hello = answers(cms, made, "post/5KsDBWseXY6QegucYAoacS?depth=1")
    cat = {"url": "https://images.ctfassets.net/space/cat/token/cat.png", "width": 32, "height": 16, "alt": 'A "cat"'}
    assert (hello["createdAt"], hello["publishedAt"]) == ("2025-01-01T00:00:00.000Z", "2025-02-01T00:00:00.000Z")
    assert hello["body"] == (
        "<h2>A &lt;b&gt;bold&lt;/b&gt; plan</h2>"
        '<p><strong>one </strong><code><em>two</em></code><a href="https://a.example/?a=1&amp;b=2">x</a></p>'
        "<ul><li><p>item</p></li></ul>"
        f'<figure><img src="{cat["url"]}" alt="A &quot;cat&quot;"></figure>'
        '<p>Mika<a href="https://images.ctfassets.net/space/menu/token/menu.pdf">PDF</a></p><hr><a>bad</a>'
    )
    assert [one["name"] for one in hello["bodyEntries"]] == ["Mika", "Mika"]
    assert (hello["text"], hello["mark"]) == ("plain <i>text</i>", "<p>A <strong>bold</strong> word</p>\n")
    assert (hello["rating"], hello["on"], hello["pinned"]) == (5, "2025-06-01T08:00:00.000Z", False)
    assert (hello["place"], hello["color"], hello["tags"]) == ({"lat": 1.5, "lon": 2}, "red", ["a", "b"])
    assert (hello["author"]["name"], [one["id"] for one in hello["related"]]) == ("Mika", ["mika"])
    assert (hello["cover"], hello["gallery"]) == (cat, [cat])
    assert hello["files"] == [
        {"file": {"url": "https://images.ctfassets.net/space/menu/token/menu.pdf", "fileSize": 99}, "title": "Menu"}
    ]
    assert "hidden" not in hello


def test_locales_become_versions_with_their_fallbacks(cms: Cms, tmp_path: Path) -> None:
    source = write_files(tmp_path / "export", {"space.json": EXPORT}) / "space.json"
    made = imported("contentful", source, tmp_path / "site", warnings=3)
    german = answers(cms, made, "post/5KsDBWseXY6QegucYAoacS?lang=de&fields=title,body,rating")
    assert (german["title"], german["body"], german["rating"]) == ("Hallo", "<p>Kurz</p>", 5)
    japanese = answers(cms, made, "post/5KsDBWseXY6QegucYAoacS?lang=ja&fields=title,body,rating")
    assert (japanese["title"], japanese["body"], japanese["rating"]) == ("こんにちは", None, 5)


def test_states_and_losses(cms: Cms, tmp_path: Path) -> None:
    source = write_files(tmp_path / "export", {"space.json": EXPORT}) / "space.json"
    made = imported("contentful", source, tmp_path / "site", warnings=3)
    assert len(answers(cms, made, "post?fields=id")["contents"]) == 1
    assert "status: draft" in made.text("content/post/changed.yaml")
    assert "status: draft" in made.text("content/post/draft.yaml")
    assert made.lost("has its changes only").places == ["entry changed"]
    assert made.lost("archived").places == ["entry gone"]
    assert made.lost("does not have its content type").places == ["entry odd"]
    assert made.lost("an entry inside a rich text").count == 1
    assert made.lost("a link to an entry").count == 1
    assert made.lost("the field 'hidden'").places == ["post"]
    assert made.lost("a picture or file:").count == 3


def test_assets_beside_the_export_are_copied(cms: Cms, tmp_path: Path) -> None:
    files = {"space.json": EXPORT, "images.ctfassets.net/space/cat/token/cat.png": PNG}
    source = write_files(tmp_path / "export", files) / "space.json"
    made = imported("contentful", source, tmp_path / "site", assets="media", warnings=3)
    [copy] = (path.name for path in (made.root / "media").iterdir())
    assert f"../../media/{copy}" in made.text("content/post/5KsDBWseXY6QegucYAoacS.yaml")
    hello = answers(cms, made, "post/5KsDBWseXY6QegucYAoacS")
    assert hello["cover"]["url"].startswith("/assets/site/cat-")
    assert '<img src="/assets/site/cat-' in hello["body"]
    assert made.lost("a copy of menu.pdf").why == "the export does not contain the file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "space.json: not an export of Contentful"),
        ('{"entries": [\n{"sys": {}},\n{"sys": ]}', "space.json:3: broken JSON"),
        ('{"entries": [{}]', "space.json:1: broken JSON: a comma or } is expected"),
        ('{"entries": []} x', "something follows the end"),
        ("", "an object or an array is expected"),
        ('{"entries": ["' + "9" * 5000 + '", ' + "9" * 5000 + "]}", "broken JSON: Exceeds the limit"),
    ],
)
def test_what_is_no_export_says_so(tmp_path: Path, text: str, message: str) -> None:
    source = write_files(tmp_path / "export", {"space.json": text}) / "space.json"
    with pytest.raises(Unreadable, match=message):
        imported("contentful", source, tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_cells_of_tables_keep_their_spans() -> None:
    cell = {"nodeType": "table-cell", "data": {"colspan": 2, "rowspan": "x"}, "content": []}
    assert rich_text_html(cell, lambda _: None, lambda *_: None) == '<td colspan="2"></td>'

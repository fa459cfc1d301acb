"""Datasets of Sanity, small and made by hand in the documented form."""

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


def document(wanted: str, kind: str, **values: Any) -> dict[str, Any]:
    dates = {"_createdAt": "2025-01-01T00:00:00Z", "_updatedAt": "2025-03-01T00:00:00Z", "_rev": "x"}
    return {"_id": wanted, "_type": kind, **dates, **values}


def ref(wanted: str) -> dict[str, Any]:
    return {"_type": "reference", "_ref": wanted}


def block(*children: Any, style: str = "normal", **more: Any) -> dict[str, Any]:
    spans = [{"_type": "span", "text": one, "marks": []} if isinstance(one, str) else one for one in children]
    return {"_type": "block", "style": style, "markDefs": [], "children": spans, **more}


def span(text: str, *marks: str) -> dict[str, Any]:
    return {"_type": "span", "text": text, "marks": list(marks)}


IMAGE = {"_type": "image", "_sanityAsset": "image@file://./images/abc-32x16.png", "alt": "A cat", "hotspot": {"x": 0.5}}
RICH = [
    block("A <b>plan</b>", style="h2"),
    block(span("one ", "strong"), span("two", "em", "l1"), markDefs=[{"_key": "l1", "_type": "link", "href": "https://a.example"}]),
    block("1", listItem="bullet", level=1),
    block("1.1", listItem="number", level=2),
    block("2", listItem="bullet", level=1),
    block("a", listItem="number", level=1),
    {**IMAGE, "caption": "The cat"},
    {"_type": "code", "language": "js", "code": "a < b"},
    {"_type": "youtube", "url": "https://youtu.be/dQw4w9WgXcQ"},
    {"_type": "callout", "text": "Mind"},
    block(span("inside", "r1"), style="fancy",
          markDefs=[{"_key": "r1", "_type": "internalLink", "reference": ref("mika")}]),
]  # fmt: skip
POST = document(
    "post.one",
    "post",
    title="Hello",
    slug={"_type": "slug", "current": "hello"},
    publishedAt="2025-02-01T00:00:00Z",
    body=RICH,
    summary="two\nlines",
    rating=4.5,
    pinned=True,
    on="2025-06-01",
    tags=["a", "b"],
    author=ref("mika"),
    related=[{**ref("two"), "_key": "k"}, {**ref("mika"), "_key": "l"}],
    cover=IMAGE,
    gallery=[IMAGE],
    place={"_type": "geopoint", "lat": 1.5, "lng": 2},
    seo={"_type": "seo", "title": "SEO", "image": IMAGE},
    sections=[
        {"_type": "hero", "_key": "1", "heading": "Big", "cta": {"label": "Go", "to": ref("two")}},
        {"_type": "quote", "_key": "2", "text": "Good!"},
    ],
    rows=[{"_key": "1", "label": "a", "value": 1}, {"_key": "2", "label": "b"}],
    views=3,
    mixed=["a", 1],
    pdf={"_type": "file", "_sanityAsset": "file@file://./files/menu.pdf"},
)
DATA = [
    POST,
    document("two", "post", title="Second"),
    document("drafts.two", "post", title="Second, changed"),
    document("drafts.post.one", "post", **{key: value for key, value in POST.items() if not key.startswith("_")}),
    document("drafts.new", "post", title="New"),
    document("mika", "person", name="Mika"),
    document("versions.r1.two", "post", title="Release"),
    document("image-abc-32x16-png", "sanity.imageAsset", url="https://cdn.sanity.io/images/p/d/abc-32x16.png"),
]


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def archived(root: Path, data: list[dict[str, Any]]) -> Path:
    """The dataset as the archive that Sanity writes."""
    files = {
        "data.ndjson": "".join(f"{json.dumps(one)}\n" for one in data).encode(),
        "images/abc-32x16.png": PNG,
        "assets.json": b"{}",
    }
    with tarfile.open(root / "production.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"production-export-2025-06-01/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return root / "production.tar.gz"


def test_every_kind_of_value(cms: Cms, tmp_path: Path) -> None:
    made = imported("sanity", archived(tmp_path, DATA), tmp_path / "site", assets="media")
    [entry] = [one["id"] for one in answers(cms, made, "post?fields=id&filters=slug[equals]hello")["contents"]]
    assert entry.startswith("post-one-")
    hello = answers(cms, made, f"post/{entry}?depth=1")
    cat = hello["cover"]
    assert (cat["url"].startswith("/assets/site/abc-32x16-"), cat["alt"], cat["width"]) == (True, "A cat", 32)
    assert (hello["title"], hello["slug"], hello["summary"], hello["rating"], hello["pinned"]) == (
        *("Hello", "hello", "two\nlines", 4.5, True),
    )
    assert (hello["publishedAt"], hello["on"]) == ("2025-02-01T00:00:00.000Z", "2025-06-01T00:00:00.000Z")
    assert (hello["tags"], hello["author"]["name"], hello["gallery"]) == (["a", "b"], "Mika", [cat])
    assert [(one["_api"], one["id"]) for one in hello["related"]] == [("post", "two"), ("person", "mika")]
    assert hello["place"] == {"_type": "geopoint", "lat": 1.5, "lng": 2}
    assert (hello["seo"], hello["rows"]) == (
        *({"title": "SEO", "image": cat}, [{"label": "a", "value": 1}, {"label": "b", "value": None}]),
    )
    hero, quote = hello["sections"]
    assert (hero["fieldId"], hero["heading"], hero["cta"]["to"]["id"]) == ("hero", "Big", "two")
    assert quote == {"fieldId": "quote", "text": "Good!"}
    assert (hello["views_value"], hello["mixed"]) == (3, ["a", 1])
    assert hello["body"] == (
        "<h2>A &lt;b&gt;plan&lt;/b&gt;</h2>"
        '<p><strong>one </strong><em><a href="https://a.example">two</a></em></p>'
        "<ul><li>1<ol><li>1.1</li></ol></li><li>2</li></ul><ol><li>a</li></ol>"
        f'<figure><img src="{cat["url"]}" alt="A cat" width="32" height="16" loading="lazy">'
        "<figcaption>The cat</figcaption></figure>"
        '<pre><code class="language-js">a &lt; b</code></pre>'
        '<iframe src="https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ" allowfullscreen=""></iframe><p>inside</p>'
    )


def test_drafts_and_losses(cms: Cms, tmp_path: Path) -> None:
    made = imported("sanity", archived(tmp_path, DATA), tmp_path / "site")
    files = [name for name in made.files() if "post-one" not in name]
    assert files == ["person/mika.yaml", "post/new.yaml", "post/two.draft.yaml", "post/two.yaml"]
    assert not any("post-one" in name and "draft" in name for name in made.files()), "the draft changes nothing"
    assert "status: draft" in made.text("content/post/new.yaml")
    assert made.lost("a block 'callout'").count == 2
    assert made.lost("the style 'fancy'").count == 2
    assert made.lost("a link to an entry").count == 2
    assert made.lost("a version of a release").places == ["data.ndjson:7"]
    assert made.lost("--assets copies it").count > 1
    assert made.lost("hotspot").count > 1
    assert made.lost("field ID views").count == 1


def test_raw_exports_say_the_addresses_of_assets(cms: Cms, tmp_path: Path) -> None:
    image = {"_type": "image", "asset": ref("image-abc-32x16-png")}
    data = [DATA[-1], document("a", "post", cover=image)]
    made = imported(
        "sanity",
        write_files(tmp_path, {"data.ndjson": "\n".join(map(json.dumps, data))}) / "data.ndjson",
        tmp_path / "site",
    )
    assert answers(cms, made, "post/a")["cover"]["url"] == "https://cdn.sanity.io/images/p/d/abc-32x16.png"


def test_translated_documents_are_languages_of_one_entry(cms: Cms, tmp_path: Path) -> None:
    data = [
        document("en1", "post", title="Hello", language="en"),
        document("ja1", "post", title="こんにちは", language="ja"),
        document("en2", "post", title="Second", language="en", related=ref("ja1")),
        document("m1", "translation.metadata",
                 translations=[{"_key": "ja", "value": ref("ja1")}, {"_key": "en", "value": ref("en1")}]),
        document("m2", "translation.metadata", translations=[{"_key": "en", "value": ref("en2")}]),
    ]  # fmt: skip
    made = imported(
        "sanity", write_files(tmp_path / "x", {"data.ndjson": "\n".join(map(json.dumps, data))}), tmp_path / "site"
    )
    assert made.files() == ["post/en1.ja.yaml", "post/en1.yaml", "post/en2.yaml"]
    assert answers(cms, made, "post/en1?lang=ja&fields=title")["title"] == "こんにちは"
    assert answers(cms, made, "post/en2?fields=related&depth=0")["related"] == "en1"
    assert "language" not in made.text("apis/post.yaml")


def test_languages_inside_of_fields_become_versions(cms: Cms, tmp_path: Path) -> None:
    data = [
        document(
            "a",
            "post",
            title={"_type": "localeString", "en": "Hello", "de": "Hallo"},
            text=[{"_key": "en", "_type": "internationalizedArrayTextValue", "value": "Yes"}],
            rating=1,
        )
    ]
    made = imported(
        "sanity", write_files(tmp_path / "x", {"data.ndjson": "\n".join(map(json.dumps, data))}), tmp_path / "site"
    )
    german = answers(cms, made, "post/a?lang=de")
    assert (german["title"], german["text"], german["rating"]) == ("Hallo", "Yes", 1)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.json": "{}"}, "it has no data.ndjson"),
        ({"data.ndjson": ""}, "not a dataset of Sanity"),
        ({"data.ndjson": '{"_id": "a", "_type": "b"}\n{"_id": \n'}, "data.ndjson:2: broken JSON"),
        ({"data.ndjson": "[]\n"}, "data.ndjson:1: one object a line is expected"),
    ],
)
def test_what_is_no_export_says_so(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        imported("sanity", write_files(tmp_path / "x", files), tmp_path / "site")


def test_the_alternative_text_of_an_asset_is_used_where_a_picture_has_none(cms: Cms, tmp_path: Path) -> None:
    raw = {"_type": "image", "asset": ref("image-abc-32x16-png")}
    data = [{**DATA[-1], "altText": "A dog"}, document("a", "post", cover=raw, second={**raw, "alt": "Mine"})]
    made = imported(
        "sanity", write_files(tmp_path / "x", {"data.ndjson": "\n".join(map(json.dumps, data))}), tmp_path / "site"
    )
    found = answers(cms, made, "post/a")
    assert (found["cover"]["alt"], found["second"]["alt"]) == ("A dog", "Mine")
    plain = {"_type": "image", "_sanityAsset": IMAGE["_sanityAsset"]}
    files = {
        "data.ndjson": json.dumps(document("a", "post", cover=plain)),
        "assets.json": {"image-abc": {"altText": "A cat"}},
        "images/abc-32x16.png": PNG,
    }
    made = imported("sanity", write_files(tmp_path / "y", files), tmp_path / "other", assets="media")
    assert answers(cms, made, "post/a")["cover"]["alt"] == "A cat"


def test_documents_that_nothing_joins_keep_their_own_language(cms: Cms, tmp_path: Path) -> None:
    data = [
        document("a", "post", title="Hello", language="en"),
        document("b", "post", title="Hallo", language="de"),
        document("c", "post", title="One", __i18n_lang="en"),
        document("c__i18n_de", "post", title="Eins", __i18n_lang="de"),
        document("i18n.c.fr", "post", title="Un", __i18n_lang="fr"),
        document("d", "post", title="Talk", language="English"),
        document("e", "post", title="Odd", __i18n_lang="?"),
    ]
    made = imported(
        "sanity", write_files(tmp_path / "x", {"data.ndjson": "\n".join(map(json.dumps, data))}), tmp_path / "site"
    )
    assert made.files() == [
        *("post/a.yaml", "post/b.de.yaml", "post/c.de.yaml", "post/c.fr.yaml", "post/c.yaml", "post/d.yaml"),
        "post/e.yaml",
    ]
    assert answers(cms, made, "post/b?lang=de&fields=title")["title"] == "Hallo"
    assert answers(cms, made, "post/d?fields=language")["language"] == "English"
    assert "language: en" not in made.text("content/post/a.yaml")
    assert made.lost("the language 'English'").places == ["document d"]
    assert made.lost("the language '?'").places == ["document e"]

"""Exports of Ghost, small and made by hand in the form of its database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.losses import Unreadable
from tests.programs.command_line import Cms, in_process
from tests.sites.imported import answers, imported, write_files

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\6\0\0\0"
OVEN = "__GHOST_URL__/content/images/2024/01/oven.png"
HTML = (
    '<p>Ask <a href="__GHOST_URL__/about/">us</a>.</p>'
    f'<figure class="kg-card kg-image-card kg-width-wide"><img src="{OVEN}" class="kg-image" alt="Oven"></figure>'
    '<figure class="kg-card kg-embed-card"><iframe src="https://www.youtube.com/embed/x" width="2"></iframe></figure>'
)


def post(number: int, slug: str, **more: Any) -> dict[str, Any]:
    plain = {
        "id": f"p{number}",
        "title": slug.title(),
        "slug": slug,
        "html": f"<p>{slug}</p>",
        "mobiledoc": "{}",
        "featured": 0,
        "type": "post",
        "status": "published",
        "visibility": "public",
        "created_at": "2024-01-01T00:00:00.000Z",
        "updated_at": "2024-01-02T00:00:00.000Z",
        "published_at": "2024-01-03T00:00:00.000Z",
    }
    return {**plain, **more}


EXPORT: dict[str, Any] = {
    "db": [
        {
            "meta": {"exported_on": 1764000000000, "version": "5.82.0"},
            "data": {
                "posts": [
                    post(1, "hello", title="Hello & more", html=HTML, featured=1, feature_image=OVEN,
                         custom_excerpt="Short", canonical_url="https://a.example/", codeinjection_head="<script>"),
                    post(2, "members", visibility="paid"),
                    post(3, "about", type="page"),
                    post(4, "later", status="scheduled", published_at="2099-01-01T00:00:00.000Z"),
                    post(5, "letter", status="sent"),
                    post(6, "unsaved", status="draft", html=None, lexical="{}"),
                    post(7, "old", type=None, page=1, author_id="u2"),
                ],
                "posts_meta": [
                    {"post_id": "p1", "meta_title": "Meta", "feature_image_alt": "An oven",
                     "feature_image_caption": "<b>hot</b>", "og_title": "OG"}
                ],
                "tags": [
                    {"id": "t1", "name": "News", "slug": "news", "visibility": "public"},
                    {"id": "t2", "name": "パン", "slug": "pan", "description": "Bread"},
                    {"id": "t3", "name": "#secret", "slug": "hash-secret", "visibility": "internal"},
                ],
                "posts_tags": [
                    {"post_id": "p1", "tag_id": "t1", "sort_order": 1},
                    {"post_id": "p1", "tag_id": "t2", "sort_order": 0},
                    {"post_id": "p1", "tag_id": "t3", "sort_order": 2},
                ],
                "users": [
                    {"id": "u1", "name": "Mika", "slug": "mika", "email": "mika@private.example", "password": "$2a$10"},
                    {"id": "u2", "name": "Ken", "slug": "ken", "profile_image": "https://a.example/ken.jpg"},
                ],
                "posts_authors": [{"post_id": "p1", "author_id": "u1", "sort_order": 0}],
                "members": [{"email": "reader@private.example"}],
                "settings": [{"key": "title", "value": "Komugi"}, {"key": "locale", "value": "ja"}],
            },
        }
    ]
}  # fmt: skip


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def test_posts_pages_tags_and_authors(cms: Cms, tmp_path: Path) -> None:
    source = write_files(tmp_path, {"ghost.json": EXPORT}) / "ghost.json"
    made = imported("ghost", source, tmp_path / "site")
    hello = answers(cms, made, "posts/hello")
    assert {name: hello[name] for name in ("title", "slug", "excerpt", "featured", "metaTitle", "canonicalUrl")} == {
        "title": "Hello & more",
        "slug": "hello",
        "excerpt": "Short",
        "featured": True,
        "metaTitle": "Meta",
        "canonicalUrl": "https://a.example/",
    }
    path = OVEN.removeprefix("__GHOST_URL__")
    assert (hello["cover"]["url"], hello["cover"]["alt"], hello["caption"]) == (path, "An oven", "<b>hot</b>")
    for part in ('<a href="/about/">', 'class="kg-card kg-image-card kg-width-wide"', f'<img src="{path}"', "<iframe"):
        assert part in hello["body"]
    assert [tag["name"] for tag in hello["tags"]] == ["パン", "News"]
    assert [author["name"] for author in hello["authors"]] == ["Mika"]
    assert hello["publishedAt"] == "2024-01-03T00:00:00.000Z"
    assert [author["name"] for author in answers(cms, made, "pages/old")["authors"]] == ["Ken"]
    workspace = made.text("workspace.yaml")
    for part in ("name: Komugi", "languages: [ja]", "kg-width-wide", "www.youtube.com"):
        assert part in workspace


def test_only_what_is_for_everybody_is_published(cms: Cms, tmp_path: Path) -> None:
    made = imported("ghost", write_files(tmp_path, {"ghost.json": EXPORT}) / "ghost.json", tmp_path / "site")
    assert {one["id"] for one in answers(cms, made, "posts?fields=id")["contents"]} == {"hello"}
    assert {one["id"] for one in answers(cms, made, "pages?fields=id")["contents"]} == {"about", "old"}
    assert {one["id"] for one in answers(cms, made, "tags?fields=id")["contents"]} == {"news", "pan"}
    later = answers(cms, made, "posts?fields=id", "--at", "2099-01-01T00:00:00Z")
    assert {one["id"] for one in later["contents"]} == {"hello", "later"}
    assert not [path for path in made.root.rglob("*.yaml") if "private.example" in path.read_text(encoding="utf-8")]
    for lost, place in (
        ("for 'paid'", "posts members"),
        ("the status 'sent'", "posts letter"),
        ("the form of the editor alone", "posts unsaved"),
        ("an internal tag", "tag hash-secret"),
        ("an e-mail address", "author mika"),
        ("the table members", "ghost.json"),
        ("codeinjection_head", "posts hello"),
        ("og_title", "posts hello"),
    ):
        assert made.lost(lost).places == [place]


def test_images_beside_the_export_are_copied(cms: Cms, tmp_path: Path) -> None:
    files = {"backup/site.json": EXPORT["db"][0], "backup/content/images/2024/01/oven.png": PNG}
    write_files(tmp_path, files)
    made = imported("ghost", tmp_path / "backup", tmp_path / "site", assets="media")
    [copied] = (made.root / "media").iterdir()
    assert copied.read_bytes() == PNG
    hello = answers(cms, made, "posts/hello")
    assert (hello["cover"]["width"], hello["cover"]["height"]) == (32, 16)
    assert hello["body"].count("/assets/site/") == 1
    assert made.lost("addresses of the site itself").count == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"db": []}', "not an export of Ghost"),
        ("[1]", "not an export of Ghost"),
        ('{"data": {"posts": {}}}', "not an export of Ghost"),
        ('{"db": [\n}', "ghost.json:2: broken JSON"),
    ],
)
def test_what_is_no_export_says_so(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        imported("ghost", write_files(tmp_path / "a", {"ghost.json": text}) / "ghost.json", tmp_path / "site")

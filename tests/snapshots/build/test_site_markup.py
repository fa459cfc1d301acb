"""Content as site generators have it, built: settings for rich texts, and how far changes reach."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snapshots.build.build import build, check
from snapshots.problems import WorkspaceRefused
from snapshots.store.store import open_store
from tests.stores.data_files import stored_rows

NOW = 1_780_000_000_000
HEAD = "id: acme\nlanguages: [en, ja]\n"
PAGES = (
    "uid: api_Pages00000001\nendpoint: pages\nkind: list\nmultilingual: true\nfields: [{id: body, type: richtext}]\n"
)
FRONT = "---\ncreatedAt: 2026-01-02\n---\n"


class Site:
    """A workspace with one API of pages, whose builds go to one store."""

    def __init__(self, place: Path) -> None:
        self.root, self.store, self.now = place / "site", open_store(place / "store"), NOW
        self.write("workspace.yaml", HEAD)
        self.write("apis/pages.yaml", PAGES)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def page(self, name: str, body: str) -> None:
        self.write(f"content/pages/{name}.md", FRONT + body)

    def bodies(self, lang: str = "en") -> dict[str, Any]:
        """Build; return the delivered body of each page."""
        self.now += 1
        workspace = self.store.workspace(build(self.root, self.store, now=self.now).workspace)
        current = workspace.current()
        assert current is not None
        rows = stored_rows(workspace.path(current.version, f"{lang}/pages/all.parquet"))
        found = [(row["id"], row["json"]) for row in rows]
        return {entry_id: json.loads(body)["body"] for entry_id, body in found}

    def problems(self) -> list[str]:
        return [str(problem) for problem in check(self.root, self.store.cache).kept]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


FRAME = '<iframe src="https://www.video.example/1"></iframe>'


def test_what_the_workspace_allows_is_kept_and_the_rest_told_once_a_kind(site: Site) -> None:
    site.page("a", f'# A\n\n<p class="hero lead">x</p>\n\n{FRAME}\n')
    site.page("b", f"Text.\n\n{FRAME}\n\n{FRAME}\n")
    assert site.bodies()["b"] == "<p>Text.</p>\n\n\n"
    told = [
        'content/pages/a.md:6: warning: class "hero" is not delivered: '
        "name it under 'markdown: {classes: […]}' in workspace.yaml to keep it",
        'content/pages/a.md:6: warning: class "lead" is not delivered: '
        "name it under 'markdown: {classes: […]}' in workspace.yaml to keep it",
        "content/pages/a.md:8: warning: <iframe> is not delivered (3 times, first here): "
        "name the host under 'markdown: {iframe_hosts: […]}' in workspace.yaml to keep it",
    ]
    assert site.problems() == told
    assert site.problems() == told  # remembered
    site.write("workspace.yaml", HEAD + "markdown: {iframe_hosts: [www.video.example], classes: [lead]}\n")
    assert site.bodies()["a"] == (f'<h1 id="user-content-a">A</h1>\n<p class="lead">x</p>\n{FRAME}\n')
    assert site.bodies()["b"] == f"<p>Text.</p>\n{FRAME}\n{FRAME}\n"
    assert site.problems() == told[:1]
    site.write("workspace.yaml", HEAD)
    assert site.bodies()["b"] == "<p>Text.</p>\n\n\n"


def test_what_is_removed_is_told_at_its_own_line(site: Site) -> None:
    lines = ("[a](/x) hero style=1", "", '<p style="x">p</p>', "", '<a href="/y" STYLE="x">', "b</a>", "")
    site.page("a", "\n".join((*lines, "[c](hhttps://x.example/é)", "", '<b class="hero">d</b>')))
    assert [problem.partition(" is not")[0] for problem in site.problems()] == [
        "content/pages/a.md:6: warning: style of <p>",
        "content/pages/a.md:8: warning: style of <a>",
        "content/pages/a.md:11: warning: href of <a>",
        'content/pages/a.md:13: warning: class "hero"',
    ]


def test_an_error_in_markdown_is_at_its_line(site: Site) -> None:
    site.page("a", "Text.\n" + "> " * 50_000 + "a")
    with pytest.raises(WorkspaceRefused):
        site.bodies()
    assert [line[:34] for line in site.problems()] == ["content/pages/a.md:4: error: body:"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("markdown: [a]", "workspace.yaml:3: error: markdown: expected a mapping (key: value), got a list"),
        ("markdown: {iframe_hosts: a}", "workspace.yaml:3: error: markdown.iframe_hosts: expected a list, got 'a'"),
        (
            "markdown: {iframe_hosts: [https://a]}",
            "workspace.yaml:3: error: markdown.iframe_hosts.0: 'https://a' is not a domain: write the host alone, "
            "such as "
            "www.acme.example or *.acme.example",
        ),
        (
            "markdown:\n  classes: [a, b c]",
            "workspace.yaml:4: error: markdown.classes.1: 'b c' is not allowed: a class is one word, without quotes or "
            "brackets",
        ),
        (
            "shortcodes: {a: keep}",
            "workspace.yaml:3: error: shortcodes.a: expected leave, drop or {replace: a text}, got 'keep'",
        ),
        (
            "shortcodes:\n  a: {replac: b}",
            "workspace.yaml:4: error: shortcodes.a: expected leave, drop or {replace: a text}, got a mapping",
        ),
        ("shortcodes: [a]", "workspace.yaml:3: error: shortcodes: expected a mapping (key: value), got a list"),
        ("markdown: {clases: [a]}", "workspace.yaml:3: error: unknown key 'clases'; did you mean 'classes'?"),
    ],
)
def test_wrong_settings(site: Site, written: str, told: str) -> None:
    site.write("workspace.yaml", f"{HEAD}{written}\n")
    assert site.problems() == [told]


def test_shortcodes_are_replaced_and_others_told_at_their_line(site: Site) -> None:
    site.page("a", '{{< note text="Hi" >}}\n\n{{< ads >}}\n\n`{{< ads >}}`\n')
    assert site.problems() == [
        f"content/pages/a.md:{line}: warning: {{{{< {name} >}}}} stays in the text: under 'shortcodes' in "
        f"workspace.yaml, set what to do with '{name}' (leave, drop or replace)"
        for line, name in ((4, "note"), (6, "ads"))
    ]
    assert "{{&lt; ads &gt;}}" in site.bodies()["a"]
    said = "markdown: {classes: [note]}\nshortcodes:\n  note: {replace: '<p class=\"note\">{text}</p>'}\n  ads: drop\n"
    site.write("workspace.yaml", HEAD + said)
    assert site.problems() == []
    assert site.bodies()["a"] == '<p class="note">Hi</p>\n<p>``</p>\n'
    site.write("workspace.yaml", HEAD + said.replace("drop", "leave"))
    assert site.problems() == []
    assert site.bodies()["a"] == (
        '<p class="note">Hi</p>\n<p>{{&lt; ads &gt;}}</p>\n<p><code>{{&lt; ads &gt;}}</code></p>\n'
    )


def test_a_template_may_do_no_harm(site: Site) -> None:
    site.write("workspace.yaml", HEAD + "shortcodes: {x: {replace: '<script>1</script><b onclick=\"{0}\">{0}</b>'}}\n")
    site.page("a", '{{< x "\\"><script>2</script>" >}}\n')
    assert site.bodies()["a"] == '<b>"&gt;&lt;script&gt;2&lt;/script&gt;</b>\n'


def linking(site: Site, page_url: str = "/{lang}/pages/{id}/") -> None:
    site.write("apis/pages.yaml", PAGES + f"page_url: {page_url}\n")


def test_links_to_files_lead_to_pages(site: Site) -> None:
    linking(site)
    site.page(
        "deep/a", "[b](../b.md) [c](b.ja.md?x=1#part) [d](/en/pages/b#part) [e](c%2Dd.md) <a href='b.md'>f</a> [g](#h)"
    )
    site.page(
        "b", "[a](./deep/a.md) [x](https://site.example/b.md) [y](other.html) [z](/elsewhere/) [w](mailto:a@b.md)"
    )
    site.page("deep/c-d", "x")
    site.write("content/pages/deep/b.ja.md", FRONT + "x")
    assert site.problems() == []
    assert site.bodies()["a"] == (
        '<p><a href="/en/pages/b/">b</a> <a href="/ja/pages/b/?x=1#user-content-part">c</a> '
        '<a href="/en/pages/b#user-content-part">d</a> <a href="/en/pages/c-d/">e</a> <a href="/en/pages/b/">f</a> '
        '<a href="#h">g</a></p>\n'
    )
    assert site.bodies()["b"] == (
        '<p><a href="/en/pages/a/">a</a> <a href="https://site.example/b.md">x</a> <a href="other.html">y</a> '
        '<a href="/elsewhere/">z</a> <a href="mailto:a@b.md">w</a></p>\n'
    )


def test_links_that_lead_nowhere_are_told_at_their_line(site: Site) -> None:
    linking(site)
    site.page(
        "a", "[b](b.md)\n\n[c](/en/pages/c/)\n\n[d](../../../d.md)\n\n[e](../notes.md) [f](../../workspace.yaml)\n"
    )
    told = [
        "content/pages/a.md:4: warning: a link leads to 'b' in pages, and there is no such entry",
        "content/pages/a.md:6: warning: a link leads to 'c' in pages, and there is no such entry",
        "content/pages/a.md:8: warning: the link ../../../d.md leads out of the workspace: it is delivered as written",
        "content/pages/a.md:10: warning: the link ../../workspace.yaml leads to workspace.yaml, which does not belong "
        "to any API: it is delivered as written",
        "content/pages/a.md:10: warning: the link ../notes.md leads to content/notes.md, which does not belong to any "
        "API: it is delivered as written",
    ]
    assert site.problems() == told
    site.bodies()
    site.page("b", "x")  # another file only
    assert site.problems() == told[1:]
    (site.root / "content/pages/b.md").unlink()
    assert site.problems() == told


def test_a_change_of_the_pages_addresses_reaches_every_link(site: Site) -> None:
    site.page("a", "[b](b.md)")
    site.page("b", "x")
    assert site.bodies()["a"] == '<p><a href="b.md">b</a></p>\n'
    linking(site, "https://site.example/{id}")
    assert site.bodies()["a"] == '<p><a href="https://site.example/b">b</a></p>\n'
    other = (
        "uid: api_o\nendpoint: other\nkind: list\nid: 'o-{name}'\nsource: other/*.md\npage_url: /o/{id}\nfields: []\n"
    )
    site.write("apis/other.yaml", other)
    site.page("a", "[b](b.md) [o](../../other/o.md)")
    site.write("other/o.md", FRONT)
    assert site.bodies()["a"] == '<p><a href="https://site.example/b">b</a> <a href="/o/o-o">o</a></p>\n'
    site.write("apis/other.yaml", other.replace("o-{name}", "p-{name}"))
    assert site.bodies()["a"].endswith('<a href="/o/p-o">o</a></p>\n')


@pytest.mark.parametrize(
    ("page_url", "told"),
    [
        ("pages/{id}", "'pages/{id}' is neither an http or https address nor a path that begins with /"),
        ("//x/{id}", "'//x/{id}' is neither an http or https address nor a path that begins with /"),
        ("/{slug}/", "{slug} is not a placeholder here; use {id}, {lang}"),
        ("/{id/", "'/{id/' has a brace without its other half; write %7B or %7D for one that stands for itself"),
    ],
)
def test_wrong_addresses_of_pages(site: Site, page_url: str, told: str) -> None:
    linking(site, f'"{page_url}"')
    assert site.problems() == [f"apis/pages.yaml:6: error: page_url: {told}"]


def png(width: int, height: int) -> bytes:
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x06\0\0\0"


def assets(site: Site) -> dict[str, bytes]:
    """Return the assets in the store by name."""
    found = site.store.workspace("acme").assets
    return {path.name: path.read_bytes() for path in found.iterdir()} if found.exists() else {}


def test_files_beside_the_content_are_delivered_by_their_content(site: Site) -> None:
    site.write("content/pages/pictures/a b.PNG", png(30, 20))
    site.write("content/files/report.pdf", b"%PDF")
    site.page(
        "a",
        "![x](pictures/a%20b.PNG)\n\n<img src='pictures/a b.PNG?v=1' width='3'> [r](../files/report.pdf#page=2) "
        "[o](other.html) ![e](https://img.example/x.png) ![s](/x.png) ![n](plain)\n",
    )
    body = site.bodies()["a"]
    [picture, report] = sorted(assets(site))
    assert picture.startswith("a-b.")
    assert picture.endswith(".png")
    assert assets(site) == {picture: png(30, 20), report: b"%PDF"}
    assert body == (
        f'<p><img src="/assets/acme/{picture}" alt="x" width="30" height="20" loading="lazy"></p>\n'
        f'<p><img src="/assets/acme/{picture}?v=1" width="3" loading="lazy"> '
        f'<a href="/assets/acme/{report}#page=2">r</a> '
        '<a href="other.html">o</a> <img src="https://img.example/x.png" alt="e"> <img src="/x.png" alt="s"> '
        '<img src="plain" alt="n"></p>\n'
    )
    site.write("workspace.yaml", HEAD + "assets_url: https://cdn.example/a\n")
    assert f'src="https://cdn.example/a/{picture}"' in site.bodies()["a"]


def test_an_address_that_a_tag_makes_is_told_of_as_a_tag(site: Site) -> None:
    site.page("a", "![x]({{ site.url }}/no.png) [y]({{ base }}/no.pdf)")
    problems = site.problems()
    assert problems
    assert all(problem.startswith("content/pages/a.md:4: warning: ") for problem in problems)
    assert not any("no such file" in problem for problem in problems)


def test_missing_files_are_errors_at_their_line(site: Site) -> None:
    site.write("secret.png", png(1, 1))
    (site.root / "content/pages/.hidden").mkdir(parents=True)
    site.write("content/pages/.hidden/a.png", png(1, 1))
    (site.root / "content/pages/out.png").symlink_to(site.store.root.parent / "elsewhere.png")
    (site.store.root.parent / "elsewhere.png").write_bytes(png(1, 1))
    site.page("a", "![x](no.png)\n\n<video src='no.mp4'></video>\n\n[y](../../../secret.png)\n")
    site.page("b", "![x](.hidden/a.png)\n\n![y](out.png)")
    assert site.problems() == [
        "content/pages/a.md:4: error: no.png leads to content/pages/no.png, and there is no such file",
        "content/pages/a.md:6: error: no.mp4 leads to content/pages/no.mp4, and there is no such file",
        "content/pages/a.md:8: error: ../../../secret.png leads out of the workspace",
        "content/pages/b.md:4: error: .hidden/a.png leads to content/pages/.hidden/a.png, which is hidden: rename it",
        "content/pages/b.md:6: error: out.png leads to content/pages/out.png, which is a link that leads out of the "
        "workspace: copy here what it leads to",
    ]
    assert assets(site) == {}


def test_a_change_of_a_file_reaches_the_texts_that_name_it(site: Site) -> None:
    site.write("content/pages/x.png", png(3, 2))
    site.page("a", "![x](x.png)")
    site.page("b", "no picture")
    before = site.bodies()["a"]
    assert 'width="3" height="2"' in before
    for settled in (False, True):
        if settled:  # as files are that were there for a while
            for path in site.root.rglob("*"):
                os.utime(path, (1_700_000_000, 1_700_000_000))
            site.bodies()
            site.bodies()
        site.write("content/pages/x.png", png(30 + settled, 20))
        assert f'width="{30 + settled}" height="20"' in site.bodies()["a"]
        (site.root / "content/pages/x.png").unlink()
        assert [line[:34] for line in site.problems()] == ["content/pages/a.md:4: error: x.png"]
        site.write("content/pages/x.png", png(3, 2))
        assert site.problems() == []
        assert site.bodies()["a"] == before


def test_image_fields_name_files_too(site: Site) -> None:
    fields = "fields: [{id: body, type: image}]\n"
    site.write("apis/pages.yaml", PAGES.replace(PAGES[PAGES.index("fields:") :], fields))
    site.write("content/pages/x.svg", b'<svg viewBox="0 0 12.4 7" onload="alert(1)"/>')
    for name, value in {
        "a": "x.svg",
        "b": "{url: ./x.svg, width: 5, alt: X}",
        "c": "https://img.example/y.svg",
    }.items():
        site.write(f"content/pages/{name}.yaml", f"createdAt: 2026-01-02\nbody: {value}\n")
    found = site.bodies()
    [name] = assets(site)
    url = f"/assets/acme/{name}"
    assert found["a"] == {"url": url, "width": 12, "height": 7, "alt": None}
    assert found["b"] == {"url": url, "width": 5, "height": None, "alt": "X"}
    assert found["c"]["url"] == "https://img.example/y.svg"
    site.write("content/pages/a.yaml", "createdAt: 2026-01-02\nbody: y.svg\n")
    site.write("content/pages/c.yaml", "createdAt: 2026-01-02\nbody: {url: https://img.example/y.svg, alt: Y}\n")
    assert site.problems() == [
        'content/pages/a.yaml:2: error: body: "y.svg" leads to content/pages/y.svg, and there is no such file'
    ]


def test_an_image_with_the_name_of_another_format_has_its_size(site: Site) -> None:
    site.write("content/pages/x.jpg", png(30, 20))
    site.page("a", "![x](x.jpg)")
    assert 'width="30" height="20"' in site.bodies()["a"]
    assert site.problems() == []


def test_an_image_without_a_size_is_told_of_once(site: Site) -> None:
    told = (
        "cannot be told{}: save it again as PNG, JPEG, GIF, WebP, AVIF or SVG (an SVG needs a viewBox), or write them "
        "where it is named"
    )
    site.write("content/pages/x.png", b"RIFF")
    site.write("content/pages/y.svg", b"<svg width='100%'>")
    site.write("content/pages/z.mp4", b"x")
    site.page("a", "![x](x.png)\n\n![y](y.svg) ![z](z.mp4) [x](x.png) [b](b.md)")
    site.page("b", "<img src='x.png' width='3' alt='x'>\n\n![x](./x.png)")
    png_told, svg_told = told.format(" (2 times, first here)"), told.format("")
    assert site.problems() == [
        f"content/pages/a.md:4: warning: the width and height of content/pages/x.png {png_told}",
        f"content/pages/a.md:6: warning: the width and height of content/pages/y.svg {svg_told}",
    ]
    site.write("content/pages/x.png", png(30, 20))
    site.write("content/pages/y.svg", b"<svg viewBox='0 0 3 2'>")
    assert site.problems() == []


def test_an_image_field_without_a_size_is_told_of_too(site: Site) -> None:
    fields = "fields: [{id: body, type: groups, fields: [{id: cover, type: image}, {id: more, type: images}]}]\n"
    site.write("apis/pages.yaml", PAGES.replace(PAGES[PAGES.index("fields:") :], fields))
    site.write("content/pages/x.png", b"RIFF")
    written = (
        "createdAt: 2026-01-02\nbody:\n  - cover: {url: x.png, width: 5, alt: x}\n  - cover: {url: x.png, alt: ''}\n"
    )
    site.write("content/pages/a.yaml", written)
    assert [line.partition(" cannot")[0] for line in site.problems()] == [
        "content/pages/a.yaml:4: warning: the width and height of content/pages/x.png",
    ]


def test_pruning_drops_assets_that_no_version_names(site: Site) -> None:
    site.write("content/pages/x.png", png(3, 2))
    site.page("a", "![x](x.png)")
    site.bodies()
    [old] = assets(site)
    for number in range(3):
        site.write("content/pages/x.png", png(3, 3 + number))
        site.bodies()
    workspace = site.store.workspace("acme")
    assert len(assets(site)) == 4
    workspace.prune(2)
    assert len(assets(site)) == 4  # they have just come
    for path in workspace.assets.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    workspace.prune(2)
    assert len(assets(site)) == 2
    assert old not in assets(site)
    site.write("content/pages/x.png", png(3, 2))
    assert old in site.bodies()["a"]
    assert old in assets(site)


def test_an_address_may_have_its_parts_anywhere_and_twice(site: Site) -> None:
    linking(site, '"https://{lang}.site.example/{id}/x.{id}?lang={lang}"')
    site.page("a", "[b](b.md?y=1#x) [c](/b/x.b/) [d](/b/x.c) [e](/c/x.c)")
    site.page("b", "x")
    assert site.problems() == [
        "content/pages/a.md:4: warning: a link leads to 'c' in pages, and there is no such entry"
    ]
    assert site.bodies()["a"].startswith(
        '<p><a href="https://en.site.example/b/x.b?lang=en&amp;y=1#user-content-x">b</a>'
    )


def test_mdx_is_known_by_its_name(site: Site) -> None:
    site.write("workspace.yaml", HEAD + "shortcodes: {import: drop, expression: drop}\n")
    text = FRONT + "import A from 'a'\n\nTwo: {1 + 1}.\n"
    for name in ("a.mdx", "b.md"):
        site.write(f"content/pages/{name}", text)
    assert site.bodies() == {"a": "<p>Two: .</p>\n", "b": "<p>import A from 'a'</p>\n<p>Two: {1 + 1}.</p>\n"}


def test_what_is_wrong_with_a_rich_text_in_a_group_is_told_at_its_own_line(site: Site) -> None:
    site.write(
        "apis/pages.yaml",
        "uid: api_Pages00000001\nendpoint: pages\nkind: list\npage_url: /p/{id}\nfields:\n"
        "  - {id: one, type: group, fields: [{id: text, type: richtext}]}\n"
        "  - {id: many, type: groups, fields: [{id: deep, type: group, fields: [{id: text, type: richtext}]}]}\n",
    )
    lines = (
        *("createdAt: 2026-01-02", "one:", "  text: <form>x</form>", "many:", "  - deep:", "      text: fine"),
        *("  - deep:", "      text: <img src='none.png' alt=''>", "  - deep:", "      text: <a href='/p/nobody'>x</a>"),
    )
    site.write("content/pages/a.yaml", "\n".join(lines))
    assert site.problems() == [
        "content/pages/a.yaml:3: warning: <form> is not delivered",
        "content/pages/a.yaml:8: error: none.png leads to content/pages/none.png, and there is no such file",
        "content/pages/a.yaml:10: warning: a link leads to 'nobody' in pages, and there is no such entry",
    ]


def test_addresses_begin_with_the_servers_where_a_build_knows_it(site: Site) -> None:
    site.page("a", "![x](x.png)")
    site.write("content/pages/x.png", png(3, 2))
    addresses = ("https://a.example", "https://a.example", "http://localhost:1/content", None)
    for at, public_url in enumerate(addresses, NOW):
        version = build(site.root, site.store, now=at, public_url=public_url).version
        workspace = site.store.workspace("acme")
        [row] = [row["json"] for row in stored_rows(workspace.path(version, "en/pages/all.parquet"))]
        assert f'src=\\"{public_url or ""}/assets/acme/x.' in row
        assert workspace.manifest(version).assets_url == f"{public_url or ''}/assets/acme/"
    assert len(workspace.versions()) == 3


def test_a_check_after_a_build_for_an_address_compiles_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.page("a", "![x](x.png)")
    site.write("content/pages/x.png", png(3, 2))
    for path in site.root.rglob("*.*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    build(site.root, site.store, now=NOW, public_url="https://a.example")

    def compiled(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("snapshots.build.pieces.PieceCompiler.compile", compiled)
    assert site.problems() == []


def test_a_site_that_has_its_own_assets_keeps_their_addresses(site: Site) -> None:
    site.write("workspace.yaml", f"{HEAD}assets: false\n")
    site.page("a", "![x](none.png) [y](menu.pdf)")
    assert site.problems() == []
    assert site.bodies()["a"] == '<p><img src="none.png" alt="x"> <a href="menu.pdf">y</a></p>\n'
    assert not site.store.workspace("acme").assets.exists()
    site.write("workspace.yaml", HEAD)
    assert len(site.problems()) == 2


def picture(width: int, height: int, kind: str = "JPEG", **options: Any) -> bytes:
    opened = io.BytesIO()
    Image.new("RGB", (width, height), "orange").save(opened, kind, **options)
    return opened.getvalue()


def positioned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x010F] = "the camera"
    exif.get_ifd(0x8825).update({1: "N", 2: (35.0, 1.0, 2.0), 3: "E", 4: (135.0, 1.0, 2.0)})
    return exif


def test_images_without_a_text_are_told_of_once(site: Site) -> None:
    fields = "fields: [{id: body, type: richtext}, {id: cover, type: image}, {id: more, type: images}]\n"
    site.write("apis/pages.yaml", PAGES.replace(PAGES[PAGES.index("fields:") :], fields))
    site.write("content/pages/x.png", png(3, 2))
    front = "---\ncreatedAt: 2026-01-02\n"
    site.write("content/pages/a.md", f"{front}cover: x.png\nmore: [{{url: x.png, alt: ''}}, x.png]\n---\n![x](x.png)\n")
    site.write("content/pages/b.md", f"{front}---\nx\n\n![](x.png) <img src='https://img.example/y.png'> ![x](x.png)")
    site.write("content/pages/c.md", f"{front}cover: {{url: x.png, alt: X}}\n---\n<img src='x.png' alt=''>\n")
    assert site.problems() == [
        "content/pages/a.md:3: warning: an image has no text for those who cannot see it (2 times, first here): write "
        'one as its alt, or alt: "" for one that only decorates',
        "content/pages/b.md:6: warning: an image has no text for those who cannot see it (2 times, first here): write "
        'one, as in ![Embers](oven.jpg), or <img src="oven.jpg" alt=""> for one that only decorates',
    ]


def test_images_that_are_large_or_say_where_they_were_taken_are_told_of(site: Site) -> None:
    site.write("content/pages/huge.png", png(10_000, 6_000))
    site.write("content/pages/heavy.jpg", picture(30, 20) + bytes(20_000_000))
    site.write("content/pages/here.jpg", picture(30, 20, exif=positioned()))
    site.write("content/pages/film.mp4", bytes(21_000_000))
    site.page("a", "![a](huge.png) ![b](heavy.jpg) ![c](here.jpg) ![d](here.jpg) [film](film.mp4)")
    large = (
        "is larger than 20 MB or 50 megapixels: save a smaller one. Above 50 megapixels, no other sizes of it are made"
    )
    assert site.problems() == [
        f"content/pages/a.md:4: warning: content/pages/heavy.jpg {large}",
        "content/pages/a.md:4: warning: content/pages/here.jpg says where it was taken, and is published with that (2 "
        "times, first here): save it without, or write 'assets: {strip: true}' in workspace.yaml, which leaves this "
        "off JPEG, PNG and WebP files",
        f"content/pages/a.md:4: warning: content/pages/huge.png {large}",
    ]


def test_metadata_is_left_off_where_the_workspace_says_so(site: Site) -> None:
    for name, kind in {"a.jpg": "JPEG", "b.png": "PNG", "c.webp": "WEBP"}.items():
        site.write(f"content/pages/{name}", picture(30, 20, kind, exif=positioned()))
    site.write("content/pages/d.pdf", b"%PDF")
    site.page("a", "![a](a.jpg) ![b](b.png) ![c](c.webp) [d](d.pdf)")
    assert len([problem for problem in site.problems() if "says where it was taken" in problem]) == 3
    site.bodies()
    before = assets(site)
    site.write("workspace.yaml", HEAD + "assets: {strip: true}\n")
    assert site.problems() == []
    body = site.bodies()["a"]
    stripped = {name: data for name, data in assets(site).items() if name in body}
    assert len(stripped) == 4
    assert len(stripped.keys() & before.keys()) == 1  # the PDF
    for name, data in stripped.items():
        if not name.endswith(".pdf"):
            assert dict(Image.open(io.BytesIO(data)).getexif()) == {}
            assert 'width="30" height="20"' in body


def test_what_keeps_its_metadata_is_warned_of_though_the_workspace_leaves_it_off(site: Site) -> None:
    site.write("workspace.yaml", HEAD + "assets: {strip: true}\n")
    kept = {"a.avif": picture(30, 20, "AVIF", exif=positioned()), "b.gif": located_gif()}
    for name, data in kept.items():
        site.write(f"content/pages/{name}", data)
    site.page("a", "![a](a.avif) ![b](b.gif)")
    assert site.problems() == [
        f"content/pages/a.md:4: warning: content/pages/{name} says where it was taken, and is published with that: "
        "save it without, or as JPEG, PNG or WebP, which 'assets: {strip: true}' in workspace.yaml leaves this off"
        for name in kept
    ]
    site.bodies()
    assert sorted(assets(site).values()) == sorted(kept.values())


def located_gif() -> bytes:
    """A picture with a position in XMP, the only place that a GIF has for one."""
    xmp = b'<x:xmpmeta><rdf:Description exif:GPSLatitude="35,40N"/></x:xmpmeta>'
    return picture(30, 20, "GIF", comment=xmp)


def test_browsers_can_choose_among_the_widths_that_the_workspace_names(site: Site) -> None:
    site.write("workspace.yaml", HEAD + "images: {widths: [640, 1280, 1900, 9000]}\n")
    for name, width in {"large": 4000, "middle": 1000, "small": 640, "least": 20}.items():
        site.write(f"content/pages/{name}.jpg", picture(width, 10))
    site.write("content/pages/drawn.svg", b'<svg viewBox="0 0 4000 10"/>')
    names = (
        "large.jpg",
        "middle.jpg",
        "small.jpg",
        "least.jpg",
        "drawn.svg",
        "large.jpg#x",
        "https://img.example/x.jpg",
    )
    site.page("a", "\n\n".join(f"![x]({name})" for name in names))
    offered = re.findall(r'<img src="([^"]*)"[^>]*?(?: srcset="([^"]*)" sizes="([^"]*)")?>', site.bodies()["a"])
    large, middle = offered[0][0], offered[1][0]
    assert [srcset for _, srcset, _ in offered] == [
        f"{large}?w=640 640w, {large}?w=1920 1920w, {large}?w=3840 3840w",
        f"{middle}?w=640 640w, {middle}?w=1920 1000w",
        *("", "", "", "", ""),
    ]
    assert offered[0][2] == "auto, 100vw"
    site.write("workspace.yaml", HEAD + "images: {widths: [640, 1280]}\nassets_sizes: false\n")
    assert "srcset" not in site.bodies()["a"]


def test_images_are_fetched_when_they_come_into_view_unless_a_text_says_otherwise(site: Site) -> None:
    site.write("content/pages/x.png", png(3, 2))
    site.page("a", "<img src='x.png' alt='x' loading='eager'> <img src='x.png' alt='x' loading='now'> ![x](/x.png)")
    assert re.findall(r' loading="[a-z]*"', site.bodies()["a"]) == [' loading="eager"', ' loading="lazy"']

"""The page of one language version: what it says as people read it, at any instant, in a real ``cms dev``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.programs.accessibility import violations
from tests.programs.command_line import entry, write_workspace
from tests.server.dev.session import Session, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="3" height="2"/>'
NOTES = """\
uid: api_Notes0000001
name: Notes
endpoint: notes
kind: list
multilingual: true
preview_url: https://site.example/{lang}/preview?id={id}&draftKey={draftKey}
fields:
  - {id: title, name: Title, type: text}
  - {id: lead, name: Lead, type: textarea}
  - {id: body, name: Body, type: richtext}
  - {id: price, name: Price, type: number}
  - {id: opens, name: Opens, type: datetime}
  - {id: free, name: Free, type: boolean}
  - {id: kind, name: Kind, type: single_select}
  - {id: tags, name: Tags, type: multiple_select}
  - {id: author, name: Author, type: reference, api: authors}
  - {id: related, name: Related, type: references, api: blog}
  - {id: loose, name: Loose, type: reference}
  - {id: cover, name: Cover, type: image}
  - {id: unsafe, name: Unsafe, type: image}
  - id: address
    name: Address
    type: group
    fields: [{id: street, name: Street, type: text}, {id: town, name: Town, type: text}]
  - id: steps
    name: Steps
    type: groups
    fields: [{id: what, name: What, type: text}, {id: sheet, name: Sheet, type: file}]
"""
NOTE = """\
---
title: "<b>Bold</b> & plain"
lead: "first\\nsecond <i>"
createdAt: 2026-01-01
publishedAt: 2026-02-01T12:00:00Z
status: scheduled
publishStart: 2126-01-01T00:00:00Z
publishEnd: 2127-01-01T00:00:00Z
price: 5.50
opens: 2026-11-01 09:30
free: false
kind: news
tags: [a, <b>]
author: mika
related: [one, two, gone]
loose: anything
cover: {url: /cover.jpg, width: 800, height: 600, alt: A "cat"}
unsafe: {url: "javascript:alert(1)"}
address: {street: 1 High St, town: York}
steps:
  - {what: Mix, sheet: {url: "https://site.example/mix.pdf", fileSize: 48210}}
  - {what: Bake}
---
Some **rich** text, [a link](/about) and "quotes".

<script>document.title = "broken"</script>
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    directory = tmp_path_factory.mktemp("dev")
    root = write_workspace(directory / "site")
    (root / "apis/notes.yaml").write_text(NOTES, encoding="utf-8")
    (root / "content/notes").mkdir()
    (root / "content/notes/n.md").write_text(NOTE, encoding="utf-8")
    (root / "content/notes/n.de.md").write_text("---\ntitle: Deutsch\ncreatedAt: 2026-01-01\n---\n", encoding="utf-8")
    draft = "---\ntitle: Later\ncreatedAt: 2026-01-01\ncover: x.svg\n---\nNew. ![x](x.svg)\n"
    (root / "content/notes/n.draft.md").write_text(draft, encoding="utf-8")
    (root / "content/notes/x.svg").write_text(SVG, encoding="utf-8")
    with running(root, directory / "output") as started:
        yield started


def values(page: LexborHTMLParser) -> dict[str, str]:
    """Field ID → the HTML of its value."""
    names = [name.css_first("code").text() for name in page.css("section > .fields > dt")]
    return dict(zip(names, [value.html or "" for value in page.css("section > .fields > dd")], strict=True))


def test_every_value_is_shown_as_people_read_it(session: Session) -> None:
    page = session.page("/_dev/entry?api=notes&id=n&lang=en")
    assert page.css_first("h1").text() == "<b>Bold</b> & plain"
    shown = values(page)
    plain = {name: " ".join(LexborHTMLParser(html).text().split()) for name, html in shown.items()}
    assert plain["lead"] == "first second <i>"
    assert (plain["price"], plain["free"], plain["kind"], plain["tags"]) == ("5.5", "no", "news", "a <b>")
    assert plain["opens"] == "2026-11-01 09:30"  # in the workspace's time zone, which is Asia/Tokyo
    assert 'datetime="2026-11-01T00:30:00.000Z"' in shown["opens"]
    assert plain["author"] == "Mika mika"
    related = [item.text().strip() for item in LexborHTMLParser(shown["related"]).css("li")]
    assert related == ["One one", "Two two scheduled", "gone not there"]
    assert plain["loose"] == "anything"
    facts = {one.css_first("dt").text(): one.css_first("dd").text() for one in page.css(".facts div")}
    assert (facts["State"], facts["Live from"], facts["Published"]) == (
        "scheduled",
        "2126-01-01 09:00",
        "2026-02-01 21:00",
    )
    links = [link.attributes["href"] for link in LexborHTMLParser(shown["author"] + shown["related"]).css("a")]
    for link, title in zip(links, ("Mika", "One", "Two"), strict=True):
        assert link is not None
        assert session.page(link).css_first("h1").text() == title


def test_groups_are_lists_inside_their_field(session: Session) -> None:
    shown = values(session.page("/_dev/entry?api=notes&id=n&lang=en"))
    inside = [" ".join(name.text().split()) for name in LexborHTMLParser(shown["address"]).css("dl dt, dl dd")]
    assert inside == ["Street street", "1 High St", "Town town", "York"]
    items = [" ".join(item.text().split()) for item in LexborHTMLParser(shown["steps"]).css("ol > li")]
    assert items == [
        "What what Mix Sheet sheet https://site.example/mix.pdf, 48.2 kB",
        "What what Bake Sheet sheet –",
    ]


def test_rich_text_is_in_a_frame_that_runs_nothing(session: Session) -> None:
    page = session.page("/_dev/entry?api=notes&id=n&lang=en")
    frame = page.css_first("iframe")
    assert frame.attributes["title"] == "Body"
    assert "allow-scripts" not in str(frame.attributes["sandbox"]).split()
    inside = LexborHTMLParser(str(frame.attributes["srcdoc"]))
    assert inside.css_first("strong").text() == "rich"
    assert inside.css_first("base").attributes == {"href": "https://site.example/", "target": "_blank"}
    policy = session.get("/_dev/entry?api=notes&id=n&lang=en").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "base-uri https://site.example;" in policy
    assert "base-uri 'none'" in session.get("/_dev/entry?api=blog&id=one&lang=en").headers["content-security-policy"]


def test_images_are_shown_from_where_the_site_has_them(session: Session) -> None:
    shown = values(session.page("/_dev/entry?api=notes&id=n&lang=en"))
    image = LexborHTMLParser(shown["cover"]).css_first("img")
    assert (image.attributes["src"], image.attributes["alt"]) == ("https://site.example/cover.jpg", 'A "cat"')
    assert "800 × 600" in shown["cover"]
    unsafe = LexborHTMLParser(shown["unsafe"])
    assert (unsafe.css_first("img"), unsafe.css_first("a")) == (None, None)
    assert "javascript:alert(1)" in unsafe.text()


def test_assets_come_from_here_and_not_from_the_site(session: Session) -> None:
    shown = values(session.page("/_dev/entry?api=notes&id=n&lang=en&draft=1"))
    inside = LexborHTMLParser(shown["body"]).css_first("iframe").attributes["srcdoc"]
    for html in (inside or "", shown["cover"]):
        source = LexborHTMLParser(html).css_first("img").attributes["src"] or ""
        assert source.startswith("http://")
        with urlopen(source) as answer:
            assert answer.read().decode() == SVG


def test_a_draft_is_linked_to_the_page_of_the_site(session: Session) -> None:
    for target, place in (
        ("/?api=notes&state=draft", ".entries tbody tr"),
        ("/_dev/entry?api=notes&id=n&lang=en&draft=1", "dl"),
    ):
        links = {link.text(): link.attributes["href"] for link in session.page(target).css_first(place).css("a")}
        preview = urlsplit(str(links["Preview"]))
        assert f"{preview.scheme}://{preview.netloc}{preview.path}" == "https://site.example/en/preview"
        assert parse_qs(preview.query)["id"] == ["n"]
        [key] = parse_qs(preview.query)["draftKey"]
        assert f"draftKey={key}" in str(links["JSON"])
        assert session.get(str(links["JSON"])).json["title"] == "Later"
    page = session.page("/_dev/entry?api=notes&id=n&lang=en&draft=1")
    assert page.css_first("h1").text() == "Later"
    versions = [(one.css_first("a").text(), one.css_first(".badge").text()) for one in page.css(".versions li")]
    assert versions == [("en", "draft"), ("en", "scheduled"), ("de", "live")]


@pytest.mark.parametrize(
    ("at", "state"),
    [
        ("2126-01-01T08:59", "scheduled"),
        ("2126-01-01T09:00", "live"),
        ("2125-12-31T23:59:59Z", "scheduled"),
        ("2126-12-31T23:59:59.999Z", "live"),
        ("2127-01-01", "live"),
        ("2127-01-01T09:00", "ended"),
    ],
)
def test_any_instant_can_be_looked_at(session: Session, at: str, state: str) -> None:
    """A time without an offset is in the workspace's time zone."""
    page = session.page(f"/_dev/entry?api=notes&id=n&lang=en&at={at}")
    assert page.css_first(".facts .badge").text() == state
    assert page.css_first(".facts a") is None  # programs get the present alone
    listed = session.page(f"/?api=notes&lang=en&at={at}")
    [row] = [row for row in listed.css(".entries tbody tr") if row.css_first(".badge").text() != "draft"]
    assert row.css_first(".badge").text() == state
    link = str(row.css_first("a").attributes["href"])
    assert session.page(link).css_first(".facts .badge").text() == state
    assert "As of" in listed.css_first(".as-of").text()
    back = str(listed.css_first(".as-of a").attributes["href"])
    assert session.page(back).css_first(".as-of") is None


def test_references_follow_the_instant(session: Session) -> None:
    shown = values(session.page("/_dev/entry?api=notes&id=n&lang=en&at=2126-06-01"))
    assert "scheduled" not in shown["related"]
    assert "at=2126-06-01" in shown["related"]


@pytest.mark.parametrize("at", ["tomorrow", "2026-02-30", "%3Cscript%3E", "9" * 5000, "0001-01-01T00:00", "9999-12-31"])
def test_an_instant_that_is_none_is_told(session: Session, at: str) -> None:
    for target in (f"/?api=notes&at={at}", f"/_dev/entry?api=notes&id=n&lang=en&at={at}"):
        page = session.page(target)
        assert page.css_first("main .trouble, main .as-of") is not None
        assert page.css_first("main script") is None


@pytest.mark.parametrize(
    "query", ["", "api=notes", "api=x&id=n&lang=en", "api=notes&id=%22%3E&lang=en", "api=notes&id=n&lang=fr", "id=%ff"]
)
def test_what_is_not_there_is_said(session: Session, query: str) -> None:
    answer = session.get(f"/_dev/entry?{query}")
    assert answer.status == 404
    assert LexborHTMLParser(answer.body).css_first("main[data-build] .trouble a") is not None


@pytest.mark.slow
def test_a_browser_shows_it_to_everybody(session: Session, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for scheme, width in (("light", 1280), ("dark", 390)):
            page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
            complaints: list[str] = []
            page.on("pageerror", lambda error, told=complaints: told.append(str(error)))
            page.route("https://site.example/**", lambda route: route.fulfill(status=200, body=""))
            page.goto(f"http://{session.host}/_dev/entry?api=notes&id=n&lang=en")
            frame = page.frame_locator("iframe.rich")
            assert frame.locator("strong").inner_text() == "rich"
            text = frame.locator("body").evaluate("(body) => [getComputedStyle(body).marginTop, body.offsetHeight]")
            assert text[0] == "0px"  # its style sheet is read
            page.wait_for_function(f"document.querySelector('iframe.rich').offsetHeight === {text[1]}")
            assert frame.locator("a").evaluate("(link) => link.href") == "https://site.example/about"
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert "broken" not in page.title()
            page.screenshot(path=tmp_path / f"entry-{scheme}.png", full_page=True)
            assert complaints == []
            page.close()
            checked = browser.new_page(color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": 844})
            for target in ("/_dev/entry?api=notes&id=n&lang=en", "/?api=notes&at=2126-06-01", "/_dev/entry?api=x"):
                checked.goto(f"http://{session.host}{target}")
                assert violations(checked) == []
            checked.close()
        browser.close()


def test_a_page_follows_the_next_build(session: Session) -> None:
    session.save("content/blog/three.md", entry("Three"))
    assert session.page("/_dev/entry?api=blog&id=three&lang=en").css_first("h1").text() == "Three"
    session.save("content/blog/three.md", entry("Drei", "rating: many\n"))
    page = session.page("/_dev/entry?api=blog&id=three&lang=en")
    assert page.css_first("h1").text() == "Three"
    assert "Not built" in page.css_first("#built").text()

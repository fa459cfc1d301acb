"""The tab *Entries*: any instant, search and filters as in the API, versions side by side, and previews."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from selectolax.lexbor import LexborHTMLParser

from engine.access.keys.access import new_draft_secret
from tests.server.console.browsing import EDITOR, Answer, Browser, site_with_members
from tests.sites.served_site import Running, Site

ENTRIES = "/console/acme/entries"
NOTES = """\
uid: api_notes0000001
name: Notes
endpoint: notes
kind: list
multilingual: true
preview_url: https://site.example/{lang}/{id}?key={draftKey}
fields:
  - {id: title, name: Title, type: text}
  - {id: body, name: Body, type: richtext}
  - {id: rank, name: Rank, type: number}
"""
FILES = {
    "one.md": "---\ntitle: One\nrank: 1\ncreatedAt: 2026-01-01\n---\nSome **rich** text.\n",
    "one.de.md": "---\ntitle: Eins\nrank: 1\ncreatedAt: 2026-01-01\n---\nText.\n",
    "one.draft.md": "---\ntitle: One, better\nrank: 1\ncreatedAt: 2026-01-01\n---\nSome **rich** text.\n",
    "later.md": "---\ntitle: Later\nrank: 2\npublishStart: 2126-01-01T09:00:00+09:00\ncreatedAt: 2026-01-01\n---\n",
    "odd.md": "---\ntitle: '<script>alert(1)</script>'\ncreatedAt: 2026-01-02\n---\n<script>alert(2)</script>\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = site_with_members(tmp_path_factory.mktemp("console"), entries=60)
    (site.source / "workspace.yaml").write_text(
        (site.source / "workspace.yaml").read_text().replace("languages: [en]", "languages: [en, de]")
    )
    (site.source / "apis" / "notes.yaml").write_text(NOTES)
    folder = site.source / "content" / "notes"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    site.key()  # from now on there is a secret that draft keys are derived from
    site.publish("same")
    return site


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, EDITOR)
    return browser


def rows(answer: Answer) -> list[tuple[str, str, str]]:
    assert answer.status == 200, answer.text
    return [
        (
            row.css_first("code").text(),
            row.css_first('[data-label="Language"]').text(),
            row.css_first(".badge").text(),
        )
        for row in answer.page.css(".entries tbody tr")
    ]


def test_every_version_is_listed_and_can_be_narrowed_down(browser: Browser) -> None:
    assert set(rows(browser.get(f"{ENTRIES}/notes"))) == {
        ("one", "en", "live"),
        ("one", "de", "live"),
        ("one", "en", "draft"),
        ("later", "en", "scheduled"),
        ("odd", "en", "live"),
    }
    assert rows(browser.get(f"{ENTRIES}/notes?state=scheduled")) == [("later", "en", "scheduled")]
    assert rows(browser.get(f"{ENTRIES}/notes?lang=de&id=ON")) == [("one", "de", "live")]
    assert "No entries" in browser.get(f"{ENTRIES}/notes?id=nothing").text
    assert "Notes" in browser.get(ENTRIES).page.css_first("h1").text()


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("filters=title[equals]One", ["one"]),
        (f"filters={quote('rank[greater_than]1')}", ["later"]),
        ("filters=rank[less_than]9[and]title[contains]on", ["one", "one"]),
        ("q=rich+TEXT", ["one", "one"]),
        ("q=rich+TEXT&state=live", ["one"]),
        ("q=Text&lang=de", ["one"]),
        ("filters=title[contains]later&state=live", []),
        ("filters=title[contains]later&state=live&at=2126-06-01", ["later"]),
        ("q=%20", ["odd", "one", "one", "later", "one"]),
    ],
)
def test_search_and_filters_are_those_of_the_api(browser: Browser, query: str, ids: list[str]) -> None:
    found = rows(browser.get(f"{ENTRIES}/notes?{query}"))
    assert sorted(one[0] for one in found) == sorted(ids)


def test_a_search_leaves_versions_in_the_state_and_the_language_asked_for(browser: Browser) -> None:
    """With what else narrows the list down, too."""
    assert rows(browser.get(f"{ENTRIES}/notes?q=one&state=draft")) == [("one", "en", "draft")]
    assert rows(browser.get(f"{ENTRIES}/notes?q=later&state=scheduled")) == [("later", "en", "scheduled")]
    assert rows(browser.get(f"{ENTRIES}/notes?filters=title[equals]One&state=draft")) == []
    assert rows(browser.get(f"{ENTRIES}/notes?q=text&lang=de&state=live&id=ON")) == [("one", "de", "live")]
    assert rows(browser.get(f"{ENTRIES}/notes?q=text&id=odd")) == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("filters=nothing[equals]x", "nothing"),
        ("filters=title[is]x", "title"),
        ("filters=rank[greater_than]x", "rank"),
        (f"q={'x' * 101}", "100"),
    ],
)
def test_what_the_api_refuses_is_told_and_stays_in_its_field(browser: Browser, query: str, message: str) -> None:
    answer = browser.get(f"{ENTRIES}/notes?{query}")
    assert answer.status == 200
    assert message in answer.page.css_first("[role=alert]").text()
    name, _, value = query.partition("=")
    assert answer.page.css_first(f"input[name={name}]").attributes["value"] == value


def test_many_come_in_pages_with_a_search_too(browser: Browser) -> None:
    for query in ("", "&q=same"):
        first = browser.get(f"{ENTRIES}/posts?id=&q={query}" if not query else f"{ENTRIES}/posts?{query[1:]}")
        assert len(rows(first)) == 50
        assert "1 to 50 of 60" in first.page.css_first("caption").text()
        following = first.page.css_first("a[rel=next]").attributes["href"]
        second = browser.get(str(following))
        assert len(rows(second)) == 10
        assert not {one[0] for one in rows(first)} & {one[0] for one in rows(second)}


@pytest.mark.parametrize(("at", "state"), [("2126-01-01T08:59", "scheduled"), ("2126-01-01T09:00", "live")])
def test_any_instant_in_the_workspace_s_time_zone(browser: Browser, at: str, state: str) -> None:
    assert ("later", "en", state) in rows(browser.get(f"{ENTRIES}/notes?at={at}"))
    answer = browser.get(f"{ENTRIES}/notes/later?at={at}")
    assert answer.page.css_first(".facts .badge").text() == state
    assert "As of" in answer.page.css_first(".as-of").text()
    assert "As of:" in browser.get(f"{ENTRIES}/notes?at=tomorrow").page.css_first(".trouble").text()


def test_versions_side_by_side(browser: Browser) -> None:
    answer = browser.get(f"{ENTRIES}/notes/one?lang=en&draft=1&with=en")
    heads = [" ".join(one.text(separator=" ").split()) for one in answer.page.css(".beside thead th")]
    assert heads == ["Field", "en draft", "en live"]
    differing = [one.css_first("th code").text() for one in answer.page.css("tr.differs")]
    assert differing == ["title"]
    cells = [one.text().strip() for one in answer.page.css(".beside tbody tr")[0].css("td")]
    assert cells == ["One, better", "One"]
    languages = browser.get(f"{ENTRIES}/notes/one?with=de").page
    assert [one.css_first("th code").text() for one in languages.css("tr.differs")] == ["title", "body"]
    assert browser.get(f"{ENTRIES}/notes/one?with=fr").page.css_first(".beside") is None


def test_a_draft_has_its_preview(browser: Browser) -> None:
    draft = browser.get(f"{ENTRIES}/notes/one?lang=en&draft=1")
    [link] = [one for one in draft.page.css(".facts a") if one.text() == "Preview"]
    assert str(link.attributes["href"]).startswith("https://site.example/en/one?key=")
    listed = browser.get(f"{ENTRIES}/notes?state=draft").page.css_first('[data-label="Open"] a')
    assert listed.attributes["href"] == link.attributes["href"]


def test_a_preview_has_the_draft_key_of_now(site: Site, browser: Browser) -> None:
    """Though the version is the same as before the draft keys were exchanged."""

    def preview() -> str:
        return str(
            browser.get(f"{ENTRIES}/notes?state=draft").page.css_first('[data-label="Open"] a').attributes["href"]
        )

    before = preview()
    new_draft_secret(site.access)
    assert preview() != before


def test_content_runs_nothing(browser: Browser) -> None:
    for path in (f"{ENTRIES}/notes", f"{ENTRIES}/notes/odd"):
        answer = browser.get(path)
        assert all("src" in one.attributes for one in answer.page.css("script"))
        assert "<script>alert(1)</script>" in answer.page.css_first("main").text()
    answer = browser.get(f"{ENTRIES}/notes/one?lang=en")
    frame = answer.page.css_first("iframe")
    assert "allow-scripts" not in str(frame.attributes["sandbox"])
    inside = LexborHTMLParser(str(frame.attributes["srcdoc"]))
    assert inside.css_first("strong").text() == "rich"
    assert inside.css("script") == []
    policy = str(answer.header("content-security-policy"))
    assert "base-uri https://site.example" in policy
    assert "script-src 'self'" in policy


@pytest.mark.parametrize(
    "path", ["none", "notes/none", "notes/one?lang=fr", "notes/later?draft=1", "notes/..", "posts/%00"]
)
def test_what_is_not_there(browser: Browser, path: str) -> None:
    assert browser.get(f"{ENTRIES}/{path}").status == 404

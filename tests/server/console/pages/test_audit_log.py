"""The audit log as a page: what was done in the console and with commands, page by page, for those who manage."""

from __future__ import annotations

import pytest

from engine.access.audit.log import AuditLog, Author, Entry, Via
from snapshots.times import now_ms
from snapshots.whoami import whoami
from tests.programs.command_line import Cms, in_process
from tests.server.console.browsing import EDITOR, KEYS, OWNER, Browser, site_with_members
from tests.sites.served_site import Running, Site

PAGE = "/console/acme/settings/audit-log"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, OWNER)
    return browser


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


def rows(browser: Browser, query: str = "") -> list[str]:
    page = browser.get(f"{PAGE}{query}").page
    return [" ".join(row.text(separator=" ").split()) for row in page.css("tbody tr")]


def test_commands_and_the_console_stand_side_by_side(site: Site, browser: Browser, cms: Cms) -> None:
    store = ("--store", str(site.store.root))
    assert "Nothing yet" in browser.get(PAGE).text
    form = browser.get(f"{KEYS}/new").page
    number = form.css_first("input[name=id]").attributes["value"]
    browser.post(f"{KEYS}/issue", {"id": number, "name": "Web", "scope": "all", "validity": "none"})
    cms("key", "disable", "Web", *store)
    first = site.place.versions()[0]
    (site.source / "content" / "site.yaml").write_text("title: other\ncreatedAt: 2026-01-01\n")
    second = cms("snapshot", "build", str(site.source), *store, "--json").json["version"]
    cms("snapshot", "rollback", *store)
    added = cms("webhook", "add", "https://hooks.example/secret-path", *store, "--json").json["id"]
    cms("webhook", "disable", added, *store)
    found = [row.partition("command line ") for row in rows(browser)]
    assert [what for _, _, what in found[:-1]] == [
        f"Disabled the webhook {added}, for hooks.example.",
        "Added a webhook of the format standard, for hooks.example.",
        f"Rolled back from {second} to the previous snapshot version, {first}.",
        f"Built {second} and made it the current snapshot version, instead of {first}.",
        *(row for *_, row in found[4:5]),
    ]
    assert found[4][2].startswith("Disabled the key “Web” (pq_")
    assert all(f"{whoami()} operator" in who for who, _, _ in found[:-1])
    assert f"{OWNER} owner console Issued the key “Web”" in rows(browser)[-1]


def test_a_long_month_has_several_pages(site: Site, browser: Browser) -> None:
    log = AuditLog(site.place.objects, "acme")
    author = Author("<b>x</b>@acme.example", "owner", Via.CONSOLE)
    for number in range(130):
        with log.recorded(Entry(now_ms(), author, "test", f"<script>alert({number})</script>")):
            pass
    first, second = browser.get(PAGE), browser.get(f"{PAGE}?page=2")
    assert "alert(129)" in first.text
    assert "alert(0)" in second.text
    assert "Page 1 of 2" in first.text
    assert not first.page.css("tbody script, tbody b")
    assert len(rows(browser)) == 100
    for query in ("?page=99", "?page=-1", "?month=2020-01", "?month=../../x", "?page=%00"):
        assert browser.get(f"{PAGE}{query}").status == 200, query


def test_a_change_that_failed_is_told_so_once(site: Site, browser: Browser) -> None:
    log = AuditLog(site.place.objects, "acme")
    author = Author("olga@acme.example", "owner", Via.CONSOLE)
    with pytest.raises(KeyError), log.recorded(Entry(now_ms(), author, "test", "Tried it.")):
        raise KeyError
    tried = [row for row in rows(browser) if "Tried it." in row]
    assert len(tried) == 1
    assert "This failed, so nothing was changed: KeyError" in tried[0]


def test_editors_do_not_see_it(site: Site, server: Running) -> None:
    editor = Browser(server)
    editor.sign_in(site.store.root, EDITOR)
    assert editor.get(PAGE).status == 403
    assert "Audit log" not in editor.get("/console/acme").text

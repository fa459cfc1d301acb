"""The tab *Versions*: what is said before another version is made current, and that it is then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from engine.access.audit.log import AuditLog
from snapshots.store.locations import open_objects
from tests.server.console.browsing import EDITOR, OWNER, Answer, Browser, console, site_with_members
from tests.sites.served_site import POSTS, Running, Site, eventually

NUMBERS = count()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("console")


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[Running]:
    with console(site_with_members(directory), directory / "log") as running:
        yield running


@pytest.fixture
def site(directory: Path, server: Running) -> Site:
    """A workspace for each test, behind the one server."""
    site = site_with_members(directory, f"acme-{next(NUMBERS)}")
    owner = Browser(server)
    owner.sign_in(site.store.root, OWNER)
    eventually(lambda: owner.get(versions(site)).status == 200)
    return site


def versions(site: Site) -> str:
    return f"/console/{site.workspace}/versions"


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, OWNER)
    return browser


def current(site: Site) -> str:
    found = site.place.current()
    assert found is not None
    return found.version


def confirm(browser: Browser, path: str) -> Answer:
    """Press the button of a page that asks first."""
    asked = browser.get(path)
    assert asked.status == 200, asked.text
    form = asked.page.css_first("main form")
    fields = {one.attributes["name"]: one.attributes["value"] for one in form.css("input")}
    return browser.post(str(form.attributes["action"]), fields)


def effect(answer: Answer) -> list[str]:
    return [" ".join(item.text(separator=" ").split()) for item in answer.page.css(".effect li")]


def test_a_version_is_compared_said_activated_and_taken_back(site: Site, server: Running, browser: Browser) -> None:
    one = current(site)
    two = site.publish("two, and more", activate=False)
    answer = browser.get(f"{versions(site)}/{two}")
    assert effect(answer) == ["0 entries appear", "4 change", "0 disappear"]
    [words, *others] = answer.page.css(".words")
    assert len(others) == 3
    assert [(node.tag, node.text()) for node in words.css("del, ins")] == [("del", "one"), ("ins", "two, and more")]
    assert effect(browser.get(f"{versions(site)}/{two}/activate")) == effect(answer)
    assert current(site) == one
    done = browser.follow(confirm(browser, f"{versions(site)}/{two}/activate"))
    assert "The snapshot version is current" in done.text
    assert current(site) == two
    _, key = site.key()
    title = f"/v1/{site.workspace}/site?fields=title"
    eventually(lambda: b"two, and more" in server.get(title, headers={"X-API-KEY": key}).body)
    found = site.place.current()
    assert found is not None
    assert found.activated_by == OWNER
    assert "The content of that version is held from then on" in browser.get(f"{versions(site)}/rollback").text
    listed = browser.follow(confirm(browser, f"{versions(site)}/rollback")).text
    assert "is current again" in listed
    assert current(site) == one
    # What was gone back from is held: a build does not put it back, and both pages say since when and by whom.
    assert "No build makes this content current again" in browser.get(f"{versions(site)}/{two}").text
    assert re.search(rf"Held: {re.escape(OWNER)} went back on ", " ".join(listed.split()))
    assert site.publish("two, and more") == two
    assert current(site) == one
    eventually(lambda: b'"one"' in server.get(title, headers={"X-API-KEY": key}).body)
    log = AuditLog(open_objects(site.store.root), site.workspace)
    sentences = [entry.sentence for entry in log.entries(log.months()[0])]
    assert sentences == [
        f"Rolled back from {two} to the previous snapshot version, {one}.",
        f"Made {two} the current snapshot version, instead of {one}.",
    ]


def test_what_appears_and_disappears_and_what_breaks_clients(site: Site, browser: Browser) -> None:
    site.entries = 5
    (site.source / "apis" / "posts.yaml").write_text(POSTS.replace("type: text", "type: richtext") + "# \n")
    two = site.publish("one", activate=False)
    site.entries = 1
    three = site.publish("one", activate=False)
    answer = browser.get(f"{versions(site)}/{two}?from={three}")
    assert effect(answer) == ["4 entries appear", "0 change", "0 disappear"]
    assert "post-1" in answer.page.css_first(".ids").text()
    answer = browser.get(f"{versions(site)}/{three}/activate")
    assert effect(answer)[2] == "2 disappear"
    assert "This breaks clients" in answer.text
    assert answer.page.css_first("button.danger") is not None
    first = browser.get(f"{versions(site)}/{three}").page.css("ul.changes li")[0]
    assert first.css_first(".badge.breaking") is not None


def test_who_else_may_come_in_then_is_said(site: Site, browser: Browser) -> None:
    path = site.source / "workspace.yaml"
    path.write_text(path.read_text().replace(f"email: {EDITOR}, role: editor", "email: eve@x.example, role: owner"))
    answer = browser.get(f"{versions(site)}/{site.publish('one', activate=False)}/activate")
    assert "Ed (eve@x.example) becomes owner." in answer.text
    assert f"Ed ({EDITOR}) is no longer editor." in answer.text


def test_whoever_is_slower_changes_nothing(site: Site, browser: Browser) -> None:
    one = current(site)
    two = site.publish("two", activate=False)
    three = site.publish("three")
    for path in (f"{versions(site)}/{two}/activate", f"{versions(site)}/rollback"):
        answer = browser.post(path, {"expected": one})
        assert answer.status == 409
        assert three in answer.text
        assert current(site) == three
    assert browser.get(f"{versions(site)}/{three}/activate").status == 409
    site.place.activate(one, expected=three, by="x", now=1)
    site.place.rollback(by="x", now=2)


def test_editors_look_and_change_nothing(site: Site, server: Running) -> None:
    one = current(site)
    two = site.publish("two", activate=False)
    editor = Browser(server)
    editor.sign_in(site.store.root, EDITOR)
    assert "Make" not in editor.get(versions(site)).text
    assert "Make" not in editor.get(f"{versions(site)}/{two}").text
    for path in (f"{versions(site)}/{two}/activate", f"{versions(site)}/rollback"):
        assert editor.get(path).status == 403
        assert editor.post(path, {"expected": one}).status == 403
    assert current(site) == one


def test_a_version_that_cannot_be_read_is_said_to_be_so(site: Site, browser: Browser) -> None:
    two = site.publish("two", activate=False)
    (site.place.snapshots / two / "manifest.json").write_text("{")
    assert "This snapshot version cannot be read" in browser.get(versions(site)).text
    answer = browser.get(f"{versions(site)}/{two}")
    assert answer.status == 503
    assert str(site.store.root) not in answer.body.decode()
    for name in ("x", "..", "20990101T000000000Z-00000000", "%2e%2e"):
        assert browser.get(f"{versions(site)}/{name}").status == 404
    assert browser.get(f"{versions(site)}/{current(site)}?from=../..&page=-1").status == 200


def test_content_is_text(site: Site, browser: Browser) -> None:
    nasty = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    answer = browser.get(f"{versions(site)}/{site.publish(nasty, activate=False)}")
    assert len(answer.page.css("script")) == 1
    assert answer.page.css("img") == []
    assert nasty in answer.text


def test_there_may_be_one_version_only(browser: Browser, site: Site) -> None:
    assert "Nothing to compare with" in browser.get(f"{versions(site)}/{current(site)}").text
    assert "Go back" not in browser.get(versions(site)).text
    assert browser.get(f"{versions(site)}/rollback").status == 404

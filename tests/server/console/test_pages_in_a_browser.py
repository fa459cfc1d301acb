"""Every page of the console in every state, in a real browser: for everybody, in light and dark, on a desk and a phone.

The screenshots are among the test's temporary files: ``pytest --basetemp DIR`` keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs.accessibility import violations
from tests.server.console.browsing import EDITOR, OWNER
from tests.server.console.full_site import LAUNCHED, FullSite, full_site
from tests.server.console.watching import Watched, chromium
from tests.sites.served_site import Running, eventually, serving

pytestmark = pytest.mark.slow

HERE = "/console/komugi"
KEYS = f"{HERE}/settings/api-keys"
PAGES = {
    "overview": HERE,
    "entries": f"{HERE}/entries",
    "entries found": f"{HERE}/entries/journal?q=oven&filters=title[contains]oven&at=2026-01-01T10:00",
    "entries refused": f"{HERE}/entries/journal?filters=title[is]x",
    "entries at no time": f"{HERE}/entries/journal?at=yesterday",
    "entry": f"{HERE}/entries/journal/the-night-oven",
    "entry, side by side": f"{HERE}/entries/journal/the-night-oven?with=ja.live",
    "draft": f"{HERE}/entries/journal/the-night-oven?draft=1",
    "schedule": f"{HERE}/schedule",
    "schedule of a month without anything": f"{HERE}/schedule?month=2030-02",
    "versions": f"{HERE}/versions",
    "version": f"{HERE}/versions/{{current}}",
    "activation": f"{HERE}/versions/{{before}}/activate",
    "rollback": f"{HERE}/versions/rollback",
    "views": f"{HERE}/views",
    "no views": "/console/damaged/views",
    "webhooks": f"{HERE}/webhooks",
    "webhook": f"{HERE}/webhooks/{{active}}",
    "webhook that is retried": f"{HERE}/webhooks/{{retried}}",
    "webhook given up": f"{HERE}/webhooks/{{given_up}}",
    "webhooks damaged": "/console/damaged/webhooks",
    "no webhooks": "/console/second/webhooks",
    "readers": f"{HERE}/readers",
    "keys": KEYS,
    "no keys": "/console/damaged/settings/api-keys",
    "key": f"{KEYS}/{{key}}/validity",
    "new key": f"{KEYS}/new",
    "delete a key": f"{KEYS}/{{key}}/delete",
    "key that is gone": f"{KEYS}/key_000000000000/validity",
    "audit log": f"{HERE}/settings/audit-log",
    "empty audit log": "/console/damaged/settings/audit-log",
    "workspaces": "/console",
    "refused to an editor": "/console/second/settings/api-keys",
    "no such workspace": "/console/none",
    "link that does not work": "/console/-/link?token=none",
    "sign-in": "/console/-/sign-in?done=everywhere",
}
LOOKS = [("light", 1280), ("dark", 390)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> FullSite:
    return full_site(tmp_path_factory.mktemp("full"))


@pytest.fixture(scope="module")
def server(site: FullSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(site.store, tmp_path_factory.mktemp("log") / "log", CMS_CONSOLE="1") as running:
        eventually(lambda: running.get("/readyz").status == 200)
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def paths(site: FullSite) -> dict[str, str]:
    active, retried, given_up = (one.id for one in site.webhooks)
    before, current = site.versions
    names = {"active": active, "retried": retried, "given_up": given_up, "before": before, "current": current}
    return {name: path.format(key=site.keys[0].id, **names) for name, path in PAGES.items()}


def look(watched: Watched, name: str, folder: Path, scheme: str, width: int) -> None:
    """Find nothing wrong with the page as it is now."""
    page = watched.page
    assert violations(page) == [], name
    page.screenshot(path=folder / f"{name.replace(' ', '-')}-{scheme}-{width}.png", full_page=True)
    paper = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).every((one) => Number(one) > 200)"
    assert page.evaluate(paper) == (scheme == "light"), name
    watched.fine()


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_nobody_is_left_out(
    browser: Any, site: FullSite, server: Running, tmp_path: Path, scheme: str, width: int
) -> None:
    watched = Watched(browser, site.store, server, width, color_scheme=scheme, bypass_csp=True)
    for name, path in paths(site).items():
        watched.go(path)
        look(watched, name, tmp_path, scheme, width)
    page = watched.go(f"{KEYS}/new")
    page.fill("#name", "Wrong")
    page.check("[value=custom]")
    page.get_by_role("button", name="Issue the key").click()
    assert "Nothing was saved" in page.inner_text("#errors")
    look(watched, "form with errors", tmp_path, scheme, width)
    watched.go(f"{HERE}/webhooks/{site.webhooks[0].id}")
    page.get_by_role("button", name="Send a test event").click()
    page.locator(".note.bad").wait_for()  # its name cannot be resolved
    look(watched, "test event refused", tmp_path, scheme, width)
    page.evaluate("addEventListener('submit', (event) => event.preventDefault())")  # a server that takes long
    page.get_by_role("button", name="Disable").click()
    page.locator("button[aria-busy=true]").wait_for()
    look(watched, "busy", tmp_path, scheme, width)
    watched.context.close()


def test_an_editor_is_not_left_out(browser: Any, site: FullSite, server: Running, tmp_path: Path) -> None:
    watched = Watched(browser, site.store, server, 390, EDITOR, bypass_csp=True, color_scheme="light")
    for name in ("webhooks", "webhook", "versions"):
        watched.go(paths(site)[name])
        look(watched, f"{name} for an editor", tmp_path, "light", 390)
        assert watched.page.locator("main button, main .danger").count() == 0
    watched.context.close()


@pytest.mark.parametrize("width", [390, 1024, 1280])
def test_every_column_of_entries_is_in_sight(browser: Any, site: FullSite, server: Running, width: int) -> None:
    watched = Watched(browser, site.store, server, width)
    page = watched.go(f"{HERE}/entries/journal")
    rights = "(cells) => cells.map((cell) => cell.getBoundingClientRect().right)"
    assert max(page.locator("table.entries td").evaluate_all(rights)) <= width
    dates = page.locator("table.entries td[data-label='Live from'] time").all_inner_texts()
    assert "2039-03-01 09:00" in [" ".join(text.split()) for text in dates]
    heights = "(dates) => dates.map((date) => date.getBoundingClientRect().height)"
    lines = page.locator("table.entries td time").evaluate_all(heights)
    assert max(lines) < 60  # the day on one line, the time on it or on the next
    watched.context.close()


def test_what_comes_next_has_titles_and_a_line_for_each_instant(browser: Any, site: FullSite, server: Running) -> None:
    watched = Watched(browser, site.store, server, 1280)
    page = watched.go(HERE)
    lines = [" ".join(line.split()) for line in page.locator(".flips li").all_inner_texts()]
    named = " ".join(f"Spring {number}, a title of some length Journal, en" for number in range(3))
    assert [line for line in lines if "2039-" in line] == [
        f"2039-0{month}-01 09:00 {named} and 2 more {LAUNCHED} {what}" for month, what in ((3, "go live"), (4, "end"))
    ]
    assert any("Cherry blossom anpan Breads, en goes live" in line for line in lines)
    page.get_by_role("link", name="and 2 more").first.click()
    page.wait_for_url("**/schedule?month=2039-03#day-2039-03-01")
    assert page.locator("#day-2039-03-01 li").count() == LAUNCHED
    page = watched.go(f"{HERE}/entries/journal/undated")
    assert page.inner_text(".facts").count("not known") == 3
    assert "1970" not in page.inner_text("main")
    row = watched.go(f"{HERE}/entries/journal?id=undated").locator("table.entries tbody tr").inner_text()
    assert "not known" in row
    watched.context.close()


def test_the_tab_of_the_page_is_in_sight(browser: Any, site: FullSite, server: Running) -> None:
    watched = Watched(browser, site.store, server, 390)
    for path in (HERE, f"{HERE}/readers", f"{HERE}/settings/audit-log"):
        page = watched.go(path)
        box = page.locator(".tabs [aria-current]").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390, path
    watched.context.close()


def test_a_webhook_is_disabled_with_the_keyboard_and_enabled_without_scripts(
    browser: Any, site: FullSite, server: Running
) -> None:
    path = f"{HERE}/webhooks/{site.webhooks[1].id}"
    watched = Watched(browser, site.store, server)
    page = watched.go(path)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Disable":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_text("The webhook is disabled").wait_for()
    watched.fine()
    watched.context.close()
    plain = Watched(browser, site.store, server, 390, java_script_enabled=False)
    page = plain.go(f"{HERE}/webhooks")
    page.get_by_role("link", name="a-very-long-host-name").click()
    page.get_by_role("button", name="Enable").click()
    assert "The webhook is enabled" in page.inner_text("[role=status]")
    page.get_by_role("link", name="Readers").click()
    assert page.locator("tbody tr").count() >= 4
    plain.context.close()


def test_someone_with_a_browser_alone_compares_tomorrow_with_today_and_goes_back(
    browser: Any, site: FullSite, server: Running
) -> None:
    """Without scripts: what goes live, what it says, what changed since, and back."""
    watched = Watched(browser, site.store, server, java_script_enabled=False, address=OWNER)
    page = watched.go(f"{HERE}/schedule")
    if page.get_by_text("Coming 1").count() == 0:  # tomorrow is in another month
        page.locator("a[rel=next]").click()
    assert page.get_by_text("Coming 1").count() == 1
    page.get_by_role("link", name="Versions").click()
    page.get_by_role("link", name="What changed").first.click()
    assert "stove" in page.inner_text("ins >> nth=0")
    page.get_by_role("link", name="Versions").first.click()
    page.get_by_role("link", name="Go back to the previous snapshot version").or_(
        page.get_by_role("button", name="Go back to the previous snapshot version")
    ).click()
    page.get_by_role("button", name="Go back").click()
    assert "The previous snapshot version is current again" in page.inner_text("[role=status]")
    current = site.place.current()
    assert current is not None
    assert (current.version, current.activated_by) == (site.versions[0], OWNER)
    watched.context.close()

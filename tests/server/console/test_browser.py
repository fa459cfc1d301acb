"""The console in a real browser: with the keyboard, with and without scripts, and seen from another site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine.access.keys.keys import key_hash
from tests.programs.accessibility import violations
from tests.server.console.browsing import console, site_with_members
from tests.server.console.watching import Watched
from tests.server.console.watching import chromium as running_chromium
from tests.sites.served_site import Running, Site

pytestmark = pytest.mark.slow

KEYS = "/console/acme/settings/api-keys"
LONG = ("a" * 64, "b" * 64)
"""Endpoints, entries and titles that no line of a phone holds."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = site_with_members(tmp_path_factory.mktemp("console"))
    posts = site.source / "apis" / "posts.yaml"
    for number, endpoint in enumerate(LONG):
        text = (
            posts.read_text()
            .replace("posts0000001", f"long{number:08}")
            .replace("endpoint: posts", f"endpoint: {endpoint}")
        )
        (site.source / "apis" / f"z{number}.yaml").write_text(text.replace("name: Posts", f"name: {endpoint}"))
        (site.source / "content" / f"{endpoint}.jsonl").write_text(
            f'{{"id": "{endpoint}", "title": "{endpoint}", "publishEnd": "2099-01-01"}}\n'
        )
    site.publish("one")
    return site


@pytest.fixture(scope="module")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with console(site, tmp_path_factory.mktemp("log") / "log") as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with running_chromium() as browser:
        yield browser


def test_a_key_is_issued_with_the_keyboard_and_the_dialog_stays_until_it_is_copied(
    chromium: Any, site: Site, server: Running
) -> None:
    watched = Watched(chromium, site.store, server, bypass_csp=True, permissions=["clipboard-read", "clipboard-write"])
    page = watched.go(KEYS)
    page.get_by_role("button", name="Issue a key").focus()
    page.keyboard.press("Enter")
    page.locator("#name").focus()
    page.keyboard.type("By hand")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # selected APIs only
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.locator("#name").focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog:modal")
    dialog.wait_for()
    assert violations(page) == []
    for _ in range(3):
        page.keyboard.press("Escape")
        page.mouse.click(5, 5)
    assert dialog.count() == 1
    assert page.get_by_role("button", name="Close").is_disabled()
    assert page.url.endswith("/settings/api-keys")  # a reload issues no second key
    page.get_by_role("button", name="Copy").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    [key] = site.access.read().keys[-1:]  # type: ignore[union-attr]
    assert (key.name, key.hash) == ("By hand", key_hash(text.encode()))
    assert key.scope == {"api_posts0000001"}
    page.get_by_role("button", name="Close").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="API keys").wait_for()
    row = page.get_by_role("row", name="By hand")
    row.get_by_role("button", name="Copy prefix").click()
    page.wait_for_function("document.getElementById('copied').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == key.prefix
    watched.fine()
    watched.context.close()


def test_everything_works_without_scripts(chromium: Any, site: Site, server: Running) -> None:
    watched = Watched(chromium, site.store, server, 390, java_script_enabled=False)
    page = watched.go(f"{KEYS}/new")
    page.fill("#name", "No scripts")
    page.check("[value='30d']")
    page.get_by_role("button", name="Issue the key").click()
    close = page.get_by_role("button", name="Close")
    close.click()
    assert "Copy the key now" in page.inner_text("h1")  # it asks for the tick first
    page.get_by_label("I have copied the key").check()
    close.click()
    page.get_by_role("link", name="Edit No scripts").click()
    page.fill("#name", "Renamed")
    page.get_by_role("button", name="Save").click()
    assert "“Renamed” is saved" in page.inner_text("[role=status]")
    page.get_by_role("link", name="Delete Renamed").click()
    page.get_by_role("button", name="Delete the key").click()
    assert "The key is deleted" in page.inner_text(".note")
    page.locator("summary").first.click()
    page.get_by_role("button", name="Sign out everywhere").click()
    assert "in every browser" in page.inner_text(".note")
    watched.context.close()


def test_long_texts_push_nothing_out_of_sight(chromium: Any, site: Site, server: Running) -> None:
    watched = Watched(chromium, site.store, server, 390)
    page = watched.go(f"{KEYS}/new")
    page.fill("#name", "W390" * 14)
    page.check("[value=selected]")
    for endpoint in LONG:
        page.check(f"[value={endpoint}]")
    page.get_by_role("button", name="Issue the key").click()
    page.locator("dialog:modal").wait_for()
    entry = f"/console/acme/entries/{LONG[0]}"
    watched.fine()
    name = watched.go("/console/acme").locator(".counts bdi", has_text="Posts").first
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert name.bounding_box()["height"] < 30, "short names are on one line"
    for path in (KEYS, "/console/acme", entry, f"{entry}/{LONG[0]}", "/console/acme/schedule?month=2099-01"):
        watched.go(path)
        wider = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate(wider) == 0, (path, width)
            watched.fine()
    watched.context.close()


def test_nothing_inline_runs_and_another_site_cannot_frame_or_post(chromium: Any, site: Site, server: Running) -> None:
    watched = Watched(chromium, site.store, server)
    page = watched.go("/console/acme")
    for insertion in (
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')",
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'ran = 1'}))",
    ):
        with page.expect_console_message(lambda message: "Content Security Policy" in message.text):
            page.evaluate(insertion)
    assert page.evaluate("window.ran") is None
    # Seen from a page of another host in the same browser, whose cookies it would use.
    context = watched.context
    evil = context.new_page()
    evil.route(
        "http://evil.example/**",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"<iframe src='{watched.url}/console/acme'></iframe>"
            f"<form method=post action='{watched.url}/console/-/sign-out'><button>x</button></form>",
        ),
    )
    evil.goto("http://evil.example/")
    assert evil.frames[1].evaluate("document.body.innerText").find("Acme") == -1
    evil.get_by_role("button").click()
    assert "Nothing was changed" in evil.inner_text("main")
    assert "Overview" in watched.go("/console/acme").inner_text("h1")
    context.close()

"""``/`` and ``/docs`` in a real browser, wide and as on a phone, in light and dark.

They show everything, ask nobody else, leave nobody out, and try requests.

The screenshots are among the test's temporary files: ``pytest --basetemp DIR`` keeps them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from engine.access.keys.access import AccessFile, issue_key
from snapshots.times import now_ms
from tests.programs.accessibility import violations
from tests.sites.example_server import ExampleServer, example_server
from tests.sites.served_site import eventually

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")]

FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
)
LISTS = "#operations-Content-getContents"
VIEWS, COUNTS, RECORD = (f"#operations-Page_views-{name}" for name in ("getViews", "getCounts", "recordView"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("reference")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Watched:
    """A page, with what it asked for and what it complained of."""

    def __init__(self, browser: Any, url: str, width: int, path: str = "/docs", **settings: Any) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 844}, **settings)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.goto(f"{url}{path}")
        if path == "/docs":
            self.page.wait_for_selector(".opblock")
        self.url = url

    def picture(self, place: Path) -> None:
        """Take a screenshot, which is no picture of an empty page, and see that nothing sticks out of it."""
        assert len(self.page.screenshot(path=place)) > 15_000
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place.name

    def fine(self) -> None:
        """Nothing was said on the console, and nothing asked of another server. Data in the page is no request."""
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith((f"{self.url}/", "data:"))] == []


def test_a_request_is_tried_with_ones_own_key(server: ExampleServer, browser: Any, tmp_path: Path) -> None:
    watched = Watched(browser, server.url, 390)
    page = watched.page
    assert page.title() == "Delivery API reference"
    assert page.locator("header h1").inner_text() == "Delivery API"
    assert page.locator(".opblock").count() == 16
    watched.picture(tmp_path / "page.png")
    page.click(".auth-wrapper .authorize")
    page.fill(".auth-container input", server.key)
    watched.picture(tmp_path / "key.png")
    page.click(".auth-btn-wrapper .authorize")
    page.click(".auth-btn-wrapper .btn-done")
    page.click(f"{LISTS} .opblock-summary-control")
    page.fill(f"{LISTS} [data-param-name=workspace] input", "komugi")
    page.fill(f"{LISTS} [data-param-name=endpoint] input", "breads")
    for at, name in enumerate(("name", "price")):
        page.click(f"{LISTS} [data-param-name=fields] .json-schema-form-item-add")
        page.locator(f"{LISTS} [data-param-name=fields] input").nth(at).fill(name)
    page.fill(f"{LISTS} [data-param-name=filters] input", "price[less_than]300[and]vegan[equals]true")
    page.locator(f"{LISTS} [data-param-name=fields]").scroll_into_view_if_needed()
    watched.picture(tmp_path / "parameters.png")
    page.click(f"{LISTS} .execute")
    answer = page.locator(f"{LISTS} .live-responses-table")
    answer.wait_for()
    assert answer.locator(".response-col_status").last.inner_text().split()[0] == "200"
    body = json.loads(answer.locator(".highlight-code code").first.inner_text())
    assert body["contents"] == [{"id": "sesame-ring", "name": "Sesame ring", "price": 210}]
    answer.scroll_into_view_if_needed()
    watched.picture(tmp_path / "answer.png")
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    watched.fine()
    page.close()


def test_a_key_shows_what_it_reads(server: ExampleServer, browser: Any, tmp_path: Path) -> None:
    """Its APIs with their fields, real entries as examples, and requests without giving the key again."""
    access = AccessFile(server.store.workspace("komugi").directory)
    narrow = frozenset(api.uid for api in server.workspace.apis if api.endpoint in ("breads", "shop"))
    settings: Any = {"now": now_ms(), "zone": UTC, "validity": "none", "rate_limit": 1_000_000}
    _, key = issue_key(access, name="docs", scope=narrow, **settings)
    schema = "/v1/komugi/_schema"
    eventually(lambda: server.running.get(schema, headers={"X-API-KEY": key}).status == 200)
    watched = Watched(browser, server.url, 1280, bypass_csp=True)
    page = watched.page
    # The only workspace there is stands there already.
    playwright.expect(page.locator("#given [name=workspace]")).to_have_value("komugi")
    page.fill("#given [name=key]", "pq_nonsense")
    page.click("#given button")
    page.get_by_text("This API key is not valid.").wait_for()
    assert all("401" in complaint for complaint in watched.complaints)
    watched.complaints.clear()
    page.fill("#given [name=key]", f" {key} ")
    page.keyboard.press("Enter")
    page.wait_for_selector("#own details")
    assert page.locator("#own summary").all_inner_texts() == ["Breads breads list", "Shop shop object"]
    assert f"{server.url}/v1/komugi/_types/typescript > cms.ts" in page.locator("#own > pre").inner_text()
    breads, shop = page.locator("#own details").all()
    breads.locator("summary").click()
    assert "What the oven gives" in breads.inner_text()
    rows = dict(row.split("\t", 1) for row in breads.locator("tbody tr").all_inner_texts())
    assert rows["kind"].split("\t") == ["single_select", "Kind\nOne of loaf, roll, sweet.\nAlways there."]
    assert rows["price"].split("\t") == ["number", "Price (yen)\nWith tax."]
    # The key does not read the API of the bakers, so that they are IDs.
    assert "Refers" not in rows["baker"]
    assert "Refers to entries of breads." in rows["goes_with"]
    example = breads.locator("pre")
    playwright.expect(example).to_contain_text("totalCount")
    told = server.running.get("/v1/komugi/breads?limit=1", headers={"X-API-KEY": key}).json
    assert json.loads(example.inner_text()) == told
    shop.locator("summary").click()
    playwright.expect(shop.locator("pre")).to_contain_text('"welcome"')
    assert "rests.day" in shop.inner_text()
    watched.picture(tmp_path / "own.png")
    assert violations(page) == []
    listing = "#operations-Content-listBreads"
    page.click(f"{listing} .opblock-summary-control")
    page.click(f"{listing} .execute")
    answer = page.locator(f"{listing} .live-responses-table")
    answer.wait_for()
    assert answer.locator(".response-col_status").last.inner_text().split()[0] == "200"
    assert page.locator("#operations-Content-listJournal").count() == 0
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    watched.fine()
    page.close()


def test_nothing_is_filled_in_of_another_workspace_and_a_request_without_a_key_is_told_why(
    server: ExampleServer, browser: Any
) -> None:
    """What stands in a field before anybody typed in it is the parameter's default, or good for every workspace."""
    watched = Watched(browser, server.url, 1280)
    page = watched.page
    for operation in (LISTS, "#operations-Content-getEntry", VIEWS, COUNTS, RECORD):
        page.click(f"{operation} .opblock-summary-control")
    page.locator(f"{RECORD} textarea").wait_for()
    inputs = page.locator(".parameters-container input, .opblock-section textarea")
    typed = [one.input_value() for one in inputs.all()]
    assert len(typed) > 20
    assert set(typed) == {"", "10", "0", "1", "30", '{"path": "/"}'}
    watched.fine()
    page.click("#operations-Content-getSchema .opblock-summary-control")
    page.fill("#operations-Content-getSchema [data-param-name=workspace] input", "komugi")
    page.click("#operations-Content-getSchema .execute")
    answer = page.locator("#operations-Content-getSchema .live-responses-table")
    answer.wait_for()
    assert "An API key is required." in answer.inner_text()
    # The browser itself notes a failed request on the console.
    assert all("401" in complaint for complaint in watched.complaints)
    watched.complaints.clear()
    # The page's policy is in force, and what breaks it is told on the console: so the other tests would see it.
    with page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        page.evaluate("document.body.append(Object.assign(document.createElement('img'), {src: '//127.0.0.9/x'}))")
    with pytest.raises(AssertionError):
        watched.fine()
    page.close()


@pytest.mark.parametrize(("scheme", "width"), [pytest.param("light", 1280, marks=pytest.mark.slow), ("dark", 390)])
def test_nobody_is_left_out(server: ExampleServer, browser: Any, tmp_path: Path, scheme: str, width: int) -> None:
    watched = Watched(browser, server.url, width, color_scheme=scheme, bypass_csp=True)
    page = watched.page
    light = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).every((one) => Number(one) > 200)"
    )
    assert light == (scheme == "light")
    assert violations(page) == []
    page.click(".auth-wrapper .authorize")
    assert violations(page) == []
    page.fill(".auth-container input", server.key)
    page.click(".auth-btn-wrapper .authorize")
    assert violations(page) == []
    page.click(".auth-btn-wrapper .btn-done")
    for operation in (LISTS, RECORD):
        page.click(f"{operation} .opblock-summary-control")
    page.fill(f"{LISTS} [data-param-name=workspace] input", "komugi")
    page.fill(f"{LISTS} [data-param-name=endpoint] input", "breads")
    page.click(f"{LISTS} .execute")
    page.locator(f"{LISTS} .live-responses-table").wait_for()
    page.click("section.models button")
    watched.picture(tmp_path / f"all-{scheme}-{width}.png")
    assert violations(page) == []
    page.close()


def test_the_first_page_says_what_this_is_and_a_fault_in_it_is_seen(
    server: ExampleServer, browser: Any, tmp_path: Path
) -> None:
    watched = Watched(browser, server.url, 1280, "/", color_scheme="light", bypass_csp=True)
    page = watched.page
    watched.picture(tmp_path / "first-light-1280.png")
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    watched.picture(tmp_path / "first-dark-390.png")
    assert violations(page) == []
    page.evaluate("document.querySelector('main, body').append(document.createElement('input'))")
    assert any(found.startswith("label: ") for found in violations(page))
    page.get_by_role("link", name="reference").click()
    page.wait_for_selector(".opblock")
    watched.fine()
    page.close()

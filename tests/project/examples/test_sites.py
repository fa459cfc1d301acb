"""The sites of ``examples/`` that stand on Vite: each is built once, opened in a browser, and edited under way."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engine.typed import clients
from tests.programs import node_packages
from tests.project.examples.browsing import (
    a_preview_is_in_its_language,
    check_every_page,
    chromium,
    window,
    with_a_japanese_draft,
)
from tests.project.examples.projects import EXAMPLES, build, built_site, developed_site, program, project
from tests.project.examples.publishing import NEW_TITLE, TITLE, heading, webhook, what_is_published_shows
from tests.server.dev.session import running
from tests.servers.ports import free_port
from tests.sites.example_server import EXAMPLE, ExampleServer, example_server
from tests.sites.served_site import eventually

NAMES = ("astro", "nuxt", "sveltekit")
DRAFT = "The night oven, revisited"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NAMES)
def test_a_site_is_built_shown_previewed_and_follows_what_is_published(name: str, tmp_path: Path) -> None:
    """All of it is real: the browser, the servers, and the webhook that one sends to the other."""
    with (
        example_server(tmp_path, with_a_japanese_draft(tmp_path), CMS_WEBHOOK_ALLOW_LOOPBACK="1") as server,
        project(name, server.url, server.key) as (folder, environment),
        chromium() as browser,
    ):
        printed = build(folder, environment)
        if name == "astro":
            pages_of_astro(printed, folder)
        with following(name, server, folder, environment) as address:
            check_every_page(browser, address, least=1 + 5 + 3)
            nothing_is_where_no_entry_is(browser, address)
            a_preview_is_one_page_with_a_way_out(browser, address, clients.draft_key(server, "the-night-oven", "en"))
            a_preview_is_in_its_language(browser, address, clients.draft_key(server, "the-night-oven", "ja"))
            what_is_published_shows(browser, address, server, tmp_path / "komugi")


@contextmanager
def following(name: str, server: ExampleServer, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The site that was built, which hears of what is published: its address."""
    port = free_port()
    if name != "astro":
        secret = webhook(server, f"http://127.0.0.1:{port}/webhook")
        with built_site(name, folder, {**environment, "WEBHOOK_SECRET": secret}, port) as address:
            yield address
        return
    receiver = free_port()
    secret = webhook(server, f"http://127.0.0.1:{receiver}/")
    packages = node_packages.node_modules(EXAMPLES / "rebuild" / "package.json").parent
    shutil.copy(EXAMPLES / "rebuild" / "rebuild.mjs", packages)
    command = ["node", str(packages / "rebuild.mjs"), "npm", "run", "build"]
    given = {**environment, "WEBHOOK_SECRET": secret, "PORT": str(receiver)}
    with (
        built_site(name, folder, environment, port) as address,
        program(command, folder, given, "rebuild") as log,
    ):
        eventually(lambda: "listening on" in log.read_text(), within=60)
        yield address
        assert "heard: content.changed" in log.read_text()


def nothing_is_where_no_entry_is(browser: Any, address: str) -> None:
    with window(browser) as (page, _):
        for path in ("/breads/pizza", "/journal/pizza", "/journal/sourdough-class"):
            assert page.goto(address + path).status == 404
            assert heading(page) == "This page is not here"


def a_preview_is_one_page_with_a_way_out(browser: Any, address: str, key: str) -> None:
    with window(browser) as (page, complaints):
        answer = page.goto(f"{address}/preview?id=the-night-oven&lang=en&draftKey={key}")
        assert (answer.status, heading(page)) == (200, DRAFT)
        assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == (
            "private, no-store",
            "no-referrer",
        )
        assert "These changes are not published." in page.locator(".preview").inner_text()
        page.get_by_role("link", name="Komugi").click()
        page.get_by_role("heading", name="Feeding Gorō").click()
        page.get_by_text("We give a spoonful of Gorō").wait_for()
        assert page.locator(".preview").count() == 0
        page.go_back()
        page.get_by_role("heading", name="Breads").wait_for()
        page.go_back()
        page.get_by_role("heading", name=DRAFT).wait_for()
        page.get_by_role("link", name="Leave the preview").click()
        page.get_by_role("heading", name=TITLE, exact=True).wait_for()
        assert page.locator(".preview").count() == 0
        assert complaints == []
        for wrong in ("wrong", ""):
            refused = page.goto(f"{address}/preview?id=the-night-oven&draftKey={wrong}")
            assert refused.status in (400, 404)
            assert DRAFT not in page.content()


def pages_of_astro(printed: str, folder: Path) -> None:
    assert "0 errors" in printed
    built = folder / "dist" / "client"
    pages = {page.relative_to(built).as_posix(): page.read_text() for page in built.glob("**/*.html")}
    assert {"index.html", "ja/index.html", "breads/country-rye/index.html"} < set(pages)
    assert len(pages) == 2 + 5 + 3 + 1
    assert "メロンパン" in pages["ja/index.html"]
    assert re.search(r'<li lang="en">(?:(?!</li>).)*Sesame ring', pages["ja/index.html"], re.DOTALL)
    assert "baked by Hana Morita" in pages["breads/country-rye/index.html"]
    assert "<strong>starter from" in pages["breads/country-rye/index.html"]


@pytest.mark.parametrize("name", NAMES)
def test_an_edit_shows_as_soon_as_it_is_saved(name: str, tmp_path: Path) -> None:
    """Beside ``cms dev``, in a page that is open already; an entry that is new has a page."""
    workspace = shutil.copytree(EXAMPLE, tmp_path / "komugi")
    with (
        running(workspace, tmp_path / "log") as session,
        project(name, f"http://{session.host}", session.key()) as (folder, environment),
        developed_site(name, folder, environment) as address,
        chromium() as browser,
        window(browser) as (page, _),
    ):
        page.goto(f"{address}/journal/the-night-oven", wait_until="networkidle")
        entry = workspace / "content" / "journal" / "the-night-oven.md"
        text = entry.read_text(encoding="utf-8")
        for title in (NEW_TITLE, "The oven by day"):
            entry.write_text(text.replace(TITLE, title), encoding="utf-8")
            page.get_by_role("heading", name=title, exact=True).wait_for()
        (entry.with_name("a-new-one.md")).write_text(text.replace(TITLE, "A new one"), encoding="utf-8")

        def shown() -> bool:
            answer = page.goto(f"{address}/journal/a-new-one")
            return answer is not None and answer.status == 200  # there is none where the page reloads meanwhile

        eventually(shown)
        assert heading(page) == "A new one"

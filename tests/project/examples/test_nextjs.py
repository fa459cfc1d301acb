"""``examples/nextjs``: built once and opened in a browser, and edited beside ``cms dev``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from engine.webhooks.signatures import new_secret, standard_headers
from snapshots.build.build import build as build_snapshot
from snapshots.times import format_datetime, now_ms
from tests.engine.typed import clients
from tests.project.examples.browsing import (
    a_preview_is_in_its_language,
    check_every_page,
    chromium,
    window,
    with_a_japanese_draft,
)
from tests.project.examples.projects import build, once_up, program, project
from tests.project.examples.publishing import TITLE, heading, webhook, what_is_published_shows
from tests.project.test_docs import blocks
from tests.server.dev.session import running
from tests.servers.ports import free_port
from tests.sites.example_server import EXAMPLE, ExampleServer, example_server
from tests.sites.served_site import eventually

NEXT = ["node", "node_modules/next/dist/bin/next"]
BODY = json.dumps({"type": "content.changed", "data": {"tags": ["komugi:journal"], "title": "日本語 ✓"}})
ELSEWHERE = json.dumps({"type": "content.changed", "data": {"tags": ["komugi:stockists"]}})
DRAFT = "The night oven, revisited"

pytestmark = pytest.mark.slow


@contextmanager
def nextjs(command: str, folder: Path, environment: Mapping[str, str], port: int | None = None) -> Iterator[str]:
    """The site behind ``next start`` or ``next dev``: its address."""
    port = port or free_port()
    with program([*NEXT, command, "-H", "127.0.0.1", "-p", str(port)], folder, environment):
        yield once_up(f"http://127.0.0.1:{port}")


def test_it_is_built_shown_previewed_and_kept_as_long_as_it_is_right(tmp_path: Path) -> None:
    """The example is built once, for all that it does."""
    secret = new_secret()
    with (
        example_server(tmp_path, with_a_japanese_draft(tmp_path), CMS_WEBHOOK_ALLOW_LOOPBACK="1") as server,
        project("nextjs", server.url, server.key) as (folder, given),
        chromium() as browser,
    ):
        environment = {**given, "WEBHOOK_SECRET": secret}
        assert "/journal/the-night-oven" in build(folder, environment)
        with nextjs("start", folder, environment) as address, httpx.Client(base_url=address, timeout=60) as http:
            check_every_page(browser, address, least=1 + 5 + 3)
            a_preview_is_one_page_with_a_way_out(browser, address, clients.draft_key(server, "the-night-oven", "en"))
            a_preview_is_in_its_language(browser, address, clients.draft_key(server, "the-night-oven", "ja"))
            what_is_not_there_is_not_found(http)
            what_was_kept_is_dropped_when_a_webhook_says_so(http, folder, secret)
            a_schedule_is_shown_at_its_instant_and_nothing_asked_for_in_between(http, server, tmp_path)
        port = free_port()
        heard = {**environment, "WEBHOOK_SECRET": webhook(server, f"http://127.0.0.1:{port}/webhook")}
        with nextjs("start", folder, heard, port) as address:
            what_is_published_shows(browser, address, server, tmp_path / "komugi")


def a_preview_is_one_page_with_a_way_out(browser: Any, address: str, key: str) -> None:
    with window(browser) as (page, complaints):
        assert page.goto(f"{address}/preview?id=the-night-oven&draftKey=wrong").status == 404
        page.goto(f"{address}/journal/the-night-oven")
        assert (heading(page), page.locator(".preview").count()) == (TITLE, 0)
        complaints.clear()

        assert page.goto(f"{address}/preview?id=the-night-oven&draftKey={key}").status == 200
        assert (page.url, heading(page)) == (f"{address}/journal/the-night-oven", DRAFT)
        assert page.title().startswith(DRAFT)
        for path, shown in (
            ("/journal/feeding-goro", "Feeding Gorō"),
            ("/breads/milk-roll", "Milk roll"),
            ("/", "Komugi"),
        ):
            assert page.goto(address + path).status == 200
            assert heading(page).startswith(shown)
            assert "shows changes that are not published" in page.locator(".preview").inner_text()
        page.get_by_role("link", name="one page").click()
        page.get_by_role("heading", name=DRAFT).wait_for()
        page.get_by_role("link", name="Leave the preview").click()
        page.get_by_role("heading", name=TITLE, exact=True).wait_for()
        assert page.locator(".preview").count() == 0
        page.reload()
        assert (heading(page), page.locator(".preview").count()) == (TITLE, 0)
        assert complaints == []

        # A preview whose key no longer opens a draft shows what is published.
        page.goto(f"{address}/preview?id=the-night-oven&draftKey={key}")
        [cookie] = [one for one in page.context.cookies() if one["name"] == "preview"]
        page.context.add_cookies([{**cookie, "value": cookie["value"].replace(key, "withdrawn")}])
        page.goto(f"{address}/journal/the-night-oven")
        assert heading(page) == TITLE


def what_is_not_there_is_not_found(http: httpx.Client) -> None:
    for path in ("/breads/pizza", "/journal/pizza", "/journal/sourdough-class"):
        answer = http.get(path)
        assert answer.status_code == 404
        assert "This page is not here" in answer.text


def sent_by_hand(folder: Path, url: str, tag: str, secret: str) -> str:
    """Send an event with the program in docs/webhooks.md: what it prints."""
    [sender] = [block for block in blocks("webhooks.md") if block.settings.get("title") == "send.mjs"]
    (folder / "send.mjs").write_text(sender.text)
    given = {**os.environ, "WEBHOOK_SECRET": secret}
    command = ["node", "send.mjs", url, tag]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=True).stdout


def what_was_kept_is_dropped_when_a_webhook_says_so(http: httpx.Client, folder: Path, secret: str) -> None:
    def send(body: str, key: str, *, signed: str | None = None) -> int:
        signature = standard_headers([key], "msg_1", now_ms(), signed or body)
        headers = {"content-type": "application/json", **signature}
        return http.post("/webhook", content=body.encode(), headers=headers).status_code

    def freshness() -> str | None:
        return http.get("/").headers.get("x-nextjs-cache")

    eventually(lambda: freshness() == "HIT", within=60)
    assert send(BODY, new_secret()) == 401
    assert send(BODY + " ", secret, signed=BODY) == 401
    assert send(ELSEWHERE, secret) == 204
    assert freshness() == "HIT"
    assert sent_by_hand(folder, f"{str(http.base_url).rstrip('/')}/webhook", "komugi:journal", secret) == "204\n"
    assert freshness() != "HIT"


def a_schedule_is_shown_at_its_instant_and_nothing_asked_for_in_between(
    http: httpx.Client, server: ExampleServer, directory: Path
) -> None:
    journal = directory / "komugi" / "content" / "journal"
    (journal / "rye-week.md").write_text("---\ntitle: Rye week\ndate: 2026-01-01\n---\nAll of it is rye.\n")
    starts = now_ms() + 15_000
    steam = f"---\ntitle: Steam\ndate: 2026-01-01\npublishStart: {format_datetime(starts)}\n---\nIt rises.\n"
    (journal / "steam.md").write_text(steam)
    build_snapshot(directory / "komugi", server.store, now=now_ms())
    eventually(lambda: server.running.get("/v1/komugi/journal/rye-week").status == 200)

    def status(entry: str) -> int:
        return http.get(f"/journal/{entry}").status_code

    def asked(entry: str) -> int:
        """How often Next.js asked the server for what the page of an entry shows."""
        return server.running.log().count(f"?filters=id[equals]{entry}&")

    assert (status("steam"), status("rye-week")) == (404, 200)
    assert [status("rye-week") for _ in range(5)] == [200] * 5
    eventually(lambda: asked("rye-week") == 1 or now_ms() >= starts - 2_000)  # a request is logged after its answer
    eventually(lambda: status("rye-week") == 200 and status("steam") == 200, within=60)
    assert now_ms() >= starts
    assert "<h1>Steam</h1>" in http.get("/journal/steam").text
    # Once before the instant and once after, since something in the API of both changes then; once more where
    # rounding ended the time a moment early.
    eventually(lambda: asked("rye-week") in (1, 2, 3) and asked("steam") in (2, 3))


def test_an_edit_shows_as_soon_as_it_is_saved(tmp_path: Path) -> None:
    """In pages that are open already, cached ones included, and in those that are opened after it."""
    workspace = shutil.copytree(EXAMPLE, tmp_path / "komugi")
    bread = workspace / "content" / "breads" / "melon-bread.md"
    entry = workspace / "content" / "journal" / "the-night-oven.md"

    def save_price(price: int) -> None:
        bread.write_text(
            re.sub("price: [0-9]+", f"price: {price}", bread.read_text(encoding="utf-8")), encoding="utf-8"
        )

    with (
        running(workspace, tmp_path / "log") as session,
        project("nextjs", f"http://{session.host}", session.key()) as (folder, environment),
        nextjs("dev", folder, environment) as address,
        chromium() as browser,
        window(browser) as (page, complaints),
        window(browser) as (missing, complaints_of_missing),
    ):
        assert missing.goto(f"{address}/journal/pizza").status == 404  # and stays open meanwhile
        with page.expect_response("**/dev/events"):
            page.goto(address)
        page.get_by_text("¥240").wait_for()
        page.evaluate("document.body.dataset.kept = 'yes'")
        for price in (241, 242):
            save_price(price)
            page.get_by_text(f"¥{price}").wait_for(timeout=60_000)
        assert page.evaluate("document.body.dataset.kept") == "yes"  # no reload, which would lose what was typed
        page.get_by_role("link", name="The night oven").click()
        page.get_by_role("heading", name=TITLE).wait_for(timeout=60_000)
        entry.write_text(entry.read_text(encoding="utf-8").replace(TITLE, "The oven at night"), encoding="utf-8")
        page.get_by_role("heading", name="The oven at night").wait_for(timeout=60_000)
        page.goto("about:blank")
        before = session.build_number()
        save_price(243)
        eventually(lambda: session.build_number() > before)
        page.goto(address)
        assert page.get_by_text("¥243").is_visible()
        page.close()
        assert [one for one in complaints if "HMR" not in one] == []
        assert heading(missing) == "This page is not here"
        assert [one for one in complaints_of_missing if not re.search("HMR|status of 404", one)] == []

"""A site that hears of what is published by a webhook: asked for in a real browser until it shows that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.webhooks.editing import add_endpoint
from engine.webhooks.webhooks_file import WebhooksFile
from snapshots.build.build import build as build_snapshot
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.times import now_ms
from tests.project.examples.browsing import window
from tests.sites.example_server import ExampleServer
from tests.sites.served_site import eventually

TITLE, NEW_TITLE = "The night oven", "The oven at night"


def webhook(server: ExampleServer, url: str) -> str:
    """Have the server tell an address of changes: the secret."""
    current = server.store.workspace("komugi").current()
    assert current is not None
    _, secret = add_endpoint(
        WebhooksFile(DirectoryObjects(server.store.root), "komugi"),
        url,
        form="standard",
        token=None,
        apis=None,
        langs=None,
        reasons=None,
        current=current.version,
        allow_loopback=True,
        now=now_ms(),
    )
    assert secret is not None
    return secret


def heading(page: Any) -> str:
    return str(page.locator("h1").first.inner_text())


def what_is_published_shows(browser: Any, address: str, server: ExampleServer, workspace: Path) -> None:
    entry = workspace / "content" / "journal" / "the-night-oven.md"
    text = entry.read_text(encoding="utf-8")
    assert TITLE in text
    entry.write_text(text.replace(TITLE, NEW_TITLE), encoding="utf-8")
    build_snapshot(workspace, server.store, now=now_ms())
    with window(browser) as (page, _):

        def shown() -> bool:
            answer = page.goto(f"{address}/journal/the-night-oven")
            return answer.status == 200 and heading(page) == NEW_TITLE

        eventually(shown, within=300)

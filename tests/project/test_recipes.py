"""The examples that npm builds, and the recipes for webhooks: real sites are built, hear of a change, and show it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from engine.webhooks.signatures import new_secret, standard_headers
from snapshots.build.build import build as build_snapshot
from snapshots.times import format_datetime, now_ms
from tests.engine.typed import clients
from tests.programs import node_packages
from tests.project.examples.projects import EXAMPLES, build, is_up, program, project
from tests.project.test_docs import blocks
from tests.servers.ports import free_port
from tests.sites.example_server import ExampleServer, example_server
from tests.sites.served_site import eventually

BODY = json.dumps({"type": "content.changed", "data": {"tags": ["komugi:journal"], "title": "日本語 ✓"}})
ELSEWHERE = json.dumps({"type": "content.changed", "data": {"tags": ["komugi:stockists"]}})
VERIFY = """
import { verify } from "./verify.ts";
const { body, headers, secret } = JSON.parse(process.argv[2]!);
try {
  const event = await verify(new Request("http://x/", { method: "POST", body, headers }), secret);
  console.log(`accepted ${event.type}`);
} catch (error) {
  console.log(`refused ${(error as Error).constructor.name}`);
}
"""


def rebuild_packages() -> Path:
    return node_packages.node_modules(EXAMPLES / "rebuild" / "package.json").parent


@pytest.mark.slow
def test_typescript_checks_signatures_as_the_page_says(tmp_path: Path) -> None:
    (block,) = (one for one in blocks("webhooks.md") if one.settings.get("title") == "verify.ts")
    packages, tools = rebuild_packages(), node_packages.node_modules().parent
    (tmp_path / "verify.ts").write_text(block.text)
    (tmp_path / "try.ts").write_text(VERIFY)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    (tmp_path / "process.d.ts").write_text("declare const process: { argv: string[] };\n")
    options = {
        "strict": True,
        "target": "es2022",
        "module": "esnext",
        "moduleResolution": "bundler",
        "lib": ["es2022", "dom", "dom.iterable"],
        "types": [],
        "skipLibCheck": True,
        "rewriteRelativeImportExtensions": True,
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    tsc = str(tools / "node_modules/.bin/tsc")
    compiled = subprocess.run([tsc], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    secret = new_secret()
    headers = standard_headers([secret], "msg_1", now_ms(), BODY)
    for body, key, said in (
        (BODY, secret, "accepted content.changed"),
        (BODY + " ", secret, "refused WebhookVerificationError"),
        (BODY, new_secret(), "refused WebhookVerificationError"),
    ):
        request = json.dumps({"body": body, "headers": headers, "secret": key})
        ran = subprocess.run(["node", "try.js", request], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == said, ran.stderr


@contextmanager
def nextjs(folder: Path, environment: Mapping[str, str]) -> Iterator[httpx.Client]:
    """The site that was built in a folder, behind Next.js's own server."""
    port = free_port()
    command = ["node", "node_modules/next/dist/bin/next", "start", "-H", "127.0.0.1", "-p", str(port)]
    with (
        program(command, folder, environment),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as browser,
    ):
        eventually(lambda: is_up(browser), within=60)
        yield browser


@pytest.mark.slow
def test_nextjs(tmp_path: Path) -> None:
    """The example is built once, for all that it does."""
    secret = new_secret()
    with example_server(tmp_path) as server, project("nextjs", server.url, server.key) as (folder, given):
        environment = {**given, "WEBHOOK_SECRET": secret}
        assert "/journal/the-night-oven" in build(folder, environment)
        with nextjs(folder, environment) as browser:
            pages_and_previews_are_shown(browser, clients.more_keys(server).draft)
            what_was_kept_is_dropped_when_a_webhook_says_so(browser, secret)
            a_schedule_is_shown_at_its_instant_and_nothing_asked_for_in_between(browser, server, tmp_path)


def pages_and_previews_are_shown(browser: httpx.Client, draft_key: str) -> None:
    home = browser.get("/").text
    assert "Komugi, bread from a wood-fired oven" in home
    assert 'href="/journal/the-night-oven">The night oven</a>' in home
    assert "<h1>The night oven</h1>" in browser.get("/journal/the-night-oven").text
    assert browser.get("/journal/pizza").status_code == 404
    wrong = browser.get("/preview?id=the-night-oven&draftKey=wrong")
    assert (wrong.status_code, wrong.text[:9]) == (404, "There are")
    right = browser.get(f"/preview?id=the-night-oven&draftKey={draft_key}")
    assert right.headers["location"] == "/journal/the-night-oven"
    # The cookies are for https only, as previews stand in frames; this connection is none.
    cookies = "; ".join(one.partition(";")[0] for one in right.headers.get_list("set-cookie"))
    shown = browser.get("/journal/the-night-oven", headers={"Cookie": cookies}).text
    assert "<h1>The night oven, revisited</h1>" in shown
    assert "<h1>The night oven</h1>" in browser.get("/journal/the-night-oven").text


def what_was_kept_is_dropped_when_a_webhook_says_so(browser: httpx.Client, secret: str) -> None:
    def send(body: str, key: str, *, signed: str | None = None) -> int:
        signature = standard_headers([key], "msg_1", now_ms(), signed or body)
        headers = {"content-type": "application/json", **signature}
        return browser.post("/webhook", content=body.encode(), headers=headers).status_code

    def freshness() -> str | None:
        return browser.get("/").headers.get("x-nextjs-cache")

    eventually(lambda: freshness() == "HIT", within=60)
    assert send(BODY, new_secret()) == 401
    assert send(BODY + " ", secret, signed=BODY) == 401
    assert send(ELSEWHERE, secret) == 204
    assert freshness() == "HIT"
    assert send(BODY, secret) == 204
    assert freshness() != "HIT"


def a_schedule_is_shown_at_its_instant_and_nothing_asked_for_in_between(
    browser: httpx.Client, server: ExampleServer, directory: Path
) -> None:
    journal = directory / "komugi" / "content" / "journal"
    (journal / "rye-week.md").write_text("---\ntitle: Rye week\ndate: 2026-01-01\n---\nAll of it is rye.\n")
    starts = now_ms() + 15_000
    steam = f"---\ntitle: Steam\ndate: 2026-01-01\npublishStart: {format_datetime(starts)}\n---\nIt rises.\n"
    (journal / "steam.md").write_text(steam)
    build_snapshot(directory / "komugi", server.store, now=now_ms())
    eventually(lambda: server.running.get("/v1/komugi/journal/rye-week").status == 200)

    def status(entry: str) -> int:
        return browser.get(f"/journal/{entry}").status_code

    def asked(entry: str) -> int:
        """How often Next.js asked the server for what the page of an entry shows."""
        return server.running.log().count(f"?filters=id[equals]{entry}&")

    assert (status("steam"), status("rye-week")) == (404, 200)
    assert [status("rye-week") for _ in range(5)] == [200] * 5
    assert asked("rye-week") == 1 or now_ms() >= starts - 2_000
    eventually(lambda: status("rye-week") == 200 and status("steam") == 200, within=60)
    assert now_ms() >= starts
    assert "<h1>Steam</h1>" in browser.get("/journal/steam").text
    # Once before the instant and once after, since something in the API of both changes then; once more where
    # rounding ended the time a moment early.
    assert asked("rye-week") in (1, 2, 3)
    assert asked("steam") in (2, 3)

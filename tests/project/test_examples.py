"""``examples/``: each site is built with the packages it names, from a real server, and looked at.

npm's packages are kept in the temporary directory between runs.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from engine.typed.clients import typescript_client
from snapshots.store.durable import locked
from tests.engine.typed import clients
from tests.programs import node_packages
from tests.server.reference.test_browser import CHROMIUM, FLAGS
from tests.servers.ports import free_port
from tests.sites.example_server import ExampleServer, example_server
from tests.sites.served_site import eventually

EXAMPLES = Path(__file__).parents[2] / "examples"
MINUTES = 10 * 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("examples")) as server:
        yield server


@pytest.mark.parametrize("name", ["astro/src/content.ts", "nextjs/lib/content.ts"])
def test_clients_are_as_they_are_printed_now(server: ExampleServer, name: str) -> None:
    assert (EXAMPLES / name).read_text(encoding="utf-8") == typescript_client(server.workspace)


def test_packages_are_pinned_and_no_registry_is_named() -> None:
    for package in EXAMPLES.glob("*/package.json"):
        text = package.read_text(encoding="utf-8")
        versions = re.findall(r'"[@a-z/-]+": "([^"]*[0-9][^"]*)"', text)
        assert versions
        assert all(re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version) for version in versions), package
        assert "http" not in text
    assert not [*EXAMPLES.rglob("package-lock.json")]


@contextmanager
def project(name: str, server: ExampleServer) -> Iterator[tuple[Path, dict[str, str]]]:
    """The example beside its packages, which Next.js wants inside the project; and the environment to run it in."""
    source = EXAMPLES / name
    folder = node_packages.node_modules(source / "package.json").parent
    with locked(folder / "project.lock", seconds=math.inf):
        for old in folder.iterdir():
            if old.is_symlink():  # Nuxt leaves one
                old.unlink()
            elif old.is_dir() and old.name != "node_modules":
                shutil.rmtree(old)
        shutil.copytree(source, folder, dirs_exist_ok=True)
        quiet = {"ASTRO_TELEMETRY_DISABLED": "1", "NEXT_TELEMETRY_DISABLED": "1", "CI": "1"}
        yield folder, {**os.environ, **quiet, "CMS_URL": server.url, "CMS_KEY": server.key}


def build(folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["npm", "run", "build"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_astro(server: ExampleServer) -> None:
    with project("astro", server) as (folder, environment):
        assert "0 errors" in build(folder, environment)
        pages = {
            page.relative_to(folder / "dist").as_posix(): page.read_text() for page in folder.glob("dist/**/*.html")
        }
        assert {"index.html", "ja/index.html", "breads/country-rye/index.html"} < set(pages)
        assert len(pages) == 2 + 5
        assert '<a href="/breads/milk-roll/">Milk roll</a>' in pages["index.html"]
        assert '<li lang="ja">メロンパン</li>' in pages["ja/index.html"]
        assert '<li lang="en">Sesame ring</li>' in pages["ja/index.html"]
        assert "Baked by Hana Morita" in pages["breads/country-rye/index.html"]
        assert "<strong>starter from" in pages["breads/country-rye/index.html"]


@pytest.mark.slow
def test_nextjs(server: ExampleServer) -> None:
    keys = clients.more_keys(server)
    with project("nextjs", server) as (folder, environment):
        assert "/journal/the-night-oven" in build(folder, environment)
        port = free_port()
        command = ["node", "node_modules/next/dist/bin/next", "start", "-H", "127.0.0.1", "-p", str(port)]
        with (folder / "log").open("w") as log:
            site = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as browser:
                eventually(lambda: is_up(browser), within=60)
                home = browser.get("/").text
                assert "Komugi, bread from a wood-fired oven" in home
                assert 'href="/journal/the-night-oven">The night oven</a>' in home
                assert "<h1>The night oven</h1>" in browser.get("/journal/the-night-oven").text
                assert browser.get("/journal/pizza").status_code == 404
                wrong = browser.get("/preview?id=the-night-oven&draftKey=wrong")
                assert (wrong.status_code, wrong.text[:9]) == (404, "There are")
                right = browser.get(f"/preview?id=the-night-oven&draftKey={keys.draft}")
                assert right.headers["location"] == "/journal/the-night-oven"
                # The cookies are for https only, as previews stand in frames; this connection is none.
                cookies = "; ".join(one.partition(";")[0] for one in right.headers.get_list("set-cookie"))
                shown = browser.get("/journal/the-night-oven", headers={"Cookie": cookies}).text
                assert "<h1>The night oven, revisited</h1>" in shown
                assert "<h1>The night oven</h1>" in browser.get("/journal/the-night-oven").text
        finally:
            site.terminate()
            site.wait(60)


def is_up(browser: httpx.Client) -> bool:
    try:
        return browser.get("/").status_code == 200
    except httpx.TransportError:
        return False


def test_a_page_without_a_build(server: ExampleServer, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    shutil.copytree(EXAMPLES / "html", tmp_path, dirs_exist_ok=True)
    page_text = (tmp_path / "index.html").read_text()
    page_text = page_text.replace("http://127.0.0.1:8787", server.url).replace(
        'data-key=""', f'data-key="{server.key}"'
    )
    (tmp_path / "index.html").write_text(page_text)
    with clients.folder_server(tmp_path) as site, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        told: list[str] = []
        page.on("request", lambda request: told.append(f"{request.method} {request.url} {request.post_data}"))
        page.goto(f"{site}/index.html")
        page.get_by_text("5 found").wait_for()
        assert page.locator("#breads li").all_inner_texts()[:2] == ["Country rye, 1450 yen", "Melon bread, 240 yen"]
        read = "async ([url, key]) => [...(await fetch(url, { headers: { 'X-API-KEY': key } })).headers.keys()]"
        headers = page.evaluate(read, [f"{server.url}/v1/komugi/breads?x=1", server.key])
        assert {"etag", "ratelimit", "x-content-tags", "x-ignored-parameters", "x-snapshot-at"} <= {*headers}
        page.select_option("#language", "ja")
        page.get_by_text("メロンパン, 240 yen").wait_for()
        page.fill("#search", "no bread is called so")
        page.get_by_text("0 found").wait_for()
        page.select_option("#language", "en")
        page.evaluate("document.querySelector('meta[name=cms]').dataset.key = 'wrong'")
        page.fill("#search", "")
        page.get_by_text("The breads cannot be shown: This API key is not valid.").wait_for()
        assert f'POST {server.url}/pv/komugi {{"path":"/index.html"}}' in told
        browser.close()

"""``examples/``: each site names its packages, and what needs no build is tried; ``test_recipes`` builds the others.

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
from tests.sites.example_server import ExampleServer, example_server

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

"""``examples/``: what the sites have in common, and what needs no build; ``tests/project/examples`` builds them."""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from engine.typed.clients import typescript_client
from tests.engine.typed import clients
from tests.project.examples.browsing import open_patiently
from tests.project.examples.projects import EXAMPLES
from tests.project.test_docs import blocks, check_links
from tests.server.reference.test_browser import CHROMIUM, FLAGS
from tests.sites.example_server import ExampleServer, example_server

CLIENTS = {
    "astro": "src/content.ts",
    "nextjs": "lib/content.ts",
    "nuxt": "utils/content.ts",
    "react": "src/content.ts",
    "sveltekit": "src/lib/content.ts",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("examples")) as server:
        yield server


@pytest.mark.parametrize("name", CLIENTS)
def test_clients_are_as_they_are_printed_now(server: ExampleServer, name: str) -> None:
    assert (EXAMPLES / name / CLIENTS[name]).read_text(encoding="utf-8") == typescript_client(server.workspace)


@pytest.mark.parametrize("name", ["house.css", "icon.svg", "reload.ts"])
def test_what_sites_have_in_common_is_the_same_in_all(name: str) -> None:
    """Each of them is copied alone, and so has its own."""
    found = [file for file in EXAMPLES.rglob(name) if "node_modules" not in file.parts]
    assert len(found) >= 3
    for one, other in combinations(found, 2):
        assert one.read_bytes() == other.read_bytes(), (one, other)


@pytest.mark.parametrize("name", CLIENTS)
def test_the_page_of_a_framework_has_files_of_its_example_and_all_that_they_import(name: str) -> None:
    check_links(f"{name}.md")
    files = {block.settings["title"]: block for block in blocks(f"{name}.md") if "title" in block.settings}
    assert len(files) >= 8
    written = {f"{name}/{file}" for file in files} | {f"{name}/{CLIENTS[name]}"}
    for file, block in files.items():
        example = EXAMPLES / ("rebuild" if file == "rebuild.mjs" else name)
        assert block.text == (example / file).read_text(encoding="utf-8"), file
        for imported in re.findall(
            r"""^\s*(?:import|export) .*"((?:[.~]|\$lib)/[^"]+|\.\./[^"]+)";?$""", block.text, re.MULTILINE
        ):
            inside = imported.replace("$lib", f"{name}/src/lib", 1).replace("~", name, 1)
            at = inside if inside != imported else posixpath.normpath(posixpath.join(name, file, "..", imported))
            assert at.endswith((".css", ".svg", "/$types")) or any(
                at + suffix in written for suffix in ("", ".ts", ".tsx")
            ), imported


def test_packages_are_pinned_and_no_registry_is_named() -> None:
    for package in EXAMPLES.glob("*/package.json"):
        text = package.read_text(encoding="utf-8")
        versions = re.findall(r'"[@a-z/-]+": "([^"]*[0-9][^"]*)"', text)
        assert versions
        assert all(re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version) for version in versions), package
        assert "http" not in text
    assert not [*EXAMPLES.rglob("package-lock.json")]


@pytest.mark.slow
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
        is_there = page.get_by_text("5 found").wait_for
        page.goto(f"{site}/index.html")
        is_there()
        assert page.locator("#breads li").all_inner_texts()[:2] == ["Country rye\n\n¥1,450", "Melon bread\n\n¥240"]
        painted = "[...document.images].filter((one) => one.complete && one.naturalWidth > 0).length === 6"
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            open_patiently(page, f"{site}/index.html", is_there)
            page.wait_for_function(painted)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        read = "async ([url, key]) => [...(await fetch(url, { headers: { 'X-API-KEY': key } })).headers.keys()]"
        headers = page.evaluate(read, [f"{server.url}/v1/komugi/breads?x=1", server.key])
        assert {"etag", "ratelimit", "x-content-tags", "x-ignored-parameters", "x-snapshot-at"} <= {*headers}
        page.select_option("#language", "ja")
        page.get_by_role("heading", name="メロンパン").wait_for()
        page.fill("#search", "no bread is called so")
        page.get_by_text("0 found").wait_for()
        page.select_option("#language", "en")
        page.evaluate("document.querySelector('meta[name=cms]').dataset.key = 'wrong'")
        page.fill("#search", "")
        page.get_by_text("The breads cannot be shown: This API key is not valid.").wait_for()
        assert f'POST {server.url}/pv/komugi {{"path":"/index.html"}}' in told
        browser.close()

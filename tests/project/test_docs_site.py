"""The pages of ``docs/`` as a site: built without a warning, and asking nothing of anybody else."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

REPOSITORY = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    surroundings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, check=False, cwd=REPOSITORY, env=surroundings, capture_output=True, text=True)
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


@pytest.mark.slow
def test_every_page_is_in_it(site: Path) -> None:
    for page in (REPOSITORY / "docs").glob("*.md"):
        built = site / ("index.html" if page.stem == "index" else f"{page.stem}/index.html")
        assert built.is_file(), page.name
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        heading = LexborHTMLParser(built.read_text(encoding="utf-8")).css_first("h1")
        assert heading is not None
        assert heading.text(deep=False).strip() == title
        written = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        sections = LexborHTMLParser(built.read_text(encoding="utf-8")).css("h2")
        assert len(sections) == len(re.findall("^## ", written, re.MULTILINE)), f"{page.name}: a section is lost"
        menu = LexborHTMLParser((site / "index.html").read_text(encoding="utf-8")).css(".md-nav--primary a[href]")
        assert page.stem == "index" or f"{page.stem}/" in {link.attributes["href"] for link in menu}, page.name


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_its_search_finds_pages_and_nothing_is_asked_elsewhere(address: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.locator("[data-md-component=search-query]").first.press_sequentially("schedules")
        # Each letter that was typed is searched for on the way.
        page.wait_for_function("document.querySelector('.md-search-result__link')?.href.includes('content-teams')")
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
        browser.close()

"""A site in a real browser: all its pages, at two widths, in light and dark."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest

from tests.programs.accessibility import violations
from tests.server.reference.test_browser import CHROMIUM, FLAGS
from tests.sites.example_server import EXAMPLE

WIDTHS = (390, 1280)
PATIENCE = 120.0
"""Seconds in which a busy server is asked again."""
JAPANESE_DRAFT = "夜の窯、ふたたび"
_PICTURES = """async () => {
    do {  // a page may bring more pictures, or others in their places, while these are awaited
        for (const one of document.images) one.loading = "eager";  // what is further down, too
        await Promise.all([...document.images].map((one) => one.decode().catch(() => {})));
        await new Promise((soon) => setTimeout(soon, 20));
    } while (![...document.images].every((one) => one.complete));
    return [...document.images].map((one) => ({
        address: one.currentSrc || one.src, alt: one.hasAttribute("alt"), painted: one.complete && one.naturalWidth > 0,
        shown: one.clientWidth, own: Number(one.getAttribute("width") ?? 0),
    }));
}"""
_LINKS = "() => [...document.querySelectorAll('a[href]')].map((link) => link.href)"
_IN_SIZES = "() => document.querySelectorAll('main img[srcset*=\"w=\"]').length >= 5"
"""The breads are there, which some pages ask for in the browser, and their pictures come in sizes."""
_TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def with_a_japanese_draft(directory: Path) -> Path:
    """The example with unpublished changes of one more language version, titled ``JAPANESE_DRAFT``."""
    example = shutil.copytree(EXAMPLE, directory / "example")
    text = (example / "content" / "journal" / "the-night-oven.ja.md").read_text(encoding="utf-8")
    draft = re.sub("title: .*", f"title: {JAPANESE_DRAFT}", text, count=1)
    (example / "content" / "journal" / "the-night-oven.ja.draft.md").write_text(draft, encoding="utf-8")
    return example


@contextmanager
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def window(browser: Any, **settings: Any) -> Iterator[tuple[Any, list[str]]]:
    """A page of a context of its own, and what it complains of."""
    context = browser.new_context(bypass_csp=True, **settings)
    context.set_default_timeout(120_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda told: is_complaint(told) and complaints.append(told.text))
    try:
        yield page, complaints
    finally:
        context.close()


def is_complaint(told: Any) -> bool:
    """Whether a message in the console is one of a mistake: that a busy server asks to come again is none."""
    return told.type in ("error", "warning") and not any(
        one in told.text for one in ("status of 503", "BLOCKED_BY_ORB")
    )


def open_patiently(page: Any, address: str, prepare: Callable[[], object]) -> list[dict[str, Any]]:
    """Open a page, call ``prepare``, and return its pictures. Where the server makes too many pictures at once and asks
    to come again (503), of which a browser shows another site's page nothing, this opens the page again."""
    busy: list[str] = []

    def look(request: Any) -> None:
        if "/assets/" in request.url and "BLOCKED_BY_ORB" in (request.failure or ""):
            busy.append(request.url)

    page.on("requestfailed", look)
    page.on("response", lambda response: response.status == 503 and busy.append(response.url))
    until = time.monotonic() + PATIENCE
    while True:
        busy.clear()
        page.goto(address)
        prepare()
        pictures: list[dict[str, Any]] = page.evaluate(_PICTURES)
        if not busy or time.monotonic() > until:
            page.remove_listener("requestfailed", look)
            return pictures


def a_preview_is_in_its_language(browser: Any, address: str, key: str) -> None:
    """``key`` is that of the Japanese draft."""
    with window(browser) as (page, complaints):
        page.goto(f"{address}/preview?id=the-night-oven&lang=ja&draftKey={key}")
        page.get_by_role("heading", name=JAPANESE_DRAFT).wait_for()
        assert page.locator("[lang=ja] h1").count() == 1
        assert complaints == []


def all_pages(page: Any, address: str) -> list[str]:
    """The addresses of all pages that links lead to, from the first on."""
    found, left = [address], [address]
    while left:
        page.goto(left.pop())
        for link in page.evaluate(_LINKS):
            target = urldefrag(urljoin(page.url, link)).url
            if target.startswith(address) and target.rstrip("/") not in {one.rstrip("/") for one in found}:
                found.append(target)
                left.append(target)
    return found


def check_every_page(browser: Any, address: str, *, least: int) -> None:
    """Every picture of every page is painted, sharp where it comes in sizes, and nothing is wider than the screen."""
    with window(browser) as (page, _):
        pages = all_pages(page, address)
    assert len(pages) >= least, pages
    for width in WIDTHS:
        scheme = "dark" if width == WIDTHS[0] else "light"
        settings = {"viewport": {"width": width, "height": 844}, "device_scale_factor": 2, "color_scheme": scheme}
        with window(browser, **settings) as (page, complaints):
            for one in pages:
                breads = partial(page.wait_for_function, _IN_SIZES) if one == address else page.title
                pictures = open_patiently(page, one, breads)
                assert page.title(), one
                assert [picture for picture in pictures if not (picture["painted"] and picture["alt"])] == [], one
                assert [picture for picture in pictures if not is_sharp(picture)] == [], one
                assert page.evaluate(_TOO_WIDE) <= 0, one
            page.goto(address)
            assert violations(page) == []
            assert complaints == []


def is_sharp(picture: dict[str, Any]) -> bool:
    """Whether a picture that comes in sizes has a pixel for each of the screen's, as far as it has so many."""
    _, found, width = picture["address"].partition("w=")
    return not found or int(width.partition("&")[0]) >= min(2 * picture["shown"], picture["own"])

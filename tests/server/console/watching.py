"""A real browser on the console: somebody signed in, and what their pages asked for and complained of."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine.access.sign_in.people import Person, member
from engine.access.sign_in.sign_ins import SignIns
from snapshots.store.store import Store
from snapshots.times import now_ms
from tests.server.console.browsing import OWNER
from tests.sites.served_site import Running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Watched:
    """A page of somebody who is signed in, with what it asked for and complained of."""

    def __init__(
        self,
        browser: Any,
        store: Store,
        server: Running,
        width: int = 1200,
        address: str | None = OWNER,
        **settings: Any,
    ) -> None:
        """``address`` is the member's, ``None`` for nobody."""
        self.context = browser.new_context(viewport={"width": width, "height": 844}, **settings)
        self.page = self.context.new_page()
        self.url = f"http://{server.host}"
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self._store = store
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        if address is not None:
            self.sign_in(member(address))

    def sign_in(self, person: Person) -> None:
        token = SignIns(self._store.objects).new_link(person, now_ms())
        self.page.goto(f"{self.url}/console/-/link?token={token}")
        self.page.get_by_role("button", name="Sign in").click()

    def go(self, path: str) -> Any:
        self.page.goto(f"{self.url}{path}")
        return self.page

    def fine(self, *, but: tuple[str, ...] = ()) -> None:
        """Nothing was said on the console but that an answer was none, nothing asked of another server ``but`` those
        that content names, and nothing is wider than the window."""
        said = [one for one in self.complaints if not one.startswith("Failed to load resource")]
        assert [one for one in said if not any(host in one for host in but)] == []
        ours = (f"{self.url}/", "data:", "about:", *but)
        assert [one for one in self.asked if not one.startswith(ours)] == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), self.page.url

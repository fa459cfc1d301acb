"""What people see while the console has too much to do, and after they asked for a link by e-mail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from server.console.process.waiting_requests import MOST_OF_VISITOR
from tests.programs.accessibility import violations
from tests.server.console.browsing import OWNER, console, site_with_members
from tests.server.console.process.test_serving import too_many_waiting
from tests.server.console.watching import Watched, chromium

HOME = "/console/acme"
LOOKS = [("light", 1280), ("light", 390), ("dark", 1280), ("dark", 390)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks the process up in /proc")
def test_nobody_is_left_out(tmp_path: Path) -> None:
    site = site_with_members(tmp_path)
    settings = {"CMS_SMTP_URL": "smtp://127.0.0.1:9", "CMS_PUBLIC_URL": "http://console.example"}
    with chromium() as browser, console(site, tmp_path / "log", **settings) as server:
        strangers = [
            Watched(browser, site.store, server, width, address=None, color_scheme=scheme, bypass_csp=True)
            for scheme, width in LOOKS
        ]
        for stranger in strangers:
            page = stranger.go("/console/-/sign-in")
            page.get_by_label("E-mail").fill(OWNER)
            page.get_by_role("button", name="Send").click()
            assert OWNER in page.inner_text("main")
            look(stranger, tmp_path / "asked")
        with too_many_waiting(server, lambda: server.get(HOME).status, 303, MOST_OF_VISITOR):
            for stranger in strangers:
                assert "The console is busy" in stranger.go(HOME).inner_text("h1")
                look(stranger, tmp_path / "busy")
        assert server.get(HOME).status == 303


def look(watched: Watched, picture: Path) -> None:
    """Find nothing wrong with the page as it is now."""
    page: Any = watched.page
    size = page.viewport_size["width"]
    assert violations(page) == []
    page.screenshot(path=picture.with_name(f"{picture.name}-{size}-{len(list(picture.parent.glob('*.png')))}.png"))
    watched.fine()

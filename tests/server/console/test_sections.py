"""A part of the console is a row of a table: its tab, its routes and who may ask follow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.server.console.browsing import EDITOR, MEMBERS, OWNER, Browser, console
from tests.sites.served_site import Site

ADDED = """
from server.console import routes
from server.console.navigation import ConsolePage, ConsoleSection
from server.console.pages import readers

routes.SECTIONS += (
    ConsoleSection("Weather", (ConsolePage("/weather", readers.show), ConsolePage("/weather/{day}", readers.show))),
    ConsoleSection("Safe", (ConsolePage("/safe", readers.show, manages=True),)),
    ConsoleSection("Attic", (ConsolePage("/attic", readers.show),), is_set_up=lambda visit: False),
)
"""
"""What every process of the server begins with."""


@pytest.mark.slow
def test_a_new_row_is_a_tab_with_pages(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    file = site.source / "workspace.yaml"
    file.write_text(file.read_text() + MEMBERS)
    site.publish("one")
    (tmp_path / "added").mkdir()
    (tmp_path / "added" / "sitecustomize.py").write_text(ADDED)
    path = os.pathsep.join((str(tmp_path / "added"), *filter(None, [os.environ.get("PYTHONPATH")])))
    with console(site, tmp_path / "log", from_nothing=True, PYTHONPATH=path) as server:
        owner, editor = Browser(server), Browser(server)
        owner.sign_in(site.store.root, OWNER)
        editor.sign_in(site.store.root, EDITOR)
        assert owner.get("/console/acme/weather/today").status == 200
        assert [tab.text() for tab in owner.get("/console/acme/weather").page.css("nav a[aria-current]")] == ["Weather"]
        tabs = owner.get("/console/acme").text
        assert "Audit log Weather Safe" in tabs
        assert "Attic" not in tabs
        assert "Attic" in owner.get("/console/acme/attic").text
        assert owner.get("/console/acme/safe").status == 200
        assert editor.get("/console/acme/safe").status == 403
        assert "Safe" not in editor.get("/console/acme/weather").text
        assert owner.post("/console/acme/weather").status == 405

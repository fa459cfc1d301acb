"""``examples/react``: a page that requests its content from the browser, built, and edited beside ``cms dev``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.engine.typed import clients
from tests.programs.command_line import process
from tests.project.examples.browsing import check_every_page, chromium, window
from tests.project.examples.projects import build, once_up, program, project
from tests.server.dev.session import running
from tests.servers.ports import free_port
from tests.sites.example_server import EXAMPLE
from tests.sites.served_site import eventually

pytestmark = pytest.mark.slow


def test_it_is_shown_built_and_edited(tmp_path: Path) -> None:
    workspace = shutil.copytree(EXAMPLE, tmp_path / "komugi")
    milk_roll = workspace / "content" / "breads" / "milk-roll.md"
    draft = milk_roll.read_text(encoding="utf-8").replace("name: Milk roll", "name: Milk roll, softer")
    milk_roll.with_name("milk-roll.draft.md").write_text(draft, encoding="utf-8")
    japanese = milk_roll.with_name("milk-roll.ja.md").read_text(encoding="utf-8")
    milk_roll.with_name("milk-roll.ja.draft.md").write_text(
        re.sub("name: .*", "name: 新しいパン", japanese), encoding="utf-8"
    )
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (
        running(workspace, tmp_path / "log") as session,
        project("react", f"http://{session.host}", session.key()) as (folder, environment),
        chromium() as browser,
    ):
        build(folder, environment)
        with clients.folder_server(folder / "dist") as built:
            check_every_page(browser, built, least=1)
            with window(browser) as (page, complaints):
                page.goto(built)
                asks_and_asks_again(page)
                assert complaints == []
        vite = ["node", "node_modules/vite/bin/vite.js", "--host", "127.0.0.1", "--port", str(port)]
        with program(vite, folder, environment), window(browser) as (page, complaints):
            once_up(address)
            a_preview_has_a_way_out(page, address, workspace)
            an_edit_shows(page, address, milk_roll)
            assert [one for one in complaints if "vite" not in one] == []


def asks_and_asks_again(page: Any) -> None:
    page.get_by_text("5 found").wait_for()
    page.get_by_label("Language").select_option("ja")
    page.get_by_role("heading", name="メロンパン").wait_for()
    page.get_by_label("Search").fill("no bread is called so")
    page.get_by_text("0 found").wait_for()
    page.get_by_label("Search").fill("")
    page.get_by_text("5 found").wait_for()


def a_preview_has_a_way_out(page: Any, address: str, workspace: Path) -> None:
    listed = process("draft", "list", "--json", cwd=workspace).json
    keys = {one["lang"]: one["draftKey"] for one in listed if one["id"] == "milk-roll"}
    page.goto(f"{address}/?bread=milk-roll&lang=en&draftKey={keys['en']}")
    page.get_by_role("heading", name="Milk roll, softer").wait_for()
    assert "not published" in page.locator(".preview").inner_text()
    page.get_by_role("link", name="Leave the preview").click()
    page.get_by_role("heading", name="Milk roll", exact=True).wait_for()
    assert page.locator(".preview").count() == 0
    page.goto(f"{address}/?bread=milk-roll&lang=ja&draftKey={keys['ja']}")
    page.get_by_role("heading", name="新しいパン").wait_for()
    assert page.locator("article[lang=ja]").count() == 1


def an_edit_shows(page: Any, address: str, milk_roll: Path) -> None:
    with page.expect_response("**/dev/events"):
        page.goto(address)
    page.get_by_text("¥180").wait_for()
    for price in (181, 182):
        text = milk_roll.read_text(encoding="utf-8")
        milk_roll.write_text(re.sub("price: [0-9]+", f"price: {price}", text), encoding="utf-8")
        eventually(lambda shown=f"¥{price}": page.get_by_text(shown).count() == 1)

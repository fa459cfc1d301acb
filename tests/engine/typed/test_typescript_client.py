"""The client of ``cms types typescript``: compiled under strict settings, and asking real servers from Node."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.typed.clients import microcms_client, typescript_client
from engine.typed.names import as_read
from snapshots.model import Workspace
from tests.engine.typed import clients
from tests.programs import node_packages
from tests.server.reference.test_browser import CHROMIUM, FLAGS
from tests.server.reference.test_openapi_clients import hard_workspace
from tests.sites.example_server import ExampleServer, example_server
from tests.sites.served_site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

TSC = ["--strict", "--noUnusedLocals", "--noUnusedParameters", "--exactOptionalPropertyTypes", "--skipLibCheck"]
TSC += ["--noUncheckedIndexedAccess", "--noImplicitOverride", "--verbatimModuleSyntax", "--isolatedModules"]
TSC += ["--erasableSyntaxOnly", "--target", "es2022", "--module", "nodenext"]
EMPTY = Workspace("empty", "Empty", ("en",))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("typescript")) as server:
        yield server


@pytest.fixture(scope="module")
def folder(server: ExampleServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with compiled clients, and what uses them."""
    folder = tmp_path_factory.mktemp("compiled")
    modules = node_packages.node_modules()
    (folder / "node_modules").symlink_to(modules)
    for use in [*clients.USES.glob("*.ts"), clients.USES / "package.json"]:
        shutil.copy(use, folder)
    scope = frozenset(api.uid for api in server.workspace.apis if api.endpoint in ("breads", "shop"))
    (folder / "acme.ts").write_text(typescript_client(clients.ACME))
    (folder / "komugi.ts").write_text(typescript_client(server.workspace))
    (folder / "all_apis.ts").write_text(typescript_client(server.workspace, any_key=False))
    (folder / "some_apis.ts").write_text(typescript_client(as_read(server.workspace, scope), any_key=False))
    (folder / "microcms-js-sdk.ts").write_text(microcms_client(server.workspace))
    # The compiler takes the same program with microCMS's own SDK in the place of ours.
    program = (folder / "sdk_program.ts").read_text()
    assert "./microcms-js-sdk.js" in program
    (folder / "sdk_program_with_theirs.ts").write_text(program.replace("./microcms-js-sdk.js", "microcms-js-sdk"))
    for workspace in (hard_workspace(), EMPTY):
        for any_key in (True, False):
            name = f"{workspace.id}-{any_key}"
            (folder / f"{name}.ts").write_text(typescript_client(workspace, any_key=any_key))
            (folder / f"{name}-microcms.ts").write_text(microcms_client(workspace, any_key=any_key))
    clients.run(modules / ".bin" / "tsc", *TSC, *(one.name for one in folder.glob("*.ts")), cwd=folder)
    return folder


@pytest.fixture(scope="module")
def act(folder: Path) -> Iterator[clients.Act]:
    with clients.acting("node", "transport.js", cwd=folder) as act:
        yield act


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def test_it_reads_a_real_server(server: ExampleServer, folder: Path) -> None:
    keys = clients.more_keys(server)
    arguments = (server.url, server.key, keys.limited, keys.draft)
    assert clients.results(clients.run("node", "in_node.js", *arguments, cwd=folder)) == clients.RESULTS


def test_it_reads_a_real_server_from_a_browser(server: ExampleServer, folder: Path, browser: Browser) -> None:
    """A page of another origin gets the same answers, as the server lets it send and read what the client needs."""
    keys = clients.more_keys(server)
    page = browser.new_page()
    with clients.folder_server(folder) as site:
        page.goto(f"{site}/package.json")
        printed = page.evaluate(
            "async (all) => JSON.stringify(await (await import('/reads.js')).results(...all))",
            [server.url, server.key, keys.limited, keys.draft],
        )
    assert clients.results(printed) == clients.RESULTS


def test_a_browser_follows_no_redirect(folder: Path, browser: Browser) -> None:
    anyone = {"Access-Control-Allow-Origin": "*"}
    page = browser.new_page()
    with clients.folder_server(folder) as site, clients.scripted([clients.page(3)]) as other:
        moved = clients.Scripted("", {"Location": f"{other.url}/v1/komugi/breads", **anyone}, 307)
        with clients.scripted([moved]) as server:
            page.goto(f"{site}/package.json")
            said = page.evaluate(
                "async (url) => { const { Client } = await import('/komugi.js');"
                "const content = new Client({ url, key: 'the_key' });"
                "return content.list('breads').catch((error) => `${error.name}: ${error.message}`); }",
                server.url,
            )
    assert said.startswith("ContentError: The server redirects to another address, where the key is not sent.")
    assert (len(server.requests), other.requests) == (1, [])


def test_nothing_is_mixed_that_is_published_between_two_pages(folder: Path, tmp_path: Path) -> None:
    clients.check_publishing_between(["node", "published_between.js"], folder, Site(tmp_path, entries=250))


@pytest.mark.parametrize("check", clients.CHECKS)
def test_its_requests(check: Any, act: clients.Act) -> None:
    check(act)


def test_a_wait_can_be_stopped(act: clients.Act) -> None:
    """Before an answer, and between two tries."""
    for answer in (clients.Scripted(stops="hangs"), clients.Scripted("", {"Retry-After": "110"}, 503)):
        with clients.scripted([answer]) as server:
            assert act(server.url, "abort") == "Error: stopped"


def test_microcms_sdk(server: ExampleServer, folder: Path) -> None:
    """A program written for the SDK reads from here, with the answers' types where it gives none."""
    found = json.loads(clients.run("node", "microcms.js", server.url, server.key, cwd=folder))
    assert found == {
        "own": ["Bread cards, ten loaves for the price of nine"],
        "name": "Sesame ring",
        "baker": "daniel",
        "seats": 8,
        "all": ["Country rye", "Melon bread", "Milk roll", "Sesame ring", "Walnut bâtard"],
        "ids": ["sesame-ring", "walnut-batard", "country-rye"],
        "names": ["Sesame ring", "Melon bread", "Walnut bâtard", "Milk roll", "Country rye"],
        "some": ["milk-roll", "sesame-ring"],
        "missing": [404, f"fetch API response status: 404\n  message is `{clients.MISSING}`"],
        "refused": ["ids: at most 10 are allowed, and only without filters.", "endpoint is required"],
        "nobody": [True, "Network Error."],
    }


def test_a_program_for_the_sdk_is_the_same_for_both(folder: Path) -> None:
    assert "./microcms-js-sdk.js" in (folder / "sdk_program.js").read_text()
    assert '"microcms-js-sdk"' in (folder / "sdk_program_with_theirs.js").read_text()

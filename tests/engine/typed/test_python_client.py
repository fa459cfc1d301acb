"""The client of ``cms types python``: checked by mypy's strict mode, and asking real servers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.typed.clients import python_client
from engine.typed.names import as_read
from snapshots.model import Workspace
from tests.engine.typed import clients
from tests.server.reference.test_openapi_clients import hard_workspace
from tests.sites.example_server import ExampleServer, example_server
from tests.sites.served_site import Site, eventually

pytestmark = pytest.mark.slow

EMPTY = Workspace("empty", "Empty", ("en",))
SCOPED = """
from typing import assert_type
import all_apis, some_apis
def typed(everything: all_apis.Client, some: some_apis.Client) -> None:
    assert_type(everything.breads.entry("x")["baker"], "all_apis.BakersDepth0 | None")
    assert_type(everything.breads.entry("x", depth=0)["baker"], "str | None")
    assert_type(everything.breads.entry("x", depth=2)["goes_with"], "list[all_apis.Breads]")
    assert_type(some.breads.entry("x", depth=2)["baker"], "str | None")
    assert_type(some.shop.get()["todays_bread"], "some_apis.BreadsDepth0 | None")
    some.bakers  # type: ignore[attr-defined]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("python")) as server:
        yield server


@pytest.fixture(scope="module")
def folder(server: ExampleServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with clients, and what uses them, which mypy has nothing against."""
    folder = tmp_path_factory.mktemp("checked")
    for use in clients.USES.glob("*.py"):
        shutil.copy(use, folder)
    scope = frozenset(api.uid for api in server.workspace.apis if api.endpoint in ("breads", "shop"))
    (folder / "acme.py").write_text(python_client(clients.ACME))
    (folder / "komugi.py").write_text(python_client(server.workspace))
    (folder / "all_apis.py").write_text(python_client(server.workspace, any_key=False))
    (folder / "some_apis.py").write_text(python_client(as_read(server.workspace, scope), any_key=False))
    (folder / "scoped.py").write_text(SCOPED)
    (folder / "hard.py").write_text(python_client(hard_workspace()))
    (folder / "hard_scope.py").write_text(python_client(hard_workspace(), any_key=False))
    (folder / "empty.py").write_text(python_client(EMPTY))
    files = sorted(one.name for one in folder.glob("*.py"))
    # Each use is a program of its own.
    clients.run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *files, cwd=folder)
    clients.run(sys.executable, "-W", "error", "-c", "import hard, hard_scope, empty", cwd=folder)
    return folder


@pytest.fixture(scope="module", params=["sync", "async"])
def act(request: pytest.FixtureRequest, folder: Path) -> Iterator[clients.Act]:
    """What has either client act."""
    with clients.acting(sys.executable, "-W", "error", "transport.py", request.param, cwd=folder) as act:
        yield act


def test_it_reads_a_real_server(server: ExampleServer, folder: Path) -> None:
    keys = clients.more_keys(server)
    arguments = (server.url, server.key, keys.limited, keys.draft)
    printed = clients.run(sys.executable, "-W", "error", "reads.py", *arguments, cwd=folder)
    assert clients.results(printed) == clients.RESULTS


def test_nothing_is_mixed_that_is_published_between_two_pages(folder: Path, tmp_path: Path) -> None:
    clients.check_publishing_between([sys.executable, "published_between.py"], folder, Site(tmp_path, entries=250))


@pytest.mark.parametrize("check", clients.CHECKS)
def test_its_requests(check: Any, act: clients.Act) -> None:
    check(act)


def test_threads_and_tasks_share_a_client(act: clients.Act) -> None:
    with clients.scripted([clients.page(5)]) as scripted:
        assert act(scripted.url, "threads") == 200


@pytest.mark.parametrize("act", ["async"], indirect=True)
def test_a_task_can_be_cancelled(act: clients.Act) -> None:
    """The connection is let go at once, in a wait between tries too."""
    with clients.scripted([clients.Scripted(stops="hangs")]) as server:
        assert act(server.url, "abort") == "stopped"
        eventually(lambda: server.left == 1)
    with clients.scripted([clients.Scripted("", {"Retry-After": "110"}, 503)]) as server:
        assert act(server.url, "abort") == "stopped"


def test_a_connection_that_was_closed_meanwhile_is_opened_again(folder: Path) -> None:
    script = [clients.page(1), clients.Scripted(status=None), clients.page(3)]
    with clients.scripted(script) as server:
        program = (
            "import sys; from komugi import Client\n"
            "with Client(sys.argv[1], 'key', keep=0) as content:\n"
            "    print([content.breads.list()['totalCount'] for _ in range(2)])"
        )
        assert clients.run(sys.executable, "-W", "error", "-c", program, server.url, cwd=folder) == "[1, 3]\n"
    assert len(server.requests) == 3


def test_an_address_that_is_none(folder: Path) -> None:
    program = (
        "from komugi import Client\n"
        "try:\n    Client('cms.example.com', 'key')\n"
        "except ValueError as error:\n    print(error)"
    )
    said = clients.run(sys.executable, "-c", program, cwd=folder)
    assert said == "url: expected an address such as https://cms.example.com, got 'cms.example.com'.\n"

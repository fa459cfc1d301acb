"""``cms mcp``, started as agents start it and asked by the protocol's own client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from cli.location import choose_workspace
from cli.mcp.remote import ServedContent
from cli.mcp.stored import StoredContent
from cli.remote.server import Server
from engine.access.keys.access import AccessFile, disable_key, issue_key
from snapshots.build.build import build
from snapshots.times import format_datetime, now_ms
from tests.programs.command_line import Cms, in_process
from tests.sites.example_server import ExampleServer, example_server
from tests.sites.served_site import eventually

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    directory = tmp_path_factory.mktemp("mcp")
    with example_server(directory) as server:
        breads_key(server, "breads")
        bread = directory / "komugi" / "content" / "breads" / "milk-roll.md"
        bread.write_text(bread.read_text().replace("price: 180", "price: 190"))
        shop = directory / "komugi" / "content" / "shop.yaml"
        shop.write_text(shop.read_text().replace("seats: 8", "seats: 9"))
        build(directory / "komugi", server.store, now=now_ms())
        yield server


def breads_key(server: ExampleServer, name: str) -> str:
    """Issue a key for the API ``breads`` alone."""
    scope = frozenset(api.uid for api in server.workspace.apis if api.endpoint == "breads")
    file = AccessFile(server.store.workspace("komugi").directory)
    return issue_key(file, name=name, now=now_ms(), zone=UTC, scope=scope, validity="none")[1]


class Agent:
    """One client and the process that it started."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool as JSON; an error as its text."""
        result = await self._client.call_tool(tool, arguments)
        if result.is_error:
            return result.content[0].text
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content


def asked(
    ask: Callable[[Agent], Awaitable[None]], *options: str, tools: set[str] | None = None, **environment: str
) -> None:
    """Start the program, and let an agent ask it."""
    from mcp import StdioServerParameters

    started = StdioServerParameters(
        command=sys.executable,
        args=["-W", "error", "-m", "cli.main", "mcp", *options],
        env={"PYTHONPATH": str(Path(__file__).parents[3]), **environment},
    )
    ask_program(ask, started, tools)


def asked_here(ask: Callable[[Agent], Awaitable[None]], content: Any, *, tools: set[str] | None = None) -> None:
    """Let an agent ask for content in this process, which is quicker than to start the program."""
    from cli.mcp.tools import mcp_server

    ask_program(ask, mcp_server(content), tools)


def ask_program(ask: Callable[[Agent], Awaitable[None]], program: Any, tools: set[str] | None) -> None:
    from mcp import Client  # 0.8 s that only these tests take

    async def run() -> None:
        async with Client(program, read_timeout_seconds=60) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name for tool in listed} == (tools or {"schema", "find", "read", "diff"})
            assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)
            await ask(Agent(client))

    anyio.run(run)


def options(server: ExampleServer) -> tuple[str, ...]:
    return ("--store", str(server.store.root), "-w", "komugi")


async def ask_for_content(agent: Agent) -> None:
    schema = await agent.call("schema")
    assert [api["endpoint"] for api in schema["apis"]] == ["bakers", "breads", "journal", "shop", "stockists"]
    filters = "price[less_than]300[and]name[not_contains]a & b"
    found = await agent.call("find", api="breads", filters=filters, orders=["-price"], fields=["name"], limit=1)
    assert (found["totalCount"], found["contents"]) == (3, [{"id": "melon-bread", "name": "Melon bread"}])
    entry = await agent.call("read", api="breads", id="melon-bread", fields=["name"], lang="ja")
    assert entry == {"id": "melon-bread", "name": "メロンパン"}
    assert (await agent.call("read", api="shop", fields=["seats"])) == {"id": "shop", "seats": 9}
    assert 'no field "prize"' in await agent.call("find", api="breads", filters="prize[exists]")
    assert "pizza" in await agent.call("read", api="breads", id="pizza")
    assert await agent.call("find", api="journal", q="revisited") == {
        "contents": [],
        "totalCount": 0,
        "offset": 0,
        "limit": 10,
    }


def test_a_store(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        await ask_for_content(agent)
        bloom = {"api": "breads", "id": "sakura-anpan", "fields": ["name"]}
        assert "sakura-anpan" in await agent.call("read", **bloom)
        assert (await agent.call("read", **bloom, at="2100-01-01"))["name"] == "Cherry blossom anpan"
        assert "at: " in await agent.call("read", **bloom, at="soon")
        assert "is a list API: give the ID" in await agent.call("read", api="breads")
        assert "is an object API" in await agent.call("find", api="shop")
        found = await agent.call("diff")
        assert {(one["api"], one["counts"]["changed"]) for one in found["entries"]} == {("breads", 1), ("shop", 1)}
        bread = next(one for one in found["entries"] if one["api"] == "breads")
        assert bread["changed"] == [{"id": "milk-roll", "fields": [{"field": "price", "from": 180, "to": 190}]}]
        assert "no snapshot version" in (await agent.call("diff", old="2020")).lower()

    asked(ask, *options(server))


def test_the_scope_of_a_key(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        assert [api["endpoint"] for api in (await agent.call("schema"))["apis"]] == ["breads"]
        assert 'no API "shop"' in await agent.call("read", api="shop")
        assert (await agent.call("read", api="breads", id="milk-roll", fields=["baker"]))["baker"] == "daniel"
        bloom = {"api": "breads", "id": "sakura-anpan", "fields": ["name"]}
        for at in ("2100-01-01", "2020-01-01"):
            assert isinstance(await agent.call("read", **bloom, at=at), str)
        assert (await agent.call("find", api="breads", at=format_datetime(now_ms())))["totalCount"] == 5
        disable_key(AccessFile(server.store.workspace("komugi").directory), prefix)
        assert (await agent.call("find", api="breads")).endswith("This API key is disabled.")

    prefix = breads_key(server, "breads once")[:11]
    content = StoredContent(choose_workspace(str(server.store.root), "komugi"), "breads once")
    asked_here(ask, content, tools={"schema", "find", "read"})


def test_a_server(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        await ask_for_content(agent)
        assert "before its current snapshot version" in await agent.call(
            "find", api="breads", at="2020-01-01T00:00:00Z"
        )
        before = await agent.call("find", api="breads", at=format_datetime(now_ms() - 1))
        assert before["totalCount"] == 5
        assert "2100-01-01" in await agent.call("find", api="breads", at="2100-01-01T00:00:00Z")
        assert "at: " in await agent.call("find", api="breads", at="soon")
        found = await agent.call("diff")
        assert {(one["api"], one["counts"]["changed"]) for one in found["entries"]} == {("breads", 1), ("shop", 1)}
        by_api = {one["api"]: one["changed"] for one in found["entries"]}
        assert by_api["breads"] == [{"id": "milk-roll", "fields": [{"field": "price", "from": 180, "to": 190}]}]
        assert by_api["shop"] == [{"id": "shop", "fields": [{"field": "seats", "from": 8, "to": 9}]}]
        assert (found["schema"], "note" in found) == ([], False)
        assert (await agent.call("diff", old=found["to"]))["entries"] == []
        again = await agent.call("diff", old=found["from"], new=found["to"])
        assert again["entries"] == found["entries"]
        assert "Leave `new` out" in await agent.call("diff", new="20200101T000000000Z-00000000")
        assert "no longer kept" in await agent.call("diff", old="20200101T000000000Z-00000000")
        assert "since: expected" in await agent.call("diff", old="yesterday")

    asked(ask, "--url", f"{server.url}/v1/komugi", CMS_KEY=server.key)


def test_the_scope_of_a_key_of_a_server(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        found = await agent.call("diff")
        assert [(one["api"], one["counts"]["changed"]) for one in found["entries"]] == [("breads", 1)]

    key = breads_key(server, "of a server")
    eventually(lambda: server.running.get("/v1/komugi/breads", headers={"X-API-KEY": key}).status == 200)
    asked_here(ask, ServedContent(Server(f"{server.url}/v1/komugi", key)))


def test_a_server_that_refuses(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        assert (await agent.call("schema")).endswith("This API key is not valid.")

    asked_here(ask, ServedContent(Server(f"{server.url}/v1/komugi", "wrong")))


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_KEY", raising=False)
    return in_process(monkeypatch, capsys)


def test_what_does_not_start(cms: Cms, server: ExampleServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Set CMS_KEY" in cms("mcp", "--url", "http://127.0.0.1:1/v1/komugi").err
    monkeypatch.setenv("CMS_KEY", "x")
    assert "is not the address of a workspace" in cms("mcp", "--url", "http://127.0.0.1:1").err
    assert "CMS_KEY has the whole key" in " ".join(cms("mcp", "--url", "http://x/v1/y", "--key", "z").err.split())
    assert "`cms key list`" in cms("mcp", *options(server), "--key", "nobody").err
    program = "import sys; sys.modules['mcp'] = None; from cli.main import main; main()"
    command = [sys.executable, "-c", program, "mcp", *options(server)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'pip install "parquetry[mcp]"' in " ".join(done.stderr.split())

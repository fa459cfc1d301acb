"""docs/agents.md: its configurations are started as agents do, and its calls made by the protocol's own client."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.access.keys.access import AccessFile, issue_key
from snapshots.build.build import build
from snapshots.times import now_ms
from tests.project.test_docs import Block, blocks, check_links, exact, matches
from tests.sites.example_server import ExampleServer, example_server
from tests.sites.served_site import eventually

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")

PAGE = "agents.md"
CONFIGURATIONS = [block for block in blocks(PAGE) if "mcpServers" in block.text]
CALLS = [
    (call, answer) for call, answer in zip(blocks(PAGE), blocks(PAGE)[1:], strict=False) if "call" in call.settings
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    """The example, in which somebody has raised a price and published it."""
    directory = tmp_path_factory.mktemp("agents")
    with example_server(directory) as server:
        file = AccessFile(server.store.workspace("komugi").directory)
        issue_key(file, name="website", now=now_ms(), zone=UTC, scope=None, validity="none")
        bread = directory / "komugi" / "content" / "breads" / "milk-roll.md"
        bread.write_text(bread.read_text().replace("price: 180", "price: 190"))
        version = build(directory / "komugi", server.store, now=now_ms()).version
        eventually(lambda: server.running.get("/v1/komugi/_schema").headers["x-snapshot"] == version)
        yield server


def test_every_block_is_tried() -> None:
    assert len(CONFIGURATIONS) == 2
    assert len(CALLS) == 7
    assert len(blocks(PAGE)) == len(CONFIGURATIONS) + 2 * len(CALLS)
    check_links(PAGE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "of_owner"), list(zip(CONFIGURATIONS, (set(), {"scheduled"}), strict=True)), ids=["store", "server"]
)
def test_a_configuration_gives_the_answers_of_the_page(block: Block, of_owner: set[str], server: ExampleServer) -> None:
    from mcp import Client, StdioServerParameters  # 0.8 s that only these tests take

    text = block.text.replace("/srv/cms", str(server.store.root)).replace("https://cms.example.com", server.url)
    [configuration] = json.loads(text.replace("pq_…", server.key))["mcpServers"].values()
    assert configuration["command"] == "cms"
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cli.main", *configuration["args"]],
        env={"PYTHONPATH": str(Path(__file__).parents[3]), **configuration.get("env", {})},
    )

    async def run() -> None:
        async with Client(started, read_timeout_seconds=60) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {call.settings["call"] for call, _ in CALLS} - tools == of_owner
            for call, answer in CALLS:
                if call.settings["call"] in of_owner:
                    continue
                result = await client.call_tool(call.settings["call"], json.loads(call.text))
                compare(answer, result)

    anyio.run(run)


def compare(shown: Block, result: Any) -> None:
    where = f"line {shown.line}: {result.content[0].text}"
    if shown.language == "text":
        assert result.is_error, where
        assert result.content[0].text.endswith(shown.text.strip()), where
    else:
        assert not result.is_error, where
        found = result.content[0].text
        if shown.language == "markdown":
            assert matches(shown.text.strip(), found.strip()), where
        else:
            assert matches(exact(json.loads(shown.text)), exact(json.loads(found))), where

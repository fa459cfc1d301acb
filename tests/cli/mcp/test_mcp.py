"""``cms mcp``, started as agents start it and asked by the protocol's own client."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import comrak
import pytest
import yaml
from selectolax.lexbor import LexborHTMLParser

from cli.creating.sample_views import add_sample_views
from cli.location import choose_workspace
from cli.mcp.remote import ServedContent
from cli.mcp.stored import StoredContent
from cli.remote.server import Server
from engine.access.keys.access import AccessFile, disable_key, issue_key
from snapshots.build.build import build
from snapshots.model import Field, Workspace
from snapshots.store.store import open_store
from snapshots.times import format_datetime, now_ms
from tests.programs.command_line import Cms, in_process
from tests.sites.example_server import EXAMPLE, ExampleServer, example_server
from tests.sites.served_site import eventually

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")


READERS = frozenset({"schema", "find", "read", "views"})
"""The tools of every agent."""
OF_SERVER = READERS | {"diff"}
OWNERS = OF_SERVER | {"scheduled", "most_viewed"}
PAGES_API = """\
uid: api_Pages0000001
name: Pages
endpoint: pages
kind: list
description: Pages of the site.
fields:
  - {id: title, name: Title, type: text, description: "Shown in tabs.\\n\\nShort."}
  - id: parts
    name: Parts
    type: groups
    groups:
      - {id: quote, name: Quote, fields: [{id: said, name: Said, type: text}]}
      - id: look
        name: Look
        fields:
          - {id: kind, name: Kind, type: single_select, options: [big, small]}
          - {id: of, name: Of, type: reference, api: pages}
"""


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
        """The answer of a tool as JSON; Markdown and an error as text. It comes once, and compact."""
        result = await self._client.call_tool(tool, arguments)
        [content] = result.content
        assert result.structured_content is None
        if result.is_error or arguments.get("format") == "markdown":
            return content.text
        answer = json.loads(content.text)
        assert content.text == json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return answer


def asked(ask: Callable[[Agent], Awaitable[None]], *options: str, tools: frozenset[str], **environment: str) -> None:
    """Start the program, and let an agent ask it."""
    from mcp import StdioServerParameters

    started = StdioServerParameters(
        command=sys.executable,
        args=["-W", "error", "-m", "cli.main", "mcp", *options],
        env={"PYTHONPATH": str(Path(__file__).parents[3]), **environment},
    )
    ask_program(ask, started, tools)


def asked_here(ask: Callable[[Agent], Awaitable[None]], content: Any, *, tools: frozenset[str]) -> None:
    """Let an agent ask for content in this process, which is quicker than to start the program."""
    from cli.mcp.tools import mcp_server

    ask_program(ask, mcp_server(content), tools)


def ask_program(ask: Callable[[Agent], Awaitable[None]], program: Any, tools: frozenset[str]) -> None:
    from mcp import Client  # 0.8 s that only these tests take

    async def run() -> None:
        async with Client(program, read_timeout_seconds=60) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name for tool in listed} == tools
            assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)
            assert not any(tool.output_schema for tool in listed)
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
    assert "Did you mean" in await agent.call("find", api="breads", fields=["nam"])
    assert "loaf" in await agent.call("find", api="breads", filters="kind[equals]lof")
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

    asked(ask, *options(server), tools=OWNERS)


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
    asked_here(ask, content, tools=READERS)


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

    asked(ask, "--url", f"{server.url}/v1/komugi", tools=OF_SERVER, CMS_KEY=server.key)


def test_the_scope_of_a_key_of_a_server(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        found = await agent.call("diff")
        assert [(one["api"], one["counts"]["changed"]) for one in found["entries"]] == [("breads", 1)]

    key = breads_key(server, "of a server")
    eventually(lambda: server.running.get("/v1/komugi/breads", headers={"X-API-KEY": key}).status == 200)
    asked_here(ask, ServedContent(Server(f"{server.url}/v1/komugi", key)), tools=OF_SERVER)


def test_a_server_that_refuses(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        assert (await agent.call("schema")).endswith("This API key is not valid.")

    asked_here(ask, ServedContent(Server(f"{server.url}/v1/komugi", "wrong")), tools=OF_SERVER)


async def ask_for_the_catalogue(agent: Agent, workspace: Workspace) -> None:
    """Compared with the definitions, and with what lists say of their lengths."""
    schema = await agent.call("schema")
    assert (schema["workspace"], schema["languages"]) == (workspace.id, list(workspace.languages))
    assert [api["endpoint"] for api in schema["apis"]] == [api.endpoint for api in workspace.apis]
    for told, api in zip(schema["apis"], workspace.apis, strict=True):
        languages = told.get("languages", schema["languages"])
        assert languages == list(workspace.languages_of(api))
        for lang in languages if told["kind"] == "list" else ():
            found = await agent.call("find", api=api.endpoint, lang=lang, limit=1)
            assert told["entries"][lang] == found["totalCount"]
        assert_told(told["fields"], api.fields, workspace)


def assert_told(told: list[dict[str, Any]], fields: tuple[Field, ...], workspace: Workspace) -> None:
    for shown, field in zip(told, fields, strict=True):
        assert (shown["id"], shown["name"], shown["type"]) == (field.id, field.name, field.type.value)
        assert shown.get("required", False) == field.required
        assert shown.get("options", []) == list(field.options or ())
        targets = [api.endpoint for api in workspace.apis if api.uid in field.target_uids]
        assert sorted(shown.get("refersTo", [])) == sorted(targets)
        if field.fields:
            assert_told(shown["fields"], field.fields, workspace)


def test_all_that_is_defined_is_told(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        await ask_for_the_catalogue(agent, server.workspace)

    chosen = choose_workspace(str(server.store.root), "komugi")
    asked_here(ask, StoredContent(chosen, None), tools=OWNERS)
    asked_here(ask, ServedContent(Server(f"{server.url}/v1/komugi", server.key)), tools=OF_SERVER)


def test_a_key_is_told_of_nothing_beyond_its_scope(server: ExampleServer) -> None:
    """By a server as by the store."""
    told: list[Any] = []

    async def ask(agent: Agent) -> None:
        told.append(await agent.call("schema"))

    key = breads_key(server, "breads alone")
    chosen = choose_workspace(str(server.store.root), "komugi")
    eventually(lambda: server.running.get("/v1/komugi/breads", headers={"X-API-KEY": key}).status == 200)
    asked_here(ask, StoredContent(chosen, "breads alone"), tools=READERS)
    asked_here(ask, ServedContent(Server(f"{server.url}/v1/komugi", key)), tools=OF_SERVER)
    assert told[0] == told[1]
    [breads] = told[0]["apis"]
    fields = {field["id"]: field.get("refersTo") for field in breads["fields"]}
    assert (breads["endpoint"], fields["goes_with"], fields["baker"]) == ("breads", ["breads"], None)
    assert "bakers" not in json.dumps(told)


def test_descriptions_and_kinds_of_groups_are_told(tmp_path: Path) -> None:
    for name, text in (
        ("workspace.yaml", "id: told\nlanguages: [en, de]\n"),
        ("apis/pages.yaml", PAGES_API),
        ("content/pages/one.md", "---\ntitle: One\ncreatedAt: 2026-01-01\n---\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    store = open_store(tmp_path / "store")
    build(tmp_path, store, now=now_ms())

    async def ask(agent: Agent) -> None:
        assert (await agent.call("schema"))["apis"] == [
            {
                "endpoint": "pages",
                "name": "Pages",
                "kind": "list",
                "description": "Pages of the site.",
                "languages": ["en"],
                "entries": {"en": 1},
                "fields": [
                    {"id": "title", "name": "Title", "type": "text", "description": "Shown in tabs.\n\nShort."},
                    {
                        "id": "parts",
                        "name": "Parts",
                        "type": "groups",
                        "groups": [
                            {
                                "id": "quote",
                                "name": "Quote",
                                "fields": [{"id": "said", "name": "Said", "type": "text"}],
                            },
                            {
                                "id": "look",
                                "name": "Look",
                                "fields": [
                                    {
                                        "id": "kind",
                                        "name": "Kind",
                                        "type": "single_select",
                                        "options": ["big", "small"],
                                    },
                                    {"id": "of", "name": "Of", "type": "reference", "refersTo": ["pages"]},
                                ],
                            },
                        ],
                    },
                ],
            }
        ]

    asked_here(ask, StoredContent(choose_workspace(str(store.root), "told"), None), tools=OWNERS)


def test_what_only_owners_are_told(tmp_path: Path) -> None:
    directory = shutil.copytree(EXAMPLE, tmp_path / "komugi")
    store = open_store(tmp_path / "store")
    build(directory, store, now=now_ms())
    add_sample_views(store.workspace("komugi"), now_ms())  # where no server counts at the same time
    (directory / "content" / "breads" / "wrong.md").write_text("---\nname: [\n---\n")

    async def ask(agent: Agent) -> None:
        found = await agent.call("scheduled")
        told = [(one["what"], entry["id"], entry["title"]) for one in found["next"] for entry in one["entries"]]
        assert told == [
            ("ends", "bread-cards", "Bread cards, ten loaves for the price of nine"),
            ("goes live", "sakura-anpan", "Cherry blossom anpan"),
            ("goes live", "second-oven", "The second oven"),
        ]
        assert found["total"] == 3
        only = await agent.call("scheduled", api="breads", limit=1)
        assert (only["total"], only["next"][0]["at"]) == (1, "2040-03-19T22:00:00.000Z")
        assert "There are: bakers, breads" in await agent.call("scheduled", api="bread")
        most = (await agent.call("most_viewed", limit=2))["mostViewed"]
        assert [(one["kind"], one["key"], one.get("title")) for one in most] == [
            ("path", "/", None),
            ("entry", "melon-bread", "Melon bread"),
        ]
        problems = await agent.call("problems")
        errors = [one["file"] for one in problems["problems"] if one["severity"] == "error"]
        assert (problems["errors"], errors) == (1, ["content/breads/wrong.md"])

    content = StoredContent(choose_workspace(str(store.root), "komugi", directory), None)
    asked_here(ask, content, tools=OWNERS | {"problems"})


def test_mistakes_in_arguments_are_told_in_plain_words(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        for tool, arguments, said in (
            ("find", {"api": "breads", "limit": 500}, 'limit: expected an integer from 1 to 100, got "500".'),
            ("find", {"api": "breads", "limit": "many"}, "limit: expected an integer, got 'many'."),
            ("find", {"api": "breads", "filter": "x"}, 'find has no argument "filter". Did you mean "filters"?'),
            ("find", {}, 'find needs the argument "api".'),
            ("find", {"api": "breads", "fields": [1]}, "fields: expected a text inside the list, got 1."),
            ("read", {"api": "shop", "depth": 9}, 'depth: expected an integer from 0 to 2, got "9".'),
            ("read", {"api": "shop", "format": "html"}, "format: expected 'json' or 'markdown', got 'html'."),
            ("views", {"api": "breads", "ids": []}, "ids: expected 1 to 100 entry IDs"),
            ("scheduled", {"limit": 0}, "limit: expected an integer from 1 to 100, got 0."),
            ("most_viewed", {"days": 400}, "days: expected an integer from 1 to 365, got 400."),
        ):
            assert (await agent.call(tool, **arguments)).startswith(said), tool

    content = StoredContent(choose_workspace(str(server.store.root), "komugi"), None)
    asked_here(ask, content, tools=OWNERS)


def test_entries_as_markdown(server: ExampleServer) -> None:
    async def ask(agent: Agent) -> None:
        one = await agent.call("read", api="breads", id="melon-bread", fields=["name", "story"], format="markdown")
        assert one.startswith('---\nid: "melon-bread"\nname: "Melon bread"\n---\n\n<!-- story -->\n\nOur first batch')
        assert "coat *inside*" in one
        whole = await agent.call("read", api="journal", id="the-night-oven", format="markdown")
        above, below = whole.removeprefix("---\n").split("---\n")
        told = yaml.safe_load(above)
        found = server.get("journal/the-night-oven?depth=0")
        assert told == {name: value for name, value in found.items() if name != "body"}
        assert visible(comrak.render_markdown(below)) == visible(found["body"])
        page = await agent.call("find", api="breads", fields=["name"], limit=2, format="markdown")
        assert page.startswith('{"totalCount":5,"offset":0,"limit":2}\n---\n')
        assert page.count("name: ") == 2

    content = StoredContent(choose_workspace(str(server.store.root), "komugi"), None)
    asked_here(ask, content, tools=OWNERS)


def visible(html: str) -> str:
    body = LexborHTMLParser(html).body
    return " ".join(body.text(separator=" ").split()) if body else ""


@pytest.mark.parametrize(
    "html",
    [
        "<p>a &lt;b&gt; &amp; *c* _d_ <code>x &lt; *y*</code></p>",
        '<pre><code class="language-py">if a &lt; b:\n    print("*")\n</code></pre>',
        "<table><thead><tr><th>a|b</th><th>c</th></tr></thead><tbody><tr><td>1</td><td>x|y</td></tr></tbody></table>",
        "<ul><li>one<ul><li>two</li></ul></li><li>three</li></ul><ol><li>first</li></ol>",
        "<h2>Head</h2><blockquote><p>said</p></blockquote><p>a<br>b <a href='/x'>link</a></p>",
        "file.txt",
    ],
)
def test_markdown_says_what_the_html_says(html: str) -> None:
    """Rendered again, by the library that makes HTML of content, it has the same visible text."""
    from cli.mcp.markdown import markdown_of

    options = comrak.ExtensionOptions()
    options.table = True
    assert visible(comrak.render_markdown(markdown_of(html), options)) == visible(html)


def test_markdown_keeps_what_markdown_can_say() -> None:
    from cli.mcp.markdown import markdown_of

    assert markdown_of('<ul><li><input type="checkbox" checked disabled> done</li></ul>') == "- [x] done"
    assert markdown_of('<pre><code class="language-py">a\n</code></pre>') == "```py\na\n```"


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

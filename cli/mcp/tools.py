"""Serve content over the Model Context Protocol, with tools that only read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from cli.mcp.content import ContentSource
from snapshots.problems import ParquetryError
from snapshots.version import VERSION

INSTRUCTIONS = """\
Content of the workspace "{}", read-only. Call schema first: it has the APIs (endpoints) and their fields. find lists \
entries of an API of kind "list"; read returns one entry, or the item of an API of kind "object". Ask for the fields \
you need, as texts can be long. Drafts are never returned. `at` asks for what is live at another time."""

Api = Annotated[str, Field(description="The endpoint of an API, as schema lists them.")]
Fields = Annotated[list[str] | None, Field(description="IDs of the fields to return. Without it, all.")]
Lang = Annotated[str | None, Field(description="A language of the workspace; without it, the main language.")]
Fallback = Annotated[bool, Field(description="Return the main language where there is no translation.")]
Depth = Annotated[
    int, Field(ge=0, le=2, description="How many levels of references are expanded; with 0, references are IDs.")
]
At = Annotated[str | None, Field(description="A time, such as 2026-12-24T18:00:00Z: answer with what is live then.")]
Filters = Annotated[
    str | None,
    Field(
        description="Conditions such as category[equals]news[and]price[less_than]300, joined by [and] or by [or]. "
        "Operators: equals, not_equals, contains, not_contains, greater_than, less_than, exists, not_exists."
    ),
]
Orders = Annotated[
    list[str] | None,
    Field(description="Up to 3 of createdAt, updatedAt, publishedAt, views, or fields; -field is descending."),
]


def serve(content: ContentSource) -> None:
    """Answer one agent on standard input and output until it ends."""
    mcp_server(content).run("stdio")


def mcp_server(content: ContentSource) -> MCPServer:
    """Return a server whose tools ask the content. The agent is told what is wrong with a call, as the API words it."""
    server = MCPServer(
        "parquetry", version=VERSION, instructions=INSTRUCTIONS.format(content.workspace), log_level="WARNING"
    )
    reads = server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))

    @reads
    def schema() -> dict[str, Any]:
        """Return the APIs that can be read, with the IDs, names and types of their fields."""
        return _told(lambda: content.answer("_schema", None))

    @reads
    def find(
        api: Api,
        filters: Filters = None,
        q: Annotated[str | None, Field(description="A text to find in any text field.")] = None,
        orders: Orders = None,
        fields: Fields = None,
        lang: Lang = None,
        lang_fallback: Fallback = False,
        depth: Depth = 0,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        offset: Annotated[int, Field(ge=0)] = 0,
        at: At = None,
    ) -> dict[str, Any]:
        """Return entries of a list API: `contents`, and how many there are in all, `totalCount`."""
        query = {"filters": filters, "q": q, "orders": orders, "fields": fields, "lang": lang, "depth": depth}
        query |= {"lang_fallback": lang_fallback, "limit": limit, "offset": offset}
        found = _told(lambda: content.answer(f"{_part(api)}?{_query(query)}", at))
        if "id" in found:
            raise ToolError(f'"{api}" is an object API, which has one item: read it with read.')
        return found

    @reads
    def read(
        api: Api,
        id: Annotated[str | None, Field(description="The ID of an entry; none for an API of kind object.")] = None,  # noqa: A002 - what content calls it
        fields: Fields = None,
        lang: Lang = None,
        lang_fallback: Fallback = False,
        depth: Depth = 1,
        at: At = None,
    ) -> dict[str, Any]:
        """Return one entry of a list API, or the item of an object API."""
        path = _part(api) if id is None else f"{_part(api)}/{_part(id)}"
        query = {"fields": fields, "lang": lang, "lang_fallback": lang_fallback, "depth": depth}
        found = _told(lambda: content.answer(f"{path}?{_query(query)}", at))
        if "id" not in found:
            raise ToolError(f'"{api}" is a list API: give the ID of an entry, or list its entries with find.')
        return found

    def diff(
        old: Annotated[
            str | None,
            Field(
                description="A snapshot version, or with a server also `to` of an earlier diff. "
                "Without it, the snapshot version that was current before."
            ),
        ] = None,
        new: Annotated[str | None, Field(description="A snapshot version. Without it, the current one.")] = None,
    ) -> dict[str, Any]:
        """Return what publishing changed: entries added, changed (field by field) and removed, and schema changes."""
        return _told(lambda: content.diff(old, new))

    if content.compares:
        reads(diff)
    return server


def _told(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return ask()
    except ParquetryError as error:
        raise ToolError(str(error)) from None


def _part(text: str) -> str:
    return quote(text, safe="")


def _query(parameters: dict[str, Any]) -> str:
    """Write parameters for a URL; those without a value are left out."""
    return "&".join(f"{name}={_value(name, value)}" for name, value in parameters.items() if value is not None)


def _value(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_part, value))
    # Brackets are what parts a filter; all else is encoded, so that it may hold anything.
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe="[]" if name == "filters" else "")

"""Serve content over the Model Context Protocol, with tools that only read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from cli.mcp.arguments import ReadingServer
from cli.mcp.catalogue import catalogue
from cli.mcp.content import ContentSource, Owner
from cli.mcp.markdown import entry_as_markdown
from snapshots.problems import ParquetryError

INSTRUCTIONS = """\
Content of the workspace "{}", read-only. Call schema first: it has the APIs (endpoints) with their fields, options, \
languages and numbers of entries. find lists entries of an API of kind "list"; read returns one entry, or the item of \
an API of kind "object". Ask for the fields you need, as texts can be long; format "markdown" returns rich texts as \
Markdown instead of HTML. Drafts are never returned. `at` asks for what is live at another time.{}"""
OWNERS = " scheduled tells what goes live and ends next, most_viewed what is read, problems what is wrong in the files."

Api = Annotated[str, Field(description="The endpoint of an API, as schema lists them.")]
Fields = Annotated[list[str] | None, Field(description="IDs of the fields to return. Without it, all.")]
Lang = Annotated[str | None, Field(description="A language of the API; without it, the main language.")]
Fallback = Annotated[bool, Field(description="Return the main language where there is no translation.")]
Depth = Annotated[
    int,
    Field(
        description="How many levels of references are expanded, 0 to 2; with 0, references are IDs.",
        json_schema_extra={"minimum": 0, "maximum": 2},
    ),
]
ReadDepth = Annotated[
    int | None,
    Field(
        description="How many levels of references are expanded, 0 to 2. Default: 1; with Markdown 0, only their IDs.",
        json_schema_extra={"minimum": 0, "maximum": 2},
    ),
]
At = Annotated[str | None, Field(description="A time, such as 2026-12-24T18:00:00Z: answer with what is live then.")]
Form = Annotated[
    Literal["json", "markdown"],
    Field(description='"markdown": each entry as front matter, and its rich texts as Markdown below.'),
]
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
Days = Annotated[int, Field(description="Calendar days in Japan, today included: 1 to 365.")]
Ids = Annotated[list[str], Field(description="IDs of entries, 1 to 100.")]
Limit = Annotated[int, Field(description="1 to 100.", json_schema_extra={"minimum": 1, "maximum": 100})]


def serve(content: ContentSource) -> None:
    """Answer one agent on standard input and output until it ends."""
    mcp_server(content).run("stdio")


def mcp_server(content: ContentSource) -> ReadingServer:
    """Return a server whose tools ask the content. The agent is told what is wrong with a call, as the API words it."""
    server = ReadingServer(INSTRUCTIONS.format(content.workspace, OWNERS if content.owner else ""))

    @server.reads
    def schema() -> str:
        """Return the APIs that can be read: languages, numbers of live entries, fields with their types, options and
        the APIs that references lead to."""
        return _told(lambda: catalogue(content))

    @server.reads
    def find(
        api: Api,
        filters: Filters = None,
        q: Annotated[str | None, Field(description="A text to find in any text field.")] = None,
        orders: Orders = None,
        fields: Fields = None,
        lang: Lang = None,
        lang_fallback: Fallback = False,
        depth: Depth = 0,
        limit: Limit = 10,
        offset: Annotated[int, Field(json_schema_extra={"minimum": 0})] = 0,
        at: At = None,
        format: Form = "json",  # noqa: A002 - what it is called everywhere
    ) -> str:
        """Return entries of a list API: `contents`, and how many there are in all, `totalCount`."""
        query = {"filters": filters, "q": q, "orders": orders, "fields": fields, "lang": lang, "depth": depth}
        query |= {"lang_fallback": lang_fallback, "limit": limit, "offset": offset}
        found = _asked(lambda: content.answer(f"{_part(api)}?{_query(query)}", at))
        if "id" in found:
            raise ToolError(f'"{api}" is an object API, which has one item: read it with read.')
        if format == "json":
            return _compact(found)
        page = {name: value for name, value in found.items() if name != "contents"}
        return "\n".join([_compact(page), *_markdown(content, api, found["contents"])])

    @server.reads
    def read(
        api: Api,
        id: Annotated[str | None, Field(description="The ID of an entry; none for an API of kind object.")] = None,  # noqa: A002 - what content calls it
        fields: Fields = None,
        lang: Lang = None,
        lang_fallback: Fallback = False,
        depth: ReadDepth = None,
        at: At = None,
        format: Form = "json",  # noqa: A002 - what it is called everywhere
    ) -> str:
        """Return one entry of a list API, or the item of an object API."""
        path = _part(api) if id is None else f"{_part(api)}/{_part(id)}"
        if depth is None:
            depth = 1 if format == "json" else 0
        query = {"fields": fields, "lang": lang, "lang_fallback": lang_fallback, "depth": depth}
        found = _asked(lambda: content.answer(f"{path}?{_query(query)}", at))
        if "id" not in found:
            raise ToolError(f'"{api}" is a list API: give the ID of an entry, or list its entries with find.')
        return _compact(found) if format == "json" else "".join(_markdown(content, api, [found]))

    @server.reads
    def views(api: Api, ids: Ids, days: Days = 30) -> str:
        """Return how often entries were viewed: `recent` in the last days, `total` in all."""
        target = f"_views/{_part(api)}?{_query({'ids': ids, 'days': days})}"
        return _told(lambda: content.answer(target, None))

    def diff(
        old: Annotated[
            str | None,
            Field(
                description="A snapshot version, or with a server also `to` of an earlier diff. "
                "Without it, the snapshot version that was current before."
            ),
        ] = None,
        new: Annotated[str | None, Field(description="A snapshot version. Without it, the current one.")] = None,
    ) -> str:
        """Return what publishing changed: entries added, changed (field by field) and removed, and schema changes."""
        return _told(lambda: content.diff(old, new))

    if content.compares:
        server.reads(diff)
    if content.owner is not None:
        _add_owners_tools(server, content.owner)
    return server


def _add_owners_tools(server: ReadingServer, owner: Owner) -> None:
    """Add the tools that tell of what is not published."""

    @server.reads
    def scheduled(
        api: Annotated[str | None, Field(description="The endpoint of an API; without it, all.")] = None,
        limit: Limit = 20,
    ) -> str:
        """Return what goes live and ends next, by instant (UTC), with titles; `total` counts all of it."""
        _check("limit", limit, 100)
        return _told(lambda: owner.scheduled(api, limit))

    @server.reads
    def most_viewed(days: Days = 30, limit: Limit = 10) -> str:
        """Return the most viewed entries and paths."""
        _check("days", days, 365)
        _check("limit", limit, 100)
        return _told(lambda: owner.most_viewed(days, limit))

    def problems() -> str:
        """Return what is wrong in the workspace's files, published or not: file, line and message."""
        return _told(owner.problems)

    if owner.has_files:
        server.reads(problems)


def _asked(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return ask()
    except ParquetryError as error:
        raise ToolError(str(error)) from None


def _told(ask: Callable[[], dict[str, Any]]) -> str:
    return _compact(_asked(ask))


def _compact(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _markdown(content: ContentSource, api: str, entries: list[dict[str, Any]]) -> list[str]:
    apis = _asked(lambda: content.answer("_schema", None))["apis"]
    fields = next((one["fields"] for one in apis if one["endpoint"] == api), ())
    return [entry_as_markdown(one, fields) for one in entries]


def _check(name: str, value: int, most: int) -> None:
    """Raise for a number that the content is not asked for, in the API's words."""
    if not 1 <= value <= most:
        raise ToolError(f"{name}: expected an integer from 1 to {most}, got {value}.")


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

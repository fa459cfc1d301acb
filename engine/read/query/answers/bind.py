"""``bind``: turn the target and headers of a read into a plan, bound to a version and a scope (contract 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

import msgspec

from engine.read.query.answers.feed import FeedQuery, parse_feed_query
from engine.read.query.answers.view_counts import ViewsQuery, parse_views_query
from engine.read.query.invalid_query import nearest
from engine.read.query.parameters import Parameters, parse_entry_query, parse_list_query
from engine.read.query.plan import EntryPlan, ListPlan, bind_entry, bind_list
from engine.read.query.stages import UNWATCHED, Stages
from engine.read.reader.reach import Scope, in_scope
from engine.read.reader.reader import Reader
from snapshots.model import Api, ApiKind
from snapshots.problems import ParquetryError


class NotFound(ParquetryError):
    """The path leads to nothing that may be delivered (404)."""


class UnknownApi(NotFound):
    """The path names an API that is not there or not in scope: both are answered alike, so that a key tells nothing of
    what lies outside its scope."""

    def __init__(self, endpoint: str, readable: Sequence[str]) -> None:
        """``readable`` are the endpoints that the key may read, of which the message names those that may be meant."""
        super().__init__(
            f"There is no such API in this workspace, or this API key may not read it.{nearest(endpoint, readable)}"
        )
        self.endpoint = endpoint


class Target(NamedTuple):
    """The part of a URL behind the workspace."""

    path: Sequence[str]
    """The segments of the path, decoded: ``blog``, ``blog`` and ``hello``, or ``_views`` and ``blog``."""
    query: bytes
    """The query string as sent."""


def target_of(text: str) -> Target:
    """Return the target that is written as in a URL, such as ``blog?limit=3``."""
    path, _, query = text.removeprefix("/").partition("?")
    return Target([unquote(segment) for segment in path.split("/")], query.encode())


class SchemaPlan(msgspec.Struct, frozen=True):
    """A request for the schema (contract 2.3), which takes no parameters."""

    scope: Scope


class ViewsPlan(msgspec.Struct, frozen=True):
    """A request for view counts of an API's entries (contract 4.12), bound."""

    api: Api
    query: ViewsQuery


class ChangesPlan(msgspec.Struct, frozen=True):
    """A request for changes, bound."""

    query: FeedQuery
    scope: Scope


Plan: TypeAlias = ListPlan | EntryPlan | SchemaPlan | ViewsPlan | ChangesPlan


def bind(
    reader: Reader,
    scope: Scope,
    target: Target,
    headers: Mapping[bytes, bytes],
    stages: Stages = UNWATCHED,
    *,
    strict: bool = False,
) -> Plan:
    """Parse a request and bind it to a version and the scope that may read it. ``headers`` are by name, in lower case.

    Raises ``NotFound`` and ``InvalidQuery``, with ``strict`` also for what otherwise has no effect (decision 76).
    """
    query = target.query
    match target.path:
        case ["_schema"]:
            Parameters(query, strict=strict)
            return SchemaPlan(scope)
        case ["_changes"]:
            return ChangesPlan(parse_feed_query(query, strict=strict), scope)
        case ["_views", endpoint]:
            return ViewsPlan(_api(reader, scope, endpoint), parse_views_query(query, strict=strict))
        case [endpoint, *entry] if len(entry) < 2:
            api = _api(reader, scope, endpoint)
            if api.kind is ApiKind.LIST and not entry:
                listed = parse_list_query(query, strict=strict)
                stages.done("parse")
                return bind_list(listed, api, reader, scope)
            if api.kind is ApiKind.OBJECT and entry:
                raise NotFound(f'"{endpoint}" is an object API: it has no entries. Leave the ID off the path.')
            asked = parse_entry_query(query, headers.get(b"x-draft-key"), strict=strict)
            stages.done("parse")
            return bind_entry(asked, api, entry[0] if entry else None, reader, scope)
    path = "/".join(target.path)
    raise NotFound(f'There is no "{path}": write an endpoint, or the endpoint of a list API, a slash and an entry ID.')


def _api(reader: Reader, scope: Scope, endpoint: str) -> Api:
    api = reader.workspace.api(endpoint)
    if api is None or not in_scope(api, scope):
        raise UnknownApi(endpoint, [one.endpoint for one in reader.workspace.apis if in_scope(one, scope)])
    return api

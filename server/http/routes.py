"""Routes matched on the path as sent, segment by segment (decisions 3 and 42)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from snapshots.problems import ParquetryError

Endpoint = Callable[[Request], Awaitable[ASGIApp]]
"""Answers a request; the answer is ready to be sent."""

METHODS = ("GET", "HEAD")
NOTHING_HERE = "There is nothing at this path. Check it for a typing error or a trailing slash."


class UnknownRoute(ParquetryError):
    """No route has this path (404)."""


class MethodNotAllowed(ParquetryError):
    """The route exists, but not for this method (405). ``allowed`` is for the header ``Allow``."""

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"The method {method} is not allowed here. Allowed: {allowed}.")
        self.allowed = allowed


class ExactRoute(BaseRoute):
    """A route of literal segments and ``{names}``, compared with the path's segments exactly and case-sensitively.

    The path is split first; then its segments are percent-decoded, once and as UTF-8, so an encoded slash is part of
    a segment. A name never stands for an empty segment, so a trailing or a double slash makes another path;
    ``{endpoint}`` stands for no segment that begins with ``_``, as the service's own names do.
    """

    def __init__(
        self, path: str, endpoint: Endpoint, *, methods: tuple[str, ...] = METHODS, preflight: Endpoint | None = None
    ) -> None:
        """Answer ``methods`` with ``endpoint``, and OPTIONS with ``preflight``; without one, OPTIONS is not allowed."""
        self.path = path
        self.endpoint = endpoint
        self.preflight = preflight
        self._segments = path.split("/")[1:]
        self._methods = methods
        self._allowed = ", ".join((*methods, "OPTIONS") if preflight else methods)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        found = path_segments(scope)
        if len(found) != len(self._segments):
            return Match.NONE, {}
        values = {}
        for expected, segment in zip(self._segments, found, strict=True):
            if not expected.startswith("{"):
                if segment != expected:
                    return Match.NONE, {}
                continue
            if not segment or (expected == "{endpoint}" and segment.startswith("_")):
                return Match.NONE, {}
            values[expected[1:-1]] = segment
        return Match.FULL, {"endpoint": self.endpoint, "path_params": values}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        if method in self._methods:
            response = await self.endpoint(Request(scope, receive))
        elif method == "OPTIONS" and self.preflight is not None:
            response = await self.preflight(Request(scope, receive))
        else:
            raise MethodNotAllowed(method, self._allowed)
        await response(scope, receive, send)


class RestRoute(BaseRoute):
    """A route of all paths that begin with a segment. It stands after the routes of those it is not for."""

    def __init__(self, first: str, endpoint: Endpoint) -> None:
        self._first = first
        self._endpoint = endpoint

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or path_segments(scope)[:1] != [self._first]:
            return Match.NONE, {}
        return Match.FULL, {"endpoint": self._endpoint, "path_params": {}}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._endpoint(Request(scope, receive))
        await response(scope, receive, send)


def path_segments(scope: Scope) -> list[str]:
    """Return the segments of a request's path, each percent-decoded. Bytes that are not UTF-8 become U+FFFD, which is
    in no name of anything."""
    segments: list[str] | None = scope.get("parquetry.segments")
    if segments is None:
        raw: list[bytes] = scope["raw_path"].split(b"/")[1:]
        segments = [(unquote_to_bytes(part) if b"%" in part else part).decode("utf-8", "replace") for part in raw]
        scope["parquetry.segments"] = segments
    return segments


async def unknown_route(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Raise ``UnknownRoute``: Starlette calls this where no route matches."""
    raise UnknownRoute(NOTHING_HERE)

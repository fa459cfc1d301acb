"""The routes by which metrics and traces name requests: few, however many paths are asked for."""

from __future__ import annotations

from typing import Final

OTHER: Final = "other"
"""The route of everything that has none of its own."""

_FIXED: Final = frozenset({"/", "/healthz", "/readyz", "/docs", "/openapi.json", "/.well-known/api-catalog"})


def route_of(target: str) -> str:
    """Return the route that a request's path and query belong to: one of a few, however many paths are asked for."""
    path = target.partition("?")[0]
    if path.startswith("/v1/"):
        parts = path.count("/")
        if parts == 3:
            own = path.rpartition("/")[2]
            return f"/v1/{{workspace}}/{own}" if own in ("_schema", "_openapi") else "/v1/{workspace}/{endpoint}"
        if parts == 4 and "/_types/" in path:
            return "/v1/{workspace}/_types/{language}"
        if parts == 4:
            return "/v1/{workspace}/_views/{endpoint}" if "/_views/" in path else "/v1/{workspace}/{endpoint}/{entryId}"
    elif path.startswith("/pv/") and path.endswith("/counts"):
        return "/pv/{workspace}/counts"
    return path if path in _FIXED else OTHER

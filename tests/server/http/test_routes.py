"""Routes: the path as sent, exactly (decisions 3 and 42)."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from server.http.routes import ExactRoute, path_segments


async def endpoint(_: Request) -> Response:
    return Response()


ROUTES = [
    ExactRoute(path, endpoint)
    for path in (
        "/v1/{workspace}/_schema",
        "/v1/{workspace}/{endpoint}",
        "/v1/{workspace}/{endpoint}/{entryId}",
        "/healthz",
    )
]


@pytest.mark.parametrize(
    ("path", "route", "values"),
    [
        (b"/v1/acme/blog", 1, {"workspace": "acme", "endpoint": "blog"}),
        (b"/v1/acme/blog/hello", 2, {"workspace": "acme", "endpoint": "blog", "entryId": "hello"}),
        (b"/v1/acme/blog/_x", 2, {"workspace": "acme", "endpoint": "blog", "entryId": "_x"}),
        (b"/v1/acme/_schema", 0, {"workspace": "acme"}),
        (b"/v1/acme/%5Fschema", 0, {"workspace": "acme"}),
        (b"/v1/acme/b%6Cog", 1, {"workspace": "acme", "endpoint": "blog"}),
        (b"/v1/acme/b%2Flog", 1, {"workspace": "acme", "endpoint": "b/log"}),
        (b"/v1/acme/b%252Flog", 1, {"workspace": "acme", "endpoint": "b%2Flog"}),
        (b"/v1/acme/%00", 1, {"workspace": "acme", "endpoint": "\x00"}),
        (b"/v1/acme/%FF%zz", 1, {"workspace": "acme", "endpoint": "\ufffd%zz"}),
        (b"/v1/acme/%ED%B2%80", 1, {"workspace": "acme", "endpoint": "\ufffd\ufffd\ufffd"}),
        (b"/v1/ACME/Blog", 1, {"workspace": "ACME", "endpoint": "Blog"}),
        (b"/v1/../blog", 1, {"workspace": "..", "endpoint": "blog"}),
        (b"/healthz", 3, {}),
        (b"/", None, {}),
        (b"", None, {}),
        (b"*", None, {}),
        (b"/v1", None, {}),
        (b"/v1/acme", None, {}),
        (b"/v1/acme/", None, {}),
        (b"/v1/acme/blog/", None, {}),
        (b"/v1/acme/blog/hello/", None, {}),
        (b"/v1/acme/blog/hello/more", None, {}),
        (b"//v1/acme/blog", None, {}),
        (b"/v1//blog", None, {}),
        (b"/V1/acme/blog", None, {}),
        (b"/v1/acme/_views/blog", None, {}),
        (b"/v1/acme/_other", None, {}),
        (b"/v1/acme/_schema/blog", None, {}),
        (b"/healthz/", None, {}),
        (b"/Healthz", None, {}),
    ],
)
def test_matching(path: bytes, route: int | None, values: dict[str, str]) -> None:
    scope = {"type": "http", "raw_path": path, "method": "GET"}
    matched = [(number, *ROUTES[number].matches(scope)) for number in range(len(ROUTES))]
    full = [(number, child["path_params"]) for number, match, child in matched if match is Match.FULL]
    assert full[:1] == ([] if route is None else [(route, values)])


def test_segments_can_always_be_encoded() -> None:
    for byte in range(256):
        (segment,) = path_segments({"raw_path": b"/%%%02x" % byte})
        segment.encode("utf-8")

"""``/``, ``/docs``, ``/openapi.json``, ``/.well-known/api-catalog``: the same for all, without a key (contract 9)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from server.http.document import StaticDocument, static_document
from server.http.headers import JSON
from server.http.routes import NOTHING_HERE, UnknownRoute
from server.reference.document import CATALOG_TYPE, service_document

CATALOG_PROFILE: Final = "https://www.rfc-editor.org/info/rfc9727"
_LINKS: Final = ", ".join(
    (
        '</.well-known/api-catalog>; rel="api-catalog"',
        f'</openapi.json>; rel="service-desc"; type="{JSON}"',
        '</docs>; rel="service-doc"; type="text/html"',
    )
)
_DISCOVERY: Final = {
    "Access-Control-Allow-Origin": "*",
    "Cache-Control": "public, max-age=300",
    "Link": _LINKS,
    "X-Content-Type-Options": "nosniff",
}
_PAGE: Final = {
    "Cache-Control": "public, max-age=300",
    # Nothing from elsewhere, nothing inline: a key typed into the page can go nowhere but to this server.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Link": _LINKS,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_ASSETS: Final = {"Cache-Control": "public, max-age=3600", "X-Content-Type-Options": "nosniff"}

_OWN: Final = Path(__file__).with_name("page")
_SWAGGER: Final = Path(__file__).with_name("swagger")
"""Two files of Swagger UI 5.35.0, unchanged, with its licence."""


@cache
def openapi() -> StaticDocument:
    """The definition of the service."""
    return static_document(msgspec.json.encode(service_document()), JSON)


@cache
def catalog() -> StaticDocument:
    """The API catalog: a link set whose URLs are relative to where it is fetched from (RFC 9727, RFC 9264)."""
    about = {
        "service-desc": [{"href": "/openapi.json", "type": JSON}],
        "service-doc": [{"href": "/docs", "type": "text/html"}],
        "status": [{"href": "/readyz", "type": JSON}],
    }
    linkset = [
        {
            "anchor": "/.well-known/api-catalog",
            "item": [{"href": "/v1"}, {"href": "/pv"}],
            "profile": [{"href": CATALOG_PROFILE}],
        },
        {"anchor": "/v1", **about},
        {"anchor": "/pv", **about},
    ]
    return static_document(msgspec.json.encode({"linkset": linkset}), f'{CATALOG_TYPE}; profile="{CATALOG_PROFILE}"')


@cache
def _page_file(file: Path, media_type: str) -> StaticDocument:
    return static_document(file.read_bytes(), media_type)


FILES: Final[Mapping[str, tuple[Path, str]]] = {
    "home.css": (_OWN / "home.css", "text/css"),
    "page.css": (_OWN / "page.css", "text/css"),
    "own.js": (_OWN / "own.js", "text/javascript"),
    "page.js": (_OWN / "page.js", "text/javascript"),
    "icon.svg": (_OWN / "icon.svg", "image/svg+xml"),
    "swagger-ui.css": (_SWAGGER / "swagger-ui.css", "text/css"),
    "swagger-ui.js": (_SWAGGER / "swagger-ui.js", "text/javascript"),
}
"""By name at ``/docs/{file}``, where the file is, and its media type."""


async def openapi_json(request: Request) -> Response:
    """Answer ``/openapi.json``: the definition of the service."""
    return openapi().answer(request, _DISCOVERY)


async def api_catalog(request: Request) -> Response:
    """Answer ``/.well-known/api-catalog``: where the definition and the reference are. ``HEAD`` has it in ``Link``."""
    return catalog().answer(request, _DISCOVERY)


async def home(request: Request) -> Response:
    """Answer ``/``: a page for people who open the server's address."""
    return _page_file(_OWN / "home.html", "text/html").answer(request, _PAGE)


async def docs(request: Request) -> Response:
    """Answer ``/docs``: the reference as a page."""
    return _page_file(_OWN / "page.html", "text/html").answer(request, _PAGE)


async def docs_file(request: Request) -> Response:
    """Answer ``/docs/{file}``: a file of the page."""
    found = FILES.get(request.path_params["file"])
    if found is None:
        raise UnknownRoute(NOTHING_HERE)
    # A megabyte and a half is read and compressed when it is first asked for.
    return await asyncio.to_thread(lambda: _page_file(*found).answer(request, _ASSETS))

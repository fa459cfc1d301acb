"""``/``, ``/docs``, ``/openapi.json``, ``/.well-known/api-catalog``: the same for all, without a key (contract 9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from server.http.compression import IDENTITY, coding_for, compressed
from server.http.headers import JSON
from server.http.routes import NOTHING_HERE, UnknownRoute
from server.reference.document import service_document
from server.reference.operations import CATALOG_TYPE
from snapshots.problems import ParquetryError

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
_SWAGGER: Final = "offapi"
"""The package that holds Swagger UI's files. It is not imported: that would read all it holds."""


class NoReferencePage(ParquetryError):
    """The files of the page are not installed."""


class Document(msgspec.Struct, frozen=True):
    """Bytes that are the same for everyone, ready to be sent."""

    body: bytes
    media_type: str
    etag: str

    def answer(self, request: Request, headers: Mapping[str, str]) -> Response:
        """Return 200 in the best coding the client takes, or 304 where the client has these bytes."""
        sent = {**headers, "ETag": self.etag, "Vary": "Accept-Encoding"}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=sent)
        accepted = request.headers.get("accept-encoding")
        coding = coding_for(None if accepted is None else accepted.encode("latin-1"), len(self.body))
        if coding == IDENTITY:
            return Response(self.body, headers=sent, media_type=self.media_type)
        sent["Content-Encoding"] = coding
        return Response(_compressed(coding, self.body), headers=sent, media_type=self.media_type)


_compressed = cache(compressed)


def _document(body: bytes, media_type: str) -> Document:
    return Document(body, media_type, f'W/"{sha256(body).hexdigest()[:16]}"')


@cache
def openapi() -> Document:
    """The definition of the service."""
    return _document(msgspec.json.encode(service_document()), JSON)


@cache
def catalog() -> Document:
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
    return _document(msgspec.json.encode({"linkset": linkset}), f'{CATALOG_TYPE}; profile="{CATALOG_PROFILE}"')


@cache
def _page_file(place: Path, media_type: str) -> Document:
    return _document(place.read_bytes(), media_type)


def _own(name: str, media_type: str) -> Callable[[], Document]:
    return lambda: _page_file(_OWN / name, media_type)


def _swagger(name: str, media_type: str) -> Callable[[], Document]:
    def read() -> Document:
        found = find_spec(_SWAGGER)
        if found is None or found.origin is None:
            raise NoReferencePage(f"The package {_SWAGGER} is not installed, so there is no reference page.")
        return _page_file(Path(found.origin).with_name(name), media_type)

    return read


FILES: Final[Mapping[str, Callable[[], Document]]] = {
    "home.css": _own("home.css", "text/css"),
    "page.css": _own("page.css", "text/css"),
    "page.js": _own("page.js", "text/javascript"),
    "icon.svg": _own("icon.svg", "image/svg+xml"),
    "swagger-ui.css": _swagger("swagger_style.css", "text/css"),
    "swagger-ui.js": _swagger("swagger_bundle.js", "text/javascript"),
}
"""The files at ``/docs/{file}``."""


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
    read = FILES.get(request.path_params["file"])
    if read is None:
        raise UnknownRoute(NOTHING_HERE)
    # A megabyte and a half is read and compressed when it is first asked for.
    return await asyncio.to_thread(lambda: read().answer(request, _ASSETS))

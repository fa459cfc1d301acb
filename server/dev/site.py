"""The layer around the server while people write, for this machine alone: their pages, answers without a key, and
events."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.access.keys.access import AccessFile
from engine.read.all_versions.all_versions import AllVersions
from engine.read.reader.data_files import DataFiles
from server.dev.builds import Builds, Built
from server.dev.dev_links import ENTRY_PATH, PREFIX
from server.dev.events import PATH as EVENTS_PATH
from server.dev.events import TooManyStreams
from server.dev.page import Access, DevPage, entry_page, list_page, trouble_page
from server.http.middleware import error_response
from server.pages.entries.listing import ListChoices
from server.pages.files import page_file
from server.pages.policy import content_policy
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The names under which this machine may be asked. A page elsewhere on the web can lead its own name here, but
cannot send one of these."""
ICON_PATH = "/favicon.ico"
ICON = "console.svg"
_FILES = f"{PREFIX}/-/files/"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": content_policy({}),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]


class DevSite:
    """The pages, their files, ``/_dev/v1/…`` with the session's key, events, and else the application itself."""

    def __init__(self, app: Starlette, builds: Builds) -> None:
        self._app: ASGIApp = app
        self._builds = builds
        self._files = DataFiles(builds.store.root)
        self._versions: AllVersions | None = None
        builds.workspaces = app.state.workspaces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            if scope["type"] == "lifespan":  # the server has answered what it was asked, and ends
                self._files.close()
            return
        path: str = scope["path"]
        response: Response | None = None
        if not _is_local(scope):
            response = error_response(
                HTTPStatus.FORBIDDEN, "`cms dev` answers on this machine only: ask for localhost or 127.0.0.1."
            )
        elif path == EVENTS_PATH:
            response = self._events(scope)
        elif path in ("/", ICON_PATH) or (path.startswith(f"{PREFIX}/") and not path.startswith(f"{PREFIX}/v1/")):
            response = await self._own(scope)
        elif path.startswith(f"{PREFIX}/v1/"):
            await self._with_key(scope, receive, send)
            return
        if response is None:
            await self._app(scope, receive, send)
            return
        await response(scope, receive, send)

    async def _own(self, scope: Scope) -> Response:
        if scope["method"] not in ("GET", "HEAD"):
            return error_response(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is allowed here.", {"Allow": "GET, HEAD"})
        path: str = scope["path"]
        if path == "/":
            return await run_in_threadpool(self._page, scope["query_string"], f"http://{_host(scope)}")
        if path == ENTRY_PATH:
            return await run_in_threadpool(self._entry, scope["query_string"], f"http://{_host(scope)}")
        if path == f"{PREFIX}/state":
            return Response(msgspec.json.encode({"build": self._builds.last.serial}), 200, _HEADERS, "application/json")
        # Browsers ask for the icon beside what programs get, too.
        name = ICON if path == ICON_PATH else path.removeprefix(_FILES) if path.startswith(_FILES) else ""
        found = page_file(name)
        if found is None:
            return error_response(HTTPStatus.NOT_FOUND, "There is nothing at this path.")
        return Response(found.body, 200, _HEADERS, found.media_type)

    def _events(self, scope: Scope) -> Response:
        """Answer with the stream of what became current, to pages of sites under development, too."""
        if scope["method"] != "GET":
            return error_response(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET is allowed here.", {"Allow": "GET"})
        origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        headers = {**_HEADERS, "Vary": "Origin"}
        if origins:
            if len(origins) > 1 or not _is_local_origin(origins[0]):
                return error_response(HTTPStatus.FORBIDDEN, "Only pages on localhost or 127.0.0.1 are told of builds.")
            headers |= {"Access-Control-Allow-Origin": origins[0], "Cross-Origin-Resource-Policy": "cross-origin"}
        try:
            events = self._builds.events.opened()
        except TooManyStreams:
            return error_response(HTTPStatus.SERVICE_UNAVAILABLE, "Too many programs listen already. End some of them.")
        return StreamingResponse(events, 200, headers, "text/event-stream")

    def _page(self, query: bytes, address: str) -> Response:
        built = self._builds.last
        key = self._builds.keys.get(built.workspace or "")
        access = None if key is None else Access(address, key)
        asked = ListChoices.read(_parameters(query))
        return self._shown(built, lambda versions: list_page(built, versions, access, asked, now_ms()))

    def _entry(self, query: bytes, address: str) -> Response:
        built, asked = self._builds.last, _parameters(query)
        return self._shown(built, lambda versions: entry_page(built, versions, asked, now_ms(), address))

    def _shown(self, built: Built, page: Callable[[AllVersions | None], DevPage]) -> Response:
        try:
            shown = page(self._versions_of(built))
        except ParquetryError as error:
            shown = trouble_page(built, str(error))
        headers = {**_HEADERS, "Content-Security-Policy": content_policy(shown.policy)}
        return Response(shown.body, shown.status, headers, "text/html")

    def _versions_of(self, built: Built) -> AllVersions | None:
        """The last good version; kept until there is another."""
        if built.workspace is None or built.version is None:
            return None
        if self._versions is None or self._versions.manifest.version != built.version:
            workspace_store = self._builds.store.workspace(built.workspace)
            access = AccessFile(workspace_store.directory).read()
            secret = access.draft_secret if access is not None else None
            self._versions = AllVersions(self._files, workspace_store, workspace_store.manifest(built.version), secret)
        return self._versions

    async def _with_key(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer ``/_dev/v1/…`` as ``/v1/…`` is answered to the session's key, but to pages of this site only."""
        segments = scope["path"].split("/")
        key = self._builds.keys.get(segments[3] if len(segments) > 3 else "")
        headers = [(name, value) for name, value in scope["headers"] if name != b"x-api-key"]
        if key is not None:
            headers.append((b"x-api-key", key.encode("ascii")))
        inner = {
            **scope,
            "path": scope["path"].removeprefix(PREFIX),
            "raw_path": scope["raw_path"].removeprefix(PREFIX.encode()),
            "headers": headers,
        }

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [
                    (name, value)
                    for name, value in message["headers"]
                    if not name.lower().startswith(b"access-control-") and name.lower() != b"cache-control"
                ]
                message = {**message, "headers": [*kept, *_RAW_HEADERS]}
            await send(message)

        await self._app(inner, receive, answer)


def _parameters(query: bytes) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(query.decode("utf-8", "replace")).items()}


def _host(scope: Scope) -> str:
    hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
    return hosts[0] if len(hosts) == 1 else ""


def _is_local(scope: Scope) -> bool:
    """Whether a program on this machine asks, and for this machine."""
    client = scope["client"]
    found = re.fullmatch(r"(.*?)(:[0-9]{1,5})?", _host(scope))
    return found is not None and found[1] in HOSTS and client is not None and _is_loopback(client[0])


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_local_origin(origin: str) -> bool:
    found = re.fullmatch(r"https?://(.*?)(:[0-9]{1,5})?", origin)
    return found is not None and found[1] in HOSTS

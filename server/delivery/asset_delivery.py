"""``/assets/{workspace}/{name}``: the files that content names, to anyone, to be kept for ever.

A name holds a digest of the file, so it never means other bytes, and nobody can guess that of a file not yet published.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.access_log import logged_workspace
from server.http.entity_tags import is_named
from server.http.exchange import exchange_of
from server.http.routes import NOTHING_HERE, UnknownRoute
from snapshots.compile.assets import TYPES
from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError
from snapshots.store.store import Store

_NAME: Final = re.compile(r"(?:[A-Za-z0-9_-]{1,60}\.)?([0-9a-f]{32})\.([a-z0-9]{1,5})")
_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
    # An image opened as a page runs no script.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}


_OTHER_UNIT: Final = re.compile(rb"(?!bytes=)[!#$%&'*+.^_`|~0-9a-z-]+=", re.IGNORECASE).match


class MalformedRange(ParquetryError):
    """A request's ``Range`` is none (400)."""

    def __init__(self) -> None:
        super().__init__("The Range header is not valid. Write it like bytes=0-499, bytes=500- or bytes=-500.")


class UnsatisfiableRange(ParquetryError):
    """A request's ``Range`` begins behind the end of the file (416). ``content_range`` is for that header."""

    def __init__(self, content_range: str) -> None:
        size = content_range.rpartition("/")[2]
        super().__init__(f"The file has {size} bytes, and the Range begins after its end.")
        self.content_range = content_range


class _Asset(FileResponse):
    """A file, whole or a range of it. Raises ``MalformedRange`` and ``UnsatisfiableRange`` before anything is sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def checked(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 416:
                raise UnsatisfiableRange(dict(message["headers"])[b"content-range"].decode("latin-1"))
            if message["type"] == "http.response.start" and message["status"] == 400:
                raise MalformedRange
            await send(message)

        # A range in another unit is ignored (RFC 9110, 14.2).
        headers = [(name, value) for name, value in scope["headers"] if name != b"range" or not _OTHER_UNIT(value)]
        await super().__call__({**scope, "headers": headers}, receive, checked)


class AssetDelivery:
    """Answers with the assets of the store's workspaces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def asset(self, request: Request) -> ASGIApp:
        """Answer with one asset, whole or a range of it. Raises ``UnknownRoute`` where there is none.

        Sending it raises ``MalformedRange`` or ``UnsatisfiableRange``.
        """
        workspace, name = request.path_params["workspace"], request.path_params["name"]
        exchange_of(request.scope).workspace = logged_workspace(workspace)
        found = _NAME.fullmatch(name)
        if found is None or found[2] not in TYPES:
            raise UnknownRoute(NOTHING_HERE)
        path = self._path(workspace, name)
        try:
            status = path.stat()
        except OSError:
            raise UnknownRoute(NOTHING_HERE) from None
        tag = f'"{found[1]}"'
        headers = _HEADERS | {"ETag": tag}
        if is_named(request.headers.get("if-none-match", "").encode("latin-1"), tag.encode("ascii")):
            return Response(status_code=304, headers=headers)
        return _Asset(path, media_type=TYPES[found[2]], headers=headers, stat_result=status)

    def _path(self, workspace: str, name: str) -> Path:
        try:
            return self._store.workspace(workspace).assets / name
        except StoreError:
            raise UnknownRoute(NOTHING_HERE) from None

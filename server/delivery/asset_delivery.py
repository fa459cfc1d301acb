"""``/assets/{workspace}/{name}``: the files that content names, to anyone, to be kept for ever.

A name holds a digest of the file, so it never means other bytes, and nobody can guess that of a file not yet published.
Pictures have forms besides: ``server/pictures``.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.access_log import logged_workspace
from server.http.entity_tags import is_named
from server.http.exchange import exchange_of
from server.http.routes import NOTHING_HERE, UnknownRoute
from server.pictures.forms import Asked, asked_for
from server.pictures.maker import ENCODER
from server.pictures.pictures import Made, Pictures
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

_PICTURES: Final = frozenset(name for name, media_type in TYPES.items() if media_type.startswith("image/"))
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


class _Opened(_Asset):
    """An open file, which is closed when it was sent. It may be gone from its place meanwhile."""

    def __init__(self, descriptor: int, media_type: str, headers: dict[str, str]) -> None:
        self._descriptor = descriptor
        path = f"/dev/fd/{descriptor}"
        super().__init__(path, media_type=media_type, headers=headers, stat_result=os.fstat(descriptor))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._descriptor)


class AssetDelivery:
    """Answers with the assets of the store's workspaces, and with the forms of ``pictures`` that are asked for."""

    def __init__(self, store: Store, pictures: Pictures) -> None:
        self._store = store
        self._pictures = pictures

    async def asset(self, request: Request) -> ASGIApp:
        """Answer with one asset, whole or a range of it. Raises ``UnknownRoute`` where there is none, and
        ``PicturesBusy``.

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
        asked = asked_for(request.url.query) if found[2] in _PICTURES else None
        if asked is not None:
            form = await self._form(request, path, found[1], status.st_size, asked)
            if form is not None:
                return form
        headers = _headers(found[1], asked)
        if _has(request, headers):
            return Response(status_code=304, headers=headers)
        return _Asset(path, media_type=TYPES[found[2]], headers=headers, stat_result=status)

    async def _form(self, request: Request, path: Path, digest: str, size: int, asked: Asked) -> ASGIApp | None:
        """Answer with the form of a picture that is asked for; ``None`` where it has none."""
        form = await self._pictures.form(path, digest, size, asked, ", ".join(request.headers.getlist("accept")))
        if form is None:
            return None
        headers = _headers(f"{digest}-{ENCODER}-{form.name}", asked)
        if _has(request, headers):
            return Response(status_code=304, headers=headers)
        try:
            made = await _while_connected(request.receive, self._pictures.made(path, digest, form))
        except ClientDisconnect:
            return Response(status_code=503)  # which nobody reads, but for the log
        return None if made is None else _form_response(made, TYPES[form.format], headers)

    def _path(self, workspace: str, name: str) -> Path:
        try:
            return self._store.workspace(workspace).assets / name
        except StoreError:
            raise UnknownRoute(NOTHING_HERE) from None


async def _while_connected(receive: Receive, making: Coroutine[Any, Any, Made | None]) -> Made | None:
    """Return what ``making`` does; cancel it and raise ``ClientDisconnect`` where the client goes before that."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    made, left = asyncio.ensure_future(making), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((made, left), return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            raise ClientDisconnect
        return made.result()
    finally:
        made.cancel()
        left.cancel()


def _headers(tag: str, asked: Asked | None) -> dict[str, str]:
    varies = {"Vary": "Accept"} if asked is not None and asked.automatic else {}
    return _HEADERS | varies | {"ETag": f'"{tag}"'}


def _has(request: Request, headers: dict[str, str]) -> bool:
    """Return whether the client has what would be sent."""
    return is_named(request.headers.get("if-none-match", "").encode("latin-1"), headers["ETag"].encode("ascii"))


def _form_response(made: Made, media_type: str, headers: dict[str, str]) -> ASGIApp:
    if made.descriptor is not None:
        return _Opened(made.descriptor, media_type, headers)
    return Response(made.data, media_type=media_type, headers=headers)

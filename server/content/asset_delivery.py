"""``/assets/{workspace}/{name}``: the files that content names, to anyone, to be kept for ever.

A name holds a digest of the file, so it never means other bytes, and nobody can guess that of a file not yet published.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp

from server.http.exchange import exchange_of
from server.http.routes import NOTHING_HERE, UnknownRoute
from snapshots.compile.assets import TYPES
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


class AssetDelivery:
    """Answers with the assets of the store's workspaces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def asset(self, request: Request) -> ASGIApp:
        """Answer with one asset, whole or a range of it. Raises ``UnknownRoute`` where there is none."""
        workspace, name = request.path_params["workspace"], request.path_params["name"]
        exchange_of(request.scope).workspace = workspace
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
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return FileResponse(path, media_type=TYPES[found[2]], headers=headers, stat_result=status)

    def _path(self, workspace: str, name: str) -> Path:
        try:
            return self._store.workspace(workspace).assets / name
        except StoreError:
            raise UnknownRoute(NOTHING_HERE) from None

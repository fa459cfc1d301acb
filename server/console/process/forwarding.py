"""Pass requests below ``/console`` on to the keeper, which serves the console, and its answers back to browsers."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from httpx2 import AsyncHTTPTransport, HTTPError, Limits
from httpx2 import Request as Asked
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from engine.views.collecting.addresses import TrustedProxies
from server.console.form_bounds import LARGEST_FORM
from server.console.process.headers import SIGNED_IN, VISITOR, WORKSPACE, passed_on
from server.console.process.waiting_requests import WaitingRequests, session_of
from server.http.exchange import exchange_of
from server.http.request_ids import HEADER
from server.http.routes import ExactRoute, RestRoute
from server.logs import LOGGER
from server.pages.files import page_file

ANSWER_SECONDS: Final = 120.0

_FILE_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

_SAID_ANEW: Final = frozenset({HEADER, b"content-length"})

_log = logging.getLogger(LOGGER)


class ConsoleForwarding:
    """The way to the console, which is served on the socket at the path ``address``. ``public_url`` is the setting, and
    ``proxies`` tell whom a request is from."""

    def __init__(self, address: str, public_url: str | None, proxies: TrustedProxies) -> None:
        # A connection a request: one that is kept may be that of a process that is gone.
        limits = Limits(max_keepalive_connections=0)
        self._console = AsyncHTTPTransport(verify=False, trust_env=False, limits=limits, uds=address)
        self._public_url = public_url
        self._proxies = proxies
        self._waiting_requests = WaitingRequests()

    def routes(self) -> list[BaseRoute]:
        """Return the routes of all that is below ``/console``."""
        return [ExactRoute("/console/-/files/{name}", self._file), RestRoute("console", self._answer)]

    async def _file(self, request: Request) -> Response:
        # Not from the keeper: a page that says why that does not answer looks like the others.
        found = page_file(request.path_params["name"])
        return await self._answer(request) if found is None else found.answer(request, _FILE_HEADERS)

    async def _answer(self, request: Request) -> Response:
        """Return what the console answers, or the page (503) that says why it does not."""
        peer = request.client.host if request.client is not None else None
        visitor = self._proxies.visitor(peer, request.headers.get("x-forwarded-for"))
        session = session_of(request.scope["headers"])
        with self._waiting_requests.admitted(visitor, session) as is_admitted:
            if is_admitted:
                return await self._passed_on(request, visitor, session)
        return await self._refusal("The console is busy", "It has too many requests at the moment. Try again shortly.")

    async def _passed_on(self, request: Request, visitor: bytes, session: bytes | None) -> Response:
        scope = request.scope
        exchange = exchange_of(scope)
        try:
            body = await _body(request) if request.method == "POST" else b""
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads, but for the log
        target = b"?".join(filter(None, (scope["raw_path"], scope["query_string"])))
        headers = [
            *((name, value) for name, value in passed_on(scope["headers"]) if name not in _SAID_ANEW),
            (HEADER, exchange.request_id),
            (VISITOR, visitor.hex().encode()),
        ]
        asked = Asked(request.method, "http://console", headers=headers, content=body, extensions={"target": target})
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answered = await self._console.handle_async_request(asked)
                content = b"".join([piece async for piece in answered.aiter_raw()])
        except TimeoutError:
            why = f"has not answered for {ANSWER_SECONDS:g} seconds"
        except HTTPError:
            why = "stopped before it answered, and is being restarted"
        else:
            told = {name.lower(): value for name, value in answered.headers.raw}
            if SIGNED_IN in told:
                self._waiting_requests.note(session, signed_in=told[SIGNED_IN] == b"1")
            exchange.workspace = told[WORKSPACE].decode() if WORKSPACE in told else None
            response = Response(content, answered.status_code)
            response.raw_headers = passed_on([(name.lower(), value) for name, value in answered.headers.raw])
            return response
        _log.error("console: request %s: the console %s", exchange.request_id.decode("ascii"), why)
        return await self._refusal(
            "No answer",
            f"The console {why}. If you changed something, check whether the change was made before you try again.",
        )

    async def _refusal(self, title: str, why: str) -> Response:
        # What pages are made with takes 60 ms to import, and no worker needs it for anything else.
        from server.console.process.refusal import refusal_page  # noqa: PLC0415 - see above

        return await asyncio.to_thread(refusal_page, self._public_url, title, why)


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            break
    return body

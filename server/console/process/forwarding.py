"""Requests below ``/console`` → the console's process, and its answers back to browsers."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from engine.views.collecting.addresses import TrustedProxies
from server.console.form_bounds import LARGEST_FORM
from server.console.process.messages import Answered, PassedOn, tell, told
from server.console.process.places import Places, session_of
from server.http.exchange import exchange_of
from server.http.routes import ExactRoute, RestRoute
from server.logs import LOGGER
from server.pages.files import page_file

ANSWER_SECONDS: Final = 120.0

_FILE_HEADERS: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

_log = logging.getLogger(LOGGER)


class ConsoleForwarding:
    """The way to the console's process, whose socket is at the path ``address``. ``public_url`` is the setting, and
    ``proxies`` tell whom a request is from."""

    def __init__(self, address: str, public_url: str | None, proxies: TrustedProxies) -> None:
        self._address = address
        self._public_url = public_url
        self._proxies = proxies
        self._places = Places()

    def routes(self) -> list[BaseRoute]:
        """Return the routes of all that is below ``/console``."""
        return [ExactRoute("/console/-/files/{name}", self._file), RestRoute("console", self._answer)]

    async def _file(self, request: Request) -> Response:
        # Not from the console's process: a page that says why that does not answer looks like the others.
        found = page_file(request.path_params["name"])
        return await self._answer(request) if found is None else found.answer(request, _FILE_HEADERS)

    async def _answer(self, request: Request) -> Response:
        """Return what the console answers, or the page (503) that says why it does not."""
        peer = request.client.host if request.client is not None else None
        visitor = self._proxies.visitor(peer, request.headers.get("x-forwarded-for"))
        session = session_of(request.scope["headers"])
        with self._places.place(visitor, session) as has_place:
            if has_place:
                return await self._passed_on(request, visitor, session)
        return await self._refusal("The console is busy", "It has too many requests at the moment. Try again shortly.")

    async def _passed_on(self, request: Request, visitor: bytes, session: bytes | None) -> Response:
        scope = request.scope
        exchange = exchange_of(scope)
        try:
            body = await _body(request) if request.method == "POST" else b""
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody reads, but for the log
        passed_on = PassedOn(
            *(request.method, scope["raw_path"], scope["query_string"], scope["headers"], body, exchange.request_id),
            visitor,
        )
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answered = await self._asked(passed_on)
        except TimeoutError:
            why = f"has not answered for {ANSWER_SECONDS:g} seconds"
        except (OSError, msgspec.DecodeError):
            why = "stopped before it answered, and is being restarted"
        else:
            self._places.note(session, signed_in=answered.signed_in)
            exchange.workspace = answered.workspace
            response = Response(answered.body, answered.status)
            response.raw_headers = answered.headers
            return response
        _log.error("console: request %s: the console's process %s", exchange.request_id.decode("ascii"), why)
        return await self._refusal(
            "No answer",
            f"The console {why}. If you changed something, check whether the change was made before you try again.",
        )

    async def _asked(self, request: PassedOn) -> Answered:
        reader, writer = await asyncio.open_unix_connection(self._address)
        try:
            await tell(writer, request)
            return await told(reader, Answered)
        finally:
            writer.close()

    async def _refusal(self, title: str, why: str) -> Response:
        return await asyncio.to_thread(_refusal_page, self._public_url, title, why)


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            break
    return body


def _refusal_page(public_url: str | None, title: str, why: str) -> Response:
    # What pages are made with takes 60 ms to import, and no worker needs it for anything else.
    from server.console.answers import Answers  # noqa: PLC0415 - see above
    from server.console.requests import Site  # noqa: PLC0415 - see above
    from server.console.visit import Refused  # noqa: PLC0415 - see above

    return Answers(Site(public_url).base).refuse(Refused(503, title, why))

"""HTTP parsing with limits, refusals in JSON for what does not even reach the application, and kept answers at once."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, cast

import msgspec
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from engine.page_views.rules import LARGEST_BODY
from server.access_log import logged_target
from server.connections import Connections
from server.hits import ASKED, Hits
from server.logs import LOGGER
from server.outcomes import Outcomes
from server.page_views import RECORDED_HEAD, Recording, viewed_workspace
from server.request_ids import HEADER, new_request_id

_log = logging.getLogger(LOGGER)

LONGEST_TARGET = 64 * 1024
"""Bytes of a request's path and query: several times what the longest valid parameters take fully encoded."""
LARGEST_HEADERS = 64 * 1024
"""Bytes of all of a request's headers as they are sent, so that many empty ones are too much as well."""
LARGEST_COPY = 32 * 1024
"""Bytes of a body that is copied behind its headers, for one write instead of two."""


class _Refused(Exception):
    pass


def _nothing() -> None:
    pass


class DeliveryProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with bounded request lines and headers, and its own refusals as JSON ``{message}``.

    Where the application has ``hits``, a kept answer is written as soon as the request's headers are there, without a
    task and the messages of ASGI; where it has ``recording``, so is a page view as soon as its body is. Where it has
    ``connections``, they decide how many there are, and how slow.
    """

    url = b""
    _refusal: tuple[int, str] | None = None
    _header_bytes = 0
    _defaults: tuple[Any, bytes] = (None, b"")
    """uvicorn's headers of every answer, which it renews every second, and what they are on the wire."""

    reading_since: float | None = None
    _quiet_since = 0.0
    _surplus = False
    _begun: RequestResponseCycle | None = None
    """What is being answered; ``cycle`` is the request that came last, of those that came without waiting."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._hits: Hits | None = getattr(self.app, "hits", None)
        self._outcomes: Outcomes | None = getattr(self.app, "outcomes", None)
        self._recording: Recording | None = getattr(self.app, "recording", None)
        self._viewed: tuple[RequestResponseCycle, str] | None = None
        """A page view that is coming in, and its workspace."""
        self._limits: Connections | None = getattr(self.app, "connections", None)

    @property
    def idle_since(self) -> float | None:
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        return self._quiet_since

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.reading_since = self._quiet_since = self.loop.time()
        self._surplus = self._limits is not None and not self._limits.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._limits is not None:
            self._limits.forget(self)
        if self._begun is not None and not self._begun.response_complete:
            self._begun.disconnected = True
            self._begun.message_event.set()
        self._begun = None
        self.pipeline.clear()
        super().connection_lost(exc)

    def unsent(self) -> int:
        """Bytes of answers that the client has not taken yet."""
        return 0 if self.transport.is_closing() else int(self.transport.get_write_buffer_size())

    def refuse_late(self) -> None:
        """408 and the end, for a request that takes too long to come; just the end where none has begun, or where it is
        answered already."""
        if self.transport.is_closing() or self.flow.read_paused:  # the rest may be waiting for us to read it
            return
        self.reading_since = None
        answered = self.cycle is not None and self.cycle.scope is self.scope  # before its body was there
        if self.headers is None or answered or (self.cycle is not None and not self.cycle.response_complete):
            self.transport.close()
        else:
            self._send_refusal(408, "The request did not come in whole within 10 seconds.")

    def end(self) -> None:
        """End the connection at once; what is unsent is lost."""
        if self.unsent():
            self.transport.abort()
        else:
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self.reading_since = self._quiet_since = self.loop.time()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self._viewed is not None and len(self._viewed[0].body) > LARGEST_BODY:
            (cycle, _), self._viewed = self._viewed, None
            super()._start_asgi_task(cycle, self.app)

    def on_message_complete(self) -> None:
        self.reading_since = None
        super().on_message_complete()
        if self._viewed is not None and self._recording is not None:
            (cycle, workspace), self._viewed = self._viewed, None
            recorded = partial(self._recorded, cycle)
            if not self._recording.take(workspace, cast(Scope, cycle.scope), bytes(cycle.body), recorded):
                recorded()

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > LONGEST_TARGET:
            self._refuse(414, f"The URL is longer than {LONGEST_TARGET} bytes.")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > LARGEST_HEADERS:
            self._refuse(431, f"The request's headers are larger than {LARGEST_HEADERS} bytes.")
        super().on_header(name, value)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._surplus:  # said only now: ended before its request was read, the connection would just break
            self._send_refusal(503, "The server has as many connections as it can serve. Try again in a moment.")
            return
        # With more requests behind it, what is answered at once would begin the next one before it returns, and so on.
        at_once = not self.pipeline and not self.flow.write_paused
        if at_once and self._hits is not None and self._answered(self._hits, cycle):
            return
        self._begun = cycle
        if at_once and self._recording is not None and cycle.more_body and not cycle.waiting_for_100_continue:
            workspace = viewed_workspace(cast(Scope, cycle.scope)) if cycle.scope["method"] == "POST" else None
            if workspace is not None:
                self._viewed = (cycle, workspace)
                return
        super()._start_asgi_task(cycle, app)

    def _answered(self, hits: Hits, cycle: RequestResponseCycle) -> bool:
        if hits.wait:
            return False
        scope = cast(Scope, cycle.scope)
        try:
            found = hits.bytes_of(scope)
        except Exception:  # the parser, which calls this, would take it for an invalid request
            _log.exception("a kept answer could not be given")
            found = None
        if found is None:
            scope[ASKED] = True
            return False
        head, body = found
        end = self._end_of_headers(cycle)
        cycle.response_started = cycle.response_complete = True
        if len(body) > LARGEST_COPY:
            self.transport.write(b"".join((head, end)))
            self.transport.write(body)
        else:
            self.transport.write(b"".join((head, end, body)))
        self._written(cycle)
        return True

    def _recorded(self, cycle: RequestResponseCycle) -> None:
        """Answer a page view; nobody may be there any more."""
        if not cycle.disconnected:
            cycle.response_started = cycle.response_complete = True
            self.transport.write(b"".join((RECORDED_HEAD, self._end_of_headers(cycle))))
            self._written(cycle)

    def _end_of_headers(self, cycle: RequestResponseCycle) -> bytes:
        headers = self.server_state.default_headers
        if headers is not DeliveryProtocol._defaults[0]:
            DeliveryProtocol._defaults = (headers, b"".join(b"%b: %b\r\n" % header for header in headers))
        return DeliveryProtocol._defaults[1] + (b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")

    def _written(self, cycle: RequestResponseCycle) -> None:
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        cycle.on_response = _nothing  # as uvicorn does, or each would keep the other from being freed

    def send_400_response(self, msg: str) -> None:
        """Called for whatever the parser refuses, an exception in ``on_url`` or ``on_header`` included."""
        if self.transport.is_closing():  # the last answer is given
            return
        refusal = self._refusal or (400, msg)
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            self._send_refusal(*refusal)
            return
        # Behind a request that came in whole: answers come in the order in which they were asked for.
        self.flow.pause_reading()
        self.reading_since = None
        self.cycle.on_response = partial(self._send_refusal_behind, *refusal)

    def _send_refusal_behind(self, status: int, message: str) -> None:
        if not self.transport.is_closing():
            self._send_refusal(status, message)

    def _send_refusal(self, status: int, message: str) -> None:
        body = msgspec.json.encode({"message": message})
        request_id = new_request_id()
        headers = {
            b"content-type": b"application/json",
            b"content-length": str(len(body)).encode("ascii"),
            b"access-control-allow-origin": b"*",
            b"cache-control": b"private, no-store",
            b"connection": b"close",
            HEADER: request_id,
        }
        if status == 503:
            headers[b"retry-after"] = b"1"
        lines = [STATUS_LINE[status]]
        for name, value in [*self.server_state.default_headers, *headers.items()]:
            lines += [name, b": ", value, b"\r\n"]
        self.transport.write(b"".join([*lines, b"\r\n", body]))
        self.transport.close()
        if self._outcomes is not None:
            path, _, query = self.url.partition(b"?")
            target = logged_target(path or b"-", query)
            seconds = self.loop.time() - self._quiet_since
            # What the parser made of the first line is no more to be relied on than the rest.
            self._outcomes.record("-", target, status, seconds, len(body), None, None, request_id.decode("ascii"))

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a client may offer HTTP/2 or WebSocket with any request, and is answered in HTTP/1.1."""

    def _refuse(self, status: int, message: str) -> None:
        self._refusal = (status, message)
        raise _Refused(message)

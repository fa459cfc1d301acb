"""HTTP parsing with limits, refusals in JSON for what does not even reach the application, and kept answers at once."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, cast

import msgspec
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from engine.page_views.collecting.rules import LARGEST_BODY
from server.content.kept_answers import ASKED, Hits
from server.http.access_log import logged_target
from server.http.connections import Connections
from server.http.outcomes import Outcomes
from server.http.request_ids import HEADER, new_request_id
from server.logs import LOGGER
from server.views.collection import ReportedRequest
from server.views.endpoints import RECORDED_HEAD, Recording
from server.views.requests import ViewRequest

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
    _resting_since = 0.0
    _surplus = False
    _begun: RequestResponseCycle | None = None
    """What is being answered; ``cycle`` is the request that came last, of those that came without waiting."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._hits: Hits | None = getattr(self.app, "hits", None)
        self._outcomes: Outcomes | None = getattr(self.app, "outcomes", None)
        self._recording: Recording | None = getattr(self.app, "recording", None)
        self._viewed: ViewRequest | None = None
        """A page view that is coming in."""
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
        self._begun = self._viewed = None
        self.pipeline.clear()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()  # or it would keep what is gone in memory
            self.timeout_keep_alive_task = None
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

    def _unset_keepalive_if_required(self) -> None:
        """Nothing: a connection has one timer, which looks when it ends whether it came too soon. Setting another one
        for each request is a good part of what a small answer costs."""

    def on_response_complete(self) -> None:
        """uvicorn's, but for the timer."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._resting_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._rest(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self.reading_since is not None or not self.cycle.response_complete:
            return  # the answer sets it again
        left = self._resting_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._rest(left)
        else:
            super().timeout_keep_alive_handler()

    def _rest(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self.reading_since = self._quiet_since = self.loop.time()

    def on_headers_complete(self) -> None:
        if self._recording is None or not self._is_view(self._recording):
            super().on_headers_complete()

    def _is_view(self, recording: Recording) -> bool:
        """Whether this is a page view as pages send them, which then begins; what is special goes the usual way."""
        found = recording.viewed(self.url)
        if found is None or self._surplus or self.flow.write_paused or self.expect_100_continue:
            return False
        if self.cycle is not None and not self.cycle.response_complete:  # it waits for its turn
            return False
        parser = self.parser
        if parser.get_method() != b"POST" or parser.should_upgrade():
            return False
        keep_alive = parser.get_http_version() != "1.0" and parser.should_keep_alive()
        self._viewed = ViewRequest(self.scope, *found, keep_alive, self.on_response_complete)
        self.cycle = self._begun = self._viewed
        return True

    def on_body(self, body: bytes) -> None:
        view = self._viewed
        if view is None:
            super().on_body(body)
            return
        view.body += body
        if len(view.body) > LARGEST_BODY:
            self._viewed = None
            self._recorded(view)

    def on_message_complete(self) -> None:
        self.reading_since = None
        view, self._viewed = self._viewed, None
        if view is None or self._recording is None:
            super().on_message_complete()
            return
        view.more_body = False
        reported = ReportedRequest(view.workspace, view.served, self.headers, bytes(view.body), self.client)
        self._recording.take(reported, partial(self._recorded, view), len(self.connections))

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > LONGEST_TARGET:
            self._refuse(414, f"The URL is longer than {LONGEST_TARGET} bytes.")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > LARGEST_HEADERS:
            self._refuse(431, f"The request's headers are larger than {LARGEST_HEADERS} bytes.")
        # uvicorn's, without another call for each header.
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._surplus:  # said only now: ended before its request was read, the connection would just break
            self._send_refusal(503, "The server has as many connections as it can serve. Try again in a moment.")
            return
        # With more requests behind it, what is answered at once would begin the next one before it returns, and so on.
        at_once = not self.pipeline and not self.flow.write_paused
        if at_once and self._hits is not None and self._answered(self._hits, cycle):
            return
        self._begun = cycle
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

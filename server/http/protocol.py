"""uvicorn's HTTP/1.1 protocol with limits: bounded heads, slow requests ended, and refusals as JSON ``{message}``."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from server.http.access_log import logged_target
from server.http.connections import Connections
from server.http.exchange import Exchange, PathClass
from server.http.headers import refusal_headers
from server.http.kernel_queue import drop_when_closed, queued
from server.http.middleware import error_body
from server.http.outcomes import Outcomes
from server.http.request_ids import new_request_id

LONGEST_TARGET: Final = 64 * 1024
"""Bytes of a request's path and query: several times what the longest valid parameters take fully encoded."""
LARGEST_HEADERS: Final = 64 * 1024
"""Bytes of all of a request's headers as they are sent, so that many empty ones are too much as well."""
CONNECTIONS: Final = "parquetry.connections"
"""The name in an application's lifespan state of its ``Connections``, without which there may be any number."""
OUTCOMES: Final = "parquetry.outcomes"
"""The name there of the ``Outcomes`` that are told of refusals."""

_HOSTLESS: Final = ("0.9", "1.0")
"""The versions of HTTP in which a request need not name its host."""
_SPOKEN: Final = (*_HOSTLESS, "1.1")
"""The versions of HTTP that are answered; the parser takes 2.0, too, whose requests have no such first line."""


class _Refusal(NamedTuple):
    status: int
    message: str


class _Refused(Exception):
    pass


class DeliveryState(ServerState):
    """What a server's connections share."""

    is_ending = False
    """Whether each answer is to be the last on its connection."""


class DeliveryProtocol(HttpToolsProtocol):
    """A connection whose requests are bounded, and whose refusals before any application is called are JSON.

    A request that offers an upgrade is answered in HTTP/1.1 like any other.
    """

    url = b""
    reading_since: float | None = None
    _quiet_since = 0.0
    _admitted = True
    _header_bytes = 0
    _in_head = False
    _declined = b""
    """The head of the request that offers an upgrade, without the offer."""
    _answered: Any = None
    """uvicorn's ``cycle`` of the request that is being answered; that of the connection is of the last that was sent
    without waiting."""
    _closing: Any = None
    """uvicorn's ``cycle`` of the request whose answer is the last, as the server ends."""
    _refusal: _Refusal | None = None
    """The refusal of the request whose head is being read."""
    _last: _Refusal | None = None
    """The refusal that ends the connection once everything before it is answered."""

    @property
    def idle_since(self) -> float | None:
        if self.cycle is not None and not self.cycle.response_complete:
            return None
        return self._quiet_since

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.reading_since = self._quiet_since = self.loop.time()
        connections: Connections | None = self.app_state.get(CONNECTIONS)
        self._admitted = connections is None or connections.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        connections: Connections | None = self.app_state.get(CONNECTIONS)
        if connections is not None:
            connections.forget(self)
        self.pipeline.clear()
        if self._answered is not None:
            self.cycle = self._answered  # uvicorn tells the application of this one that the client is gone
            self._answered = None
        self._unset_keepalive_if_required()  # or the timer would keep a connection that was reset in memory
        super().connection_lost(exc)

    def close_after_answer(self) -> None:
        """Say in the answer to the newest request, unless it has begun, that it is the last on this connection."""
        newest = self.cycle
        if newest is None or newest.response_started or not newest.keep_alive:
            return
        if self._closing is not None and not self._closing.response_started:
            self._closing.keep_alive = True  # sent without waiting for its answer: those behind it are answered, too
        self._closing, newest.keep_alive = newest, False

    def unsent(self) -> int:
        """Return the bytes of answers that this process holds for the client, be it to close the connection then."""
        return int(self.transport.get_write_buffer_size())

    def untaken(self) -> int:
        """Return the bytes of answers that the client has not taken yet.

        The kernel takes megabytes ahead of a slow client, so that ``unsent`` alone stands still for minutes.
        """
        return self.unsent() + queued(self.transport.get_extra_info("socket"))

    def refuse_late(self) -> None:
        """Answer 408 and end the connection, for a request that takes too long to come; just end it where no request
        has begun, or where the request is being answered already."""
        if self.transport.is_closing() or self.flow.read_paused:  # the rest may be waiting for us to read it
            return
        self.reading_since = None
        if not self._in_head or self.idle_since is None:
            self.transport.close()
        else:
            self._send_refusal(_Refusal(408, "The request did not arrive completely within 10 seconds."))

    def end(self) -> None:
        """End the connection without waiting; unsent bytes are lost."""
        if self.unsent():
            self.transport.abort()
        else:
            self.transport.close()

    def cut(self) -> None:
        """End the connection at once; every byte that the client has not taken is lost."""
        drop_when_closed(self.transport.get_extra_info("socket"))
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                data = self._declined + data[offer.args[0] :]
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0
        self._in_head = True
        self.reading_since = self._quiet_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > LONGEST_TARGET:
            self._refuse(414, f"The URL is longer than {LONGEST_TARGET} bytes.")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > LARGEST_HEADERS:
            self._refuse(431, f"The request's headers are larger than {LARGEST_HEADERS} bytes.")
        if self._in_head:  # what comes behind a body is a trailer, which has no meaning here (decision 56)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if not self._admitted:  # said only now: ended before its request was read, the connection would just break
            self._refuse(503, "The server has as many connections as it can serve. Try again in a moment.")
        version = self.parser.get_http_version()
        if version not in _SPOKEN:
            self._refuse(505, f"This server speaks HTTP/1.1 and HTTP/1.0, not HTTP/{version}.")
        names = [name for name, _ in self.headers]
        if b"transfer-encoding" in names:
            self._check_transfer_coding(version)
        hosts = names.count(b"host")
        if hosts != 1 and (hosts or version not in _HOSTLESS):
            self._refuse(400, f"A request has one Host header; this one has {hosts or 'none'}.")
        if not self.parser.should_upgrade():
            super().on_headers_complete()
            if not self.pipeline:
                self._answered = self.cycle
            state = self.server_state
            if isinstance(state, DeliveryState) and state.is_ending:
                self.close_after_answer()
        elif self.parser.get_method() == b"CONNECT":
            self._refuse(400, "This server is not a proxy: it does not accept CONNECT.")
        else:
            self._declined = self._head_without_upgrade()

    def on_message_complete(self) -> None:
        self.reading_since = None
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._last is not None and not self.pipeline and not self.transport.is_closing():
            self._send_refusal(self._last)
        else:
            self._quiet_since = self.loop.time()
            if self.pipeline:
                self._answered = self.pipeline[-1][0]
            super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse the request that the parser, or one of its callbacks, failed on: in its turn, and only once."""
        if self.transport.is_closing() or self._last is not None:
            return
        refusal = self._refusal or _Refusal(400, msg)
        cycle = self.cycle
        if cycle is None or (cycle.response_complete and cycle.scope is not self.scope):
            self._send_refusal(refusal)
        elif cycle.scope is not self.scope:  # answers come in the order in which they were asked for
            self._refuse_behind(refusal)
        elif self.pipeline and self.pipeline[0][0] is cycle:  # its body is broken, and its turn has not come
            self.pipeline.popleft()
            self._refuse_behind(refusal)
        elif cycle.response_started:
            self.transport.close()
        else:
            cycle.disconnected = True  # so that it gets no other answer
            cycle.message_event.set()
            self._send_refusal(refusal)

    def _check_transfer_coding(self, version: str) -> None:
        """Refuse a body whose end the parser may see elsewhere than a proxy does, or that it would leave encoded."""
        values = [value for name, value in self.headers if name == b"transfer-encoding"]
        codings = [coding.strip(b" \t").lower() for coding in b",".join(values).split(b",")]
        *others, last = [coding for coding in codings if coding] or [b""]
        if version in _HOSTLESS:
            self._refuse(400, f"HTTP/{version} has no Transfer-Encoding.")
        if last != b"chunked" or b"chunked" in others:
            self._refuse(400, "The last coding of Transfer-Encoding, and no other, has to be chunked.")
        if others:
            self._refuse(501, "This server takes no Transfer-Encoding but chunked.")

    def _refuse(self, status: int, message: str) -> None:
        """Stop the parser, and have the request that it reads refused."""
        self._refusal = _Refusal(status, message)
        raise _Refused(message)

    def _refuse_behind(self, refusal: _Refusal) -> None:
        self.reading_since = None
        self._last = refusal
        self.flow.pause_reading()

    def _send_refusal(self, refusal: _Refusal) -> None:
        body = error_body(refusal.message)
        # The request's path need not be known: its headers are those of /v1, whose answers no cache keeps.
        exchange = Exchange(new_request_id(), PathClass.DELIVERY)
        headers = refusal_headers(exchange, refusal.status, len(body))
        lines = [b"%b: %b\r\n" % header for header in (*self.server_state.default_headers, *headers)]
        self.transport.write(b"".join((STATUS_LINE[refusal.status], *lines, b"\r\n", body)))
        self.transport.close()
        outcomes: Outcomes | None = self.app_state.get(OUTCOMES)
        if outcomes is not None:
            path, _, query = self.url.partition(b"?")
            target = logged_target(path or b"-", query)
            seconds = self.loop.time() - self._quiet_since
            # The first line may be as broken as the rest.
            outcomes.record(exchange, "-", target, refusal.status, seconds, len(body))

    def _head_without_upgrade(self) -> bytes:
        """Return the head of the request that offers an upgrade as if it offered none.

        The parser takes what follows such a head for another protocol, its body included, so it is given this one and
        the bytes behind it instead.
        """
        first = b"%b %b HTTP/%b\r\n" % (
            self.parser.get_method(),
            self.url,
            self.parser.get_http_version().encode("ascii"),
        )
        rest = (b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade")
        return b"".join((first, *rest, b"\r\n"))

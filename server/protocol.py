"""HTTP parsing with limits, and refusals in JSON for what does not even reach the application."""

from __future__ import annotations

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

LONGEST_TARGET = 64 * 1024
"""Bytes of a request's path and query: several times what the longest valid parameters take fully encoded."""
LARGEST_HEADERS = 64 * 1024
"""Bytes of all of a request's headers."""


class _Refused(Exception):
    pass


class DeliveryProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with bounded request lines and headers, and its own refusals as JSON ``{message}``."""

    _refusal: tuple[int, str] | None = None
    _header_bytes = 0

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = 0

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > LONGEST_TARGET:
            self._refuse(414, f"The URL is longer than {LONGEST_TARGET} bytes.")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > LARGEST_HEADERS:
            self._refuse(431, f"The request's headers are larger than {LARGEST_HEADERS} bytes.")
        super().on_header(name, value)

    def send_400_response(self, msg: str) -> None:
        """Called for whatever the parser refuses, an exception in ``on_url`` or ``on_header`` included."""
        status, message = self._refusal or (400, msg)
        body = msgspec.json.encode({"message": message})
        headers = {
            b"content-type": b"application/json",
            b"content-length": str(len(body)).encode("ascii"),
            b"access-control-allow-origin": b"*",
            b"cache-control": b"private, no-store",
            b"connection": b"close",
        }
        lines = [STATUS_LINE[status]]
        for name, value in [*self.server_state.default_headers, *headers.items()]:
            lines += [name, b": ", value, b"\r\n"]
        self.transport.write(b"".join([*lines, b"\r\n", body]))
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a client may offer HTTP/2 or WebSocket with any request, and is answered in HTTP/1.1."""

    def _refuse(self, status: int, message: str) -> None:
        self._refusal = (status, message)
        raise _Refused(message)

"""Send one request of a webhook over a connection to an address that was checked, and read its answer in time.

There are no redirects and no proxies, and of the answer only the status and ``Retry-After`` are read: what follows its
head is not looked at. Receivers are others' programs, so whatever they send, and whatever fails over it, is an answer.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from datetime import UTC
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Final, TypeAlias

import httptools
import msgspec

from engine.webhooks.addresses import Address, AddressRefused, ReceiverAddress, check_addresses
from snapshots.version import VERSION

SECONDS: Final = 15.0
"""The longest that a try may take, from the name's resolution to the answer's head."""
LONGEST_HEAD: Final = 64 << 10
"""Bytes of an answer before its body."""
SWITCHING: Final = 101
"""The one status below 200 after which no other follows: the receiver speaks another protocol from there on."""
USER_AGENT: Final = f"Parquetry-Webhooks/{VERSION}"

_DIGITS: Final = 15
"""Digits of a number of seconds that are read: it is longer than anybody honours then, whatever the others are."""

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[Address]]]
"""Returns all addresses of a host, for a port. Raises ``OSError``."""


class Post(msgspec.Struct, frozen=True):
    """One request that is to be made: a POST of JSON."""

    target: ReceiverAddress
    headers: dict[str, str]
    body: bytes


class PostResult(msgspec.Struct, frozen=True):
    """The outcome of a request: a status, or the reason why there is none."""

    status: int | None
    refusal: str | None = None
    """Why it was not accepted, for people; ``None`` for a status from 200 to 299."""
    retry_after: float | None = None
    """Seconds for which the receiver asks to be left alone."""

    @property
    def accepted(self) -> bool:
        return self.refusal is None


class WebhookClient:
    """Makes requests, any number at a time, on one event loop."""

    def __init__(
        self, *, allow_loopback: bool, trust: ssl.SSLContext, resolve: Resolve, seconds: float = SECONDS
    ) -> None:
        self._allow_loopback = allow_loopback
        self._trust = trust
        self._resolve = resolve
        self._seconds = seconds

    async def post(self, request: Post, now: int) -> PostResult:
        """Make a request and return its answer; a failure of any kind that is foreseen is an answer too.

        ``now`` is UTC milliseconds. What else is raised is one as well: ``unforeseen`` says it.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post(request, now)
        except TimeoutError:
            return PostResult(None, f"no answer within {self._seconds:g} s")
        except AddressRefused as error:
            return PostResult(None, str(error))
        except ssl.SSLCertVerificationError as error:
            return PostResult(None, f"its certificate cannot be trusted: {error.verify_message.rstrip('.')}")
        except ssl.SSLError as error:
            return PostResult(None, f"TLS failed: {error.reason or 'the connection was closed'}")
        except socket.gaierror:
            return PostResult(None, "its name cannot be resolved")
        except (OSError, UnicodeError, asyncio.IncompleteReadError) as error:
            number = getattr(error, "errno", None)
            cause = os.strerror(number) if number else type(error).__name__
            return PostResult(None, f"it cannot be reached: {cause}")

    async def _post(self, request: Post, now: int) -> PostResult:
        target = request.target
        addresses = await self._resolve(target.host, target.port)
        check_addresses(addresses, tls=target.tls, allow_loopback=self._allow_loopback)
        connected = await self._connected(addresses, target)
        reader, writer = await asyncio.open_connection(
            sock=connected,
            ssl=self._trust if target.tls else None,
            server_hostname=target.host if target.tls else None,
            limit=LONGEST_HEAD,
        )
        try:
            writer.write(_head(request) + request.body)
            return await read_answer(reader.read, now)
        finally:
            writer.transport.abort()

    async def _connected(self, addresses: list[Address], target: ReceiverAddress) -> socket.socket:
        """Return a connection to the first of the addresses that accepts one. Raises the last one's ``OSError``."""
        share = self._seconds / len(addresses)
        last: OSError = OSError("the name has no address")
        for address in addresses:
            family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
            connection = socket.socket(family, socket.SOCK_STREAM)
            try:
                connection.setblocking(False)
                loop = asyncio.get_running_loop()
                await asyncio.wait_for(loop.sock_connect(connection, (str(address), target.port)), share)
                if ip_address(connection.getpeername()[0]) != address:
                    raise AddressRefused(f"The connection to {address} ended at another address.")
            except OSError as error:  # a TimeoutError too, when there are more addresses to try
                connection.close()
                last = error
            except BaseException:
                connection.close()
                raise
            else:
                return connection
        raise last


class _Head:
    """Reads an answer until its head is complete: the first that is final. What comes after it counts for nothing."""

    def __init__(self) -> None:
        self.status: int | None = None
        """The answer's, once the head is complete."""
        self.retry_after: str | None = None
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take the next bytes in. Raises ``HttpParserError`` where no head can come of them."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self.status is None:
                raise

    def on_message_begin(self) -> None:
        if self.status is None:
            self.retry_after = None  # that of a provisional answer

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status is None and name.lower() == b"retry-after":
            self.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self.status is None and (status == SWITCHING or not 100 <= status < 200):  # else the answer follows
            self.status = status


async def read_answer(read: Callable[[int], Awaitable[bytes]], now: int) -> PostResult:
    """Return the result that a receiver's answer is, read by ``read`` as far as the end of its head.

    ``read`` returns some bytes, at most as many as it is given, and none where the connection is closed; ``now`` is UTC
    milliseconds. Raises what ``read`` raises, and nothing else.
    """
    head, received = _Head(), 0
    while head.status is None:
        data = await read(LONGEST_HEAD)
        received += len(data)
        if not data:
            return PostResult(None, "it closed the connection without an answer")
        if received > LONGEST_HEAD:
            return PostResult(None, "too long a head")
        try:
            head.feed(data)
        except httptools.HttpParserError:
            return PostResult(None, "what it answers is not HTTP")
    return _result(head.status, head.retry_after, now)


def unforeseen(error: Exception) -> PostResult:
    """Return the answer that an error stands for which nobody foresaw: a failed try like others."""
    return PostResult(None, f"the request failed unexpectedly: {type(error).__name__}")


def _head(request: Post) -> bytes:
    lines = [
        f"POST {request.target.path} HTTP/1.1",
        f"host: {request.target.authority}",
        f"user-agent: {USER_AGENT}",
        "content-type: application/json",
        f"content-length: {len(request.body)}",
        "connection: close",
        *(f"{name}: {value}" for name, value in request.headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _result(status: int, retry_after: str | None, now: int) -> PostResult:
    if 200 <= status < 300:
        return PostResult(status)
    if 300 <= status < 400:
        return PostResult(status, f"it answered {status}: redirects are not followed")
    return PostResult(status, f"it answered {status}", _seconds_until(retry_after, now))


def _seconds_until(retry_after: str | None, now: int) -> float | None:
    """Return the seconds that a ``Retry-After`` asks for, as a number or a date; ``None`` for none that is valid.

    Of more than fifteen digits it is some other large number.
    """
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after.lstrip("0")[:_DIGITS] or 0)
    try:
        at = parsedate_to_datetime(retry_after)
        return max(0.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - now / 1000)
    except (ValueError, OverflowError):  # of a date, or beyond what a computer can say of one
        return None


def system_resolver(threads: Executor) -> Resolve:
    """Return a resolver that asks the system, in ``threads`` of its own: a name server may take long to answer."""

    async def resolve(host: str, port: int) -> list[Address]:
        found = await asyncio.get_running_loop().run_in_executor(
            threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        # A scope, as in fe80::1%eth0, stays in the text, so that the address is refused.
        return list(dict.fromkeys(ip_address(socket_address[0]) for *_, socket_address in found))

    return resolve


def trusted_authorities() -> ssl.SSLContext:
    """Return how receivers are trusted: by the system's authorities, or those of ``SSL_CERT_FILE``, and by name."""
    return ssl.create_default_context()

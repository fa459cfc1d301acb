"""One request of a webhook → its answer: over a connection to an address that was checked, within a time limit.

There are no redirects and no proxies, and of the answer only the status and ``Retry-After`` are read.
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

from engine.webhooks.addresses import Address, AddressRefused, Target, check_addresses
from snapshots.version import VERSION

SECONDS: Final = 15.0
"""The longest that a try may take, from the name's resolution to the answer's head."""
LONGEST_HEAD: Final = 64 << 10
"""Bytes of an answer before its body."""
USER_AGENT: Final = f"Parquetry-Webhooks/{VERSION}"

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[Address]]]
"""A host and a port → all of the host's addresses. Raises ``OSError``."""


class Post(msgspec.Struct, frozen=True):
    """One request that is to be made: a POST of JSON."""

    target: Target
    headers: dict[str, str]
    body: bytes


class Answer(msgspec.Struct, frozen=True):
    """What became of a request: a status, or the reason why there is none."""

    status: int | None
    refusal: str | None = None
    """Why it was not accepted, for people; ``None`` for a status from 200 to 299."""
    retry_after: float | None = None
    """Seconds for which the receiver asks to be left alone."""

    @property
    def accepted(self) -> bool:
        return self.refusal is None


class Sending:
    """Makes requests, any number at a time, on one event loop."""

    def __init__(
        self, *, allow_loopback: bool, trust: ssl.SSLContext, resolve: Resolve, seconds: float = SECONDS
    ) -> None:
        self._allow_loopback = allow_loopback
        self._trust = trust
        self._resolve = resolve
        self._seconds = seconds

    async def post(self, request: Post, now: int) -> Answer:
        """Make a request and return its answer; a failure of any kind is an answer too. ``now`` is UTC ms."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post(request, now)
        except TimeoutError:
            return Answer(None, f"no answer within {self._seconds:g} s")
        except AddressRefused as error:
            return Answer(None, str(error))
        except ssl.SSLCertVerificationError as error:
            return Answer(None, f"its certificate cannot be trusted: {error.verify_message.rstrip('.')}")
        except ssl.SSLError as error:
            return Answer(None, f"TLS failed: {error.reason or 'the connection was closed'}")
        except socket.gaierror:
            return Answer(None, "its name cannot be resolved")
        except (OSError, UnicodeError, asyncio.IncompleteReadError) as error:
            number = getattr(error, "errno", None)
            cause = os.strerror(number) if number else type(error).__name__
            return Answer(None, f"it cannot be reached: {cause}")
        except httptools.HttpParserError:
            return Answer(None, "what it answers is not HTTP")

    async def _post(self, request: Post, now: int) -> Answer:
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
            head = _Head()
            parser = httptools.HttpResponseParser(head)
            head.status = parser.get_status_code
            received = 0
            while not head.complete:
                data = await reader.read(LONGEST_HEAD)
                received += len(data)
                if not data or received > LONGEST_HEAD:
                    return Answer(None, "it closed the connection without an answer" if not data else "too long a head")
                parser.feed_data(data)
            return _answer(head.final_status, head.retry_after, now)
        finally:
            writer.transport.abort()

    async def _connected(self, addresses: list[Address], target: Target) -> socket.socket:
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
    """What is kept of an answer's head."""

    def __init__(self) -> None:
        self.complete = False
        self.final_status = 0
        self.retry_after: str | None = None
        self.status: Callable[[], int] = int

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.final_status = self.status()
        self.complete = self.final_status >= 200  # 1xx: the answer follows


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


def _answer(status: int, retry_after: str | None, now: int) -> Answer:
    if 200 <= status < 300:
        return Answer(status)
    if 300 <= status < 400:
        return Answer(status, f"it answered {status}: redirects are not followed")
    return Answer(status, f"it answered {status}", _seconds_until(retry_after, now))


def _seconds_until(retry_after: str | None, now: int) -> float | None:
    """Return the seconds that a ``Retry-After`` asks for, as a number or a date; ``None`` for none that is valid."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10:
        return float(retry_after)
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - now / 1000)


def system_resolver(threads: Executor) -> Resolve:
    """Return a resolver that asks the system, in ``threads`` of its own: a name server may take long to answer."""

    async def resolve(host: str, port: int) -> list[Address]:
        found = await asyncio.get_running_loop().run_in_executor(
            threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        # A scope, as in fe80::1%eth0, stays in the text, so that the address is refused.
        return list(dict.fromkeys(ip_address(place[0]) for *_, place in found))

    return resolve


def trusted_authorities() -> ssl.SSLContext:
    """Return how receivers are trusted: by the system's authorities, or those of ``SSL_CERT_FILE``, and by name."""
    return ssl.create_default_context()

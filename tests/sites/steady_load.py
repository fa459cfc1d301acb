"""Requests of every kind, one after the other on many connections, none of which is asked again when it fails."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
SLOW_SECONDS = 0.2
"""Seconds that a slow body pauses half way."""


@dataclass
class Load:
    """What has been asked, and what failed."""

    port: int
    key: str
    total: int
    """How many requests are sent in all."""
    workspace: str = "acme"
    origin: str = "https://acme.example"
    has_console: bool = False
    begun: int = 0
    answered: int = 0
    failures: list[str] = field(default_factory=list)
    last: int = 0
    """How many answers said that they are the last on their connection."""

    async def run(self, connections: int, meanwhile: Callable[[], Awaitable[None]]) -> None:
        """Send all requests; ``meanwhile`` runs beside, and more requests are sent as long as it does."""
        beside = asyncio.ensure_future(meanwhile())
        await asyncio.gather(*(self._client(number, beside) for number in range(connections)))
        await beside

    async def _client(self, number: int, beside: asyncio.Future[None]) -> None:
        chance = random.Random(number)
        kept: _Connection | None = None
        while self.begun < self.total or not beside.done():
            if beside.done() and beside.exception() is not None:
                return
            self.begun += 1
            request, is_slow = self._request(chance, number)
            try:
                kept = kept or await _Connection.opened(self.port)
                status, is_last = await kept.ask(request, is_slow=is_slow)
            except (OSError, EOFError, asyncio.IncompleteReadError, ValueError) as error:
                self.failures.append(f"{request[:60]!r}: {error!r}")
                kept = None
                continue
            self.answered += 1
            self.last += is_last
            if status not in (200, 204, 303):
                self.failures.append(f"{request[:60]!r}: {status}")
            if is_last or chance.random() < 0.05:
                kept.close()
                kept = None
        if kept is not None:
            kept.close()

    def _request(self, chance: random.Random, number: int) -> tuple[bytes, bool]:
        kind = chance.random()
        if kind < 0.1:
            body = json.dumps({"path": f"/page/{chance.randrange(100_000)}"}).encode()
            head = (
                f"POST /pv/{self.workspace} HTTP/1.1\r\nHost: x\r\nOrigin: {self.origin}\r\nUser-Agent: {AGENT}\r\n"
                f"X-Forwarded-For: 203.0.{number}.{chance.randrange(256)}\r\nContent-Type: text/plain\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            return head.encode() + body, kind < 0.01
        target = f"/v1/{self.workspace}/posts?limit={chance.randrange(1, 50)}&offset={chance.randrange(3)}"
        if kind < 0.105 and self.has_console:
            target = "/console/sign-in"
        elif kind < 0.15:
            target = "/readyz"
        elif kind < 0.4:
            target = f"/v1/{self.workspace}/posts/post-{chance.randrange(3)}"
        return f"GET {target} HTTP/1.1\r\nHost: x\r\nX-API-KEY: {self.key}\r\n\r\n".encode(), False


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def opened(cls, port: int) -> _Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, request: bytes, *, is_slow: bool) -> tuple[int, bool]:
        """Return an answer's status, and whether it is the last on this connection."""
        if is_slow:
            self._writer.write(request[:-5])
            await asyncio.sleep(SLOW_SECONDS)
            request = request[-5:]
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        lines = head.split(b"\r\n")
        headers = dict(line.split(b": ", 1) for line in lines[1:] if b": " in line)
        if headers.get(b"transfer-encoding") == b"chunked":
            while size := int(await self._reader.readuntil(b"\r\n"), 16):
                await self._reader.readexactly(size + 2)
            await self._reader.readexactly(2)
        else:
            await self._reader.readexactly(int(headers.get(b"content-length", b"0")))
        return int(lines[0].split()[1]), headers.get(b"connection") == b"close"

    def close(self) -> None:
        self._writer.close()

"""What a worker and the console's process tell one another, on one connection for each request."""

from __future__ import annotations

from asyncio import StreamReader, StreamWriter
from typing import TypeAlias, TypeVar

import msgspec

Headers: TypeAlias = list[tuple[bytes, bytes]]
Told = TypeVar("Told", "PassedOn", "Answered")


class PassedOn(msgspec.Struct, frozen=True, array_like=True):
    """A browser's request."""

    method: str
    raw_path: bytes
    query: bytes
    headers: Headers
    body: bytes
    """All of it, or more than ``LARGEST_FORM`` bytes of one that is too large."""
    request_id: bytes
    visitor: bytes
    """What stands for the browser's network address."""


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a request."""

    status: int
    headers: Headers
    body: bytes
    workspace: str | None
    """The one that the page is about, for the access log."""
    signed_in: bool | None = None
    """Whether the request is one of a session; ``None`` where that made no difference."""


async def tell(writer: StreamWriter, message: PassedOn | Answered) -> None:
    """Send a message, which is all that is said in its direction. Raises ``OSError``."""
    writer.write(msgspec.msgpack.encode(message))
    writer.write_eof()
    await writer.drain()


async def told(reader: StreamReader, kind: type[Told]) -> Told:
    """Return the message that comes. Raises ``OSError``, or ``msgspec.DecodeError`` for one that is not complete."""
    return msgspec.msgpack.decode(await reader.read(), type=kind)

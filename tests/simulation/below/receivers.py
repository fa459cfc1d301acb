"""Receivers of webhooks: what they are told, and what they answer."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.webhooks.post import Post, PostResult, read_answer
from tests.simulation.below.scheduler import SECOND

if TYPE_CHECKING:
    from tests.simulation.world import World

_GOOD = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_ANSWERS = (
    b"HTTP/1.1 500 No\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    b"HTTP/1.1 429 Later\r\nretry-after: 99999999999999999999\r\n\r\n",
    b"HTTP/1.1 503 Later\r\nretry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n",
    b"HTTP/1.1 503 Later\r\nretry-after: Fri, 31 Dec 99999 23:59:59 -9999\r\n\r\n",
    b"HTTP/1.1 302 Elsewhere\r\nlocation: http://169.254.169.254/\r\n\r\n",
    b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    b"\x00\x01\x02",
    b"",
)


class Receiver:
    """One receiver, at an address of its own."""

    def __init__(self, world: World, host: str, workspace: str) -> None:
        self._world = world
        self.host = host
        self.workspace = workspace
        self._chance = random.Random(f"{world.chance.seed}/{host}")
        bad = self._chance.choice((0.0, 0.0, 0.1, 0.4))
        self._bad = 0.0 if world.rates.is_calm else world.given.get("bad", bad)
        self.is_gone = False
        """Whether it answers nothing but that it cannot, until the end of the world."""
        self.accepted: list[dict[str, Any]] = []
        """The events that it has accepted, in order, each once."""
        self.times: Counter[str] = Counter()
        """How often it has accepted each, by its ID."""

    def answer(self, request: Post, now: int) -> PostResult:
        """Take a request; return what the product makes of the answer."""
        world, chance = self._world, self._chance
        world.scheduler.pause(round(chance.random() * SECOND / 5))
        raw, is_lost = _GOOD, False
        if not world.is_over and chance.random() < self._bad and world.chance.falls(self.host, "answers badly"):
            raw, is_lost = chance.choice(_ANSWERS), chance.random() < 0.3
        if self.is_gone:
            raw, is_lost = _ANSWERS[0], False
        if raw in (_GOOD, _ANSWERS[6]) or is_lost:
            self._accept(request)
        if is_lost:
            world.scheduler.pause(15 * SECOND)
            return PostResult(None, "no answer within 15 s")
        world.scheduler.pause(round(chance.random() * SECOND / 5))
        return _driven(read_answer(_reader(raw), now))

    def _accept(self, request: Post) -> None:
        message = request.headers["webhook-id"]
        self.times[message] += 1
        if self.times[message] == 1:
            event = json.loads(request.body)
            self.accepted.append(event)
            self._world.told_receiver(self, event)


class Client:
    """What sends requests of webhooks, in the place of the product's thread with an event loop."""

    receivers: dict[str, Receiver]

    def __init__(self, *, allow_loopback: bool) -> None:
        pass

    def post(self, request: Post, now: int) -> PostResult:
        """Make a request and wait for its answer."""
        return self.receivers[request.target.host].answer(request, now)

    def stop(self) -> None:
        """Break nothing off: whoever stops dies."""


def client_of(receivers: dict[str, Receiver]) -> type[Client]:
    """Return the class of clients that reach these receivers, by host."""
    return type("WebhookClientThread", (Client,), {"receivers": receivers})


def _reader(raw: bytes) -> Callable[[int], Any]:
    parts = [raw, b""]

    async def read(_most: int) -> bytes:
        return parts.pop(0) if parts else b""

    return read


def _driven(answer: Any) -> PostResult:
    """Run a coroutine that waits for nothing; return its result."""
    try:
        answer.send(None)
    except StopIteration as done:
        result: PostResult = done.value
        return result
    raise RuntimeError("reading an answer waits for something")

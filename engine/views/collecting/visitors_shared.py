"""The last views over all machines: duplicates and the limit per address, in a Redis or Valkey (decision 31).

What lies there are keyed hashes that go after minutes. Their key, the *salt*, is drawn anew every day and is never
written anywhere, also not by the server: machines pass it on by publish and subscribe, which keeps nothing, and those
that join ask for it. The server only knows the name of the salt in force, which says nothing about it. A salt that no
living machine knows is replaced by a new one.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import msgspec
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from engine.access.keys.rate_limit import SHARED_SCHEMES
from engine.views.collecting.visitors import Limits, Verdict, hash_of, visitor_of

ANSWER_SECONDS: Final = 0.5
"""Seconds after which a server that has not answered counts as down."""
RETRY_SECONDS: Final = 1.0
"""Seconds for which a server that is down is not asked."""
ASK_SECONDS: Final = 0.5
"""Seconds within which those that know a salt have told it."""
_SALT_BYTES: Final = 32
_DAY_SECONDS: Final = 86_400
_KEPT_SECONDS: Final = 2 * _DAY_SECONDS
_CHANNEL: Final = "parquetry:views:salts"
_SALT_NAME: Final = "parquetry:views:salt:"
_PREFIX: Final = b"parquetry:views:"

_SCRIPT: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 'stale'
end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local newest = redis.call('ZRANGE', KEYS[2], -1, -1)[1]
if newest and tonumber(newest) >= now then
  now = tonumber(newest) + 1
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now - 60000000))
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[2]) then
  return 'limited'
end
local stamp = string.format('%.0f', now)
redis.call('ZADD', KEYS[2], stamp, stamp)
redis.call('EXPIRE', KEYS[2], 61)
local seconds = tonumber(ARGV[3])
if seconds == 0 then
  return 'new'
end
if KEYS[4] and redis.call('EXISTS', KEYS[4]) == 1 then
  return 'duplicate'
end
if redis.call('SET', KEYS[3], '1', 'NX', 'EX', seconds) then
  return 'new'
end
return 'duplicate'
"""
"""KEYS: the name of today's salt, an address's log, a view under today's salt, and the same under the salt of the day
before where that is known. ARGV: the salt's name, the limit, seconds of a duplicate."""

_CHANGE_NAME: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
end
return redis.call('GET', KEYS[1])
"""


Seen: TypeAlias = "tuple[str, bytes, bytes, bytes, Limits]"
"""A view, as far as its visitor goes: workspace, address, User-Agent, target and the workspace's limits."""


class _Message(msgspec.Struct, omit_defaults=True):
    ask: str = ""
    name: str = ""
    salt: bytes = b""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(_Message).decode
_encode: Final = msgspec.json.Encoder().encode


class SharedVisitors:
    """The last views of all machines that are given the same URL. ``judge`` is called by one thread."""

    def __init__(self, url: str, on_change: Callable[[str | None], None]) -> None:
        """``on_change`` is called with the reason when the server is found down, and with ``None`` when it is back."""
        scheme = urlsplit(url).scheme
        self._client: Any = Redis.from_url(
            f"{SHARED_SCHEMES[scheme]}{url[len(scheme) :]}",
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self._on_change = on_change
        self._salts: dict[str, bytes] = {}
        """Salts by name, of today and of the day before."""
        self._today: tuple[int, str] | None = None
        self._before: str | None = None
        self._ahead = 0.0
        """Seconds by which the server's clock is ahead of this machine's monotonic one."""
        self._asked: str | None = None
        """The name of the salt that is asked for: no other is taken over."""
        self._told = threading.Condition()
        self._listening = threading.Event()
        self._down_until = float("-inf")
        self._down = False
        self._stopping = threading.Event()
        self._listener = threading.Thread(target=self._listen, name="view-salts", daemon=True)

    def start(self) -> None:
        """Begin to tell others the salts that this process knows."""
        self._listener.start()

    def stop(self) -> None:
        """Let go of the connections, and forget the salts."""
        self._stopping.set()
        if self._listener.is_alive():
            self._listener.join()
        self._salts.clear()
        self._client.close()

    def judge(self, views: Sequence[Seen]) -> list[Verdict | None]:
        """Judge views, and remember those that are ``NEW``; ``None`` for all when the server is down.

        Waits for the server for ``ANSWER_SECONDS`` at most, and not at all for ``RETRY_SECONDS`` after that.
        """
        if time.monotonic() < self._down_until:
            return [None] * len(views)
        try:
            for _ in range(3):
                verdicts = self._ask(views, *self._salts_in_force())
                if verdicts is not None:
                    self._is_up()
                    return verdicts
                self._today = None  # another salt is in force
            raise RedisError("the salt in force changes all the time")
        except (RedisError, OSError) as error:
            self._went_down(str(error) or type(error).__name__)
            return [None] * len(views)

    def forget(self, workspace: str, address: bytes, user_agent: bytes, target: bytes) -> None:
        """Forget a view that could not be kept, so that it counts when it comes again."""
        today = self._today
        if today is not None and time.monotonic() >= self._down_until:
            with suppress(RedisError, OSError):
                visitor = visitor_of(workspace, address, user_agent, target)
                self._client.delete(_key(b"seen:", self._salts[today[1]], visitor))

    def _ask(self, views: Sequence[Seen], name: str, before: str | None) -> list[Verdict | None] | None:
        """The verdicts of the server; ``None`` when it has another salt in force."""
        day = self._today[0] if self._today is not None else 0
        salt, old = self._salts[name], self._salts.get(before) if before is not None else None
        with self._client.pipeline(transaction=False) as pipeline:
            for workspace, address, user_agent, target, limits in views:
                visitor = visitor_of(workspace, address, user_agent, target)
                sender = b"a%c%b%b" % (len(address), address, workspace.encode())
                keys = [f"{_SALT_NAME}{day}".encode(), _key(b"address:", salt, sender), _key(b"seen:", salt, visitor)]
                if old is not None:
                    keys.append(_key(b"seen:", old, visitor))
                pipeline.eval(_SCRIPT, len(keys), *keys, name, limits.per_address_per_minute, limits.dedupe_seconds)
            answers = pipeline.execute()
        if b"stale" in answers:
            return None
        return [Verdict(answer.decode()) for answer in answers]

    def _salts_in_force(self) -> tuple[str, str | None]:
        """The names of today's salt and of the day's before, where that is known; this process knows both salts."""
        day = int((time.monotonic() + self._ahead) // _DAY_SECONDS)
        if self._today is None or self._today[0] != day:
            seconds, micros = self._client.time()
            self._ahead = seconds + micros / 1e6 - time.monotonic()
            day = seconds // _DAY_SECONDS
            name = self._agreed(day)
            before = self._client.get(f"{_SALT_NAME}{day - 1}")
            self._before = None if before is None else before.decode()
            if self._before is not None and self._before not in self._salts:
                self._ask_for(self._before)
            self._today = day, name
            kept = {name, self._before}
            for other in [known for known in self._salts if known not in kept]:
                del self._salts[other]
        return self._today[1], self._before if self._before in self._salts else None

    def _agreed(self, day: int) -> str:
        """The name of a day's salt, which this process knows from then on: a new one, or one that another tells."""
        # Whoever asks for the salt must be heard.
        if not self._listening.wait(ANSWER_SECONDS):
            raise RedisError(f"the channel {_CHANNEL} cannot be subscribed to")
        key = f"{_SALT_NAME}{day}"
        own = self._today[1] if self._today is not None and self._today[0] == day else secrets.token_hex(8)
        self._salts.setdefault(own, secrets.token_bytes(_SALT_BYTES))
        while True:
            self._client.set(key, own, nx=True, ex=_KEPT_SECONDS)
            found = self._client.get(key)
            if found is None:
                continue
            name: str = found.decode()
            if name in self._salts or self._ask_for(name):
                return name
            # Nobody who knows it is left.
            changed = self._client.eval(_CHANGE_NAME, 1, key, name, own, _KEPT_SECONDS)
            if changed is not None and changed.decode() in self._salts:
                return str(changed.decode())

    def _ask_for(self, name: str) -> bool:
        """Ask all others for a salt; whether one of them has told it."""
        with self._told:
            self._asked = name
            self._client.publish(_CHANNEL, _encode(_Message(ask=name)))
            found = self._told.wait_for(lambda: name in self._salts, ASK_SECONDS)
            self._asked = None
            return found

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._client.pubsub(ignore_subscribe_messages=True) as channel:
                    channel.subscribe(_CHANNEL)
                    channel.get_message(timeout=ANSWER_SECONDS)
                    self._listening.set()
                    while not self._stopping.is_set():
                        message: Any = channel.get_message(timeout=0.2)
                        if message is not None:
                            self._heard(message["data"])
            except (RedisError, OSError, ValueError):
                self._listening.clear()
                self._stopping.wait(RETRY_SECONDS)

    def _heard(self, data: bytes) -> None:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            message = _decode(data)
            salt = self._salts.get(message.ask)
            if salt is not None:
                self._client.publish(_CHANNEL, _encode(_Message(name=message.ask, salt=salt)))
            with self._told:
                if message.name and message.name == self._asked and len(message.salt) == _SALT_BYTES:
                    self._salts[message.name] = message.salt
                    self._told.notify_all()

    def _is_up(self) -> None:
        if self._down:
            self._down = False
            self._on_change(None)

    def _went_down(self, reason: str) -> None:
        self._down_until = time.monotonic() + RETRY_SECONDS
        if not self._down:
            self._down = True
            self._on_change(reason)


def _key(kind: bytes, salt: bytes, text: bytes) -> bytes:
    return _PREFIX + kind + hash_of(salt, text).hex().encode()

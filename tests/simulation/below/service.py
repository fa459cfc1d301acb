"""Buckets, as their client library shows them: objects with ETags, conditions, and all that befalls requests.

It stands in the place of the module ``obstore`` in the one file of the product that imports it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

from obstore.exceptions import (
    AlreadyExistsError,
    GenericError,
    NotModifiedError,
    PermissionDeniedError,
    PreconditionError,
)

from tests.simulation.below.chance import Chance, Rates
from tests.simulation.below.scheduler import SECOND, Scheduler

_QUICK = 15_000
"""Microseconds that a request takes, about."""
_GIVEN_UP = 8 * SECOND
"""Microseconds after which the client gives up on a store that does not answer, all its tries together."""
_LONGEST_LATE = 40 * SECOND


class _Stored(NamedTuple):
    data: bytes
    tag: str
    at: int
    """UTC milliseconds."""


class _Got:
    def __init__(self, stored: _Stored) -> None:
        self._data = stored.data
        self.meta = {"e_tag": stored.tag, "version": None, "size": len(stored.data)}

    def bytes(self) -> bytes:
        return self._data


class _Client(NamedTuple):
    objects: dict[str, _Stored]
    """Those of its bucket."""
    prefix: str


class Service:
    """The buckets of the world. It has the functions of ``obstore`` that the product calls."""

    def __init__(self, scheduler: Scheduler, chance: Chance, rates: Rates, clock: Callable[[], int]) -> None:
        """``clock`` is that of the service, in UTC milliseconds."""
        self._scheduler, self._chance, self._rates, self._clock = scheduler, chance, rates, clock
        self._buckets: dict[str, dict[str, _Stored]] = {}
        self.objects = self.bucket("simulated")
        """Those of the bucket that the machines read."""
        self.requests = 0
        self.asked: Counter[str] = Counter()
        """By machine, how often it has asked."""
        self.stored: Callable[[str], object] = lambda _key: None
        """Is called with the key of each object that is stored in that bucket."""
        self.changed: Callable[[Mapping[str, _Stored], str], object] = lambda _bucket, _key: None
        """Is called with the bucket and the key of each object that is stored or deleted."""
        self._number = 0
        self._late: dict[int, Callable[[], Any]] = {}
        """Changes that have arrived and are not carried out yet."""
        self.store = SimpleNamespace(S3Store=self._client)

    def bucket(self, name: str) -> dict[str, _Stored]:
        """Return the objects of a bucket, by key."""
        return self._buckets.setdefault(name, {})

    def _client(self, name: str, *, prefix: str | None = None, **_: Any) -> _Client:
        return _Client(self.bucket(name), f"{prefix}/" if prefix else "")

    def leave(self, key: str, data: bytes) -> None:
        """Have an object that is two days old."""
        self._number += 1
        self.objects[key] = _Stored(data, f'"{self._number:x}"', self._clock() - 48 * 3_600_000)

    # What the product calls.

    def get(self, client: _Client, key: str, *, options: dict[str, Any] | None = None) -> _Got:
        def effect() -> _Got:
            stored = self._found(client, key)
            if options and options.get("if_none_match") == stored.tag:
                raise NotModifiedError(f"{key} is not modified")
            return _Got(stored)

        return self._asked("get", key, effect, changes=False)

    def head(self, client: _Client, key: str) -> dict[str, Any]:
        return self._asked("head", key, lambda: _Got(self._found(client, key)).meta, changes=False)

    def get_range(self, client: _Client, key: str, *, start: int, end: int) -> bytes:
        return self._asked("get", key, lambda: self._found(client, key).data[start:end], changes=False)

    def put(
        self, client: _Client, key: str, data: Any, *, mode: Any = "overwrite", use_multipart: bool = False, **_: Any
    ) -> dict[str, Any]:
        content = data if isinstance(data, bytes) else data.read_bytes()

        def effect() -> dict[str, Any]:
            there = client.objects.get(client.prefix + key)
            if mode == "create" and there is not None:
                raise AlreadyExistsError(f"{key} is there")
            if isinstance(mode, dict) and (there is None or mode.get("e_tag") != there.tag):
                raise PreconditionError(f"{key} is not as expected")
            return {"e_tag": self._store(client, key, content), "version": None}

        return self._asked("put", key, effect, changes=True)

    def copy(self, client: _Client, source: str, destination: str) -> None:
        def effect() -> None:
            self._store(client, destination, self._found(client, source).data)

        self._asked("copy", source, effect, changes=True)

    def delete(self, client: _Client, keys: str | Iterable[str]) -> None:
        asked = [keys] if isinstance(keys, str) else list(keys)

        def effect() -> None:
            for key in asked:
                if client.objects.pop(client.prefix + key, None) is not None:
                    self.changed(client.objects, client.prefix + key)

        self._asked("delete", asked[0], effect, changes=True)

    def list(self, client: _Client, *, prefix: str | None = None) -> Iterator[list[dict[str, Any]]]:
        found = self._listed(client, prefix)
        return iter([found] if found else [])

    def list_with_delimiter(self, client: _Client, *, prefix: str | None = None) -> dict[str, Any]:
        folder = f"{prefix}/" if prefix else ""
        names = (one["path"].removeprefix(folder).partition("/") for one in self._listed(client, prefix))
        return {"common_prefixes": sorted({folder + name for name, slash, _ in names if slash}), "objects": []}

    # How requests fare.

    def _listed(self, client: _Client, prefix: str | None) -> list[dict[str, Any]]:
        folder = client.prefix + (f"{prefix}/" if prefix else "")

        def effect() -> list[dict[str, Any]]:
            return [
                {
                    "path": key.removeprefix(client.prefix),
                    "size": len(one.data),
                    "last_modified": datetime.fromtimestamp(one.at / 1000, UTC),
                }
                for key, one in sorted(client.objects.items())
                if key.startswith(folder)
            ]

        return self._asked("list", prefix or "", effect, changes=False)

    def _asked(self, verb: str, key: str, effect: Callable[[], Any], *, changes: bool) -> Any:
        scheduler = self._scheduler
        actor = scheduler.current
        if actor is None:
            return effect()
        self.requests += 1
        self.asked[actor.process.machine.name] += 1
        machine, rates, chance = actor.process.machine, self._rates, actor.chance
        scheduler.pause(round(_QUICK * chance.random()))
        if machine.refused is not None and key.startswith(machine.refused):
            actor.process.disturbed = True
            raise PermissionDeniedError(f"{verb} {key}: access denied")
        if machine.is_cut_off:
            self._disturb(actor)
            scheduler.pause(2 * SECOND)
            self._disturb(actor)
            raise GenericError(f"{verb} {key}: no route to the store")
        if machine.hangs:
            return self._hanging(verb, key, effect, changes=changes)
        drawn = chance.random()
        for rate, fault in (
            (rates.lost_request, self._lose_request),
            (rates.lost_answer, self._lose_answer),
            (rates.late, self._delay),
            (rates.doubled, self._double),
        ):
            if drawn < rate:
                if self._chance.falls(actor.name, f"{fault.__name__[1:]} {verb} {key}"):
                    self._disturb(actor)
                    try:
                        return fault(verb, key, effect, changes)
                    finally:  # for whoever waited for it until now, it is only over now
                        self._disturb(actor)
                break
            drawn -= rate
        try:
            answer = effect()
        finally:
            scheduler.pause(round(_QUICK * chance.random()))
        return answer

    def _disturb(self, actor: Any) -> None:
        """Note that a request does not fare well."""
        actor.process.disturbed = True
        actor.process.machine.failed_at = self._scheduler.now

    def _hanging(self, verb: str, key: str, effect: Callable[[], Any], *, changes: bool) -> Any:
        self._disturb(self._scheduler.current)
        self._scheduler.pause(_GIVEN_UP)
        self._disturb(self._scheduler.current)
        raise GenericError(f"{verb} {key}: no answer in time")

    def _lose_request(self, verb: str, key: str, _effect: Callable[[], Any], _changes: bool) -> Any:
        self._scheduler.pause(_GIVEN_UP // 4)
        raise GenericError(f"{verb} {key}: the connection was reset")

    def _lose_answer(self, verb: str, key: str, effect: Callable[[], Any], changes: bool) -> Any:
        if changes:
            effect()
        self._scheduler.pause(_GIVEN_UP // 4)
        raise GenericError(f"{verb} {key}: the answer was lost")

    def _delay(self, verb: str, key: str, effect: Callable[[], Any], changes: bool) -> Any:
        actor = self._scheduler.current
        if changes:
            self._number += 1
            number = self._number
            self._late[number] = effect
            self._scheduler.at(round(_LONGEST_LATE * actor.chance.random()), lambda: self._carry_out(number))
        self._scheduler.pause(_GIVEN_UP)
        raise GenericError(f"{verb} {key}: no answer in time")

    def carry_out_late(self) -> None:
        """Carry out all that has arrived: the machines will sleep for longer than anything is late."""
        for number in sorted(self._late):
            self._carry_out(number)

    def _carry_out(self, number: int) -> None:
        effect = self._late.pop(number, None)
        if effect is not None:
            with suppress(AlreadyExistsError, PreconditionError, NotModifiedError, FileNotFoundError):
                effect()

    def _double(self, _verb: str, _key: str, effect: Callable[[], Any], _changes: bool) -> Any:
        effect()
        self._scheduler.pause(_GIVEN_UP // 8)
        try:
            return effect()
        finally:
            self._scheduler.pause(_QUICK)

    def _found(self, client: _Client, key: str) -> _Stored:
        try:
            return client.objects[client.prefix + key]
        except KeyError:
            raise FileNotFoundError(f"{key} is not there") from None

    def _store(self, client: _Client, name: str, data: bytes) -> str:
        self._number += 1
        tag, key = f'"{self._number:x}"', client.prefix + name
        client.objects[key] = _Stored(data, tag, self._clock())
        if client.objects is self.objects:
            self.stored(key)
        self.changed(client.objects, key)
        return tag

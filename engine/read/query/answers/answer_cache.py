"""The answer cache: the bytes of an answer by snapshot, key scope and request, until it could be another one.

Besides its snapshot, an answer depends on the epoch of every API and language it was read from, and one with view
counts on the counts. Keys hold the request as it was sent, so that no two requests of different meaning can
ever share an answer. Used by one thread.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

import msgspec

from engine.read.query.answers.signals import NO_SIGNALS, Signals
from engine.read.query.plan import EntryPlan, ListPlan
from engine.read.reader.reach import Scope, every_language
from engine.read.reader.reader import Epoch, Reader
from snapshots.model import ALWAYS, NEVER, Api

JSON: Final = "application/json"
PLAIN_TEXT: Final = "text/plain; charset=utf-8"
"""The media types of answers."""
_DAY_MS: Final = 86_400_000
_JST_MS: Final = 9 * 3_600_000
_OVERHEAD: Final = 2_000
"""Bytes an answer takes in memory besides its texts: its objects, its key, its headers."""


class Lifetime(msgspec.Struct, frozen=True):
    """The span in which an answer is right, within its snapshot."""

    since: int = ALWAYS
    """UTC milliseconds, included."""
    until: int = NEVER
    """UTC milliseconds, excluded."""
    counts: int | None = None
    """The generation of the view counts it was made with, where they matter."""


class Representation(msgspec.Struct, frozen=True):
    """An answer in one content coding, ready to be sent."""

    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    """The headers about the body."""
    etag: bytes
    """The entity tag, which is one of the headers."""


class Answer(msgspec.Struct, eq=False, weakref=True):
    """One answer. ``lifetime`` is ``None`` where it must not be kept: it shows what is not published."""

    body: bytes
    lifetime: Lifetime | None
    signals: Signals = NO_SIGNALS
    representations: dict[str, Representation] = msgspec.field(default_factory=dict)
    """By content coding."""
    size: int = 0
    """Bytes in memory, of all representations."""
    media_type: str = JSON

    @property
    def counts(self) -> int | None:
        """The generation of the view counts it was made with, where they matter."""
        return None if self.lifetime is None else self.lifetime.counts

    def holds(self, now: int, counts: int) -> bool:
        """Whether the answer is right at ``now`` (UTC ms), with view counts of the generation ``counts``."""
        life = self.lifetime
        return life is not None and life.since <= now < life.until and life.counts in (None, counts)


def content_lifetime(plan: ListPlan | EntryPlan, epoch: Epoch, counts: int) -> Lifetime | None:
    """Return how long the answer to a bound plan stays right: ``None`` for a preview, else until any flip of any entry
    of the APIs and languages it was read from, whose common epoch is ``epoch``."""
    if isinstance(plan, EntryPlan) and plan.draft_key is not None:
        return None
    return Lifetime(epoch.since, epoch.until, counts if plan.is_by_views else None)


def views_lifetime(reader: Reader, api: Api, now: int, counts: int) -> Lifetime:
    """Return how long the view counts of an API's entries stay right: until the next counts, the next day in Japan
    (4.12), or the next flip of an entry in any language. Raises ``QueryTimeout``."""
    day = now - (now + _JST_MS) % _DAY_MS
    read = [(api, rule) for rule in every_language(reader.workspace, api)]
    epoch = reader.common_epoch(read, now, reader.deadline())
    return Lifetime(max(day, epoch.since), min(day + _DAY_MS, epoch.until), counts)


class AnswerKey(NamedTuple):
    """The name of an answer: every fact that decides about it besides its lifetime."""

    path: bytes
    """The path as sent, like the query: of a request that can be written in two ways, only the same bytes are taken to
    be the same."""
    query: bytes
    snapshot: int
    """A number that no other opened snapshot has."""
    scope: Scope
    at: int | None = None
    """The instant that a request is pinned to, UTC milliseconds; ``None`` for those of the present."""
    is_strict: bool = False
    """Whether the request was read strictly."""


class AnswerCache:
    """Answers by key, at most ``capacity`` bytes of them; those not asked for the longest go first.

    An older snapshot's are never asked for again, so they go before all others.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._answers: OrderedDict[AnswerKey, Answer] = OrderedDict()
        self.size = 0
        """Bytes held."""

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: AnswerKey) -> Answer | None:
        """The answer kept for a key, which may be out of date."""
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def used(self, key: AnswerKey) -> None:
        """Note that the answer kept for a key was given once more."""
        if key in self._answers:
            self._answers.move_to_end(key)

    def put(self, key: AnswerKey, answer: Answer) -> None:
        """Keep an answer in place of the key's last, unless it is too large or must not be kept."""
        before = self._answers.pop(key, None)
        if before is not None:
            self.size -= before.size
        size = _OVERHEAD + len(key.path) + len(key.query) + len(answer.body)
        for made in answer.representations.values():
            if made.body is not answer.body:
                size += len(made.body)
        if answer.lifetime is None or size > self._capacity:
            return
        answer.size = size
        self._answers[key] = answer
        self.size += size
        if self.size > self._capacity:
            self._shrink()

    def add_representation(self, key: AnswerKey, answer: Answer, coding: str, made: Representation) -> None:
        """Keep one more representation of an answer."""
        if coding in answer.representations:
            return
        answer.representations[coding] = made
        if made.body is not answer.body and self._answers.get(key) is answer:
            answer.size += len(made.body)
            self.size += len(made.body)
            self._shrink()

    def _shrink(self) -> None:
        while self.size > self._capacity:
            _, answer = self._answers.popitem(last=False)
            self.size -= answer.size

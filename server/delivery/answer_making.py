"""Making answers: inline or in a lane of threads, once for all who ask the same, and in the coding each client takes.

Used on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, TypeVar

from engine.read.query.answers.answer_cache import Answer, AnswerCache, AnswerKey, Representation
from engine.read.query.parameters import ignored_parameters
from engine.read.reader.reader import QueryTimeout
from engine.read.reader.statement import NotKept
from server.delivery.lanes import Lanes, Overloaded, result_of
from server.http.compression import IDENTITY, coding_for, compressed, refuses_identity
from server.http.entity_tags import entity_tag
from server.http.headers import representation_headers, signal_headers
from server.workspaces.open_snapshot import OpenSnapshot

Result = TypeVar("Result")

LARGEST_INLINE: Final = 256 << 10
"""Bytes of a body whose representation the event loop makes itself, where the body need not be compressed."""


class WantedAnswer(NamedTuple):
    """An admitted request, and the state that its answer is made from."""

    snapshot: OpenSnapshot
    """Leased for as long as the request goes on."""
    key: AnswerKey | None
    """The key that the answer is kept and shared by; ``None`` where it is neither."""
    query: bytes
    """The query string as sent."""
    accept_encoding: bytes | None
    now: int
    """UTC milliseconds."""
    counts: int
    """The generation of the view counts."""
    is_strict: bool = False


class Work(NamedTuple):
    """A bound plan, ready to be answered."""

    make: Callable[[bool], Answer]
    """Makes the answer, called with whether it may be made of what is kept only. Raises as the engine does; may block
    unless called with true."""
    is_small: bool
    """Whether it may be made inline, of what is kept."""
    is_long: bool
    """Whether it may take long to make it in a thread."""


class AnswerMaking:
    """The answers of one process, kept or made."""

    def __init__(
        self,
        cache: AnswerCache,
        lanes: Lanes,
        has_room: Callable[[], bool],
        answered: Callable[[str], object],
    ) -> None:
        """``has_room`` returns whether there is memory for more answers; ``answered`` is called with the source of each
        answer, as ``Metrics.answer`` names sources."""
        self.cache = cache
        self._lanes = lanes
        self._has_room = has_room
        self._answered = answered
        self._flights: dict[Hashable, asyncio.Future[Any]] = {}

    def kept(self, wanted: WantedAnswer) -> Answer | None:
        """Return the answer that is kept for a request and right for it."""
        answer = None if wanted.key is None else self.cache.get(wanted.key)
        if answer is None or not answer.holds(wanted.now, wanted.counts):
            return None
        self._answered("kept")
        return answer

    async def made(self, wanted: WantedAnswer, work: Work) -> Answer:
        """Return the answer that ``work`` makes, or that is being made for another request already, and keep it. Raises
        as ``work`` does, and ``Overloaded``."""
        flight = self._flights.get(wanted.key)
        if flight is not None:
            shared = await self._joined(flight)
            if shared is not None and shared.holds(wanted.now, wanted.counts):
                self._answered("shared")
                return shared
        if not self._has_room():
            raise Overloaded
        answer = self._made_inline(work)
        if answer is not None:
            self._answered("made")
        elif wanted.key is None or flight is not None:
            answer = await result_of(self._begun(wanted, work))
        else:
            answer = await self._led(wanted.key, self._begun(wanted, work))
        if wanted.key is not None:
            self.cache.put(wanted.key, answer)
        return answer

    def _made_inline(self, work: Work) -> Answer | None:
        if not work.is_small:
            return None
        try:
            return work.make(True)
        except NotKept:
            return None

    async def represented(self, wanted: WantedAnswer, answer: Answer) -> Representation:
        """Return the representation of an answer that the client takes, made once. Raises ``Overloaded`` where
        the body cannot be compressed in time, and the client takes no other."""
        coding = coding_for(wanted.accept_encoding, len(answer.body))
        made = answer.representations.get(coding)
        if made is not None:
            return made
        if coding == IDENTITY and len(answer.body) <= LARGEST_INLINE:
            made = represent(answer, coding, wanted.query, strict=wanted.is_strict)
        else:
            try:
                made = await self._represented_in_thread(wanted, answer, coding)
            except Overloaded:
                if refuses_identity(wanted.accept_encoding or b""):
                    raise
                coding = IDENTITY
                made = represent(answer, coding, wanted.query, strict=wanted.is_strict)
        if wanted.key is not None:
            self.cache.add_representation(wanted.key, answer, coding, made)
        return made

    async def _represented_in_thread(self, wanted: WantedAnswer, answer: Answer, coding: str) -> Representation:
        mark = (coding, answer)
        flight = self._flights.get(mark)
        if flight is not None:
            shared: Representation = await asyncio.shield(flight)
            return shared
        work = self._lanes.submit(lambda: represent(answer, coding, wanted.query, strict=wanted.is_strict), short=True)
        return await self._led(mark, work)

    async def _joined(self, flight: asyncio.Future[Answer]) -> Answer | None:
        """Return the answer to the request that asked first; ``None`` where it failed, which need not be so for the
        request that joined it. Raises ``QueryTimeout`` and ``Overloaded``, since the other would fare no better."""
        try:
            return await asyncio.shield(flight)
        except (QueryTimeout, Overloaded, asyncio.CancelledError):
            raise
        except Exception:
            return None

    def _begun(self, wanted: WantedAnswer, work: Work) -> Future[Answer]:
        """Begin ``work`` in a thread, which leases the snapshot until its end: nobody may wait for it any more."""

        def make() -> Answer:
            answer = work.make(False)
            self._answered("made")
            coding = coding_for(wanted.accept_encoding, len(answer.body))
            answer.representations[coding] = represent(answer, coding, wanted.query, strict=wanted.is_strict)
            return answer

        snapshot = wanted.snapshot
        snapshot.acquire()
        try:
            future = self._lanes.submit(make, short=not work.is_long)
        except BaseException:
            snapshot.release()
            raise
        future.add_done_callback(lambda _: snapshot.release())
        return future

    async def _led(self, key: Hashable, future: Future[Result]) -> Result:
        """Return the result of work that others may wait for as well, until it is there."""
        flight = self._flights[key] = asyncio.ensure_future(result_of(future))

        def landed(flight: asyncio.Future[Result]) -> None:
            del self._flights[key]
            if not flight.cancelled():
                flight.exception()  # told to whoever waits, and there may be nobody any more

        flight.add_done_callback(landed)
        return await asyncio.shield(flight)


def represent(answer: Answer, coding: str, query: bytes, *, strict: bool = False) -> Representation:
    """Return an answer to ``query``, read strictly or not, in a content coding, with its headers."""
    etag = entity_tag(answer.body, coding, strict=strict)
    sent = compressed(coding, answer.body)
    about = representation_headers(answer.media_type, len(sent), coding, etag, ignored_parameters(query), strict=strict)
    return Representation(sent, (*about, *signal_headers(answer.signals)), etag)

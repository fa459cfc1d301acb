"""Answers to requests for content: kept ones, ones that another request is waiting for already, and new ones.

Used on the event loop; reading and compressing happen in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from engine.query.answer_cache import Answer, AnswerCache, Form, Key
from engine.reader.reader import QueryTimeout
from server.content.snapshot_slot import OpenSnapshot
from server.content.thread_pool import Overloaded, Statements
from server.http.compression import IDENTITY, coding_for, compressed, refuses_identity
from server.http.middleware import EVERY_V1_ANSWER, JSON

Result = TypeVar("Result")


class Answers:
    """The answers of one process."""

    def __init__(
        self,
        cache: AnswerCache,
        statements: Statements,
        has_room: Callable[[], bool],
        answered: Callable[[str], object],
    ) -> None:
        """``has_room`` tells whether there is memory for more answers; ``answered`` is told where one came from, as
        ``Metrics.answer`` has it."""
        self.cache = cache
        self._statements = statements
        self.has_room = has_room
        self._answered = answered
        self._flights: dict[Hashable, asyncio.Future[Any]] = {}

    async def answer(
        self,
        snapshot: OpenSnapshot,
        key: Key,
        work: Callable[[], Answer],
        accept_encoding: bytes | None,
        now: int,
        counts: int,
        *,
        quick: bool,
        keep: bool,
    ) -> Form:
        """The answer at ``now`` (UTC milliseconds) with view counts of generation ``counts``.

        ``work`` makes it from the leased ``snapshot``, in a thread; the lease is given back. Unless ``keep``, nothing
        is looked up, shared or kept. Raises what ``work`` does, and ``Overloaded``.
        """
        version = snapshot.reader.version

        def made() -> Answer:
            answer = work()
            self._answered("made")
            coding = coding_for(accept_encoding, len(answer.body))
            answer.forms[coding] = form_of(compressed(coding, answer.body), coding, version)
            return answer

        if not keep:
            return await self._sent(None, await self._alone(snapshot, made, quick=quick), accept_encoding, version)
        answer = self.cache.get(key)
        if answer is not None and answer.holds(now, counts):
            snapshot.release()
            self._answered("kept")
        elif (flight := self._flights.get(key)) is not None:
            answer = await self._joined(flight, snapshot)
            if answer is not None and answer.holds(now, counts):
                snapshot.release()
                self._answered("shared")
            else:
                answer = await self._alone(snapshot, made, quick=quick)
        else:
            answer = await self._led(key, self._begun(snapshot, made, quick=quick))
            self.cache.put(key, answer)
        return await self._sent(key, answer, accept_encoding, version)

    def made_at_once(
        self, snapshot: OpenSnapshot, key: Key, work: Callable[[], Answer], accept_encoding: bytes | None
    ) -> Form | None:
        """The answer that ``work`` makes here and now from ``snapshot``, kept for others.

        ``None`` where it has to be compressed first, and for a snapshot that is not served any more. Raises what
        ``work`` does.
        """
        if not snapshot.acquire():
            return None
        try:
            answer = work()
        finally:
            snapshot.release()
        coding = coding_for(accept_encoding, len(answer.body))
        form = None
        if coding == IDENTITY:
            form = answer.forms[coding] = form_of(answer.body, coding, snapshot.reader.version)
        self.cache.put(key, answer)
        return form

    async def _joined(self, flight: asyncio.Future[Answer], snapshot: OpenSnapshot) -> Answer | None:
        """What the request that asked first gets. Its failure is its own, unless it was for want of time."""
        try:
            return await asyncio.shield(flight)
        except (QueryTimeout, Overloaded, asyncio.CancelledError):
            snapshot.release()
            raise
        except Exception:
            return None

    async def _alone(self, snapshot: OpenSnapshot, work: Callable[[], Answer], *, quick: bool) -> Answer:
        return await _result(self._begun(snapshot, work, quick=quick))

    def _begun(self, snapshot: OpenSnapshot, work: Callable[[], Answer], *, quick: bool) -> Future[Answer]:
        """Begin ``work``; the snapshot is released after it, even when nobody waits for it any more."""
        try:
            if not self.has_room():
                raise Overloaded
            future = self._statements.submit(work, quick=quick)
        except BaseException:
            snapshot.release()
            raise
        future.add_done_callback(lambda _: snapshot.release())
        return future

    async def _led(self, key: Hashable, future: Future[Result]) -> Result:
        """The result of work that others may wait for as well, until it is there."""
        flight = self._flights[key] = asyncio.ensure_future(_result(future))

        def landed(flight: asyncio.Future[Result]) -> None:
            del self._flights[key]
            if not flight.cancelled():
                flight.exception()  # told to whoever waits, and there may be nobody any more

        flight.add_done_callback(landed)
        return await asyncio.shield(flight)

    async def _sent(self, key: Key | None, answer: Answer, accept_encoding: bytes | None, version: str) -> Form:
        """The form of an answer that a client takes, made once."""
        coding = coding_for(accept_encoding, len(answer.body))
        form = answer.forms.get(coding)
        if form is not None:
            return form
        body = answer.body
        if coding != IDENTITY:
            mark = (coding, answer)
            try:
                if (flight := self._flights.get(mark)) is not None:
                    body = await asyncio.shield(flight)
                else:
                    body = await self._led(
                        mark, self._statements.submit(lambda: compressed(coding, answer.body), quick=True)
                    )
            except Overloaded:
                if refuses_identity(accept_encoding or b""):
                    raise
                coding = IDENTITY
        form = form_of(body, coding, version)
        if key is not None:
            self.cache.add_form(key, answer, coding, form)
        return form


def form_of(body: bytes, coding: str, version: str) -> Form:
    """A body in a content coding, with the headers of a 200 from a snapshot's ``version``."""
    headers = [
        (b"content-type", JSON.encode("ascii")),
        (b"content-length", b"%d" % len(body)),
        (b"vary", b"Accept-Encoding"),
    ]
    if coding != IDENTITY:
        headers.append((b"content-encoding", coding.encode("ascii")))
    everything = (*headers, *EVERY_V1_ANSWER, (b"x-snapshot", version.encode("ascii")))
    lines = [b"HTTP/1.1 200 OK", *(b"%b: %b" % header for header in everything), b""]
    return Form(body, tuple(headers), b"\r\n".join(lines))


async def _result(future: Future[Result]) -> Result:
    """The result of work in a thread, whose cancellation means that it was not begun in time."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def tell(_: Future[Result]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(done.set)

    future.add_done_callback(tell)
    await done.wait()
    if future.cancelled():
        raise Overloaded
    return future.result()

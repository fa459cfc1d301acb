"""The answer cache in front of the endpoints: a request that is the same to the byte as before gets its answer again.

A request is remembered when an endpoint answers it with an answer that was kept, so that a request which comes only
once costs nothing here. It is recalled for as long as nothing that decided about its answer has changed: the caller,
and the instant and the view counts that the answer is right for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias
from weakref import ref

from starlette.types import ASGIApp, Receive, Scope, Send

from engine.read.query.answers.answer_cache import Answer, AnswerCache, AnswerKey, Representation
from server.delivery.admission import Admission, Caller
from server.http.access_log import logged_target
from server.http.compression import coding_for
from server.http.entity_tags import is_named
from server.http.exchange import exchange_of
from server.http.headers import not_modified_headers
from server.http.preferences import is_strict
from server.views.collection import ViewCollection

MOST_KNOWN: Final = 4096
"""Requests that are remembered; those not asked for the longest go first."""
LONGEST_KNOWN: Final = 2048
"""Bytes of a request that is remembered."""

Identity: TypeAlias = tuple[bytes, bytes, bytes | None, bytes | None, bytes | None, bytes | None]
"""The parts of a GET or HEAD that its answer depends on: path and query, ``X-API-KEY``, ``X-Draft-Key``, whether it is
to be read strictly, and ``Accept-Encoding``."""

_STRICT: Final = b"strict"
_METHODS: Final = frozenset({"GET", "HEAD"})


class KnownRequest(NamedTuple):
    """A request that was answered, and the state on which its answer hangs."""

    caller: Caller
    kept_by: AnswerKey
    answer: ref[Answer]
    """A weak reference, so that the cache of answers alone decides what is in memory."""
    coding: str
    target: str
    """The path and query for the access log: making them again takes longer than finding the answer."""
    since: int
    until: int
    """UTC milliseconds, excluded, of the span in which the answer is right."""


class KnownRequests:
    """The requests that are remembered, at most ``MOST_KNOWN``. Used on the event loop."""

    def __init__(self, cache: AnswerCache, admission: Admission, views: ViewCollection) -> None:
        self._cache = cache
        self._admission = admission
        self._views = views
        self._known: OrderedDict[Identity, KnownRequest] = OrderedDict()

    def remember(self, identity: Identity, caller: Caller, kept_by: AnswerKey, answer: Answer) -> None:
        """Answer the same request with ``answer`` from now on, where that may be kept."""
        if answer.lifetime is None or sum(map(len, filter(None, identity))) > LONGEST_KNOWN:
            return
        self._known[identity] = KnownRequest(
            caller=caller,
            kept_by=kept_by,
            answer=ref(answer),
            coding=coding_for(identity[-1], len(answer.body)),
            target=logged_target(identity[0], identity[1]),
            since=answer.lifetime.since,
            until=answer.lifetime.until,
        )
        self._known.move_to_end(identity)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    def recall(self, identity: Identity, now: int) -> tuple[KnownRequest, Representation] | None:
        """Return the remembered request and its answer, where all that decided about the answer is still so at ``now``
        (UTC milliseconds)."""
        known = self._known.get(identity)
        if known is None:
            return None
        answer = known.answer()
        representation = None if answer is None else answer.representations.get(known.coding)
        if (
            answer is not None
            and representation is not None
            and known.since <= now < known.until
            and self._admission.is_current(known.caller, now)
            and (answer.counts is None or answer.counts == self._views.generation(known.caller.workspace))
        ):
            self._known.move_to_end(identity)
            self._cache.used(known.kept_by)
            return known, representation
        del self._known[identity]
        return None


class AnswerCacheLayer:
    """Answers requests that are remembered, and passes all others on."""

    def __init__(
        self,
        app: ASGIApp,
        known: KnownRequests,
        admission: Admission,
        answered: Callable[[str], object],
        clock: Callable[[], int],
    ) -> None:
        """``answered`` is called with ``kept`` for each answer, as ``Metrics.answer`` has it."""
        self._app = app
        self._known = known
        self._admission = admission
        self._answered = answered
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in _METHODS:
            exchange = exchange_of(scope)
            headers = exchange.headers
            # Requests that are pinned are not remembered.
            if b"x-snapshot" not in headers:
                now = self._clock()
                found = self._known.recall(identity_of(scope, headers), now)
                if found is not None:
                    known, representation = found
                    exchange.target = known.target
                    exchange.is_strict = b"prefer" in headers and is_strict(headers[b"prefer"])
                    await self._admission.admit(exchange, known.caller, now)
                    self._answered("kept")
                    await send_representation(representation, headers.get(b"if-none-match"), send)
                    return
        await self._app(scope, receive, send)


def identity_of(scope: Scope, headers: Mapping[bytes, bytes]) -> Identity:
    """Return the parts that a request is remembered by; ``headers`` are those of its exchange."""
    get = headers.get
    return (
        scope["raw_path"],
        scope["query_string"],
        get(b"x-api-key"),
        get(b"x-draft-key"),
        _STRICT if b"prefer" in headers and is_strict(headers[b"prefer"]) else None,
        get(b"accept-encoding"),
    )


async def send_representation(representation: Representation, if_none_match: bytes | None, send: Send) -> None:
    """Send an answer: 200, or 304 to a client that has the same representation (decision 61)."""
    status, headers, body = 200, representation.headers, representation.body
    if if_none_match is not None and is_named(if_none_match, representation.etag):
        status, headers, body = 304, not_modified_headers(headers), b""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

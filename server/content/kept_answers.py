"""A request whose answer is kept, or made at once → its bytes, before all other layers: key, limit, answer, bytes.

Their work would be most of what such an answer costs. Whatever is no plain success (an unknown key, a used-up limit, a
mistake in the query) and every answer that needs a thread is left to them. Nothing has been changed for it here, but
that its key's limit may have counted it already: the scope says so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from weakref import ref

from starlette.types import Scope, Send

from engine.keys.access import Keyring
from engine.keys.keys import Key
from engine.keys.last_use import LastUse
from engine.keys.rate_limit import DEFAULT_LIMIT, Allowance, window_name
from engine.query.answer_cache import Answer, Form
from engine.query.answer_cache import Key as AnswerKey
from server.content.answer_queue import Answers
from server.content.delivery import work_at_once
from server.content.workspaces import Workspaces
from server.http.access_log import logged_target
from server.http.compression import IDENTITY, coding_for
from server.http.middleware import EVERY_V1_ANSWER
from server.http.outcomes import Outcomes
from server.http.request_ids import HEADER, kept_request_id
from server.keys.rate_limit import COUNTED, RateLimits, rate_limit_headers, rate_limit_lines
from server.logs import LOGGER
from server.views.collection import ViewCollection
from snapshots.problems import ParquetryError

ASKED = "parquetry.asked"
"""In the scope of a request that is known not to be answered here."""

MOST_KNOWN = 4096
"""Hits that are known to be some, without looking the key and the answer up again."""
LONGEST_KNOWN = 2048
"""Bytes of a request that is remembered so."""

_log = logging.getLogger(LOGGER)
_PREFIX = b"/v1/"
_METHODS = frozenset({"GET", "HEAD"})
_MINUTE_MS = 60_000


def _no_answer() -> None:
    """What stands for the answer of a request that has none yet."""


@dataclass(slots=True, eq=False)
class Hit:
    """A request that a kept answer answers, if its key's limit lets it through. It goes for every request that is the
    same to the byte, as long as ``Hits`` finds nothing changed."""

    workspace: str
    key: Key
    keyring: Keyring
    snapshot: int
    """The number of the snapshot."""
    version: bytes
    limit: int
    """Requests a minute."""
    kept_by: AnswerKey
    answer: Callable[[], Answer | None]
    """A weak reference: not held here, so that the cache alone decides what is in memory."""
    coding: str
    since: int
    until: int
    """UTC milliseconds, excluded, of the span in which the key is valid and the answer right."""
    window: bytes
    """The name of the key's request counts."""
    target: str
    """As the access log shows it."""


@dataclass(slots=True, eq=False)
class _Found:
    """What answers a request: a form, or what makes it, to be called once the request is counted."""

    hit: Hit
    form: Form | None
    request_id: bytes | None
    """What the request came with."""
    make: Callable[[], Form | None] | None = None


class Hits:
    """Answers from the cache, and from what is known without a thread."""

    def __init__(
        self,
        workspaces: Workspaces,
        rate_limits: RateLimits,
        uses: LastUse,
        views: ViewCollection,
        answers: Answers,
        outcomes: Outcomes,
        clock: Callable[[], int],
    ) -> None:
        self._workspaces = workspaces
        self._rate_limits = rate_limits
        self._uses = uses
        self._views = views
        self._answers = answers
        self._cache = answers.cache
        self._outcomes = outcomes
        self._clock = clock
        self._known: dict[Hashable, Hit] = {}

    @property
    def wait(self) -> bool:
        """Whether hits must wait for another machine to count them, so that only ``answer`` can answer."""
        return self._rate_limits.shared

    async def answer(self, scope: Scope, send: Send) -> bool:
        """Answer a request, if it can be done here: whether it was."""
        if ASKED in scope:
            return False
        began = time.perf_counter()
        now = self._clock()
        try:
            found = self._found(scope, now)
            if found is None:
                return False
            allowance = await self._rate_limits.take(found.hit.workspace, found.hit.key, found.hit.limit, now)
            form = self._given(scope, found, allowance)
        except Exception:  # outside of the layer that turns failures into answers
            _log.exception("a kept answer could not be given")
            return False
        if form is None:
            return False
        request_id = kept_request_id(found.request_id)
        limits = rate_limit_headers(allowance)
        headers = [*form.headers, *EVERY_V1_ANSWER, (b"x-snapshot", found.hit.version), *limits, (HEADER, request_id)]
        body = b"" if scope["method"] == "HEAD" else form.body
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self._done(scope, found, now, began, len(body), request_id)
        return True

    def bytes_of(self, scope: Scope) -> tuple[bytes, bytes] | None:
        """The same without waiting for anything, while ``wait`` is false: (status line and headers, body).

        They are to be sent at once; the headers lack those of the connection, and their end. ``None`` for all that
        has to be answered elsewhere.
        """
        began = time.perf_counter()
        now = self._clock()
        found = self._found(scope, now)
        if found is None:
            return None
        allowance = self._rate_limits.take_here(found.hit.window, found.hit.limit, now)
        form = self._given(scope, found, allowance)
        if form is None:
            return None
        body = b"" if scope["method"] == "HEAD" else form.body
        request_id = kept_request_id(found.request_id)
        self._done(scope, found, now, began, len(body), request_id)
        return b"%b%bx-request-id: %b\r\n" % (form.head, rate_limit_lines(allowance), request_id), body

    def _found(self, scope: Scope, now: int) -> _Found | None:
        """What answers a request at ``now``, if it is here."""
        path: bytes = scope["raw_path"]
        if not path.startswith(_PREFIX) or scope["method"] not in _METHODS:
            return None
        presented: bytes | None = None
        accept_encoding: bytes | None = None
        request_id: bytes | None = None
        for name, value in scope["headers"]:
            if name == b"x-api-key":
                if presented is not None:
                    return None
                presented = value
            elif name == b"accept-encoding":
                accept_encoding = value if accept_encoding is None else b"%b, %b" % (accept_encoding, value)
            elif name == HEADER:
                request_id = request_id or value
            elif name == b"x-draft-key":
                return None
        query: bytes = scope["query_string"]
        same = (path, query, presented, accept_encoding)
        hit = self._known.get(same)
        if hit is not None:
            form = self._form(hit, now)
            if form is not None:
                return _Found(hit, form, request_id)
            del self._known[same]
        hit = self._asked(path, query, presented, now)
        if hit is None:
            return None
        answer = self._cache.get(hit.kept_by)
        if answer is None or not answer.holds(now, self._counts(hit)):
            return self._to_make(hit, path, query, now, request_id, accept_encoding)
        assert answer.lifetime is not None  # noqa: S101 - it holds
        hit.answer = ref(answer)
        hit.coding = coding_for(accept_encoding, len(answer.body))
        hit.since, hit.until = max(answer.lifetime.since, hit.since), min(answer.lifetime.until, hit.until)
        form = self._form(hit, now)
        if form is None:
            return None
        if sum(map(len, filter(None, same))) <= LONGEST_KNOWN:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[same] = hit
        return _Found(hit, form, request_id)

    def _to_make(
        self, hit: Hit, path: bytes, query: bytes, now: int, request_id: bytes | None, accept_encoding: bytes | None
    ) -> _Found | None:
        """A request whose answer can be made at once, once it is counted."""
        if not self._answers.has_room():
            return None
        snapshot = self._workspaces.served(hit.workspace)
        if snapshot is None or snapshot.number != hit.snapshot:
            return None
        try:
            work = work_at_once(snapshot.reader, hit.key, path, query, now)
        except ParquetryError:
            return None
        if work is None:
            return None
        return _Found(
            hit, None, request_id, lambda: self._answers.made_at_once(snapshot, hit.kept_by, work, accept_encoding)
        )

    def _given(self, scope: Scope, found: _Found, allowance: Allowance) -> Form | None:
        """What a request is answered with, that has been asked for at its limit."""
        if not allowance.allowed:
            return None  # and not counted
        if found.form is not None or found.make is None:
            return found.form
        scope[COUNTED] = allowance
        try:
            return found.make()
        except ParquetryError:
            return None

    def _counts(self, hit: Hit) -> int:
        return self._views.counts(hit.workspace).entry_totals.generation

    def _form(self, hit: Hit, now: int) -> Form | None:
        """What a hit is answered with, if it still is one."""
        answer = hit.answer()
        if (
            answer is None
            or not hit.since <= now < hit.until
            or hit.keyring is not self._workspaces.keyring
            or (served := self._workspaces.served(hit.workspace)) is None
            or served.number != hit.snapshot
        ):
            return None
        if answer.counts is not None and answer.counts != self._counts(hit):
            return None
        return answer.forms.get(hit.coding)

    def _asked(self, path: bytes, query: bytes, presented: bytes | None, now: int) -> Hit | None:
        """A request with a key that may ask, without an answer yet."""
        workspace = path.removeprefix(_PREFIX).partition(b"/")[0].decode("latin-1")
        keyring = self._workspaces.keyring
        snapshot = self._workspaces.served(workspace)
        if snapshot is None:
            return None
        try:
            key = keyring.authorize(presented, workspace, now, snapshot.zone)
        except ParquetryError:
            return None
        # Keys come into force and expire at the full minute of every time zone there is now, at the earliest.
        minute = now - now % _MINUTE_MS
        return Hit(
            workspace=workspace,
            key=key,
            keyring=keyring,
            snapshot=snapshot.number,
            version=snapshot.reader.version.encode("ascii"),
            limit=key.rate_limit or snapshot.reader.manifest.workspace.rate_limit or DEFAULT_LIMIT,
            kept_by=AnswerKey(path, query, snapshot.number, key.scope),
            answer=_no_answer,
            coding=IDENTITY,
            since=minute,
            until=minute + _MINUTE_MS,
            window=window_name(workspace, key.id),
            target=logged_target(path, query),
        )

    def _done(self, scope: Scope, found: _Found, now: int, began: float, size: int, request_id: bytes) -> None:
        hit = found.hit
        self._cache.used(hit.kept_by)
        self._uses.note(hit.workspace, hit.key.id, now)
        seconds = time.perf_counter() - began
        self._outcomes.record(
            scope["method"],
            hit.target,
            200,
            seconds,
            size,
            hit.workspace,
            hit.key.prefix,
            request_id.decode("ascii"),
        )
        self._outcomes.answered("kept" if found.make is None else "made")

"""A request whose answer is kept → its bytes, before all other layers: key, limit, bytes.

Their work would be most of what such an answer costs. Whatever is not a plain hit (an unknown key, a used-up limit, an
answer to be made) is left to them, untouched: nothing has been counted or changed for it here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from weakref import ref

from starlette.types import Scope, Send

from engine.access import Keyring
from engine.keys import Key
from engine.last_use import LastUse
from engine.rate_limit import DEFAULT_LIMIT, window_name
from engine.responses import Answer, Form
from engine.responses import Key as AnswerKey
from server.access_log import logged_target
from server.answering import EVERY_V1_ANSWER
from server.answers import Answers
from server.compression import coding_for
from server.outcomes import Outcomes
from server.rate_limit import RateLimits, rate_limit_headers, rate_limit_lines
from server.request_ids import HEADER, kept_request_id
from server.view_collection import ViewCollection
from server.workspaces import Workspaces
from snapshots.problems import ParquetryError

ASKED = "parquetry.asked"
"""In the scope of a request that is known to be no hit."""

MOST_KNOWN = 4096
"""Hits that are known to be some, without looking the key and the answer up again."""
LONGEST_KNOWN = 2048
"""Bytes of a request that is remembered so."""

_PREFIX = b"/v1/"
_METHODS = frozenset({"GET", "HEAD"})
_MINUTE_MS = 60_000


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
    answer: ref[Answer]
    """Not held here, so that the cache alone decides what is in memory."""
    coding: str
    since: int
    until: int
    """UTC milliseconds, excluded, of the span in which the key is valid and the answer right."""
    window: bytes
    """The name of the key's request counts."""
    target: str
    """As the access log shows it."""


class Hits:
    """Answers from the cache alone."""

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
        self._cache = answers.cache
        self._outcomes = outcomes
        self._clock = clock
        self._known: dict[Hashable, Hit] = {}

    @property
    def wait(self) -> bool:
        """Whether hits must wait for another machine to count them, so that only ``answer`` can answer."""
        return self._rate_limits.shared

    async def answer(self, scope: Scope, send: Send) -> bool:
        """Answer a request, if it is a hit: whether it was."""
        if ASKED in scope:
            return False
        began = time.perf_counter()
        now = self._clock()
        found = self._found(scope, now)
        if found is None:
            return False
        hit, form, given = found
        request_id = kept_request_id(given)
        allowance = await self._rate_limits.take(hit.workspace, hit.key, hit.limit, now)
        if not allowance.allowed:
            return False
        limits = rate_limit_headers(allowance)
        headers = [*form.headers, *EVERY_V1_ANSWER, (b"x-snapshot", hit.version), *limits, (HEADER, request_id)]
        body = b"" if scope["method"] == "HEAD" else form.body
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self._done(scope, hit, now, began, len(body), request_id)
        return True

    def bytes_of(self, scope: Scope) -> tuple[bytes, bytes] | None:
        """The same without waiting for anything, while ``wait`` is false: (status line and headers, body).

        They are to be sent at once; the headers lack those of the connection, and their end. ``None`` for no hit.
        """
        began = time.perf_counter()
        now = self._clock()
        found = self._found(scope, now)
        if found is None:
            return None
        hit, form, given = found
        allowance = self._rate_limits.take_here(hit.window, hit.limit, now)
        if not allowance.allowed:
            return None
        body = b"" if scope["method"] == "HEAD" else form.body
        request_id = kept_request_id(given)
        self._done(scope, hit, now, began, len(body), request_id)
        return b"%b%bx-request-id: %b\r\n" % (form.head, rate_limit_lines(allowance), request_id), body

    def _found(self, scope: Scope, now: int) -> tuple[Hit, Form, bytes | None] | None:
        """The hit that a request is at ``now``, what it is answered with, and the ID that it came with."""
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
        same = (path, scope["query_string"], presented, accept_encoding)
        hit = self._known.get(same)
        if hit is not None:
            form = self._form(hit, now)
            if form is not None:
                return hit, form, request_id
            del self._known[same]
        hit = self._looked_up(path, scope["query_string"], presented, accept_encoding, now)
        form = None if hit is None else self._form(hit, now)
        if hit is None or form is None:
            return None
        if sum(map(len, filter(None, same))) <= LONGEST_KNOWN:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[same] = hit
        return hit, form, request_id

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
        if answer.counts is not None and answer.counts != self._views.counts(hit.workspace).entry_totals.generation:
            return None
        return answer.forms.get(hit.coding)

    def _looked_up(
        self, path: bytes, query: bytes, presented: bytes | None, accept_encoding: bytes | None, now: int
    ) -> Hit | None:
        workspace = path[len(_PREFIX) : path.find(b"/", len(_PREFIX))].decode("latin-1")
        keyring = self._workspaces.keyring
        snapshot = self._workspaces.served(workspace)
        if snapshot is None:
            return None
        try:
            key = keyring.authorize(presented, workspace, now, snapshot.zone)
        except ParquetryError:
            return None
        kept_by = AnswerKey(path, query, snapshot.number, key.scope)
        answer = self._cache.get(kept_by)
        if answer is None or answer.lifetime is None:
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
            kept_by=kept_by,
            answer=ref(answer),
            coding=coding_for(accept_encoding, len(answer.body)),
            since=max(answer.lifetime.since, minute),
            until=min(answer.lifetime.until, minute + _MINUTE_MS),
            window=window_name(workspace, key.id),
            target=logged_target(path, query),
        )

    def _done(self, scope: Scope, hit: Hit, now: int, began: float, size: int, request_id: bytes) -> None:
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
        self._outcomes.answered("kept")

"""The read endpoints of ``/v1`` (contract 4, decision 1), each request one sequence of calls:

authorize → limit → (kept?) → bind → select → read → expand → respond.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.described.answers import bind_described
from engine.read.query.answers.answer import History, Source, answer_to
from engine.read.query.answers.answer_cache import Answer, AnswerKey
from engine.read.query.answers.bind import ChangesPlan, Target, bind
from engine.read.query.answers.effort import is_long, is_small
from engine.read.query.plan import EntryPlan
from engine.timeline.compared_files import ComparedFiles
from server.delivery.admission import Admission, Caller
from server.delivery.answer_cache_layer import KnownRequests, identity_of, send_representation
from server.delivery.answer_making import AnswerMaking, WantedAnswer, Work
from server.delivery.descriptions import Descriptions
from server.delivery.pinning import Pinning
from server.http.access_log import logged_workspace
from server.http.exchange import exchange_of
from server.http.headers import PREFLIGHT
from server.http.preferences import is_strict
from server.http.routes import path_segments
from server.views.collection import ViewCollection
from server.workspaces.open_snapshot import OpenSnapshot
from server.workspaces.workspaces import Workspaces


class Delivery:
    """Answers from the snapshots that are current, to keys that may read them."""

    def __init__(
        self,
        workspaces: Workspaces,
        admission: Admission,
        views: ViewCollection,
        making: AnswerMaking,
        known: KnownRequests,
        pinning: Pinning,
        clock: Callable[[], int],
        descriptions: Descriptions,
    ) -> None:
        self._workspaces = workspaces
        self._admission = admission
        self._views = views
        self._making = making
        self._known = known
        self._pinning = pinning
        self._clock = clock
        self._descriptions = descriptions
        self._compared = ComparedFiles()

    async def answer(self, request: Request) -> ASGIApp:
        """Answer a read from the snapshot that is current now, at one instant (decision 22), or from the one that the
        request is pinned to."""
        now = self._clock()
        scope = request.scope
        exchange = exchange_of(scope)
        headers = exchange.headers
        workspace, *path = path_segments(scope)[1:]
        exchange.is_strict = b"prefer" in headers and is_strict(headers[b"prefer"])
        exchange.workspace = workspace if self._workspaces.has(workspace) else logged_workspace(workspace)
        caller = self._admission.caller(headers.get(b"x-api-key"), workspace, now)
        pinned = headers.get(b"x-snapshot")
        with self._workspaces.lease(workspace) as served:
            await self._admission.admit(exchange, caller, now)
            if pinned is None:
                return await self._answered(scope, path, caller, served, now, None)
        snapshot, at = await self._pinning.lease(workspace, await self._pinning.point(pinned))
        with snapshot:
            return await self._answered(scope, path, caller, snapshot, now, at)

    async def _answered(
        self, scope: Scope, path: list[str], caller: Caller, snapshot: OpenSnapshot, now: int, pinned_at: int | None
    ) -> ASGIApp:
        """Answer an admitted request to a ``path`` of the caller's workspace from a leased ``snapshot``, at the instant
        that the request is pinned to, or else ``now``."""
        workspace, key, reader, query = caller.workspace, caller.key, snapshot.reader, scope["query_string"]
        at = now if pinned_at is None else pinned_at
        exchange = exchange_of(scope)
        exchange.snapshot, exchange.snapshot_at = reader.version, at
        headers, strict = exchange.headers, exchange.is_strict
        counts = self._views.counts(workspace)
        totals = counts.entry_totals
        kept_by = None
        if b"x-draft-key" not in headers:  # the keys of cached answers do not tell it
            kept_by = AnswerKey(scope["raw_path"], query, snapshot.number, key.scope, pinned_at, strict)
        coding = headers.get(b"accept-encoding")
        wanted = WantedAnswer(snapshot, kept_by, query, coding, at, totals.generation, strict)
        kept = answer = self._making.kept(wanted)
        if answer is None:
            target = Target(path, query)
            described = bind_described(target, key.scope, strict=strict)
            if described is not None:
                answer = await self._making.made(wanted, self._descriptions.work(described, snapshot))
            else:
                plan = bind(reader, key.scope, target, headers, strict=strict)
                is_preview = isinstance(plan, EntryPlan) and plan.draft_key is not None
                secret = self._workspaces.draft_secret(workspace) if is_preview else b""
                history = self._history(workspace) if isinstance(plan, ChangesPlan) else None

                def make(kept_only: bool) -> Answer:
                    return answer_to(plan, Source(reader, at, totals, counts, now, secret, history, kept_only))

                answer = await self._making.made(wanted, Work(make, is_small(reader, plan), is_long(plan)))
        representation = await self._making.represented(wanted, answer)
        if kept is not None and kept_by is not None and pinned_at is None:
            self._known.remember(identity_of(scope, headers), caller, kept_by, answer)

        async def respond(_scope: Scope, _receive: Receive, send: Send) -> None:
            await send_representation(representation, headers.get(b"if-none-match"), send)

        return respond

    async def preflight(self, _request: Request) -> Response:
        """Answer OPTIONS."""
        return Response(status_code=204, headers=PREFLIGHT)

    def _history(self, workspace: str) -> History:
        served = self._workspaces.of(workspace)
        return History(served.workspace_store, served.snapshots.history, self._compared)

"""``/healthz`` and ``/readyz``: whether the process lives, and the version of each workspace that it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from engine.access.audit.log import AuditLog
from server.delivery.rate_limit import RateLimits
from server.http.headers import JSON
from server.mirror.freshness import Freshness
from server.states.states import Trouble
from server.states.table import AUDIT, BUCKET, KEEPER, ROWS, STORE
from server.views.collection import ViewCollection
from server.worker_states import WorkerStates
from server.workspaces.workspaces import ServedWorkspace, Workspaces
from snapshots.locks import FileLock
from snapshots.problems import ParquetryError
from snapshots.times import format_datetime
from snapshots.version import VERSION, commit

# Only the log names paths and failures of this machine (decision 66).
ACCESS_UNREADABLE = "The keys cannot be read; the log says why. No key is accepted until then."
ACCESS_KEPT = "The keys cannot be read; the log says why. The last good list of keys stays in force."
CURRENT_KEPT = "The file `current` cannot be read; the log says why. The last good snapshot version is still served."
CURRENT_NONE = (
    "The file `current` cannot be read; the log says why. Nothing of the workspace is served until "
    "`cms snapshot activate` has written it again."
)
INCOMPLETE = "It could not be downloaded completely, and is tried again; the log says why."
REFUSED = "It could not be opened, and is tried again; the log says why."
_NEVER_STORED = {"Cache-Control": "no-store"}


class Health:
    """Answers to process managers and load balancers; no key is needed, and no content is told."""

    def __init__(
        self,
        workspaces: Workspaces,
        rate_limits: RateLimits,
        views: ViewCollection,
        freshness: Freshness | None,
        keeper: FileLock,
        states: WorkerStates,
        clock: Callable[[], int],
    ) -> None:
        """``freshness`` is that of a store in a bucket, ``None`` for a directory; ``keeper`` is the keeper's lock;
        ``clock`` returns the present instant in UTC milliseconds."""
        self._states = states
        self._clock = clock
        self._freshness = freshness
        self._workspaces = workspaces
        self._views = views
        self._rate_limits = rate_limits
        self._keeper = keeper

    async def alive(self, _request: Request) -> Response:
        """Answer 200 as long as the process answers at all."""
        return Response(b'{"status":"ok"}', headers=_NEVER_STORED, media_type=JSON)

    async def ready(self, _request: Request) -> Response:
        """Answer 200 once at least one workspace can be served, else 503; both with the versions served and the
        problems."""
        keeper, late = await asyncio.to_thread(self._found)
        troubles = await asyncio.to_thread(self._states.of_machine)
        workspaces = [self._workspace(workspace, workspace.id in late) for workspace in self._workspaces.all()]
        refusal = None if self._freshness is None else self._freshness.refusal()
        unable = [] if self._freshness is None else self._freshness.unable(one.id for one in self._workspaces.all())
        ready = refusal is None and not unable and any(workspace["version"] for workspace in workspaces)
        body: dict[str, object] = {
            "ready": ready,
            "workspaces": workspaces,
            "store": self._store(),
            "problem": self._problem(),
            "keeper": keeper,
            "rateLimit": {"problems": list(self._rate_limits.problems.values())},
            "pageViews": self._page_views(),
            "program": {"version": VERSION, "commit": commit()},
            "troubles": [self._told(trouble, seconds) for trouble, seconds in troubles],
        }
        if not ready:
            body["message"] = _why(refusal, unable)
        return Response(msgspec.json.encode(body), 200 if ready else 503, _NEVER_STORED, JSON)

    def _found(self) -> tuple[dict[str, object], set[str]]:
        """Return what is told of the keeper, and the workspaces with changes that the audit log does not tell of."""
        running, late = False, set()
        with suppress(OSError):
            running = not self._keeper.is_free()
        if self._freshness is None:
            for workspace in self._workspaces.all():
                with suppress(ParquetryError):
                    if AuditLog(workspace.workspace_store.objects, workspace.id).late():
                        late.add(workspace.id)
        return {"running": running, "problem": None if running else ROWS[KEEPER].told}, late

    def _told(self, trouble: Trouble, seconds: float) -> dict[str, object]:
        row = ROWS[trouble.what]
        return {
            "what": trouble.what,
            "workspace": trouble.workspace or None,
            "since": format_datetime(self._clock() - int(seconds * 1000)),
            "seconds": round(seconds),
            "alert": row.alert,
            "alertIn": max(0, round(row.after - seconds)),
            "message": row.told,
        }

    def _store(self) -> dict[str, object] | None:
        return None if self._freshness is None else {"lastContact": self._freshness.age()}

    def _problem(self) -> str | None:
        if self._workspaces.complaint is not None:
            return ROWS[STORE].told
        if self._freshness is not None and not self._freshness.contact().reachable:
            return ROWS[BUCKET].told
        return None

    def _page_views(self) -> dict[str, object]:
        dropped, last = self._views.dropped()
        return {"dropped": dropped, "lastDropped": format_datetime(last) if dropped else None}

    def _workspace(self, workspace: ServedWorkspace, is_late: bool) -> dict[str, object]:
        served = workspace.snapshots.served
        views = self._views.of_workspace(workspace.id)
        return {
            "id": workspace.id,
            "version": served.reader.version if served else None,
            "since": format_datetime(served.since) if served else None,
            "refused": self._refused(workspace),
            "behind": self._behind(workspace),
            "counts": format_datetime(views.counts_at) if views.counts_at else None,
            "problems": [*self._problems(workspace), *([ROWS[AUDIT].told] if is_late else [])],
        }

    def _refused(self, workspace: ServedWorkspace) -> dict[str, str] | None:
        refusal = workspace.snapshots.refusal
        if refusal is not None:
            return _told(refusal.version, REFUSED, refusal.retry_at)
        incomplete = None if self._freshness is None else self._freshness.contact().refused.get(workspace.id)
        return None if incomplete is None else _told(incomplete.version, INCOMPLETE, incomplete.retry_at)

    def _behind(self, workspace: ServedWorkspace) -> list[dict[str, str]]:
        behind = {} if self._freshness is None else self._freshness.behind(workspace.id)
        return [{"what": what, "since": format_datetime(since)} for what, since in sorted(behind.items())]

    def _problems(self, workspace: ServedWorkspace) -> list[str]:
        found = []
        if workspace.snapshots.complaint is not None:
            found.append(CURRENT_NONE if workspace.snapshots.served is None else CURRENT_KEPT)
        if workspace.access.complaint is not None:
            found.append(ACCESS_UNREADABLE if workspace.access.list is None else ACCESS_KEPT)
        return found + self._views.problems(workspace.id)


def _why(refusal: ParquetryError | None, unable: Sequence[str]) -> str:
    if refusal is not None:
        return str(refusal)
    if unable:
        return f"This server cannot follow what changes in {', '.join(unable)}; the log says why."
    return "No workspace can be served yet."


def _told(version: str, reason: str, retry_at: int) -> dict[str, str]:
    return {"version": version, "reason": reason, "nextAttempt": format_datetime(retry_at)}

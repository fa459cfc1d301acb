"""``/healthz`` and ``/readyz``: whether the process lives, and the version of each workspace that it serves."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from server.http.headers import JSON
from server.keys.rate_limit import RateLimits
from server.views.collection import ViewCollection
from server.workspaces.snapshot_slot import Refusal
from server.workspaces.workspaces import ServedWorkspace, Workspaces
from snapshots.times import format_datetime

# Only the log names paths and failures of this machine (decision 66).
STORE_UNREADABLE = (
    "The store cannot be read; the log says why. Opened versions go on being served, and page views are dropped, "
    "until it is back."
)
CURRENT_UNREADABLE = (
    "It cannot be read which version is current; the log says why. Serving goes on with the last good version."
)
ACCESS_UNREADABLE = "The keys cannot be read; the log says why. No key is accepted until then."
ACCESS_KEPT = "The keys cannot be read; the log says why. The last good list of keys stays in force."
REFUSED = "It could not be opened, and is tried again; the log says why."
_NEVER_STORED = {"Cache-Control": "no-store"}


class Health:
    """Answers to process managers and load balancers; no key is needed, and no content is told."""

    def __init__(self, workspaces: Workspaces, rate_limits: RateLimits, views: ViewCollection) -> None:
        self._workspaces = workspaces
        self._views = views
        self._rate_limits = rate_limits

    async def alive(self, _request: Request) -> Response:
        """Answer 200 as long as the process answers at all."""
        return Response(b'{"status":"ok"}', headers=_NEVER_STORED, media_type=JSON)

    async def ready(self, _request: Request) -> Response:
        """Answer 200 once at least one workspace can be served, else 503; both with the versions served and the
        problems."""
        workspaces = [self._workspace(workspace) for workspace in self._workspaces.all()]
        ready = any(workspace["version"] for workspace in workspaces)
        body: dict[str, object] = {
            "ready": ready,
            "workspaces": workspaces,
            "problem": None if self._workspaces.complaint is None else STORE_UNREADABLE,
            "rateLimit": {"problems": list(self._rate_limits.problems.values())},
            "pageViews": self._page_views(),
        }
        if not ready:
            body["message"] = "No workspace can be served yet."
        return Response(msgspec.json.encode(body), 200 if ready else 503, _NEVER_STORED, JSON)

    def _page_views(self) -> dict[str, object]:
        dropped, last = self._views.dropped()
        return {"dropped": dropped, "lastDropped": format_datetime(last) if dropped else None}

    def _workspace(self, workspace: ServedWorkspace) -> dict[str, object]:
        served = workspace.snapshots.served
        refusal = workspace.snapshots.refusal
        views = self._views.place(workspace.id)
        return {
            "id": workspace.id,
            "version": served.reader.version if served else None,
            "since": format_datetime(served.since) if served else None,
            "refused": None if refusal is None else _told(refusal),
            "counts": format_datetime(views.counts_at) if views.counts_at else None,
            "problems": self._problems(workspace),
        }

    def _problems(self, workspace: ServedWorkspace) -> list[str]:
        found = [] if workspace.snapshots.complaint is None else [CURRENT_UNREADABLE]
        if workspace.access.complaint is not None:
            found.append(ACCESS_UNREADABLE if workspace.access.list is None else ACCESS_KEPT)
        return found + self._views.problems(workspace.id)


def _told(refusal: Refusal) -> dict[str, str]:
    return {"version": refusal.version, "reason": REFUSED, "nextAttempt": format_datetime(refusal.retry_at)}

"""``/healthz`` and ``/readyz``: whether the process lives, and what it serves of each workspace."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from server.http.headers import JSON
from server.keys.rate_limit import RateLimits
from server.views.collection import ViewCollection
from server.workspaces.workspaces import ServedWorkspace, Workspaces
from snapshots.times import format_datetime

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
            "problem": self._told(self._workspaces.complaint),
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
            "refused": {"version": refusal.version, "reason": self._told(refusal.reason)} if refusal else None,
            "counts": format_datetime(views.counts_at) if views.counts_at else None,
            "problems": [
                self._told(complaint)
                for complaint in (
                    workspace.snapshots.complaint,
                    workspace.access.complaint,
                    *self._views.problems(workspace.id),
                )
                if complaint is not None
            ],
        }

    def _told(self, complaint: str | None) -> str | None:
        """A complaint for the public: where things lie on this machine is nobody's business."""
        for place in self._workspaces.places:
            complaint = complaint and complaint.replace(f"{place}/", "").replace(str(place), "the store")
        return complaint

"""The part of a worker that answers requests for content, put together as ``server.app`` does, on a simulated loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

from starlette.routing import Router

from engine.read.query.answers.answer_cache import AnswerCache
from server.app import answer_error
from server.delivery.admission import Admission
from server.delivery.answer_cache_layer import AnswerCacheLayer, KnownRequests
from server.delivery.answer_making import AnswerMaking
from server.delivery.delivery import Delivery
from server.delivery.descriptions import Descriptions
from server.delivery.lanes import Lanes
from server.delivery.pinning import Pinning
from server.delivery.rate_limit import RateLimits
from server.http.middleware import Answering
from server.http.routes import ExactRoute
from server.reference.workspace_document import encoded_document
from server.tracing.recording import Tracing
from server.views.collection import ViewCollection
from server.workspaces.open_snapshot import OpenSnapshot
from server.workspaces.workspaces import Workspaces
from snapshots.store.store import Store
from tests.simulation.below.loop import Loop


class Got:
    """The bytes that left."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status = status
        self.headers = dict(headers)
        self.body = body

    @property
    def version(self) -> str:
        """The version that answered."""
        return self.headers.get(b"x-snapshot", b"").decode()

    @property
    def point(self) -> str:
        """The version and the instant."""
        return f"{self.version}@{self.headers.get(b'x-snapshot-at', b'').decode()}"


class Served:
    """The endpoints of one worker, asked by the actor that has the ``loop``."""

    def __init__(
        self, store: Store, workspaces: Workspaces, views: ViewCollection, loop: Loop, clock: Callable[[], int]
    ) -> None:
        self._loop = loop
        lanes, cache = Lanes(2, 1.0), AnswerCache(1 << 20)
        making = AnswerMaking(cache, lanes, lambda: True, lambda _: None)
        uses: Any = SimpleNamespace(note=lambda *_: None)
        admission = Admission(workspaces, RateLimits(store.cache), uses)
        known = KnownRequests(cache, admission, views)
        pinning = Pinning(workspaces, lanes, clock, 3_600_000)
        descriptions = Descriptions(partial(encoded_document, url="/"))
        delivery = Delivery(workspaces, admission, views, making, known, pinning, clock, descriptions)
        below = ("{endpoint}/{entryId}", "_schema", "_openapi", "_types/{language}", "_changes", "_views/{endpoint}")
        paths = ("{endpoint}", *below)
        routes = [ExactRoute(f"/v1/{{workspace}}/{path}", delivery.answer) for path in paths]
        outcomes: Any = SimpleNamespace(tracing=Tracing(), record=lambda *_: None, answered=lambda _: None)
        layer = AnswerCacheLayer(Router(routes), known, admission, outcomes.answered, clock)
        self._app = Answering(layer, answer_error, outcomes)

    def get(self, path: str, query: str, **headers: str) -> Got:
        """Answer a request. ``headers`` have underscores where HTTP has hyphens."""
        told: dict[str, Any] = {"status": 0, "headers": [], "body": b""}

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(3600)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            told["body"] += message.get("body", b"")
            told.update({name: message[name] for name in ("status", "headers") if name in message})

        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
            "root_path": "",
        }
        self._loop.run_until_complete(self._app(scope, receive, send))  # type: ignore[arg-type]  # it has what is read
        return Got(told["status"], told["headers"], told["body"])


class WithoutSecrets:
    """The workspaces of a worker, with versions from which the secrets are left out in the place of those served."""

    def __init__(self, workspaces: Workspaces, readers: dict[str, Any]) -> None:
        self._workspaces = workspaces
        self._readers = readers
        self._opened: dict[int, OpenSnapshot] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workspaces, name)

    def served(self, workspace: str) -> OpenSnapshot | None:
        real = self._workspaces.served(workspace)
        return None if real is None else self._of(real)

    def lease(self, workspace: str) -> OpenSnapshot:
        with self._workspaces.lease(workspace) as real:
            found = self._of(real)
        found.acquire()
        return found

    def _of(self, real: OpenSnapshot) -> OpenSnapshot:
        if real.number not in self._opened:
            zone: ZoneInfo = real.zone
            self._opened[real.number] = OpenSnapshot(self._readers[real.reader.version], zone, real.since)
        return self._opened[real.number]

"""The application: Starlette with its routes, made from settings, and the one table from error to status."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.access.keys.access import KeyRejected, WrongWorkspace
from engine.read.files.unusable import SnapshotUnusable
from engine.read.query.answers.answer_cache import AnswerCache
from engine.read.query.answers.bind import NotFound
from engine.read.query.invalid_query import InvalidQuery
from engine.read.reader.kept import Kept
from engine.read.reader.reader import QueryTimeout, Reader, ReaderSettings, open_made_reader, open_reader
from engine.timeline.points import PointGone
from engine.views.collecting.addresses import TrustedProxies
from engine.views.collecting.visitors import Visitors
from server.background.presence import keeper_lock
from server.delivery.admission import Admission
from server.delivery.answer_cache_layer import AnswerCacheLayer, KnownRequests
from server.delivery.answer_making import AnswerMaking
from server.delivery.asset_delivery import AssetDelivery, MalformedRange, UnsatisfiableRange
from server.delivery.delivery import Delivery
from server.delivery.descriptions import Descriptions
from server.delivery.lanes import Lanes, Overloaded
from server.delivery.last_use import LastUseWriter
from server.delivery.pinning import Pinning
from server.delivery.rate_limit import RateLimits, TooManyRequests
from server.health import Health
from server.http.access_log import AccessLog
from server.http.connections import Connections
from server.http.exchange import Exchange
from server.http.headers import failure_headers
from server.http.middleware import Answering, error_response, unexpected_error
from server.http.outcomes import Outcomes
from server.http.protocol import CONNECTIONS, OUTCOMES
from server.http.routes import ExactRoute, MethodNotAllowed, UnknownRoute, unknown_route
from server.logs import LOGGER, without_keys
from server.metrics import Metrics
from server.mirror.freshness import Freshness, FreshnessLayer, NothingMirrored, TooOld
from server.mirror.held import HeldPage
from server.pictures.pictures import Pictures
from server.pictures.workshop import PicturesBusy
from server.reference import site
from server.reference.workspace_document import encoded_document
from server.settings import Settings
from server.tracing.recording import Tracing
from server.tracing.spans import SpanFiles
from server.views.collection import ViewCollection
from server.views.endpoints import PageViews
from server.worker_states import WorkerStates
from server.workspaces.workspaces import NotReady, Workspaces
from snapshots.problems import ParquetryError
from snapshots.store.buckets.bucket_url import is_bucket
from snapshots.store.store import WorkspaceStore
from snapshots.times import now_ms

_log = logging.getLogger(LOGGER)

STATUS: dict[type[Exception], int] = {
    InvalidQuery: 400,
    MalformedRange: 400,
    KeyRejected: 401,
    WrongWorkspace: 403,
    UnknownRoute: 404,
    NotFound: 404,
    MethodNotAllowed: 405,
    PointGone: 410,
    UnsatisfiableRange: 416,
    TooManyRequests: 429,
    NotReady: 503,
    NothingMirrored: 503,
    TooOld: 503,
    QueryTimeout: 503,
    Overloaded: 503,
    PicturesBusy: 503,
    SnapshotUnusable: 503,
}
"""The status of every failure that the request caused, or that passes by itself (contract 7). Any other is 500."""


class Application(Starlette):
    """Starlette without its own two layers for errors, around and inside all others: ``Answering`` answers every error,
    and each layer is passed by every request."""

    def build_middleware_stack(self) -> ASGIApp:
        app: ASGIApp = self.router
        for layer in reversed(self.user_middleware):
            app = layer.cls(app, *layer.args, **layer.kwargs)
        return app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        await self.middleware_stack(scope, receive, send if scope["type"] != "lifespan" else partial(_tell, send))


async def _tell(send: Send, message: Message) -> None:
    """Send a message of the lifespan; one about an error that has a text of its own is that text."""
    error = sys.exc_info()[1]
    await send({**message, "message": str(error)} if isinstance(error, ParquetryError) else message)


class StoreFileUnreachable(ParquetryError):
    """A request needs a file of the store that cannot be read (503)."""

    def __init__(self) -> None:
        super().__init__("The store cannot be read at the moment. Try again later.")


def create_app(
    settings: Settings,
    *,
    clock: Callable[[], int] = now_ms,
    visitors: Visitors | None = None,
    console: str | None = None,
    replaces: bool = False,
) -> Starlette:
    """Return the application of one process. ``clock`` returns the present instant in UTC milliseconds; ``visitors``
    remembers the senders of page views for all worker processes together; ``console`` is the path of the socket on
    which the keeper serves the console, if it does; with ``replaces``, the
    application starts only with all workspaces that other processes over this cache serve.

    Raises ``StoreError`` when the store's location cannot be used.
    """
    store = settings.open_store()
    reading = ReaderSettings(settings.request_seconds, settings.memory)
    kept = Kept(settings.list_cache)

    def open_version(workspace_store: WorkspaceStore, version: str) -> Reader:
        manifest = workspace_store.manifest(version)
        return open_reader(workspace_store.snapshots / version, manifest, store.cache, reading, kept)

    freshness = Freshness(store, settings.max_stale, clock) if is_bucket(settings.store) else None

    def open_made(workspace_store: WorkspaceStore, version: str) -> Reader | None:
        manifest = workspace_store.manifest(version)
        return open_made_reader(workspace_store.snapshots / version, manifest, store.cache, reading, kept)

    held_page = HeldPage(store.root) if freshness is not None else None
    workspaces = Workspaces(store, open_version, clock, open_made, settings.pinned_versions, held_page)
    metrics = Metrics() if settings.metrics else None
    tracing = Tracing() if settings.traces is None else Tracing(SpanFiles(store), settings.traces_share)
    lanes = Lanes(settings.threads, settings.queue_seconds, metrics.query if metrics else None)
    connections = Connections(settings.connections)
    access_log = AccessLog(settings.log_format)
    outcomes = Outcomes(access_log, metrics, tracing)
    answer_cache = AnswerCache(settings.answer_cache)
    making = AnswerMaking(answer_cache, lanes, connections.has_room, outcomes.answered)
    rate_limits = RateLimits(store.cache, settings.rate_limit_url)
    last_use = LastUseWriter(store)
    visitors = visitors or Visitors()
    proxies = TrustedProxies(settings.trusted_proxies)
    views = ViewCollection(store, workspaces, visitors, proxies, clock, settings.rate_limit_url)
    page_views = PageViews(workspaces, views, lambda: len(connections))
    admission = Admission(workspaces, rate_limits, last_use.uses)
    known = KnownRequests(answer_cache, admission, views)
    pinning = Pinning(workspaces, lanes, clock, settings.pinned_seconds * 1000)
    descriptions = Descriptions(partial(encoded_document, url=settings.public_url or "/"))
    delivery = Delivery(workspaces, admission, views, making, known, pinning, clock, descriptions)
    pictures = Pictures(store.cache, settings.picture_cache)
    asset_delivery = AssetDelivery(store, pictures)
    states = WorkerStates(store, workspaces, views, rate_limits, clock)
    health = Health(workspaces, rate_limits, views, freshness, keeper_lock(store), states, clock)
    console_routes = [] if console is None else _console_routes(console, settings.public_url, proxies)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, object]]:
        await asyncio.gather(rate_limits.start(clock()), asyncio.to_thread(workspaces.start, replaces=replaces))
        await asyncio.to_thread(views.start)
        last_use.start()
        states.start()
        connections.start()
        told = asyncio.ensure_future(metrics.keep(workspaces, views)) if metrics else None
        try:
            yield {CONNECTIONS: connections, OUTCOMES: outcomes}
        finally:
            if told is not None:
                told.cancel()
            await connections.stop()
            await rate_limits.stop()
            await asyncio.to_thread(states.stop)
            await asyncio.to_thread(views.stop)
            await asyncio.gather(*(asyncio.to_thread(one.stop) for one in (workspaces, last_use)))
            lanes.shutdown()
            await access_log.close()
            await tracing.close()
            pictures.stop()

    app = Application(
        routes=[
            ExactRoute("/v1/{workspace}/{endpoint}", delivery.answer, preflight=delivery.preflight),
            ExactRoute("/v1/{workspace}/{endpoint}/{entryId}", delivery.answer, preflight=delivery.preflight),
            ExactRoute("/pv/{workspace}", page_views.record, methods=("POST",)),
            ExactRoute("/pv/{workspace}/counts", page_views.counts),
            ExactRoute("/v1/{workspace}/_schema", delivery.answer, preflight=delivery.preflight),
            ExactRoute("/v1/{workspace}/_openapi", delivery.answer, preflight=delivery.preflight),
            ExactRoute("/v1/{workspace}/_types/{language}", delivery.answer, preflight=delivery.preflight),
            ExactRoute("/v1/{workspace}/_changes", delivery.answer, preflight=delivery.preflight),
            ExactRoute("/v1/{workspace}/_views/{endpoint}", delivery.answer, preflight=delivery.preflight),
            ExactRoute("/assets/{workspace}/{name}", asset_delivery.asset),
            ExactRoute("/healthz", health.alive),
            ExactRoute("/readyz", health.ready),
            ExactRoute("/", site.home),
            ExactRoute("/openapi.json", site.openapi_json),
            ExactRoute("/docs", site.docs),
            ExactRoute("/docs/{file}", site.docs_file),
            ExactRoute("/.well-known/api-catalog", site.api_catalog),
            *console_routes,
        ],
        middleware=[
            Middleware(Answering, answer_error, outcomes),
            *([] if freshness is None else [Middleware(FreshnessLayer, freshness)]),
            Middleware(AnswerCacheLayer, known, admission, outcomes.answered, clock),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.router.default = unknown_route
    app.state.workspaces = workspaces
    return app


def _console_routes(address: str, public_url: str | None, proxies: TrustedProxies) -> list[BaseRoute]:
    # An HTTP client, which no server needs for anything else.
    from server.console.process.forwarding import ConsoleForwarding  # noqa: PLC0415 - see above

    return ConsoleForwarding(address, public_url, proxies).routes()


def answer_error(error: Exception, exchange: Exchange) -> Response:
    """Return the answer to a failure: the table's status and the error's message, or 500 without detail."""
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), None)
    if status is None:
        return unexpected_error(error, exchange)
    if isinstance(error, SnapshotUnusable):  # it names files
        _log.error("request %s: %s", exchange.logged, error)
        error = StoreFileUnreachable()
    if isinstance(error, KeyRejected | WrongWorkspace):
        exchange.key_prefix = error.prefix
    headers = failure_headers(
        status,
        allow=error.allowed if isinstance(error, MethodNotAllowed) else None,
        retry_after=error.retry_after if isinstance(error, TooManyRequests | PicturesBusy) else None,
        content_range=error.content_range if isinstance(error, UnsatisfiableRange) else None,
    )
    # A message that repeats a client's text may repeat a key that the client put in the wrong place.
    return error_response(status, without_keys(str(error)), headers)

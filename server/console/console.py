"""Answer requests below ``/console``: tell who asks and whether they may, and give the page or its refusal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import lru_cache
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.access.keys.access import AccessFile
from engine.access.sign_in.known_browsers import KnownBrowsers
from engine.access.sign_in.people import Person, name_in, role_in
from engine.access.sign_in.sign_ins import Session, SignIns
from engine.read.all_versions.all_versions import AllVersions
from engine.read.reader.data_files import DataFiles
from engine.timeline.timeline import Timeline
from engine.webhooks.webhooks_file import WebhooksFile
from server.console.answers import Answers, no_form, no_page
from server.console.mailing import SignInMailing
from server.console.navigation import ConsolePage, ConsoleSection, navigation
from server.console.requests import SESSION, WANTED, WANTED_SECONDS, ConsoleSite, fields_of, read_form, wanted_path
from server.console.routes import SECTIONS
from server.console.sign_in import LINK, SIGN_IN, SignInPages
from server.console.visit import ConsoleContext, Form, Moved, PageRefused, Shown, Visit
from server.http.exchange import exchange_of
from server.http.routes import ExactRoute, MethodNotAllowed, RestRoute, path_segments
from server.logs import LOGGER
from server.settings import Settings
from server.states.mail_watch import MailWatch
from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.store.manifest import Manifest
from snapshots.store.objects import StoreUnreachable
from snapshots.store.store import WorkspaceStore

MOST_WAITING_FOR_OTHERS: Final = 4
"""Pages that wait for other programs at the same time."""
_GET_AND_POST: Final = ("GET", "HEAD", "POST")

_log = logging.getLogger(LOGGER)


class Console:
    """The pages of the console of a server with these settings. ``clock`` returns the present, in UTC milliseconds.

    Raises ``StoreError`` when the store's location cannot be used.
    """

    def __init__(self, settings: Settings, clock: Callable[[], int], watch: MailWatch) -> None:
        self._store = store = settings.open_shared_store()
        objects = store.objects
        self._clock = clock
        self._site = ConsoleSite(settings.public_url)
        self._answers = Answers(self._site.base)
        self._sign_ins = SignIns(objects)
        self._known = KnownBrowsers(objects)
        # Only a setting tells where links in mails lead: whoever asks for one could name any host.
        mailing = (
            SignInMailing(
                settings.smtp_url, self._site.url, self._sign_ins, self._known, self._workspaces, clock, watch
            )
            if settings.smtp_url is not None and self._site.url is not None
            else None
        )
        self._provider = provider = settings.oidc
        name = None if provider is None else provider.name
        self._sign_in_pages = SignInPages(self._site, self._sign_ins, self._known, self._answers, mailing, name, clock)
        # One page at a time, so that pages take one processor at most.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="console")
        self._waits = ThreadPoolExecutor(MOST_WAITING_FOR_OTHERS, thread_name_prefix="console-waits")
        self._manifest = lru_cache(maxsize=16)(WorkspaceStore.manifest)
        self._files = DataFiles(store.root, settings.memory, settings.request_seconds)
        self._context = ConsoleContext(
            objects=objects,
            pages=self._answers.pages,
            all_versions=self._all_versions,
            timeline=lru_cache(maxsize=4)(Timeline),
            webhooks=lru_cache(maxsize=None)(lambda workspace: WebhooksFile(objects, workspace)),
            allow_loopback=settings.webhook_allow_loopback,
        )

    def application(self) -> ASGIApp:
        """Return the application of all pages."""
        pages = Router(self._routes(), redirect_slashes=False)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await pages(scope, receive, send)
            except MethodNotAllowed as error:
                # After a form with mistakes, its address is in the browser's bar, and may be asked for from there.
                refusal = self._answers.refuse(no_form())
                refusal.headers["Allow"] = error.allowed
                await refusal(scope, receive, send)

        return answer

    def _routes(self) -> list[BaseRoute]:
        """Return the routes of all pages. The last takes every other path."""
        signing = self._sign_in_pages
        return [
            ExactRoute(f"/console/{'/'.join(SIGN_IN)}", self._endpoint(signing.sign_in), methods=_GET_AND_POST),
            ExactRoute(f"/console/{'/'.join(LINK)}", self._endpoint(signing.link), methods=_GET_AND_POST),
            ExactRoute("/console/-/sign-out", self._endpoint(signing.sign_out), methods=("POST",)),
            *self._provider_routes(),
            ExactRoute("/console", self._endpoint(self._home)),
            ExactRoute("/console/-", self._nothing),
            *(
                ExactRoute(
                    f"/console/{{workspace}}{page.path}",
                    self._endpoint(self._page(section, page), self._waits if page.waits else self._thread),
                    methods=page.methods,
                )
                for section in SECTIONS
                for page in section.pages
            ),
            RestRoute("console", self._nothing),
        ]

    def _provider_routes(self) -> list[BaseRoute]:
        if self._provider is None:
            return []
        # What it needs is in an extra, and takes 0.7 s to import.
        from server.console import provider_sign_in as there  # noqa: PLC0415 - see above

        way = there.ProviderSignIn(
            *(self._provider, self._site, self._sign_ins, self._known, self._answers),
            workspaces=self._workspaces,
            in_turn=self._in_turn,
            clock=self._clock,
        )
        return [
            ExactRoute(f"/console/{'/'.join(there.PROVIDER)}", self._answering(way.begin), methods=("GET",)),
            ExactRoute(f"/console/{'/'.join(there.CALLBACK)}", self._answering(way.callback), methods=("GET",)),
        ]

    def stop(self) -> None:
        """Make no further page."""
        self._thread.shutdown(cancel_futures=True)
        self._waits.shutdown(wait=False, cancel_futures=True)
        self._files.close()

    def _endpoint(
        self, make: Callable[[Request, Form], Response], thread: Executor | None = None
    ) -> Callable[[Request], Awaitable[Response]]:
        return self._answering(lambda request: self._made(request, make, thread))

    def _answering(self, made: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                return await made(request)
            except PageRefused as refusal:
                return self._answers.refuse(refusal)
            except ParquetryError as error:  # of the store; it may name files
                _log.error("console: %s", error)
                why = (
                    "The store cannot be read or written, or a file in it is damaged; the server's log has the "
                    "details. Try again later."
                )
                return self._answers.refuse(PageRefused(503, "Not possible right now", why))
            except Exception:
                request_id = exchange_of(request.scope).request_id.decode("ascii")
                _log.exception("console: request %s failed unexpectedly", request_id)
                why = f"Something went wrong on the server. It has been logged as {request_id}."
                return self._answers.refuse(PageRefused(500, "This did not work", why))

        return answer

    async def _made(
        self, request: Request, make: Callable[[Request, Form], Response], thread: Executor | None
    ) -> Response:
        form = Form({})
        if request.method == "POST":
            self._site.check_origin(request)
            form = await read_form(request)
        return await self._in_turn(lambda: make(request, form), thread)

    async def _in_turn(self, make: Callable[[], Response], thread: Executor | None = None) -> Response:
        return await asyncio.get_running_loop().run_in_executor(thread or self._thread, make)

    async def _nothing(self, _request: Request) -> Response:
        return self._answers.refuse(no_page())

    def _home(self, request: Request, _form: Form) -> Response:
        session = self._session(request)
        if session is None:
            return self._to_sign_in(request)
        found = ((workspace, role_in(workspace, session.person)) for workspace in self._workspaces())
        mine = [(workspace, role) for workspace, role in found if role is not None]
        if len(mine) == 1:
            return self._answers.send(Moved((mine[0][0].id,)))
        return self._answers.send(Shown("sign_in/workspaces.html", {"workspaces": mine, "person": session.person}))

    def _page(self, section: ConsoleSection, page: ConsolePage) -> Callable[[Request, Form], Response]:
        def make(request: Request, form: Form) -> Response:
            session = self._session(request)
            if session is None:
                return self._to_sign_in(request)
            visit = self._visit(request, session.person, form)
            exchange_of(request.scope).workspace = visit.workspace.id
            if page.manages and not visit.role.manages:
                why = f"Only owners and maintainers of {visit.workspace.name} can see this page. Ask one of them."
                raise PageRefused(403, "Not for editors", why)
            outcome = page.answer(visit)
            if isinstance(outcome, Shown):
                shared = {"visit": visit, "workspace": visit.workspace, "zone": visit.zone}
                values = {**shared, "navigation": navigation(visit, SECTIONS, section), **outcome.values}
                outcome = Shown(outcome.template, values, outcome.status, outcome.policy)
            return self._answers.send(outcome)

        return make

    def _visit(self, request: Request, person: Person, form: Form) -> Visit:
        path = request.path_params
        workspace_store = (
            self._store.workspace(path["workspace"]) if path["workspace"] in self._store.workspaces() else None
        )
        manifest = None if workspace_store is None else self._current(workspace_store)
        role = None if manifest is None else role_in(manifest.workspace, person)
        # The same for who is no member as for who mistypes.
        if workspace_store is None or manifest is None or role is None:
            why = f"There is no workspace of this name that {person.address} is a member of."
            raise PageRefused(404, "No such workspace", why)
        query = fields_of(request.scope["query_string"])
        name = name_in(manifest.workspace, person)
        origin = self._site.origin(request)
        return Visit(
            self._context, origin, person, name, role, workspace_store, manifest, self._clock(), path, query, form
        )

    def _workspaces(self) -> Iterator[Workspace]:
        for name in self._store.workspaces():
            try:
                manifest = self._current(self._store.workspace(name))
            except StoreUnreachable:
                raise
            except ParquetryError as error:  # a damaged one; the members of the others come in
                _log.error("console: %s", error)
                continue
            if manifest is not None:
                yield manifest.workspace

    def _current(self, workspace_store: WorkspaceStore) -> Manifest | None:
        """Return the manifest of the version that is current now, whose members are the ones who may come in."""
        current = workspace_store.current()
        return None if current is None else self._manifest(workspace_store, current.version)

    def _session(self, request: Request) -> Session | None:
        token = self._site.cookie(request, SESSION)
        session = self._sign_ins.session(token, self._clock()) if token else None
        exchange_of(request.scope).signed_in = session is not None
        return session

    def _to_sign_in(self, request: Request) -> Response:
        if request.method == "POST":
            return self._answers.send(Moved(SIGN_IN, {"done": "ended"}))
        answer = self._answers.send(Moved(SIGN_IN))
        wanted = "/".join(path_segments(request.scope)[1:])
        if wanted_path(wanted):
            answer.headers.append("Set-Cookie", self._site.set_cookie(request, WANTED, wanted, WANTED_SECONDS))
        return answer

    def _all_versions(self, workspace_store: WorkspaceStore, manifest: Manifest) -> AllVersions:
        access = AccessFile(workspace_store).read()  # draft keys are exchanged while a version is current
        secret = access.draft_secret if access is not None else None
        return AllVersions(self._files, workspace_store, manifest, secret)

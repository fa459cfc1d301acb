"""The sender of webhooks: tries, each in its own thread, for versions served, publish periods and retries that are due.

It looks at what is in memory, and sleeps until the next instant at which something is due. An endpoint that is slow or
hangs holds up itself only. There are so many threads and no more; where more is due, the workspaces take turns.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Final

import msgspec
from msgspec.structs import replace

from engine.timeline.compared_files import ComparedFiles
from engine.webhooks.dispatcher import ActiveVersion, Dispatcher, WebhookDelivery
from engine.webhooks.endpoint import Endpoint, EndpointState
from engine.webhooks.webhooks_file import WebhooksFile
from server.background.served import KeptWorkspace, KeptWorkspaces
from server.background.webhooks.client_thread import WebhookClientThread
from server.background.webhooks.owners import AGAIN_MS, OwnersMail
from server.background.webhooks.sent_workspace import (
    FAILED_LOOK_MS,
    FIRST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    SentWorkspace,
    waiting,
)
from server.logs import LOGGER
from server.metrics import Metrics
from server.mirror.behind import WEBHOOKS, BehindStates
from server.mirror.contact import WEBHOOKS_CONTACT, Contact, ContactPage
from server.mirror.mirror import POLL_SECONDS as BUCKET_POLL_SECONDS
from server.states.mail_watch import MailWatch
from server.states.states import States
from server.states.table import RECEIVER
from server.tracing.posts import traced
from server.tracing.spans import SpanFiles
from server.workspaces.workspaces import POLL_SECONDS
from snapshots.problems import ParquetryError
from snapshots.store.changes import changes_document
from snapshots.store.store import Store
from snapshots.times import format_datetime

LOOK_MS: Final = 1_000
"""Milliseconds between two looks at webhooks.json in a directory: edits are in force after as long."""
TURN_MS: Final = 300_000
"""Milliseconds between two looks at a webhooks.json in a bucket, where each costs a request, of which no change was
announced: at that of the workspace which was not looked at the longest."""
SETTLING_MS: Final = int(2 * POLL_SECONDS * 1000)
BUCKET_SETTLING_MS: Final = int(2 * BUCKET_POLL_SECONDS * 1000)
"""Milliseconds after which the other readers of a version serve it too: two polls, of a directory or of a bucket."""
MOST_AT_ONCE: Final = 32
"""Tries at the same time, each in a thread."""
MOST_OF_ONE: Final = 8
"""Tries of one workspace at the same time: receivers that hang leave threads to the other workspaces."""
STOP_SECONDS: Final = 5.0

_log = logging.getLogger(LOGGER)


class _Due(msgspec.Struct, frozen=True):
    """A piece of work that is due for an endpoint."""

    workspace: SentWorkspace
    endpoint: Endpoint
    at: int
    """When it is due, UTC milliseconds."""
    work: Callable[[], None]


class WebhookSending:
    """Sends the webhooks of all workspaces of a store between ``start`` and ``stop``.

    ``store`` is what this machine reads, and ``shared`` what all machines do: the same, but for the mirror of a bucket.
    """

    def __init__(
        self,
        store: Store,
        shared: Store,
        workspaces: KeptWorkspaces,
        *,
        holds: Callable[[], bool],
        readers: int,
        allow_loopback: bool,
        smtp_url: str | None,
        metrics: Metrics | None,
        states: States,
        watch: MailWatch,
        clock: Callable[[], int],
        spans: SpanFiles | None = None,
        hint: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``holds`` tells whether this machine is the one that sends; it may raise ``StoreError``. ``spans`` takes what
        is recorded of each try, where traces are on. ``hint`` returns
        what stands for the last change in a bucket, ``None`` for a store in a directory."""
        self._store = store
        self._objects = shared.objects
        self._hint = hint
        self._hinted: str | None = None
        """The hint that was followed last."""
        self._turn_at = 0
        self._workspaces = workspaces
        self._bucket = shared.bucket
        self._settling = SETTLING_MS if readers > 1 else 0
        if shared.bucket is not None:
            self._settling = BUCKET_SETTLING_MS
        self._metrics = metrics
        self._spans = spans
        self._clock = clock
        self._holds = holds
        self._states = states
        self._owners = OwnersMail(smtp_url, clock, watch)
        self._kept = ComparedFiles()
        self._is_sender = False
        self._sent_workspaces: dict[str, SentWorkspace] = {}
        self._complaints: dict[str, str] = {}
        self._unread: set[str] = set()
        """The workspaces whose webhooks could not be read in the last round."""
        self._page = ContactPage(store.root, WEBHOOKS_CONTACT)
        self._behind = BehindStates({WEBHOOKS: 2 * FAILED_LOOK_MS})
        self._told_behind: dict[str, dict[str, int]] | None = None
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._client = WebhookClientThread(allow_loopback=allow_loopback)
        # Daemons: a receiver that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self) -> None:
        """Break off the tries under way, which are made again at the next start."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._client.stop()
            self._thread.join(STOP_SECONDS)

    def round(self) -> float:
        """Begin all that is due; return the seconds until something may be due next."""
        now = self._clock()
        workspaces = [self._workspace(source) for source in self._workspaces.all()]
        sent = self._sent(workspaces, now)
        self._note_waiting(workspaces, sent, now)
        latest = now + int(POLL_SECONDS * 1000)
        due = [one for workspace in sent for one in self._due(workspace, now)]
        self._begin(sorted((one for one in due if one.at <= now), key=lambda one: one.at))
        # What comes later is known; that another version is served is only seen by looking.
        return (min([latest, *(one.at for one in due if one.at > now)]) - now) / 1000

    def _run(self) -> None:
        while not self._stopping.is_set():
            has_failed = True
            try:
                pause = self.round()
                has_failed = False
            except (ParquetryError, OSError) as error:
                self._complain("", f"webhooks wait: {error}")
                pause = FIRST_PAUSE_MS / 1000
            except Exception:
                _log.exception("sending webhooks failed; it is tried again")
                pause = LONGEST_PAUSE_MS / 1000
            else:
                self._complaints.pop("", None)
            self._states.only(WEBHOOKS, dict.fromkeys(self._unreadable(has_failed=has_failed)))
            if self._bucket is not None:
                with suppress(OSError):  # the log tells it
                    self._tell_behind(has_failed=has_failed)
            self._wake.wait(pause)
            self._wake.clear()

    def _tell_behind(self, *, has_failed: bool) -> None:
        """Write, where it has changed, of which workspaces the webhooks wait for the store. Raises ``OSError``."""
        found = self._unreadable(has_failed=has_failed)
        behind = self._behind.told([(name, WEBHOOKS) for name in found], self._clock())
        if behind != self._told_behind:
            self._page.write(Contact(behind=behind))
            self._told_behind = behind

    def _unreadable(self, *, has_failed: bool) -> set[str]:
        """Return the workspaces of which the webhooks could not be read or written in the last round."""
        failed = [one.id for one in self._sent_workspaces.values() if one.endpoints] if has_failed else []
        return {*self._unread, *failed}

    def _sent(self, workspaces: list[SentWorkspace], now: int) -> list[SentWorkspace]:
        """Return the workspaces with webhooks, as far as they can be read; none where another machine sends them."""
        was_sender, self._is_sender = self._is_sender, False  # until it is known
        self._unread = set()
        if not self._holds():
            return []
        self._is_sender = True
        if not was_sender:  # the one before may have told more than was read
            for one in workspaces:
                one.looked_at = None
        if self._bucket is not None:
            self._follow(workspaces, now)
        return [one for one in workspaces if self._has_endpoints(one, now)]

    def _follow(self, workspaces: list[SentWorkspace], now: int) -> None:
        """Make the webhooks in a bucket be read again of workspaces with an announced change, and of one workspace in
        turn."""
        hint = self._hint()
        if hint != self._hinted:
            changes = changes_document(self._objects).read()
            for one in workspaces:
                if one.change != changes.get(one.id):
                    one.change, one.looked_at = changes.get(one.id), None
            self._hinted = hint
        if workspaces and not 0 <= now - self._turn_at < TURN_MS:
            self._turn_at = now
            min(workspaces, key=lambda one: one.last_look(now)).looked_at = None

    def _note_waiting(self, workspaces: list[SentWorkspace], sent: list[SentWorkspace], now: int) -> None:
        """Note what waits of each workspace here, and of one that is not sent here any more nothing."""
        here = set(sent)
        oldest = {one.id: int(waiting(one.endpoints, now)[1] * 1000) for one in here}
        self._states.only(RECEIVER, {name: age for name, age in oldest.items() if age > 0})
        untold = {one.id for work in here for one in work.endpoints if one.stopped is not None and not one.stopped.told}
        self._owners.wait_only_for(untold)
        if self._metrics is None:
            return
        for workspace in workspaces:
            found = waiting(workspace.endpoints, now) if workspace in here else (0, 0.0)
            if found != workspace.waiting and (workspace in here or workspace.waiting is not None):
                self._metrics.webhooks_waiting(workspace.id, *found)
                workspace.waiting = found

    def _has_endpoints(self, workspace: SentWorkspace, now: int) -> bool:
        """Whether there is anything to send for a workspace, as far as that can be read."""
        try:
            workspace.look(now, LOOK_MS if self._bucket is None else None)
        except ParquetryError as error:  # the other workspaces have their turn all the same
            self._complain(workspace.id, f"{workspace.id}: webhooks wait: {error}")
            self._unread.add(workspace.id)
            return False
        self._complaints.pop(workspace.id, None)
        return bool(workspace.endpoints)

    def _due(self, workspace: SentWorkspace, now: int) -> Iterator[_Due]:
        """Return what is due in a workspace, or will be, as far as that can be told of its endpoints."""
        for endpoint in workspace.endpoints:
            # One that rests for longer does so by a clock that was set back since.
            if endpoint.id in workspace.outdated or 0 < workspace.resting.get(endpoint.id, now) - now <= AGAIN_MS:
                continue
            where = f"{workspace.id}: webhook {endpoint.id}"
            try:
                found = self._due_of(workspace, endpoint, now)
            except Exception as error:  # the others have their turn all the same
                self._failed(workspace, endpoint, where, error)
            else:
                if found is not None:
                    yield found

    def _due_of(self, workspace: SentWorkspace, endpoint: Endpoint, now: int) -> _Due | None:
        if endpoint.stopped is not None:
            if endpoint.stopped.told:
                return None
            return _Due(workspace, endpoint, endpoint.stopped.at, lambda: self._notify_owners(workspace, endpoint))
        served = workspace.served(now, self._settling)
        at = None if served is None else workspace.dispatcher.due_at(endpoint, served, now)
        if served is None or at is None:
            return None
        return _Due(workspace, endpoint, at, lambda: self._deliver(workspace, endpoint, served))

    def _begin(self, due: list[_Due]) -> None:
        """Begin what is due as far as there are places, always for the workspace that has the fewest.

        What is left is looked at again when a try ends.
        """
        queues: dict[str, list[_Due]] = {}
        for one in reversed(due):
            queues.setdefault(one.workspace.id, []).append(one)
        for _ in range(MOST_AT_ONCE - sum(len(one.busy) for one in self._sent_workspaces.values())):
            open_queues = [queue for queue in queues.values() if queue and len(queue[-1].workspace.busy) < MOST_OF_ONE]
            if not open_queues:
                return
            self._in_thread(min(open_queues, key=lambda queue: (len(queue[-1].workspace.busy), queue[-1].at)).pop())

    def _in_thread(self, due: _Due) -> None:
        workspace, endpoint = due.workspace, due.endpoint
        where = f"{workspace.id}: webhook {endpoint.id}"

        def run() -> None:
            try:
                due.work()
            except CancelledError:
                pass  # the server ends
            except Exception as error:
                self._failed(workspace, endpoint, where, error)
            else:
                self._complaints.pop(where, None)
                workspace.pauses.pop(endpoint.id, None)
            finally:
                workspace.looked_at = None
                workspace.busy.discard(endpoint.id)
                self._wake.set()

        workspace.busy.add(endpoint.id)
        try:
            threading.Thread(target=run, name=f"webhook-{endpoint.id}", daemon=True).start()
        except RuntimeError as error:  # the machine has no thread left
            workspace.busy.discard(endpoint.id)
            self._failed(workspace, endpoint, where, error)

    def _failed(self, workspace: SentWorkspace, endpoint: Endpoint, where: str, error: Exception) -> None:
        """Leave an endpoint alone for a while, after an error of ours."""
        if isinstance(error, ParquetryError | OSError):
            self._complain(where, f"{where} waits: {error}")
        else:
            _log.error("%s: sending to it failed; it is tried again", where, exc_info=error)
        workspace.rest(endpoint.id, self._clock())

    def _deliver(self, workspace: SentWorkspace, endpoint: Endpoint, served: ActiveVersion) -> None:
        post = self._client.post if self._spans is None else traced(self._client.post, self._spans, workspace.id)
        delivery = workspace.dispatcher.deliver(endpoint, served, post)
        if delivery is not None:
            if self._metrics is not None:
                self._metrics.webhook("accepted" if delivery.result.accepted else "failed")
            log_delivery(workspace.id, delivery)

    def _notify_owners(self, workspace: SentWorkspace, endpoint: Endpoint) -> None:
        served = workspace.source.served
        if served is not None:
            definitions = workspace.source.workspace_store.manifest(served.version).workspace
            if not self._owners.notify(definitions, workspace.file, endpoint):
                workspace.resting[endpoint.id] = self._clock() + AGAIN_MS

    def _workspace(self, source: KeptWorkspace) -> SentWorkspace:
        if source.id not in self._sent_workspaces:
            file = WebhooksFile(self._objects, source.id)
            # With the versions that the mirror has dropped: a receiver may have been out of reach for many of them.
            workspace_store = replace(self._store.workspace(source.id), bucket=self._bucket)
            dispatcher = Dispatcher(workspace_store, file, lambda: source.keys, self._kept, clock=self._clock)
            self._sent_workspaces[source.id] = SentWorkspace(source, file, dispatcher)
        return self._sent_workspaces[source.id]

    def _complain(self, where: str, complaint: str) -> None:
        if self._complaints.get(where) != complaint:
            _log.error("%s", complaint)
        self._complaints[where] = complaint


def log_delivery(workspace: str, delivery: WebhookDelivery) -> None:
    """Log the outcome of a try. Neither URLs nor secrets stand in it."""
    endpoint, result = delivery.endpoint, delivery.result
    where, what = f"{workspace}: webhook {endpoint.id}", ", ".join(delivery.subjects)
    if result.accepted:
        _log.info("%s told: %s (%s)", where, what, result.status)
    elif endpoint.state is EndpointState.GONE:
        _log.error("%s answered 410 and is disabled: `cms webhook enable %s` enables it", where, endpoint.id)
    elif endpoint.state is EndpointState.GIVEN_UP:
        _log.error("%s is given up and disabled: %s", where, result.refusal)
    else:
        pending = endpoint.pending
        following = format_datetime(pending.next_at) if pending is not None else "-"
        failures = pending.failures if pending is not None else 0
        _log.warning("%s not told: %s (try %d, next %s): %s", where, what, failures, following, result.refusal)

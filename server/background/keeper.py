"""The keeper: one process of a machine and cache directory that does all that is not answering requests.

It files page views or gathers them with those of other machines, mirrors a bucket, sends webhooks and expiry e-mails,
tells the store what is served, and makes the pages of the console. Of several servers over one cache each has such a
process; the one that has the lock works, and another takes over when it is gone. Each serves its own server's
console.
"""

from __future__ import annotations

import logging
import logging.config
import multiprocessing
import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from engine.access.sign_in.sign_ins import SignIns
from server.background.election import Election
from server.background.expiry_mail import LOOK_SECONDS as MAIL_LOOK_SECONDS
from server.background.expiry_mail import ExpiryMailing
from server.background.heartbeat import LOOK_SECONDS as HEARTBEAT_SECONDS
from server.background.heartbeat import Heartbeat
from server.background.last_use import FOLD_SECONDS, fold_last_uses
from server.background.late_audit_lines import LOOK_SECONDS as AUDIT_SECONDS
from server.background.late_audit_lines import LateAuditLines
from server.background.presence import keeper_lock
from server.background.served import KeptWorkspaces
from server.background.views.gathering_process import MachineViews, gather_views
from server.background.views.writer_process import write_views
from server.background.webhooks.sender import WebhookSending
from server.logs import LOGGER
from server.metrics import KEEP_SECONDS, Metrics
from server.mirror.following import follow
from server.mirror.freshness import Freshness
from server.mirror.held import HeldPage
from server.mirror.mirror import Mirror
from server.processes.child import tell_ready, when_retired
from server.processes.repeating import attempt, repeat
from server.processes.standing_back import stand_back
from server.settings import Settings
from server.states.clock_watch import steady_ms
from server.states.mail_watch import ASK_SECONDS as MAIL_ASK_SECONDS
from server.states.mail_watch import MailWatch
from server.states.pages import StatesPage
from server.states.states import States
from server.states.table import LAST_USE, REPORT, SIGN_IN
from server.tracing.spans import SpanFiles
from snapshots.locks import FileLock
from snapshots.problems import ParquetryError
from snapshots.store.buckets.bucket_url import is_bucket
from snapshots.store.durable import StoreError, keep_from_others, make_directory, writing
from snapshots.store.objects import Objects
from snapshots.store.store import Store
from snapshots.times import now_ms

NICENESS: Final = 10
"""The niceness of the keeper: it shares the processors with the answers."""
NAME: Final = "cms-keeper"
"""The name of the process."""
LOOK_SECONDS: Final = 0.25
"""Seconds between two tries to get the lock, or the lease of a bucket."""
HELD_SECONDS: Final = 1.0
"""Seconds between two looks whether the lock is still there."""
SIGNAL_SECONDS: Final = 1.0
"""Seconds after which a signal is acted upon that came in the instant before a wait began, and so interrupted none."""
STATES_SECONDS: Final = 0.5
"""Seconds between two looks whether something else is wrong now."""
SIGN_INS_SECONDS: Final = 10.0
BUCKET_SIGN_INS_SECONDS: Final = 60.0
"""Seconds between two looks whether the console's sign-ins can be read; in a bucket each costs a request."""
LAST_SECONDS: Final = 10.0
"""Seconds after which a keeper ends that nobody is left to end, whatever it does."""

_log = logging.getLogger(LOGGER)


Work: TypeAlias = Callable[[threading.Event], None]
"""A part of the keeper's work, until its event is set."""


class KeeperFailed(Exception):
    """A part of the keeper's work has ended with an error, which is logged: another keeper is to begin anew."""


class Socket(msgspec.Struct, frozen=True):
    """Where a server's workers reach its console."""

    listener: socket.socket
    folder: Path
    """The directory in which the socket is alone; it goes with the server."""

    @property
    def path(self) -> str:
        """The address of the socket."""
        return str(self.folder / "console")


def keep(settings: Settings, log: dict[str, Any], console: Socket | None) -> None:
    """Run the keeper's process until SIGTERM; ``log`` is the configuration of the log. Ends with status 1 where it
    cannot go on."""
    keep_from_others()
    logging.config.dictConfig(log)
    stand_back(NICENESS)
    with suppress(OSError):  # the name that `ps` shows; Linux only
        Path("/proc/self/comm").write_text(NAME, encoding="ascii")
    stopping = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the server, which tells this process
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    states = States("keeper", steady_ms)
    watch = MailWatch(settings.smtp_url, states)
    leaving = threading.Event()
    when_retired(leaving.set)
    works: list[Work] = [
        partial(_work_until, leaving, partial(_work_with_the_lock, settings, states, watch)),
        partial(_pass_on, leaving),
        # What a retired keeper found wrong, only the new one learns to be well again.
        partial(_work_until, leaving, partial(_tell_states, StatesPage(settings.open_store(), states, steady_ms))),
    ]
    if settings.smtp_url is not None:
        works.append(_repeated(watch.ask_again, MAIL_ASK_SECONDS, "the mail server cannot be asked: %s"))
    if console is None:
        tell_ready()
    else:
        works.append(partial(_serve_console, settings, console.listener, watch))
        works.append(_looking_at_sign_ins(settings, states))
        works.append(partial(_clear, console))
    succeeded = _do_all(works, stopping)
    if console is not None:
        _remove_where_left(console)
    if not succeeded:
        raise SystemExit(1)


def _do_all(works: Sequence[Work], stopping: threading.Event) -> bool:
    """Do each in a thread of its own until ``stopping`` is set, which happens too where one fails. Return whether none
    did."""
    failed = threading.Event()

    def guarded(work: Work) -> None:
        try:
            work(stopping)
        except Exception as error:
            if not isinstance(error, KeeperFailed):
                _log.exception("the keeper cannot go on")
            failed.set()
            stopping.set()

    threads = [threading.Thread(target=guarded, args=(work,), name="keeper") for work in works]
    for thread in threads:
        thread.start()
    while not stopping.wait(SIGNAL_SECONDS):
        pass
    last = threading.Timer(LAST_SECONDS, os._exit, (1,))
    last.daemon = True
    last.start()
    for thread in threads:
        thread.join()
    last.cancel()
    return not failed.is_set()


def _tell_states(page: StatesPage, stopping: threading.Event) -> None:
    """Write the page of what is wrong, which the server's process writes about if that cannot be done."""
    trouble = "the keeper cannot say how it is: %s"
    repeat(page.write, STATES_SECONDS, stopping, trouble=trouble, level=logging.DEBUG)
    page.take_back()


def _looking_at_sign_ins(settings: Settings, states: States) -> Work:
    objects = settings.open_shared_store().objects
    seconds = BUCKET_SIGN_INS_SECONDS if is_bucket(settings.store) else SIGN_INS_SECONDS
    look = _noted(states, SIGN_IN, SignIns(objects).check)
    return _repeated(look, seconds, "nobody can sign in to the console: %s")


def _noted(states: States, what: str, step: Callable[[], None]) -> Callable[[], None]:
    """Return a step that notes by its outcome how something is."""

    def noted() -> None:
        with states.trying(what):
            step()

    return noted


def _pass_on(leaving: threading.Event, stopping: threading.Event) -> None:
    """End the work that ``leaving`` ends together with all else."""
    stopping.wait()
    leaving.set()


def _work_until(leaving: threading.Event, work: Work, _stopping: threading.Event) -> None:
    """Do the work until ``leaving`` is set: at the end, or once the keeper of another server has taken over, while
    workers of this one still need their console."""
    work(leaving)


def _serve_console(settings: Settings, listener: socket.socket, watch: MailWatch, stopping: threading.Event) -> None:
    from server.console.process.serving import serve_console  # noqa: PLC0415 - half a second, where the console is on

    serve_console(settings, listener, watch, stopping, tell_ready)


def _clear(console: Socket, stopping: threading.Event) -> None:
    """Remove the directory of the socket that a killed server left, while other parts may take all the time there is.

    The keeper does so once more when they have ended: a server may be going at this instant.
    """
    stopping.wait()
    _remove_where_left(console)


def _remove_where_left(console: Socket) -> None:
    server = multiprocessing.parent_process()
    if server is None or not server.is_alive():
        shutil.rmtree(console.folder, ignore_errors=True)


def _work_with_the_lock(settings: Settings, states: States, watch: MailWatch, stopping: threading.Event) -> None:
    """Wait for the lock, and do the keeper's work as long as it is held."""
    store = settings.open_store()
    shared = settings.open_shared_store()
    lock = keeper_lock(store)
    election: Election | None = None
    complaint: str | None = None
    while True:
        try:
            if store.root.is_dir():  # or the lock would make it
                with writing(store.cache):
                    make_directory(store.cache)
                    if lock.take() and shared.bucket is not None:
                        election = Election(shared.objects, store.cache, now_ms)
        except StoreError as error:
            lock.leave()
            if str(error) != complaint:
                _log.error("page views, webhooks and expiry e-mails wait: %s", error)
            complaint = str(error)
        if lock.is_held:
            break
        if stopping.wait(LOOK_SECONDS):
            return
    try:
        _keep(settings, states, watch, store, shared, election, lock, stopping)
    finally:
        lock.leave()


def _keep(
    settings: Settings,
    states: States,
    watch: MailWatch,
    store: Store,
    shared: Store,
    election: Election | None,
    lock: FileLock,
    stopping: threading.Event,
) -> None:
    metrics = Metrics() if settings.metrics else None
    holds = _always if election is None else election.holds
    works: list[Work] = [
        partial(_hold, lock),
        *(
            _in_a_directory(settings, store)
            if election is None
            else _in_a_bucket(settings, store, shared.objects, election)
        ),
        partial(_send_webhooks, settings, store, shared, metrics, states, watch, holds),
        partial(_mail, ExpiryMailing(store, shared, settings.smtp_url, holds, now_ms, watch)),
        partial(_tell_readers, Heartbeat(store, shared.objects, now_ms), states),
        _repeated(
            _noted(states, LAST_USE, partial(fold_last_uses, store, now_ms)),
            FOLD_SECONDS,
            "last uses of keys cannot be folded: %s",
        ),
    ]
    if settings.traces is not None:
        works.append(partial(_export_spans, store, settings.traces, states))
    if metrics is not None:
        works.append(_repeated(metrics.note_memory, KEEP_SECONDS, "metrics cannot be written: %s"))
    if not _do_all(works, stopping):
        raise KeeperFailed
    if election is not None:
        attempt(election.leave, "the lease of this machine cannot be given back: %s")


def _hold(lock: FileLock, stopping: threading.Event) -> None:
    """Wait for the end of the keeper, which comes where its lock is deleted: with the cache, in which others work, too,
    from then on."""
    while not stopping.wait(HELD_SECONDS):
        if lock.is_lost():
            _log.error("the cache directory was deleted: the keeper begins anew")
            raise KeeperFailed


def _in_a_directory(settings: Settings, store: Store) -> list[Work]:
    late = LateAuditLines(store)
    return [
        partial(write_views, store.root, settings.views_retention_days),
        _repeated(late.look, AUDIT_SECONDS, "the audit log waits: %s", logging.DEBUG),  # others log it at once
    ]


def _in_a_bucket(settings: Settings, store: Store, bucket: Objects, election: Election) -> list[Work]:
    mirror = Mirror(bucket, store, now_ms, settings.kept_seconds * 1000)
    views = MachineViews(bucket, store, settings.views_retention_days, election.holds)
    return [
        partial(follow, mirror),
        _repeated(election.renew, LOOK_SECONDS, "the lease waits: %s", logging.DEBUG),  # whoever needs it logs it
        partial(gather_views, views),
    ]


def _repeated(step: Callable[[], None], seconds: float, trouble: str, level: int = logging.ERROR) -> Work:
    return lambda stopping: repeat(step, seconds, stopping, trouble=trouble, level=level)


def _send_webhooks(
    settings: Settings,
    store: Store,
    shared: Store,
    metrics: Metrics | None,
    states: States,
    watch: MailWatch,
    holds: Callable[[], bool],
    stopping: threading.Event,
) -> None:
    freshness, held_page = None, None
    if shared.bucket is not None:
        freshness, held_page = Freshness(store, None, now_ms), HeldPage(store.root)
    sending = WebhookSending(
        store,
        shared,
        KeptWorkspaces(store, held_page, now_ms),
        holds=holds,
        readers=settings.workers,
        allow_loopback=settings.webhook_allow_loopback,
        smtp_url=settings.smtp_url,
        metrics=metrics,
        states=states,
        watch=watch,
        spans=None if settings.traces is None else SpanFiles(store),
        clock=now_ms,
        hint=lambda: None if freshness is None else freshness.contact().hint or "",
    )
    sending.start()
    stopping.wait()
    sending.stop()


def _export_spans(store: Store, address: str, states: States, stopping: threading.Event) -> None:
    from server.tracing.exporting import export_spans  # noqa: PLC0415 - where traces are on

    export_spans(store, address, states, stopping)


def _mail(mailing: ExpiryMailing, stopping: threading.Event) -> None:
    repeat(partial(mailing.round, stopping), MAIL_LOOK_SECONDS, stopping, trouble="expiry e-mails wait: %s")


def _tell_readers(heartbeat: Heartbeat, states: States, stopping: threading.Event) -> None:
    trouble = "this server cannot report to the console's page of readers: %s"
    repeat(_noted(states, REPORT, heartbeat.write), HEARTBEAT_SECONDS, stopping, trouble=trouble, level=logging.INFO)
    with suppress(ParquetryError, OSError):
        heartbeat.take_back()


def _always() -> bool:
    return True

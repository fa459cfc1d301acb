"""Expiry e-mails from the server: once an hour, by one machine of all that serve a store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from threading import Event

from engine.access.expiry.ledger import LedgerFile, RoundUnderWay
from engine.access.expiry.notices import Round, due_mails, may_be_due, send_due_mails
from engine.access.keys.access import AccessFile
from engine.access.keys.keys import Key
from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer
from server.logs import LOGGER
from server.states.mail_watch import MailWatch
from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.store.store import Store, WorkspaceStore

ROUND_SECONDS = 3600.0
LOOK_SECONDS = 30.0
"""Seconds after which it is looked again where there was no workspace, another machine sends, or the mail server could
not be used."""

_log = logging.getLogger(LOGGER)


class ExpiryMailing:
    """Sends the e-mails that are due, round by round; without a mail server, the log names them."""

    def __init__(
        self,
        store: Store,
        shared: Store,
        smtp_url: str | None,
        holds: Callable[[], bool],
        clock: Callable[[], int],
        watch: MailWatch,
    ) -> None:
        """``store`` is read on this machine, and ``shared`` by all: they differ where the store is in a bucket.
        ``holds`` tells whether this machine is the one that sends; it may raise ``StoreError``. ``watch`` notes how the
        mail server is."""
        self._watch = watch
        self._returns = watch.returns
        """How often the mail server had come back at the last look."""
        self._due_at: int | None = None
        """When the next round is due, UTC milliseconds; ``None`` to look now."""
        self._unread: dict[str, str] = {}
        """The workspaces that could not be read at the last look, and why: they are looked at again before the hour."""
        self._store = store
        self._shared = shared
        self._server = parse_mail_server(smtp_url) if smtp_url else None
        self._holds = holds
        self._clock = clock
        self._ledgers: dict[str, LedgerFile] = {}
        """Of each workspace, for as long as this server runs: it remembers since when another machine is sending."""

    def round(self, stopping: Event) -> float:
        """Send what is due in all workspaces, until ``stopping`` is set; return the seconds until this is to be called
        again. Does so once an hour, and when a mail server that could not be used can be; a workspace whose keys,
        version or notes of letters cannot be read is looked at again each time.

        Raises ``StoreError`` where the store cannot be looked at.
        """
        now, due_at = self._clock(), self._due_at
        returns, self._returns = self._returns, self._watch.returns
        is_due = due_at is None or not 0 < due_at - now <= ROUND_SECONDS * 1000 or returns != self._returns
        if not is_due and not self._unread:
            return LOOK_SECONDS
        self._due_at = None
        names = self._store.workspaces() if self._holds() else []
        self._watch.only(names)
        unread, self._unread = self._unread, {}
        for name in names if is_due else [name for name in names if name in unread]:
            if stopping.is_set():
                break
            try:
                self._tell(self._store.workspace(name))
            except RoundUnderWay:
                if name in unread:  # nothing of it was read this time either
                    self._unread[name] = unread[name]
            except ParquetryError as error:
                self._watch.failed(error, name)
                self._unread[name] = str(error)
                if unread.get(name) != str(error):
                    _log.error("%s: expiry e-mails wait: %s", name, error)
            except Exception:
                _log.exception("%s: sending expiry e-mails failed; it is tried again in an hour", name)
        if names:
            self._due_at = now + int(ROUND_SECONDS * 1000) if is_due else due_at
        return LOOK_SECONDS

    def _tell(self, workspace_store: WorkspaceStore) -> None:
        current = workspace_store.current()
        if current is None:
            self._watch.nothing_left(workspace_store.id)
            return
        workspace = workspace_store.manifest(current.version).workspace
        now = self._clock()
        access = AccessFile(workspace_store).read()
        keys = access.keys if access else ()
        if not may_be_due(workspace, keys, now):
            self._watch.nothing_left(workspace.id)
            return
        if workspace_store.id not in self._ledgers:
            self._ledgers[workspace_store.id] = LedgerFile(self._shared.workspace(workspace_store.id))
        ledger = self._ledgers[workspace_store.id]
        if self._server is None:
            self._tell_the_log(workspace, keys, ledger, now)
            self._watch.nothing_left(workspace.id)
            return
        with Mailer(self._server) as mailer:
            done = send_due_mails(workspace, ledger, mailer, now, self._clock)
        log_round(workspace, done)
        if done.failure is not None:
            self._watch.failed(done.failure, workspace.id)
        elif done.sent:
            self._watch.delivered(workspace.id)
        else:
            self._watch.nothing_left(workspace.id)

    def _tell_the_log(self, workspace: Workspace, keys: Iterable[Key], ledger: LedgerFile, now: int) -> None:
        due = due_mails(workspace, keys, ledger.read(), now)
        for key, until in dict.fromkeys((mail.key, mail.until) for mail in due):
            _log.warning(
                "%s: key %s expires on %s, and nobody can be told: CMS_SMTP_URL is not set",
                workspace.id,
                key.prefix,
                until,
            )


def log_round(workspace: Workspace, done: Round) -> None:
    """Log the result of one round, with every e-mail that did not get through."""
    for mail in done.sent:
        _log.info(
            "%s: told one %s that key %s expires on %s", workspace.id, mail.member.role, mail.key.prefix, mail.until
        )
    for mail, reason in done.refused:
        _log.error(
            "%s: could not tell %s that key %s expires on %s, trying again in an hour: %s",
            workspace.id,
            mail.member.email,
            mail.key.prefix,
            mail.until,
            reason,
        )
    for lost, record in done.given_up:
        _log.error(
            "%s: gave up telling %s that key %s expired on %s, after %d attempts: %s",
            workspace.id,
            lost.address,
            lost.key,
            lost.until,
            record.attempts,
            record.refusal or "the process ended each time",
        )
    for key in done.unheard:
        _log.warning("%s: key %s expires soon, and no owner or maintainer is named", workspace.id, key.prefix)

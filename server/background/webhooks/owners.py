"""Owners are told by e-mail of webhooks that were given up; without a mail server, the log alone tells it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from typing import Final

from msgspec.structs import replace

from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer, MailRefused, MailServerError
from engine.webhooks.endpoint import Endpoint
from engine.webhooks.letter import given_up_letter, owners
from engine.webhooks.webhooks_file import Endpoints, WebhooksFile
from server.logs import LOGGER
from server.states.mail_watch import MailWatch
from snapshots.model import Member, Workspace

_log: Final = logging.getLogger(LOGGER)


AGAIN_MS: Final = 3_600_000
"""Milliseconds after which a letter is tried again that was not taken."""
PATIENCE_MS: Final = 7 * 86_400_000
"""Milliseconds after which a letter that was never taken is given up."""


class OwnersMail:
    """Sends one letter to each owner, and notes when all have theirs."""

    def __init__(self, smtp_url: str | None, clock: Callable[[], int], watch: MailWatch) -> None:
        self._watch = watch
        self._server = parse_mail_server(smtp_url) if smtp_url else None
        self._clock = clock
        self._lock = threading.Lock()
        self._told: set[tuple[str, int, str]] = set()
        """Who got a letter of which others wait: (endpoint, when it was given up, address)."""

    def wait_only_for(self, endpoints: Collection[str]) -> None:
        """Note that letters are due about these endpoints alone: of others, none waits."""
        self._watch.only(endpoints, "webhooks")
        with self._lock:
            self._told = {one for one in self._told if one[0] in endpoints}

    def notify(self, workspace: Workspace, file: WebhooksFile, endpoint: Endpoint) -> bool:
        """Tell those owners who were not told yet that an endpoint was given up; return whether nobody is left to be
        told. Otherwise, this is to be called again after ``AGAIN_MS``.

        Raises ``MailServerError`` while no mail can be sent at all, to be called again then.
        """
        people = owners(workspace)
        stopped_at = 0 if endpoint.stopped is None else endpoint.stopped.at
        is_told = True
        if self._server is None or not people:
            reason = "CMS_SMTP_URL is not set" if people else "the workspace names no owner"
            _log.warning("%s: nobody can be told that webhook %s was given up: %s", workspace.id, endpoint.id, reason)
        else:
            with Mailer(self._server) as mailer:
                for member in people:
                    whose = (endpoint.id, stopped_at, member.email.lower())
                    if whose not in self._told and not self._tell(mailer, workspace, endpoint, member):
                        is_told = False
                        continue
                    with self._lock:
                        self._told.add(whose)
        if not is_told and self._clock() < stopped_at + PATIENCE_MS:
            return False
        file.edit(lambda endpoints: (_noted(endpoints, endpoint.id), None))
        return True

    def _tell(self, mailer: Mailer, workspace: Workspace, endpoint: Endpoint, member: Member) -> bool:
        """Send one letter; return whether it is not to be tried again."""
        try:
            letter = given_up_letter(workspace, endpoint, member, mailer.server.sender, self._clock())
        except ValueError as error:
            _log.error("%s: could not tell %s of a webhook: %s", workspace.id, member.email, error)
            return True
        try:
            mailer.send(letter)
        except (MailServerError, MailRefused) as error:
            self._watch.failed(error, endpoint.id, "webhooks")
            if isinstance(error, MailServerError):
                raise
            told = "%s: could not tell %s of a webhook, trying again in an hour: %s"
            _log.error(told, workspace.id, member.email, error)
            return False
        self._watch.delivered()
        _log.info("%s: told an owner that webhook %s was given up", workspace.id, endpoint.id)
        return True


def _noted(endpoints: Endpoints, endpoint_id: str) -> Endpoints:
    return tuple(
        replace(one, stopped=replace(one.stopped, told=True))
        if one.id == endpoint_id and one.stopped is not None
        else one
        for one in endpoints
    )

"""Owners are told by e-mail of webhooks that were given up; without a mail server, the log alone tells it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer, MailRefused, MailServerError
from engine.webhooks.endpoint import Endpoint
from engine.webhooks.letter import given_up_letter, owners
from engine.webhooks.webhooks_file import Endpoints, WebhooksFile
from server.logs import LOGGER
from server.states.mail_watch import MailWatch
from snapshots.model import Workspace

_log: Final = logging.getLogger(LOGGER)


class OwnersMail:
    """Sends one letter to each owner, and notes that it did."""

    def __init__(self, smtp_url: str | None, clock: Callable[[], int], watch: MailWatch) -> None:
        self._watch = watch
        self._server = parse_mail_server(smtp_url) if smtp_url else None
        self._clock = clock

    def notify(self, workspace: Workspace, file: WebhooksFile, endpoint: Endpoint) -> None:
        """Tell the owners that an endpoint was given up.

        Raises ``MailServerError`` while no mail can be sent at all, to be called again then.
        """
        people = owners(workspace)
        if self._server is None or not people:
            reason = "CMS_SMTP_URL is not set" if people else "the workspace names no owner"
            _log.warning("%s: nobody can be told that webhook %s was given up: %s", workspace.id, endpoint.id, reason)
        else:
            with Mailer(self._server) as mailer:
                for member in people:
                    try:
                        mailer.send(given_up_letter(workspace, endpoint, member, self._server.sender, self._clock()))
                        self._watch.delivered()
                        _log.info("%s: told an owner that webhook %s was given up", workspace.id, endpoint.id)
                    except MailServerError as error:
                        self._watch.failed(error)
                        raise
                    except (MailRefused, ValueError) as error:
                        _log.error("%s: could not tell %s of a webhook: %s", workspace.id, member.email, error)
        file.edit(lambda endpoints: (_noted(endpoints, endpoint.id), None))


def _noted(endpoints: Endpoints, endpoint_id: str) -> Endpoints:
    return tuple(
        replace(one, stopped=replace(one.stopped, told=True))
        if one.id == endpoint_id and one.stopped is not None
        else one
        for one in endpoints
    )

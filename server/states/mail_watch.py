"""Whether the mail server takes letters: noted with each letter, and asked again while it did not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer, MailLost, MailServerError
from server.logs import LOGGER
from server.states.states import States
from server.states.table import MAIL

ASK_SECONDS: Final = 30.0
"""Seconds between two looks whether a mail server that could not be used can be used again."""

Subject: TypeAlias = Literal["expiry", "webhooks"]
"""What letters that are tried again are about."""

_log = logging.getLogger(LOGGER)


class MailWatch:
    """Notes for one process how the mail server is. Any number of threads may use it."""

    def __init__(self, smtp_url: str | None, states: States) -> None:
        self._server: Final = parse_mail_server(smtp_url) if smtp_url else None
        self._states = states
        self._lock = threading.Lock()
        self._is_away = False
        self._undelivered: set[tuple[Subject, str]] = set()
        self.returns = 0
        """How often the mail server could be used again after it could not: each time, what waits is worth a try."""

    def delivered(self, whose: str | None = None, subject: Subject = "expiry") -> None:
        """Note that the mail server took a letter, and with ``whose`` that none of these letters is left."""
        with self._lock:
            self.returns += self._is_away
            self._is_away = False
            self._undelivered.discard((subject, whose or ""))
            self._note()

    def failed(self, error: Exception, whose: str | None = None, subject: Subject = "expiry") -> None:
        """Note that a letter was not taken. With ``whose`` it is kept and tried again, which ``delivered``,
        ``nothing_left`` or ``only`` ends."""
        with self._lock:
            self._is_away = self._is_away or isinstance(error, MailServerError | MailLost)
            if whose is not None:
                self._undelivered.add((subject, whose))
            self._note()

    def nothing_left(self, whose: str, subject: Subject = "expiry") -> None:
        """Note that none of these letters waits, be it that nothing is to be told any more."""
        with self._lock:
            self._undelivered.discard((subject, whose))
            self._note()

    def only(self, names: Iterable[str], subject: Subject = "expiry") -> None:
        """Note that no letters about a subject wait but those of ``names``: another machine sends the others, or they
        are gone."""
        with self._lock:
            named = {(subject, name) for name in names}
            self._undelivered = {one for one in self._undelivered if one[0] != subject or one in named}
            self._note()

    def ask_again(self) -> None:
        """Ask a mail server that could not be used whether it can be used now."""
        if self._server is None or not self._is_away:
            return
        try:
            with Mailer(self._server) as mailer:
                mailer.reach()
        except MailServerError:
            return
        _log.info("the mail server of CMS_SMTP_URL can be used again")
        self.delivered()

    def _note(self) -> None:
        self._states.set(MAIL, wrong=self._is_away or bool(self._undelivered))

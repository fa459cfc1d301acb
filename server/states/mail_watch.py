"""Whether the mail server takes letters: noted with each letter, and asked again while it did not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Final

from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer, MailServerError
from server.logs import LOGGER
from server.states.states import States
from server.states.table import MAIL

_log = logging.getLogger(LOGGER)


class MailWatch:
    """Notes for one process how the mail server is. Any number of threads may use it."""

    def __init__(self, smtp_url: str | None, states: States) -> None:
        self._server: Final = parse_mail_server(smtp_url) if smtp_url else None
        self._states = states
        self._lock = threading.Lock()
        self._is_away = False
        self._undelivered: set[str] = set()

    def delivered(self, whose: str | None = None) -> None:
        """Note that the mail server took a letter, and with ``whose`` that none of these letters is left."""
        with self._lock:
            self._is_away = False
            if whose is not None:
                self._undelivered.discard(whose)
            self._note()

    def failed(self, error: Exception, whose: str | None = None) -> None:
        """Note that a letter was not taken. With ``whose`` it is kept and tried again, which ``delivered`` or
        ``nothing_left`` ends."""
        with self._lock:
            self._is_away = self._is_away or isinstance(error, MailServerError)
            if whose is not None:
                self._undelivered.add(whose)
            self._note()

    def nothing_left(self, whose: str) -> None:
        """Note that none of these letters waits, be it that nothing is to be told any more."""
        with self._lock:
            self._undelivered.discard(whose)
            self._note()

    def only(self, names: Iterable[str]) -> None:
        """Note that no letters wait but those of ``names``: another machine sends the others, or they are gone."""
        with self._lock:
            self._undelivered &= set(names)
            self._note()

    def answers_again(self) -> bool:
        """Ask a mail server that could not be used whether it can now; return whether it has come back."""
        if self._server is None or not self._is_away:
            return False
        try:
            with Mailer(self._server) as mailer:
                mailer.reach()
        except MailServerError:
            return False
        _log.info("the mail server of CMS_SMTP_URL can be used again")
        self.delivered()
        return True

    def _note(self) -> None:
        self._states.set(MAIL, wrong=self._is_away or bool(self._undelivered))

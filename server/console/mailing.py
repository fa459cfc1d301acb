"""Addresses that were given on the sign-in page → mails to those who are members, out of the way of all answers.

An address is looked up and written to by a thread of its own, so that neither what the page answers nor how long that
takes tells whether it is a member's.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer, MailRefused
from engine.sign_in.letter import sign_in_letter
from engine.sign_in.people import member, name_in, role_in
from engine.sign_in.sign_ins import SignIns
from server.console.addresses import link_address
from server.logs import LOGGER
from snapshots.model import Workspace
from snapshots.problems import ParquetryError

MOST_WAITING: Final = 200
"""Addresses that wait to be looked up; what comes on top is dropped, as if it were nobody's."""
LONGEST_ADDRESS: Final = 320

_log = logging.getLogger(LOGGER)


class _Asked(msgspec.Struct, frozen=True):
    address: str
    browser: str
    """The text that the browser holds."""


class SignInMailing:
    """Sends links to members, in a thread that begins with the first address. ``workspaces`` returns the facts of all
    workspaces as they are current, ``url`` is the address of the console."""

    def __init__(
        self,
        smtp_url: str,
        url: str,
        sign_ins: SignIns,
        workspaces: Callable[[], Iterable[Workspace]],
        clock: Callable[[], int],
    ) -> None:
        self._server = parse_mail_server(smtp_url)
        self._url = url
        self._sign_ins = sign_ins
        self._workspaces = workspaces
        self._clock = clock
        self._waiting: queue.Queue[_Asked] = queue.Queue(MOST_WAITING)
        # A daemon: a mail server that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="sign-in-mail", daemon=True)
        self._starting = threading.Lock()

    def ask(self, address: str, browser: str) -> None:
        """Have a link sent to an address, if it is a member's, for the browser that holds the text ``browser``."""
        with self._starting:
            if not self._thread.is_alive():
                self._thread.start()
        if len(address) <= LONGEST_ADDRESS:
            try:
                self._waiting.put_nowait(_Asked(address, browser))
            except queue.Full:
                _log.warning("console: too many addresses were given on the sign-in page; one is dropped")

    def _run(self) -> None:
        while True:
            asked = self._waiting.get()
            try:
                self._send(asked)
            except ParquetryError as error:
                _log.error("console: a link to sign in was not sent: %s", error)
            except Exception:
                _log.exception("console: sending a link to sign in failed")

    def _send(self, asked: _Asked) -> None:
        person = member(asked.address)
        workspace = next((one for one in self._workspaces() if role_in(one, person) is not None), None)
        if workspace is None:
            return
        now = self._clock()
        token = self._sign_ins.new_mailed_link(person, asked.browser, now)
        if token is None:
            _log.info("console: a member asked for a second link within a minute; none was sent")
            return
        link = link_address(self._url, token)
        try:
            letter = sign_in_letter(
                workspace.name, name_in(workspace, person), person.address, link, self._server.sender, now
            )
        except ValueError as error:
            raise MailRefused(str(error)) from None
        with Mailer(self._server) as mailer:
            mailer.send(letter)
        _log.info("%s: sent a member a link to sign in to the console", workspace.id)

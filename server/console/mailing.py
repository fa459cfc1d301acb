"""Mail members whose addresses were given on the sign-in page, out of the way of all answers.

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

from engine.access.sign_in.known_browsers import KnownBrowsers
from engine.access.sign_in.letter import sign_in_letter
from engine.access.sign_in.people import member, name_in, role_in
from engine.access.sign_in.sign_ins import SignIns
from engine.mail.mail_server import parse_mail_server
from engine.mail.mailer import Mailer, MailRefused
from server.console.addresses import link_address
from server.console.askers import Askers
from server.logs import LOGGER
from server.states.mail_watch import MailWatch
from snapshots.model import Workspace
from snapshots.problems import ParquetryError

MOST_WAITING: Final = 200
"""Addresses that wait to be looked up; further ones are dropped, as if they were nobody's. Addresses from a browser in
which the person has signed in have as many places again, and come first."""
MOST_OF_ASKER: Final = 60
"""Addresses that are taken from one network address in a quarter of an hour: an office has many members."""
MOST_OF_ASKER_FOR_ONE: Final = 3
"""Times that one address is taken from one network address: using up a member's letters takes several of those."""
LONGEST_ADDRESS: Final = 320

_log = logging.getLogger(LOGGER)


class _Asked(msgspec.Struct, frozen=True):
    address: str
    browser: str
    """The text that the browser holds."""
    is_known: bool
    """Whether the person has signed in there before."""


class SignInMailing:
    """Sends links to members, in a thread that begins with the first address. ``workspaces`` returns the facts of all
    workspaces as they are current, ``url`` is the address of the console."""

    def __init__(
        self,
        smtp_url: str,
        url: str,
        sign_ins: SignIns,
        known: KnownBrowsers,
        workspaces: Callable[[], Iterable[Workspace]],
        clock: Callable[[], int],
        watch: MailWatch,
    ) -> None:
        self._watch = watch
        self._server = parse_mail_server(smtp_url)
        self._url = url
        self._sign_ins = sign_ins
        self._workspaces = workspaces
        self._clock = clock
        self._known = known
        self._askers = Askers(MOST_OF_ASKER)
        self._askers_for_one = Askers(MOST_OF_ASKER_FOR_ONE)
        self._waiting: queue.PriorityQueue[tuple[int, int, _Asked]] = queue.PriorityQueue()
        self._number = 0
        # A daemon: a mail server that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="sign-in-mail", daemon=True)
        self._starting = threading.Lock()

    def ask(self, address: str, browser: str, known: str | None, asker: str) -> None:
        """Queue a sign-in link for an address, for the browser that holds the text ``browser``; only members get one.

        ``known`` is the browser's text from an earlier sign-in, and ``asker`` stands for its network address. Called
        by one thread; whether the address is a member's makes no difference here.
        """
        with self._starting:
            if not self._thread.is_alive():
                self._thread.start()
        if len(address) > LONGEST_ADDRESS:
            return
        person, now = member(address), self._clock()
        is_known = self._known.name(known, person) is not None
        if not is_known and not (
            self._askers_for_one.may((asker, person.address), now) and self._askers.may(asker, now)
        ):
            return
        if self._waiting.qsize() >= (2 * MOST_WAITING if is_known else MOST_WAITING):
            _log.warning("console: too many addresses were given on the sign-in page; one is dropped")
            return
        self._number += 1
        self._waiting.put((0 if is_known else 1, self._number, _Asked(address, browser, is_known)))

    def _run(self) -> None:
        while True:
            *_, asked = self._waiting.get()
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
        token = self._sign_ins.new_mailed_link(person, asked.browser, now, is_known=asked.is_known)
        if token is None:
            _log.info("console: a link to sign in was asked for too often for one member; none was sent")
            return
        link = link_address(self._url, token)
        try:
            letter = sign_in_letter(
                workspace.name, name_in(workspace, person), person.address, link, self._server.sender, now
            )
        except ValueError as error:
            raise MailRefused(str(error)) from None
        try:
            with Mailer(self._server) as mailer:
                mailer.send(letter)
        except ParquetryError as error:
            self._watch.failed(error)
            raise
        self._watch.delivered()
        _log.info("%s: sent a member a link to sign in to the console", workspace.id)

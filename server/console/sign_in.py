"""Sign members in by one-time links, and out."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from engine.access.sign_in.known_browsers import KNOWN_SECONDS, KnownBrowsers
from engine.access.sign_in.people import Person
from engine.access.sign_in.sign_ins import LINK_MS, SESSION_MS, LinkUnusable, SignIns, new_token
from server.console.answers import Answers
from server.console.mailing import SignInMailing
from server.console.requests import BROWSER, KNOWN, SESSION, WANTED, WANTED_SECONDS, ConsoleSite, fields_of, wanted_path
from server.console.visit import Form, Moved, PageRefused, Shown
from snapshots.problems import ParquetryError

SIGN_IN: Final = ("-", "sign-in")
LINK: Final = ("-", "link")
_ADDRESS: Final = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_NOTES: Final = {
    "signed-out": "You are signed out.",
    "everywhere": "You are signed out, in every browser.",
    "ended": "You had been signed out, so nothing was changed. Sign in and try again.",
}


class SignInPages:
    """The pages by which people come in and go. ``provider`` is the name of the provider where they can sign in too."""

    def __init__(
        self,
        site: ConsoleSite,
        sign_ins: SignIns,
        known: KnownBrowsers,
        answers: Answers,
        mailing: SignInMailing | None,
        provider: str | None,
        clock: Callable[[], int],
    ) -> None:
        self._site = site
        self._sign_ins = sign_ins
        self._known = known
        self._answers = answers
        self._mailing = mailing
        self._provider = provider
        self._clock = clock

    def sign_in(self, request: Request, form: Form) -> Response:
        """Say how to sign in; have a link sent to an address that was given, where mail is set up."""
        if request.method == "POST":
            return self._ask(request, form.one("email").strip())
        note = _NOTES.get(fields_of(request.scope["query_string"]).one("done"))
        return self._answers.send(self._shown(note=note))

    def _ask(self, request: Request, address: str) -> Response:
        if self._mailing is None:
            raise PageRefused(
                404, "No e-mail from this server", "This server does not send e-mail. Use a link from `cms console`."
            )
        if not _ADDRESS.fullmatch(address):
            return self._answers.send(self._shown(422, address=address, wrong="Enter an e-mail address."))
        held = self._site.cookie(request, BROWSER) or ""
        browser = held if _TOKEN.fullmatch(held) else new_token()  # so that an earlier mail can be used too
        asker = request.client.host if request.client is not None else ""
        self._mailing.ask(address, browser, self._site.cookie(request, KNOWN), asker)
        answer = self._answers.send(Shown("sign_in/asked.html", {"address": address}))
        answer.headers.append("Set-Cookie", self._site.set_cookie(request, BROWSER, browser, LINK_MS // 1000))
        wanted = self._site.cookie(request, WANTED)
        if wanted is not None and wanted_path(wanted):  # as long as the link itself
            answer.headers.append("Set-Cookie", self._site.set_cookie(request, WANTED, wanted, WANTED_SECONDS))
        return answer

    def _shown(
        self, status: int = 200, *, note: str | None = None, address: str = "", wrong: str | None = None
    ) -> Shown:
        values = {"note": note, "provider": self._provider, "mails": self._mailing is not None}
        return Shown("sign_in/sign_in.html", {**values, "address": address, "wrong": wrong}, status)

    def link(self, request: Request, form: Form) -> Response:
        """Show a button for a one-time link, and use the link up when the button is pressed.

        Programs that look at mails follow links, so following one must not use it up.
        """
        if request.method == "POST":
            return self._come_in(request, form.one("token"))
        token = fields_of(request.scope["query_string"]).one("token")
        found = self._sign_ins.link(token, self._clock())
        if found is None:
            raise _unusable("This link has already been used, or is older than 15 minutes.")
        if not found.is_for(self._site.cookie(request, BROWSER)):
            raise PageRefused(
                410,
                "Open it in the other browser",
                "This link works only in the browser that requested it. Open it there, or request a new one here, on "
                "the sign-in page.",
            )
        return self._answers.send(Shown("sign_in/link.html", {"token": token, "person": found.person}))

    def sign_out(self, request: Request, form: Form) -> Response:
        """End the session, or all sessions of the person."""
        token = self._site.cookie(request, SESSION)
        now = self._clock()
        session = self._sign_ins.session(token, now) if token else None
        everywhere = form.has("everywhere")
        if session is not None and token is not None:
            if everywhere:
                self._sign_ins.end_all(session.person, now)
            else:
                self._sign_ins.end(token, now)
        answer = self._answers.send(Moved(SIGN_IN, {"done": "everywhere" if everywhere else "signed-out"}))
        answer.headers.append("Set-Cookie", self._site.set_cookie(request, SESSION, "", 0))
        return answer

    def _come_in(self, request: Request, token: str) -> Response:
        browser = self._site.cookie(request, BROWSER)
        before = self._site.cookie(request, SESSION)
        try:
            session, person = self._sign_ins.use(token, browser, self._clock(), instead_of=before)
        except LinkUnusable as error:
            raise _unusable(str(error)) from None
        wanted = wanted_path(self._site.cookie(request, WANTED))
        answer = self._answers.send(Moved(wanted))
        for name, value, seconds in ((SESSION, session, SESSION_MS // 1000), (BROWSER, "", 0), (WANTED, "", 0)):
            answer.headers.append("Set-Cookie", self._site.set_cookie(request, name, value, seconds))
        remember_browser(answer, request, self._site, self._known, person)
        return answer


def remember_browser(
    answer: Response, request: Request, site: ConsoleSite, known: KnownBrowsers, person: Person
) -> None:
    """Set a cookie by which the browser is known to have signed a person in; without one where the store fails."""
    with suppress(ParquetryError):  # the session has begun
        answer.headers.append("Set-Cookie", site.set_cookie(request, KNOWN, known.text(person), KNOWN_SECONDS))


def _unusable(why: str) -> PageRefused:
    return PageRefused(410, "This link no longer works", f"{why} Request a new one on the sign-in page.")

"""Signing in at a provider of OpenID Connect: there and back, to a session as after any other way to sign in."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from engine.access.sign_in.known_browsers import KnownBrowsers
from engine.access.sign_in.oidc.attempt import ATTEMPT_MS, SignInAttempt, held_attempt, new_attempt
from engine.access.sign_in.oidc.configuration import ProviderConfiguration
from engine.access.sign_in.oidc.failures import (
    AddressUnverified,
    ClocksDiffer,
    ProviderUnreachable,
    SignInDenied,
    SignInFailed,
)
from engine.access.sign_in.oidc.provider import CameBack, Provider
from engine.access.sign_in.people import member, role_in
from engine.access.sign_in.sign_ins import SESSION_MS, AlreadyCompleted, SignIns
from server.console.answers import HEADERS, Answers
from server.console.requests import SESSION, WANTED, ConsoleSite, fields_of, wanted_path
from server.console.sign_in import SIGN_IN, remember_browser
from server.console.visit import Form, Moved, Shown
from server.http.access_log import printable
from server.logs import LOGGER
from snapshots.model import Workspace

PROVIDER: Final = ("-", "provider")
CALLBACK: Final = ("-", "provider", "callback")
ATTEMPT: Final = "parquetry-provider"
"""The cookie that binds what a provider answers to the browser that was sent there."""
MOST_AT_ONCE: Final = 8
"""Sign-ins for which a process asks the provider at once: anybody can begin one."""
_LONGEST_LOGGED: Final = 500
_LONGEST_CODE: Final = 8000

InTurn: TypeAlias = Callable[[Callable[[], Response]], Awaitable[Response]]
"""Waits for a turn, and then makes an answer that reads or writes the store."""

_log = logging.getLogger(LOGGER)


class _Said(msgspec.Struct, frozen=True):
    """The page about a sign-in that failed."""

    status: int
    title: str
    message: str


class ProviderSignIn:
    """The way to a provider and back. ``workspaces`` returns the facts of all workspaces as they are current."""

    def __init__(
        self,
        configuration: ProviderConfiguration,
        site: ConsoleSite,
        sign_ins: SignIns,
        known: KnownBrowsers,
        answers: Answers,
        workspaces: Callable[[], Iterable[Workspace]],
        in_turn: InTurn,
        clock: Callable[[], int],
    ) -> None:
        # The system's authorities, or those of SSL_CERT_FILE.
        trust = ssl.create_default_context()
        self._provider = Provider(configuration, f"{site.url}/{'/'.join(CALLBACK)}", trust)
        self._name = configuration.name
        self._site = site
        self._sign_ins = sign_ins
        self._known = known
        self._answers = answers
        self._workspaces = workspaces
        self._in_turn = in_turn
        self._clock = clock
        self._under_way = 0

    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider. Nothing is stored: the browser holds all that is needed when it is back."""
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return self._answers.send(Moved(SIGN_IN))  # nobody is sent to sign in by another site
        now = self._clock()
        attempt = new_attempt(now)
        found = await self._asked(lambda: self._provider.sign_in_address(attempt, now))
        if isinstance(found, _Said):
            return self._failed(found)
        answer = Response(status_code=303, headers={**HEADERS, "Location": found})
        cookie = self._site.set_cookie(request, ATTEMPT, attempt.text, ATTEMPT_MS // 1000)
        answer.headers.append("Set-Cookie", cookie)
        return answer

    async def callback(self, request: Request) -> Response:
        """Take what the browser brings back from the provider, and begin a session for a member."""
        now = self._clock()
        query = fields_of(request.scope["query_string"])
        attempt = held_attempt(self._site.cookie(request, ATTEMPT), now)
        if attempt is None or query.one("state") != attempt.state:
            return self._failed(
                _Said(
                    400,
                    "This sign-in has expired",
                    "It was started in another browser or more than 10 minutes ago, or has already been completed. "
                    "Start again.",
                )
            )
        answer = await self._came_back(request, query, attempt, now)
        answer.headers.append("Set-Cookie", self._site.set_cookie(request, ATTEMPT, "", 0))
        return answer

    async def _came_back(self, request: Request, query: Form, attempt: SignInAttempt, now: int) -> Response:
        code = query.one("code")
        if query.has("error") or not 0 < len(code) <= _LONGEST_CODE or not code.isascii() or not code.isprintable():
            told = f"{query.one('error')}: {query.one('error_description')}"
            return self._failed(self._said(SignInDenied(f"the provider sends the browser back with an error: {told}")))
        came_back = CameBack(code, query.one("iss") if query.has("iss") else None)
        found = await self._asked(lambda: self._provider.verified_address(attempt, came_back, now))
        if isinstance(found, _Said):
            return self._failed(found)
        return await self._in_turn(lambda: self._come_in(request, attempt, found))

    def _come_in(self, request: Request, attempt: SignInAttempt, address: str) -> Response:
        person = member(address)
        if all(role_in(workspace, person) is None for workspace in self._workspaces()):
            why = (
                f"{self._name} says that you are {address}. No workspace of this server has a member with this "
                "address. Ask an owner to add it to workspace.yaml, or sign out there and use another account."
            )
            return self._failed(_Said(403, "Not a member", why))
        before = self._site.cookie(request, SESSION)
        try:
            session = self._sign_ins.complete(attempt.text, person, self._clock(), instead_of=before)
        except AlreadyCompleted as error:
            return self._failed(_Said(400, "This sign-in has expired", f"{error} Start again."))
        answer = self._answers.send(Moved(wanted_path(self._site.cookie(request, WANTED))))
        for name, value, seconds in ((SESSION, session, SESSION_MS // 1000), (WANTED, "", 0)):
            answer.headers.append("Set-Cookie", self._site.set_cookie(request, name, value, seconds))
        remember_browser(answer, request, self._site, self._known, person)
        return answer

    async def _asked(self, ask: Callable[[], Awaitable[str]]) -> str | _Said:
        """Return the provider's answer, or the page about a failed sign-in where there is none."""
        if self._under_way >= MOST_AT_ONCE:
            return _Said(503, "Too many sign-ins", "Many people are signing in. Try again in a moment.")
        self._under_way += 1
        try:
            return await ask()
        except SignInFailed as failure:
            return self._said(failure)
        finally:
            self._under_way -= 1

    def _said(self, failure: SignInFailed) -> _Said:
        _log.warning("console: nobody was signed in: %s", printable(str(failure))[:_LONGEST_LOGGED])
        name = self._name
        match failure:
            case ProviderUnreachable():
                return _Said(503, f"{name} does not answer", "Try again in a moment, or sign in another way.")
            case SignInDenied():
                why = f"{name} did not sign you in, or you declined. Try again, or sign in another way."
                return _Said(403, "Not signed in", why)
            case AddressUnverified():
                why = (
                    f"{name} does not confirm that your e-mail address is yours, so it cannot be used here. "
                    "Verify it there, or sign in another way."
                )
                return _Said(403, "E-mail address not verified", why)
            case ClocksDiffer():
                why = (
                    f"The answer from {name} is not valid according to this server's clock. "
                    "If it happens again, tell whoever runs this server."
                )
                return _Said(502, "The clocks differ", why)
            case _:
                why = (
                    f"The answer from {name} could not be verified; the server's log has the details. "
                    "If it happens again, tell whoever runs this server."
                )
                return _Said(502, "Not signed in", why)

    def _failed(self, said: _Said) -> Response:
        values = {"title": said.title, "message": said.message}
        return self._answers.send(Shown("sign_in/not_signed_in.html", values, said.status))

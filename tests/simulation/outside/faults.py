"""Faults of letters and of signing in: the simulation has to find them."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.access.expiry import notices
from engine.access.expiry.ledger import OpenLedger
from engine.access.sign_in.sign_ins import SignIns
from engine.mail.mailer import MailRefused, MailServerError
from server.background.webhooks.owners import OwnersMail
from server.states.mail_watch import MailWatch
from tests.simulation.fault import QUIET, Change, Fault


def _noted_before_sent() -> list[Change]:
    send, noted = notices._send, OpenLedger.sent

    def sent(workspace: Any, mail: Any, mailer: Any, ledger: Any, now: int, clock: Any) -> None:
        ledger.attempt(mail.id, clock())
        noted(ledger, mail.id, clock())
        send(workspace, mail, mailer, _Noted(ledger), now, clock)

    return [(notices, "_send", sent)]


class _Noted:
    """A ledger in which everything is noted already."""

    def __init__(self, ledger: Any) -> None:
        self.attempt = self.sent = lambda *_: None


def _never_noted() -> list[Change]:
    return [(OpenLedger, "sent", lambda self, mail, now: None)]


def _tells_nobody() -> list[Change]:
    return [(MailWatch, "failed", lambda self, error, whose=None, subject="expiry": None)]


def _never_asks_again() -> list[Change]:
    return [(MailWatch, "ask_again", lambda self: None)]


def _owners_give_up() -> list[Change]:
    tell = OwnersMail._tell

    def told(self: Any, *arguments: Any) -> bool:
        try:
            tell(self, *arguments)
        except MailServerError:
            raise
        except MailRefused:
            pass
        return True

    return [(OwnersMail, "_tell", told)]


def _session_remembered() -> list[Change]:
    session = SignIns.session

    def remembered(self: Any, token: str, now: int) -> Any:
        known = self.__dict__.setdefault("known", {})
        if token not in known:
            known[token] = session(self, token, now)
        return known[token]

    return [(SignIns, "session", remembered)]


def _members_remembered() -> list[Change]:
    from server.console.console import Console

    current = Console._current

    def remembered(self: Any, workspace_store: Any) -> Any:
        known = self.__dict__.setdefault("known", {})
        if known.get(workspace_store.id) is None:
            known[workspace_store.id] = current(self, workspace_store)
        return known[workspace_store.id]

    return [(Console, "_current", remembered)]


def _provider_keys_remembered() -> list[Change]:
    from engine.access.sign_in.oidc import provider

    ask, known = provider._json, {}

    async def asked(client: Any, url: str, token: str | None = None) -> Any:
        if url not in known:
            known[url] = await ask(client, url, token)
        return known[url]

    return [(provider, "_json", asked)]


def _nonce_believed() -> list[Change]:
    from base64 import urlsafe_b64decode

    from engine.access.sign_in.oidc import provider

    check = provider.checked_claims

    def checked(token: str, keys: Any, configuration: Any, nonce: str, now: int) -> Any:
        parts = token.split(".")
        claims = msgspec.json.decode(urlsafe_b64decode(parts[1] + "==")) if len(parts[1]) > 4 else {}
        return check(token, keys, configuration, claims.get("nonce", nonce), now)

    return [(provider, "checked_claims", checked)]


_OUTSIDE: dict[str, Any] = {**QUIET, "outside": True, "hours": 3, "rotations": 2, "readers": 1, "receivers": 0}

OUTSIDE: dict[str, Fault] = {
    "letter-lost": Fault("a letter is noted as sent before it is", _noted_before_sent, {**_OUTSIDE, "bad_mail": 0.4}),
    "letter-doubled": Fault("it is not noted that a letter was sent", _never_noted, _OUTSIDE),
    "mail-away": Fault("nobody is told that no letters can be sent", _tells_nobody, {**_OUTSIDE, "mail_away": 1.0}),
    "mail-back": Fault(
        "a mail server that could not be used is not asked again", _never_asks_again, {**_OUTSIDE, "mail_away": 1.0}
    ),
    "owners-untold": Fault(
        "an owner whose letter is refused is told nothing of a webhook",
        _owners_give_up,
        {**_OUTSIDE, "nights": 14, "bad_mail": 0.6, "receivers": 1, "gone": True},
        seed=7,
    ),
    "session-kept": Fault("a session that ended is remembered", _session_remembered, _OUTSIDE, seed=3),
    "member-kept": Fault("who is no member any more is remembered", _members_remembered, _OUTSIDE),
    "provider-keys": Fault("the provider's keys are remembered", _provider_keys_remembered, _OUTSIDE),
    "nonce": Fault(
        "an answer for another sign-in lets somebody in",
        _nonce_believed,
        {**_OUTSIDE, "bad_provider": 0.5, "lies": ("answers for another sign-in",)},
        seed=3,
    ),
}

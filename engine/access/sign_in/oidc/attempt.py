"""A sign-in at a provider that is under way in one browser, held by nobody but that browser.

Anybody can begin one, so nothing is stored until it has succeeded. The browser keeps a random text with the instant of
the beginning; the state, the nonce and the code verifier are derived from it, so each binds what the provider answers
to that browser, and to that instant. Every worker and every machine derives the same.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from typing import Final

import msgspec

ATTEMPT_MS: Final = 10 * 60_000
"""Milliseconds within which somebody has to come back from the provider."""
_SKEW_MS: Final = 60_000
"""Milliseconds by which the clocks of two machines may differ."""
_HELD: Final = re.compile(r"([0-9]{1,15})\.[A-Za-z0-9_-]{43}", re.ASCII)


class SignInAttempt(msgspec.Struct, frozen=True):
    """A sign-in that is under way."""

    text: str
    """The text that the browser holds."""
    began_at: int
    """UTC milliseconds."""

    @property
    def state(self) -> str:
        """The text that the browser brings back, so that nobody is signed in who did not ask for it here."""
        return self._derived(b"state")

    @property
    def nonce(self) -> str:
        """The text that the provider puts into what it signs, so that this belongs to no other sign-in."""
        return self._derived(b"nonce")

    @property
    def verifier(self) -> str:
        """The text without which a code is worth nothing (PKCE). Neither the state nor the nonce tells it."""
        return self._derived(b"code verifier")

    def _derived(self, purpose: bytes) -> str:
        digest = hmac.digest(self.text.encode("ascii"), purpose, "sha256")
        return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def new_attempt(now: int) -> SignInAttempt:
    """Return a sign-in that begins at ``now`` (UTC milliseconds)."""
    return SignInAttempt(f"{now}.{secrets.token_urlsafe(32)}", now)


def held_attempt(text: str | None, now: int) -> SignInAttempt | None:
    """Return the sign-in whose text a browser holds, ``None`` where there is none or it took too long."""
    found = _HELD.fullmatch(text or "")
    if found is None:
        return None
    began_at = int(found[1])
    return SignInAttempt(found[0], began_at) if now - ATTEMPT_MS < began_at <= now + _SKEW_MS else None

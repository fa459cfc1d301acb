"""Give a browser in which a person has signed in a text by which it is told from strangers' later.

    <store>/sign_in_secret.json      private

The text lets nobody in. It is a message authentication code over the person's address, so nothing is stored of it.
"""

from __future__ import annotations

import hmac
import re
import secrets
from typing import Final

import msgspec

from engine.access.sign_in.people import Person
from snapshots.store.document import Document, JsonCodec
from snapshots.store.objects import Objects

DOCUMENT: Final = "sign_in_secret.json"
KNOWN_SECONDS: Final = 400 * 86_400
"""Seconds for which a browser keeps the text: as long as browsers keep anything."""
_TEXT: Final = re.compile(r"([A-Za-z0-9_-]{22})\.([0-9a-f]{64})", re.ASCII)


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    secret: str
    write: str


_CODEC: Final = JsonCodec(
    _Stored,
    lambda stored: stored.secret,
    lambda secret: _Stored(secret, ""),
    repair="Remove it: a new one is made.",
)


class KnownBrowsers:
    """The secret of a store, made when it is first needed. Threads may share one.

    Every method raises ``StoreError`` where it can be neither read nor written, and ``DamagedDocument``.
    """

    def __init__(self, objects: Objects) -> None:
        self._document: Document[str | None] = Document(objects, DOCUMENT, _CODEC, None, private=True)
        self._secret: bytes | None = None

    def text(self, person: Person) -> str:
        """Return a new text for a browser in which a person has signed in."""
        name = secrets.token_urlsafe(16)
        return f"{name}.{self._code(name, person)}"

    def name(self, text: str | None, person: Person) -> str | None:
        """Return what stands for the browser that holds a text; ``None`` unless this person has signed in there."""
        found = _TEXT.fullmatch(text or "")
        return found[1] if found and hmac.compare_digest(self._code(found[1], person), found[2]) else None

    def _code(self, name: str, person: Person) -> str:
        if self._secret is None:
            self._secret = self._made()
        return hmac.digest(self._secret, f"{name}\n{person.address}".encode(), "sha256").hex()

    def _made(self) -> bytes:
        def kept(found: str | None, _: str) -> tuple[str, str]:
            secret = found or secrets.token_hex(32)
            return secret, secret

        return self._document.edit(kept).encode()

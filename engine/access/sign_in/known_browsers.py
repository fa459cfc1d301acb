"""A browser in which a person has signed in → a text that it holds, by which it is told from strangers' later.

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
from snapshots.problems import ParquetryError
from snapshots.store.objects import Objects

DOCUMENT: Final = "sign_in_secret.json"
KNOWN_SECONDS: Final = 400 * 86_400
"""Seconds for which a browser keeps the text: as long as browsers keep anything."""
_TEXT: Final = re.compile(r"([A-Za-z0-9_-]{22})\.([0-9a-f]{64})", re.ASCII)


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    secret: str
    write: str


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(_Stored).decode


class KnownBrowsers:
    """The secret of a store, made when it is first needed. Threads may share one.

    Every method raises ``StoreError`` where it can be neither read nor written.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
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
        def change(data: bytes | None, write: str) -> tuple[bytes | None, str]:
            if data is not None:
                try:
                    return None, _decode(data).secret
                except (msgspec.DecodeError, UnicodeDecodeError):
                    where = f"{self._objects.location}/{DOCUMENT}"
                    raise SecretDamaged(f"{where}: damaged. Remove it: a new one is made.") from None
            secret = secrets.token_hex(32)
            return msgspec.json.encode(_Stored(secret, write)) + b"\n", secret

        return self._objects.edit(DOCUMENT, change, private=True).result.encode()


class SecretDamaged(ParquetryError):
    """The secret cannot be understood."""

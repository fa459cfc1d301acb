"""Documents that a full disk takes no file for: kept in a page that was reserved while there was room.

The page is written over in place and carries the digest of its content, so that a reader notices one that is torn. What
it has under a key goes before the file of that name in the mirror. It stays through a restart, for all processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from server.watched_file import Signature, signature
from snapshots.store.durable import allocate

HELD: Final = ".held"
"""The name of the page in the mirror's directory."""
LEAST: Final = 1 << 20
"""Bytes of the page at least; it grows, as long as the disk has room, to hold twice what the documents take."""
_DIGEST: Final = 32

# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decoder: Final = msgspec.json.Decoder(dict[str, str])


class HeldPage:
    """The page in a mirror's directory. One process writes it, any number read it."""

    def __init__(self, root: Path) -> None:
        self._path = root / HELD
        self._known: dict[str, bytes] = {}
        self._seen: Signature | None = None

    def signature(self) -> Signature:
        """Return numbers that change whenever the page does; empty where there is no page."""
        return signature(self._path)

    def read(self) -> Mapping[str, bytes]:
        """Return the documents by key, as they last were whole."""
        found = self.signature()
        if found != self._seen:
            with suppress(OSError, msgspec.DecodeError, UnicodeError):
                page = self._path.read_bytes()
                digest, size = page[:_DIGEST], int.from_bytes(page[_DIGEST : _DIGEST + 8], "big")
                data = page[_DIGEST + 8 : _DIGEST + 8 + size]
                if sha256(data).digest() == digest:
                    self._known = {key: text.encode() for key, text in _decoder.decode(data).items()}
                    self._seen = found
        return self._known

    def keep_room(self, size: int) -> None:
        """Enlarge the page to at least twice ``size`` bytes. Raises ``OSError``."""
        wanted = max(LEAST, 2 * size)
        page = self._opened()
        try:
            if os.fstat(page).st_size < wanted:
                allocate(page, 0, wanted)
        finally:
            os.close(page)

    def write(self, documents: Mapping[str, bytes]) -> None:
        """Replace the documents in the page. Raises ``OSError`` where the disk refuses them."""
        data = msgspec.json.encode({key: text.decode() for key, text in documents.items()})
        data = sha256(data).digest() + len(data).to_bytes(8, "big") + data
        page = self._opened()
        try:
            there = os.fstat(page).st_size
            if there < len(data):
                allocate(page, 0, len(data))
            os.pwrite(page, data, 0)
            os.fsync(page)
        finally:
            os.close(page)

    def _opened(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

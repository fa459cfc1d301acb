"""What a store remembers of its newest backup, for those who ask how old that is.

    <store>/_backups/newest.json

A store that cannot be written to is saved all the same, and remembers none.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec

from snapshots.store.durable import StoreError
from snapshots.store.objects import ANY, Objects

SAVED: Final = "_backups"
_KEY: Final = f"{SAVED}/newest.json"


class Saved(msgspec.Struct, frozen=True, rename="camel"):
    """The newest backup of a store."""

    name: str
    place: str
    begun_at: int
    """UTC milliseconds."""
    complaints: int
    """How many parts of the store could not be saved, because they were damaged."""


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(Saved).decode


def note_saved(objects: Objects, saved: Saved) -> None:
    """Remember a backup that was made, where the store can be written to."""
    with suppress(StoreError):
        objects.replace(_KEY, msgspec.json.encode(saved) + b"\n", ANY)


def newest_backup(objects: Objects) -> Saved | None:
    """Return the newest backup of a store; ``None`` where there is none, or nobody knows. Raises ``StoreError``."""
    found = objects.read(_KEY)
    try:
        return None if found is None else _decode(found.data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None

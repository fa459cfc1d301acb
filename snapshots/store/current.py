"""The document ``current`` of a workspace: which version is served, which were before, and who made it so.

One JSON line. It keeps the ids of the last changes, so that each is recognised after an answer was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from snapshots.store.durable import StoreError

CURRENT: Final = "current"
KEPT_ACTIVATIONS: Final = 50
"""The number of earlier versions that ``current`` remembers (decision 50)."""
KEPT_SERVED: Final = 200
"""The number of versions that ``current`` remembers to have been current."""
VERSION: Final = re.compile(r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}")
"""The form of a version's name, for ``fullmatch``."""


class DamagedCurrent(StoreError):
    """The file ``current`` does not say which version is current."""


class Current(msgspec.Struct, frozen=True):
    """The version that is served, and those served before it."""

    version: str
    previous: tuple[str, ...]
    """The versions current before, newest first, 50 at most; pruned ones may be among them."""
    activated_at: int
    """UTC milliseconds."""
    activated_by: str
    """``user@host``."""
    served: tuple[str, ...] = ()
    """All versions that were current before, newest first, those that were rolled back from too; ``KEPT_SERVED`` at
    most, pruned ones among them. Files written before this was recorded have none."""

    def was_current(self, version: str) -> bool:
        """Return whether a version is or was the current one, as far as that is recorded."""
        return version in (self.version, *self.previous, *self.served)

    def before(self, version: str) -> str | None:
        """Return the version that was current before this one, ``None`` if none was or it is not recorded."""
        recorded = (self.version, *self.previous)
        later = recorded.index(version) + 1 if version in recorded else len(recorded)
        return recorded[later] if later < len(recorded) else None

    def followed_by(self, version: str, previous: Sequence[str], now: int, by: str) -> Current:
        """Return what is current once ``version`` is, from ``now`` (UTC milliseconds) on."""
        served = dict.fromkeys((self.version, *self.served, *self.previous))
        served.pop(version, None)
        return Current(version, tuple(previous)[:KEPT_ACTIVATIONS], now, by, tuple(served)[:KEPT_SERVED])


class CurrentDocument(Current, frozen=True, omit_defaults=True):
    """``Current`` with the ids of the changes that led to it."""

    writes: tuple[str, ...] = ()
    """Of the last changes, newest first."""
    dropping: tuple[str, ...] = ()
    """The versions that a prune is deleting: none of them becomes current."""

    @property
    def current(self) -> Current:
        """Return what all but writers need."""
        return Current(self.version, self.previous, self.activated_at, self.activated_by, self.served)


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(CurrentDocument).decode


def decode_document(data: bytes, where: str) -> CurrentDocument:
    """Return the content of a file ``current``; ``where`` names it in messages. Raises ``DamagedCurrent``."""
    try:
        found = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(where, str(error)) from None
    for version in (found.version, *found.previous):
        if not VERSION.fullmatch(version):
            raise _damaged(where, f"{version!r} is not a snapshot version")
    return found


def decode_current(data: bytes, where: str) -> Current:
    """Return who is current by the content of a file ``current``. Raises ``DamagedCurrent``."""
    return decode_document(data, where).current


def encode_current(
    current: Current, before: CurrentDocument | None, write: str, *, dropping: Iterable[str] | None = None
) -> bytes:
    """Return ``current`` as the change ``write`` leaves it, after the document ``before``.

    ``dropping`` is that of ``before`` unless given.
    """
    writes, dropped = (before.writes, before.dropping) if before is not None else ((), ())
    document = CurrentDocument(
        current.version,
        current.previous,
        current.activated_at,
        current.activated_by,
        current.served,
        (write, *writes)[:KEPT_ACTIVATIONS],
        dropped if dropping is None else tuple(dropping),
    )
    return msgspec.json.encode(document) + b"\n"


def _damaged(where: str, reason: str) -> DamagedCurrent:
    return DamagedCurrent(
        f"{where} is damaged: {reason}. `cms snapshot list` shows the versions, "
        "`cms snapshot activate VERSION` makes one current and writes the file again."
    )

"""The move of ``current`` to another version: made once, by one of those who want it, and to a version that stays."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from snapshots.store.current import Current, CurrentDocument, DamagedCurrent, decode_document, encode_current
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects

_LOOKS: Final = (0.0, 0.2, 1.0)
"""Seconds before each look for a version that has become current while it was being dropped."""


class ActivationConflict(StoreError):
    """Another version was activated meanwhile. ``expected`` and ``found`` are versions, ``None`` for none."""

    def __init__(self, message: str, expected: str | None, found: str | None) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


def conflict(workspace: str, expected: str | None, found: CurrentDocument | None, outcome: str) -> ActivationConflict:
    """Return the error for who expected another version to be current; ``outcome`` says what was not done."""
    version, by = (None, "somebody") if found is None else (found.version, found.activated_by)
    return ActivationConflict(
        f"{workspace}: the current snapshot version is {version or 'none'}, no longer {expected or 'none'}: "
        f"{by} activated it meanwhile, so {outcome}. Run the command again.",
        expected,
        version,
    )


def move_current(
    objects: Objects, key: str, moved: Callable[[CurrentDocument | None], Current | None], *, mends: bool
) -> tuple[Current, bool]:
    """Replace the document ``current`` under ``key`` by what ``moved`` makes of it, ``None`` leaving it.

    Returns who is current then, and whether that is new. A damaged document is none where the change ``mends`` it.
    Raises what ``moved`` raises, ``DamagedCurrent`` and ``StoreError``.
    """

    def change(data: bytes | None, write: str) -> tuple[bytes | None, tuple[Current, bool]]:
        before = None if data is None else _decoded(objects, key, data, mends=mends)
        after = moved(before)
        if after is not None:
            return encode_current(after, before, write), (after, True)
        assert before is not None  # noqa: S101 - it is left as it is, so there is one
        return None, (before.current, False)

    return objects.edit(key, change).result


def kept_version(objects: Objects, key: str, after: Current, has: Callable[[str], bool]) -> bool:
    """Return whether the version that has just become current is still there.

    Where it was being dropped at that moment, what was current before is again.
    """
    for pause in _LOOKS:  # who drops it gives it back as soon as it is seen to be current
        time.sleep(pause)
        if has(after.version):
            return True

    def back(data: bytes | None, write: str) -> tuple[bytes | None, None]:
        found = None if data is None else _decoded(objects, key, data, mends=False)
        if found is None or found.version != after.version or not found.previous:
            return None, None
        version, *rest = found.previous
        given_back = found.followed_by(
            version, rest, found.activated_at, found.activated_by, found.manifests.get(version)
        )
        return encode_current(given_back, found, write), None

    objects.edit(key, back)
    return False


def _decoded(objects: Objects, key: str, data: bytes, *, mends: bool) -> CurrentDocument | None:
    try:
        return decode_document(data, f"{objects.location}/{key}")
    except DamagedCurrent:
        if mends:
            return None
        raise

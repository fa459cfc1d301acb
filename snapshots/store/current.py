"""The document ``current`` of a workspace: which version is served, which were before, and who made it so.

One JSON line, moved once by one of those who want it, to a version that stays. It is the beginning of a chain: it
names the digests of manifests, and they name those of all other files. Its own is its end.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import msgspec

from snapshots.model import NEVER
from snapshots.store.document import Document, JsonCodec
from snapshots.store.durable import StoreError
from snapshots.store.objects import Objects

CURRENT: Final = "current"
KEPT_ACTIVATIONS: Final = 50
"""The number of earlier versions that ``current`` remembers (decision 50)."""
KEPT_SERVED: Final = 200
"""The number of versions that ``current`` remembers to have been current, and of terms of such versions."""
FOLLOWED_MS: Final = 3000
"""Milliseconds for which readers may go on showing a version after another became current: two until each of them
follows (decision 62), and one that their clocks may be apart."""
VERSION: Final = re.compile(r"[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}")
"""The form of a version's name, for ``fullmatch``."""
_LOOKS: Final = (0.0, 0.2, 1.0)
"""Seconds before each look for a version that has become current while it was being dropped."""
_CHECKSUM: Final = b',"checksum":"'
"""Stands before the SHA-256 of all that comes before it; programs that do not know of it read it as a member."""


class Term(msgspec.Struct, frozen=True, array_like=True):
    """A span of time in which a version was current, UTC milliseconds."""

    version: str
    begin: int
    end: int
    """When another became current."""


class Current(msgspec.Struct, frozen=True, omit_defaults=True):
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
    most. Those that are pruned are forgotten. Files written before this was recorded have none."""
    terms: tuple[Term, ...] = ()
    """When the versions of before were current, newest first; ``KEPT_SERVED`` at most, and none of pruned versions.
    Programs that do not know of terms drop them all when they make a version current."""
    manifests: dict[str, str] = {}
    """The SHA-256 of the manifest of each of these versions, recorded as it became current. Those that became current
    by programs that do not know of this have none."""
    writes: tuple[str, ...] = ()
    """In the stored document alone: the IDs of its last changes, newest first."""
    dropping: tuple[str, ...] = ()
    """The versions that a prune is deleting: none of them becomes current."""

    def was_current(self, version: str) -> bool:
        """Return whether a version is or was the current one and is not pruned, as far as that is recorded."""
        return version == self.version or version in self.served or any(term.version == version for term in self.terms)

    def shown(self, version: str, at: int) -> int | None:
        """Return the last instant until ``at`` at which ``version`` was shown to clients, UTC milliseconds.

        ``None`` where it did not become current until then, or is not recorded. What is visible in a version at any
        other instant was perhaps never published: it may be what another version withdrew in time.
        """
        terms = (Term(self.version, self.activated_at, NEVER), *self.terms)
        found = (min(at, term.end + FOLLOWED_MS) for term in terms if term.version == version and term.begin <= at)
        return max(found, default=None)

    def is_return(self, before: str, after: str) -> bool:
        """Return whether to make ``after`` current in the place of ``before`` was to go back: it was current first.

        The order in which versions first became current decides, not their names or instants: clocks differ.
        """
        every = [*(term.version for term in reversed(self.terms)), self.version]
        if before not in every:  # pruned, or not recorded
            return every.count(after) > 1
        return after in every and every.index(after) < every.index(before)

    def left_at(self, version: str) -> int | None:
        """Return when another version last took the place of ``version``, UTC milliseconds; ``None`` where it is not
        recorded."""
        return max((term.end for term in self.terms if term.version == version), default=None)

    def without(self, pruned: Collection[str]) -> Current:
        """Return a copy that remembers nothing of ``pruned`` versions, so that no answer tells of them."""
        served = tuple(version for version in self.served if version not in pruned)
        terms = tuple(term for term in self.terms if term.version not in pruned)
        return msgspec.structs.replace(self, served=served, terms=terms).with_manifests(self.manifests)

    def before(self, version: str) -> str | None:
        """Return the version that was current before this one, ``None`` if none was or it is not recorded."""
        recorded = (self.version, *self.previous)
        later = recorded.index(version) + 1 if version in recorded else len(recorded)
        return recorded[later] if later < len(recorded) else None

    def followed_by(
        self, version: str, previous: Sequence[str], now: int, by: str, manifest: str | None = None
    ) -> Current:
        """Return the ``Current`` in which ``version`` is current from ``now`` (UTC milliseconds) on.

        ``manifest`` is the SHA-256 of the version's manifest, ``None`` where it is not known.
        """
        # Where manifests are recorded, ``served`` was, too: it has none because they were pruned.
        recorded = self.served if self.served or self.manifests else self.previous
        served = dict.fromkeys((self.version, *recorded))
        served.pop(version, None)
        term = Term(self.version, self.activated_at, max(self.activated_at, now))
        after = msgspec.structs.replace(
            self,
            version=version,
            previous=tuple(previous)[:KEPT_ACTIVATIONS],
            activated_at=now,
            activated_by=by,
            served=tuple(served)[:KEPT_SERVED],
            terms=(term, *self.terms)[:KEPT_SERVED],
        )
        return after.with_manifests(self.manifests if manifest is None else {**self.manifests, version: manifest})

    def with_manifests(self, manifests: Mapping[str, str]) -> Current:
        """Return a copy with the SHA-256 in ``manifests`` of the versions that this one remembers."""
        remembered = {self.version, *self.previous, *self.served, *(term.version for term in self.terms)}
        return msgspec.structs.replace(
            self, manifests={version: digest for version, digest in manifests.items() if version in remembered}
        )


class _CurrentCodec(JsonCodec[Current]):
    """JSON that ends with the checksum of what comes before it; documents of earlier programs have none."""

    def decode(self, data: bytes, where: str) -> Current:
        found = super().decode(data, where)
        content, checksum, digest = data.rpartition(_CHECKSUM)
        if checksum and digest != _end(content):
            raise self.damaged(where, "its content is not that of its checksum")
        return found

    def encode(self, value: Current, before: bytes | None = None, write: str | None = None) -> bytes:
        content = super().encode(value, before, write).removesuffix(b"}\n")
        return content + _CHECKSUM + _end(content)


def _end(content: bytes) -> bytes:
    """Return the bytes after ``_CHECKSUM`` in a document that begins with ``content``."""
    return hashlib.sha256(content).hexdigest().encode() + b'"}\n'


def _checked(found: Current) -> Current:
    for version in (found.version, *found.previous):
        if not VERSION.fullmatch(version):
            raise ValueError(f"{version!r} is not a snapshot version")
    return msgspec.structs.replace(found, writes=())


CURRENT_CODEC: Final = _CurrentCodec(
    Current,
    _checked,
    lambda current: current,
    repair="`cms snapshot list` shows the versions, `cms snapshot activate VERSION` makes one current and writes the "
    "file again.",
)


def current_document(
    objects: Objects, workspace: str, *, announce: Callable[[], object] = lambda: None
) -> Document[Current | None]:
    """Return the document of a workspace, of which ``None`` says that no version was made current yet."""
    return Document(objects, f"{workspace}/{CURRENT}", CURRENT_CODEC, None, announce=announce)


class ActivationConflict(StoreError):
    """Another version was activated meanwhile. ``expected`` and ``found`` are versions, ``None`` for none."""

    def __init__(self, message: str, expected: str | None, found: str | None) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


def conflict(workspace: str, expected: str | None, found: Current | None, outcome: str) -> ActivationConflict:
    """Return the error for a caller that expected another version to be current; ``outcome`` says what was not done."""
    version, by = (None, "somebody") if found is None else (found.version, found.activated_by)
    return ActivationConflict(
        f"{workspace}: the current snapshot version is {version or 'none'}, no longer {expected or 'none'}: "
        f"{by} activated it meanwhile, so {outcome}. Run the command again.",
        expected,
        version,
    )


def kept_version(document: Document[Current | None], after: Current, has: Callable[[str], bool]) -> bool:
    """Return whether the version that has just become current is still there.

    Where it was being dropped at that moment, what was current before is again.
    """
    for pause in _LOOKS:  # who drops it gives it back as soon as it is seen to be current
        time.sleep(pause)
        if has(after.version):
            return True

    def back(found: Current | None, _: str) -> tuple[Current | None, None]:
        if found is None or found.version != after.version or not found.previous:
            return found, None
        version, *rest = found.previous
        digest = found.manifests.get(version)
        return found.followed_by(version, rest, found.activated_at, found.activated_by, digest), None

    document.edit(back)
    return False

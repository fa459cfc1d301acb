"""Keep what versions on their way need from being deleted by a prune at the same time.

Versions share assets, so one on its way may name what no version names yet. Whoever builds or carries one *leases* the
assets of the workspace from before it looks which are there until its manifest is; a prune *claims* those that it
deletes, and only while nobody has a lease. Both are changes of one document, so that one comes before the other:

    <workspace id>/asset_use.json    leases (ID → end), the versions of those that carry one, and the claim of a prune
                                     with the names of what it deletes

A version that somebody carries may be there already, carried by another. A prune leaves it for as long as that lease
holds: it marks the version first and looks at the leases then, and whoever carries one leases first and looks for the
mark then (``snapshots.store.pruning``).

The lease of a killed process ends after a day, and so does that of one whose store did not answer: its last request may
still arrive, and be the one for the manifest. The claim of a killed prune is nobody's once it was seen unchanged for
``GONE_SECONDS``; until then, only who needs an asset that it names waits for it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Generic, TypeVar

import msgspec

from snapshots.store.document import Document, JsonCodec
from snapshots.store.durable import StoreError
from snapshots.store.objects import Conflict, ListedObject, Objects, StoreUnreachable
from snapshots.times import Stopwatch

ASSET_USE: Final = "asset_use.json"
LEASE_MS: Final = 24 * 3_600_000
"""Milliseconds for which a lease holds, by the clocks of the machines; a version takes half as long at most."""
CLAIM_SECONDS: Final = 5.0
"""Seconds after its claim in which a prune has to begin to delete."""
GONE_SECONDS: Final = 330.0
"""Seconds after which an unchanged claim counts as left by a prune that was killed. Before that, a request to delete of
one that lives may still arrive: bucket's clients try for three minutes, and wait two for the answer to the last try."""
CLAIMED_AT_ONCE: Final = 1000
_LOOK_SECONDS: Final = 0.1

_Made = TypeVar("_Made")


class _Use(msgspec.Struct, frozen=True, omit_defaults=True):
    leases: dict[str, int] = {}
    """The end of each lease (UTC milliseconds), by the lease's ID."""
    versions: dict[str, str] = {}
    """The version that is carried under a lease, by the lease's ID."""
    dropping: tuple[str, ...] = ()
    """The keys of the assets that a prune deletes."""
    claim: str = ""
    """The write ID of its claim."""
    writes: tuple[str, ...] = ()


_CODEC: Final = JsonCodec(_Use, lambda use: use, lambda use: use)


@contextmanager
def leased_assets(
    objects: Objects, workspace: str, keys: Collection[str], version: str | None = None
) -> Iterator[Callable[[], None]]:
    """Keep prunes from the assets of a workspace for the block, in which those under ``keys`` are looked for; and from
    the ``version`` that is carried in it.

    Gives the function to be called right before the version that names them is complete: it raises ``StoreError`` where
    that took so long that the lease may end. Without both, nothing is leased. Raises ``StoreError``.
    """
    if not keys and version is None:
        yield lambda: None
        return
    lease, taken = secrets.token_urlsafe(8), Stopwatch()

    def is_in_the_way(use: _Use) -> bool:
        return not frozenset(use.dropping).isdisjoint(keys)

    def take(use: _Use, _: str) -> tuple[_Use | None, None]:
        if is_in_the_way(use):  # of a prune that was killed
            use = msgspec.structs.replace(use, dropping=(), claim="")
        carried = {} if version is None else {lease: version}
        leases = {**use.leases, lease: _now() + LEASE_MS}
        return msgspec.structs.replace(use, leases=leases, versions={**use.versions, **carried}), None

    _change_beside_claims(objects, workspace, take, is_in_the_way)

    def check() -> None:
        if taken.seconds() > LEASE_MS / 2000:
            raise StoreError(
                f"{objects.location}/{workspace}: making the snapshot version took longer than its assets are kept "
                "for it. Run the command again: it goes on where it ended."
            )

    is_under_way = False
    try:
        yield check
    except StoreUnreachable:
        is_under_way = True
        raise
    finally:
        if not is_under_way:
            with suppress(StoreError):  # it ends by itself
                _give_back(objects, workspace, lease)


def carried_versions(objects: Objects, workspace: str) -> frozenset[str]:
    """Return the versions that are being carried to the store, or were until their process was killed a day ago or
    less. Raises ``StoreError``."""
    use, now = _document(objects, workspace).read(), _now()
    return frozenset(version for lease, version in use.versions.items() if _holds(use, lease, now))


def drop_assets(objects: Objects, workspace: str, unneeded: Callable[[], list[ListedObject]]) -> int:
    """Delete the assets that are ``unneeded`` by the versions there are when it is called, unless a version is on its
    way: they are left to the next prune then, as they are on a disk too full for the claim.

    Returns the bytes freed. Raises ``StoreError``.
    """
    freed = 0
    while unneeded():
        try:
            claim = _claimed(objects, workspace, unneeded)
        except (Conflict, StoreUnreachable):
            raise
        except StoreError:
            return freed
        if claim is None:
            return freed
        if time.monotonic() - claim.since <= CLAIM_SECONDS:
            freed += _deleted(objects, workspace, claim)
        _unclaim(objects, workspace, claim.id)
    return freed


class _Claim(msgspec.Struct, frozen=True):
    id: str
    since: float
    """When it was about to be written, by the monotonic clock."""
    assets: list[ListedObject]


def _deleted(objects: Objects, workspace: str, claim: _Claim) -> int:
    """Delete what is claimed; return the bytes freed. Where the store refuses that, nobody waits for the claim."""
    try:
        deleted = objects.delete(one.key for one in claim.assets)
    except StoreUnreachable:  # it may delete yet
        raise
    except StoreError:
        _unclaim(objects, workspace, claim.id)
        raise
    return sum(one.bytes for one in claim.assets) if deleted is None else deleted


def _claimed(objects: Objects, workspace: str, unneeded: Callable[[], list[ListedObject]]) -> _Claim | None:
    def name(use: _Use, write: str) -> tuple[_Use | None, _Claim | None]:
        assets = [] if use.leases else unneeded()[:CLAIMED_AT_ONCE]
        if not assets:
            return None, None
        keys = tuple(one.key for one in assets)
        since = time.monotonic()  # not before: to look at a large store takes long, and whoever leases is noticed
        return msgspec.structs.replace(use, dropping=keys, claim=write), _Claim(write, since, assets)

    return _change_beside_claims(objects, workspace, name, lambda use: bool(use.dropping))


def _change_beside_claims(
    objects: Objects,
    workspace: str,
    change: Callable[[_Use, str], tuple[_Use | None, _Made]],
    is_in_the_way: Callable[[_Use], bool],
) -> _Made:
    """Make a change as soon as no claim is in the way, or only one left by a killed prune; return the change's
    result."""
    seen, since = "", time.monotonic()

    def unless_claimed(use: _Use, write: str) -> tuple[_Use | None, str | _Changed[_Made]]:
        if is_in_the_way(use) and (use.claim != seen or time.monotonic() - since < GONE_SECONDS):
            return None, use.claim
        after, made = change(use, write)
        return after, _Changed(made)

    while True:
        found = _change(objects, workspace, unless_claimed)
        if isinstance(found, _Changed):
            return found.made
        if found != seen:
            seen, since = found, time.monotonic()
        time.sleep(_LOOK_SECONDS)


class _Changed(msgspec.Struct, Generic[_Made], frozen=True):
    made: _Made


def _change(objects: Objects, workspace: str, change: Callable[[_Use, str], tuple[_Use | None, _Made]]) -> _Made:
    """Drop ended leases from the document, apply a change to it, and return the change's result. A change to ``None``
    leaves the document as it is."""

    def changed(found: _Use, write: str) -> tuple[_Use, _Made]:
        now = _now()
        after, made = change(_with(found, [lease for lease in found.leases if _holds(found, lease, now)]), write)
        return found if after is None else after, made

    return _document(objects, workspace).edit(changed)


def _document(objects: Objects, workspace: str) -> Document[_Use]:
    # What nobody can read keeps nobody.
    return Document(objects, f"{workspace}/{ASSET_USE}", _CODEC, _Use(), expendable=True)


def _holds(use: _Use, lease: str, now: int) -> bool:
    return now < use.leases.get(lease, 0) <= now + 2 * LEASE_MS


def _with(use: _Use, leases: Collection[str]) -> _Use:
    """Return it with these leases and no others."""
    return msgspec.structs.replace(
        use,
        leases={lease: end for lease, end in use.leases.items() if lease in leases},
        versions={lease: version for lease, version in use.versions.items() if lease in leases},
    )


def _give_back(objects: Objects, workspace: str, lease: str) -> None:
    def given_back(use: _Use, _: str) -> tuple[_Use | None, None]:
        return (_with(use, use.leases.keys() - {lease}) if lease in use.leases else None), None

    _change(objects, workspace, given_back)


def _unclaim(objects: Objects, workspace: str, claim: str) -> None:
    def unclaimed(use: _Use, _: str) -> tuple[_Use | None, None]:
        return (msgspec.structs.replace(use, dropping=(), claim="") if use.claim == claim else None), None

    _change(objects, workspace, unclaimed)


def _now() -> int:
    return int(time.time() * 1000)

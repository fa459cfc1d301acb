"""What people do with buckets that no machine reads: a backup is restored into one, and one of them is damaged and
mended, while versions are pushed there and old ones deleted."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from engine.backup.restoring import restore, verified
from snapshots.store.carrying import carry, file_keys
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.store import MissingVersion, Store, open_store
from snapshots.times import now_ms

if TYPE_CHECKING:
    from tests.simulation.people import Office

RESTORED: Final = "restored"
MENDED: Final = "mended"
WORKSPACE: Final = "acme"


class Stewards:
    """The people who look after those buckets, on the machine of the office."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._world = office.world
        self._template = office.world.template

    def begin(self) -> None:
        """Have them begin their work."""
        for person in (self._restorer, self._restored_pruner, self._pusher, self._mended_pruner, self._mender):
            self._office.employ(WORKSPACE, person)

    def _store(self, bucket: str) -> Store:
        return open_store(f"s3://{bucket}", cache=self._office.root / bucket)

    def _restorer(self, _workspace: str, _chance: random.Random) -> None:
        place = DirectoryObjects(self._template.backup)
        restore(place, verified(place, None), self._store(RESTORED), now=now_ms(), force=True)

    def _restored_pruner(self, workspace: str, chance: random.Random) -> None:
        self._prune(RESTORED, workspace, chance)

    def _mended_pruner(self, workspace: str, chance: random.Random) -> None:
        self._prune(MENDED, workspace, chance)

    def _prune(self, bucket: str, workspace: str, chance: random.Random) -> None:
        there = self._store(bucket).workspace(workspace)
        found = there.versions()
        if found and chance.random() < 0.5:
            with suppress(MissingVersion):  # somebody else was quicker
                there.withdraw(chance.choice(found))
        else:
            there.prune(2)

    def _pusher(self, workspace: str, chance: random.Random) -> None:
        here, there = self._template.store.workspace(workspace), self._store(MENDED).workspace(workspace)
        version = chance.choice(self._template.versions[workspace])
        carry(here.objects, there.objects, workspace, version, digest=here.digests().get(version))

    def _mender(self, workspace: str, chance: random.Random) -> None:
        """Do what a build does that finds its version damaged: by an accident that happens right before."""
        there = self._store(MENDED).workspace(workspace)
        found = there.versions()
        if not found:
            return
        manifest = there.manifest(chance.choice(found))
        bucket = self._world.service.bucket(MENDED)
        shared = [key for key in file_keys(there.objects, manifest) if "/facts/" in key]  # which several versions have
        for lost in shared if chance.random() < 0.8 else ():
            self._world.wholeness(bucket).damage(lost)
            bucket.pop(lost, None)
        there.drop_damaged(manifest)

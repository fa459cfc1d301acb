"""Processes that build, push, mirror, go back and prune beside each other, on one store, until they are killed.

Their contents overlap: of the segments of one, another has all but a few. Assets and the leases of killed processes
last for seconds here, so that a prune is in the way of versions all the time.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from snapshots.build.build import build
from snapshots.problems import ParquetryError
from snapshots.store import carrying, pruning
from snapshots.store.assets import use as asset_use
from snapshots.store.carrying import carry
from snapshots.store.current import ActivationConflict
from snapshots.store.durable import StoreError
from snapshots.store.objects import Conflict, DamagedObject, MissingObject, StoreUnreachable
from snapshots.store.store import MissingVersion, Store, VersionExists, open_store
from snapshots.store.verification import missing_files
from tests.sites.site_folders import write_folder
from tests.stores.mirrored_machine import Bucket

WORKSPACE = "acme"
CONTENTS = 5
ENTRIES = 12
SEGMENT_ENTRIES = 3
LEASE_MS = 8000
DEFINED = {
    "workspace.yaml": "id: acme\nlanguages: [en, ja]\n",
    "apis/posts.yaml": "uid: api_posts0000000\nendpoint: posts\nkind: list\nmultilingual: true\n"
    "fields:\n  - {id: title, type: text}\n",
}


SHARED = "shared:"


class Place(msgspec.Struct, frozen=True):
    """Where a process works."""

    target: str
    """The store, a directory or a URL; after ``SHARED``, a directory in which versions share files as in a bucket."""
    source: Path
    """A store with every content, in a directory."""
    here: Path
    """A folder for what each process has of its own."""
    environment: dict[str, str]
    """Settings with which the target is reached."""


def opened(target: str, cache: Path) -> Store:
    """Return the store, in which this process has a folder of its own."""
    if not target.startswith(SHARED):
        return open_store(target, cache=cache)
    return Store(cache / "here", cache, Bucket(Path(target.removeprefix(SHARED))))


def write_content(root: Path, number: int) -> None:
    """Write one of the contents: each differs from the others in a few entries."""
    lines = [
        {
            "id": f"e{entry}",
            "lang": lang,
            "createdAt": "2026-01-01",
            "title": f"{entry} {number if entry % 6 == number else 'same'} {lang}",
        }
        for entry in range(ENTRIES)
        for lang in ("en", "ja")
    ]
    write_folder(root, {**DEFINED, "content/posts.jsonl": "\n".join(map(json.dumps, lines))})


def publish(root: Path, store: Store, now: int) -> str:
    """Build and activate what is in a folder; return the version."""
    return build(root, store, now=now, segment_entries=SEGMENT_ENTRIES).version


def hurry() -> None:
    """Have this process count claims and leases in seconds."""
    asset_use.LEASE_MS = LEASE_MS  # type: ignore[misc]
    asset_use.CLAIM_SECONDS, asset_use.GONE_SECONDS = 2.0, 8.0  # type: ignore[misc]
    pruning.GONE_SECONDS = carrying.GONE_SECONDS = asset_use.GONE_SECONDS  # type: ignore[misc]


def work(role: str, number: int, place: Place) -> None:
    """Do a role's work again and again, in a process that is killed."""
    os.environ.update(place.environment)
    hurry()
    pause()
    worker = _Worker(number, place)
    while True:
        try:
            _ROLES[role](worker)
        except _EXPECTED:
            pass
        except StoreError as error:
            # SeaweedFS lets others wait for long where it waits for a client that was killed. And a version that was
            # dropped and pushed again while it was looked at seems damaged for that time.
            is_late = "took longer than its assets are kept" in str(error)
            if not is_late and ("is damaged" not in str(error) or faults_of(worker.target)):
                raise


_EXPECTED = (ActivationConflict, MissingVersion, Conflict, VersionExists, StoreUnreachable)
"""What overlapping work may meet: somebody else was quicker, or the store is slow."""


def pause() -> None:
    """Have this process wait before each manifest, so that often somebody comes between it and the files."""
    chance, assets = random.Random(), carrying._Carrying._assets

    def then_waits(self: carrying._Carrying) -> None:
        assets(self)
        time.sleep(chance.uniform(0, 0.3))

    carrying._Carrying._assets = then_waits  # type: ignore[method-assign]


class _Worker:
    """What a process works with."""

    def __init__(self, number: int, place: Place) -> None:
        self.chance = random.Random()
        self.root = place.here / f"content-{number}"
        self.source = open_store(place.source)
        self.target = opened(place.target, place.here / f"cache-{number}")
        self.mirror = open_store(place.here / f"mirror-{number}")

    def build(self) -> None:
        write_content(self.root, self.chance.randrange(CONTENTS))
        publish(self.root, self.target, _now())

    def push(self) -> None:
        """Push a version, and make it or another one current."""
        version = self.chance.choice(self.source.workspace(WORKSPACE).versions())
        carry(self.source.objects, self.target.objects, WORKSPACE, version)
        there = self.target.workspace(WORKSPACE)
        before = there.current()
        there.activate(
            self.chance.choice([version, *there.versions()]),
            expected=None if before is None else before.version,
            by="worker",
            now=_now(),
        )

    def prune(self) -> None:
        with suppress(MissingObject):  # of a version that somebody else drops
            self.target.workspace(WORKSPACE).prune(self.chance.randint(1, 2))

    def bring(self) -> None:
        """Bring versions to a directory of this machine, where each is whole; and drop some of them there."""
        mirror = self.mirror.workspace(WORKSPACE)
        for version in self.target.workspace(WORKSPACE).versions():
            with suppress(MissingObject):  # it was pruned meanwhile
                carry(self.target.objects, mirror.objects, WORKSPACE, version)
                faults = mirror.verify(version)
                if faults:
                    raise DamagedObject(f"the mirror of {version}: {faults}")
        mirror.prune(self.chance.randint(1, 2))


_ROLES: dict[str, Callable[[_Worker], None]] = {
    "build": _Worker.build,
    "push": _Worker.push,
    "prune": _Worker.prune,
    "mirror": _Worker.bring,
}


def _now() -> int:
    return time.time_ns() // 1_000_000


def faults_of(target: Store) -> dict[str, list[str]]:
    """Return the files that versions lack which are there beside processes at work, by version. Reads no content."""
    place = target.workspace(WORKSPACE)
    return {version: faults for version in place.versions() if (faults := _lasting_faults(target, version))}


def _lasting_faults(target: Store, version: str) -> list[str]:
    """Return the faults of one version; none where it was dropped, or dropped and pushed again, meanwhile."""
    place = target.workspace(WORKSPACE)
    faults: list[str] = []
    for _ in range(3):
        try:
            faults = list(missing_files(target.objects, place.manifest(version)))
        except (MissingVersion, StoreUnreachable):
            return []
        except ParquetryError as error:
            faults = [str(error)]
        if not faults or not place.has(version):
            return []
    return faults

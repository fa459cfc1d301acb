"""Builds, pushes, mirrors, ways back and prunes overlap, and are killed: every version that is listed stays whole, and
nothing is left that none names."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.read.reader.reader import open_reader
from snapshots.store import pruning
from snapshots.store.assets import use as asset_use
from snapshots.store.carrying import FILES, SNAPSHOTS, carry, file_keys, version_folder
from snapshots.store.manifest import MANIFEST, Manifest
from snapshots.store.store import Store, open_store
from tests.stores import overlapping
from tests.stores.object_stores import object_store
from tests.stores.overlapping import CONTENTS, WORKSPACE, Place

pytestmark = pytest.mark.slow

SECONDS = 6.0
"""How long processes work and are killed; afterwards, what they left is looked through."""
ROLES = ("build", "build", "push", "push", "prune", "mirror")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with a fresh build of every content."""
    folder = tmp_path_factory.mktemp("source")
    source = open_store(folder / "store")
    for number in range(CONTENTS):
        overlapping.write_content(folder / "content", number)
        overlapping.publish(folder / "content", source, 1_780_000_000_000 + number)
    assert len(source.workspace(WORKSPACE).versions()) == CONTENTS
    return source


def fresh_builds(source: Store) -> dict[str, Manifest]:
    """Return the versions of the source by content."""
    place = source.workspace(WORKSPACE)
    return {manifest.content: manifest for manifest in map(place.manifest, place.versions())}


@pytest.mark.parametrize("kind", ["directory", "shared directory", "seaweedfs", "moto", "azurite"])
def test_what_is_named_stays_and_what_is_not_goes(
    tmp_path: Path, kind: str, source: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, fresh = random.Random(), fresh_builds(source)
    with ExitStack() as running:
        location, environment = str(tmp_path / "target"), dict[str, str]()
        if kind == "shared directory":
            location = f"{overlapping.SHARED}{location}"
        elif kind != "directory":
            pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
            server = running.enter_context(object_store(kind))
            location, environment = server.place(), server.environment
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
        place = Place(location, source.root, tmp_path, environment)
        target = overlapping.opened(location, tmp_path / "cache")
        first = next(iter(fresh.values())).version
        carry(source.objects, target.objects, WORKSPACE, first)
        target.workspace(WORKSPACE).activate(first, expected=None, by="tester", now=0)
        assert sum(_kept_busy(place, target, chance))
        overlapping.hurry()
        # As if it were later: leases of killed processes have ended, and what they left half is old.
        later = asset_use._now() + 3_600_000
        monkeypatch.setattr(asset_use, "_now", lambda: later)
        monkeypatch.setattr(pruning, "GRACE_SECONDS", -3600)
        monkeypatch.setattr(pruning, "GONE_SECONDS", -3600)
        left = target.workspace(WORKSPACE)
        assert [left.verify(version) for version in left.versions()] == [[]] * len(left.versions())
        left.prune(2)
        left.prune(2)  # the marks of what went
        versions = left.versions()
        assert 1 <= len(versions) <= 4
        named = set()
        for version in versions:
            manifest = left.manifest(version)
            assert left.verify(version) == []
            same = fresh[manifest.content]
            assert manifest.files == same.files
            assert manifest.workspace == same.workspace
            named |= set(file_keys(left.objects, manifest))
            with ExitStack() as opened:
                reader = open_reader(left.bring(version), manifest, tmp_path / "readers", None)
                opened.callback(reader.close)
        assert stored_files(target) == named


def _kept_busy(place: Place, target: Store, chance: random.Random) -> Iterator[int]:
    """Keep processes at work and kill one after the other; yield 1 for each kill."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["tests.stores.overlapping", "snapshots.build.steps"])

    def started(number: int) -> multiprocessing.process.BaseProcess:
        # No daemon, which may have no processes of its own: a build may start some.
        process = forks.Process(target=overlapping.work, args=(ROLES[number], number, place))
        process.start()
        return process

    workers = [started(number) for number in range(len(ROLES))]
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            # By chance, so that they are anywhere in their work.
            time.sleep(chance.uniform(0.1, 1.0))
            number = chance.randrange(len(ROLES))
            yield _killed(workers[number])
            workers[number] = started(number)
            assert overlapping.faults_of(target) == {}
    finally:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()


def _killed(worker: multiprocessing.process.BaseProcess) -> int:
    assert worker.is_alive(), f"{worker.name} ended by itself: {worker.exitcode}"
    worker.kill()
    worker.join()
    return 1


def stored_files(target: Store) -> set[str]:
    """Return the keys of all data files, those of no version, too."""
    objects = target.workspace(WORKSPACE).objects
    manifests = {f"{version_folder(WORKSPACE, one)}/{MANIFEST}" for one in target.workspace(WORKSPACE).versions()}
    listed = {one.key for folder in (FILES, SNAPSHOTS) for one in objects.names(f"{WORKSPACE}/{folder}")}
    return listed - manifests

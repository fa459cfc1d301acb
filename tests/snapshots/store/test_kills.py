"""Processes that push, activate and drop versions in a bucket, killed at random instants: it stays usable."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from snapshots.columns import FileKind
from snapshots.store import pruning
from snapshots.store.assets import use as asset_use
from snapshots.store.carrying import carry, missing_assets
from snapshots.store.manifest import MANIFEST
from snapshots.store.store import MissingVersion, Store, open_store
from snapshots.store.verification import missing_files
from tests.stores import bucket_worker
from tests.stores.object_stores import object_store
from tests.stores.store_content import BLOG, Row, publish

pytestmark = pytest.mark.slow

VERSIONS = 6
FILES = 4
"""Files that versions name as assets, two each."""
TOGETHER = 2
"""Processes that work, and are killed, at the same time."""


def with_files(source: Path) -> Path:
    """A folder of files for assets."""
    files = source / bucket_worker.FILES
    files.mkdir(parents=True)
    for number in range(FILES):
        (files / f"{number}.png").write_bytes(b"%d" % number * 1000)
    return files


def check_usable(target: Store) -> None:
    """Every listed version has all its files and assets, and the current one is among them."""
    place = target.workspace("acme")
    versions = place.versions()
    for version in versions:
        assert not list(missing_files(target.objects, place.manifest(version)))
    current = place.current()
    assert current is None or current.version in versions


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("moto", 6),
        pytest.param("seaweedfs", 40, marks=pytest.mark.slow),
    ],
)
def test_a_bucket_stays_usable_whoever_is_killed(
    tmp_path: Path, kind: str, kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_store(tmp_path / "source")
    files = with_files(tmp_path / "source")
    for number in range(1, VERSIONS + 1):
        rows = [Row(f"row-{number}-{row}") for row in range(50)]
        publish(
            source.workspace("acme"),
            number,
            {(BLOG, "ja", FileKind.PUBLISHED): rows, (BLOG, "en", FileKind.PUBLISHED): rows[:1]},
            files,
            [f"{number % FILES}.png", f"{(number + 1) % FILES}.png"],
        )
    chance = random.Random(19)
    moved = set()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with object_store(kind) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        place = server.place()
        target = open_store(place)
        for _ in range(0, kills, TOGETHER):
            command = [sys.executable, "-m", "tests.stores.bucket_worker", str(tmp_path / "source"), place]
            workers = [
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(TOGETHER)
            ]
            for worker in workers:
                assert worker.stdout is not None
                worker.stdout.readline()
            # The first is killed at any time, however far it has come; the last after it has activated a version.
            for worker in workers:
                time.sleep(chance.uniform(0.02, 0.4))
                if worker is workers[-1]:
                    assert worker.stdout is not None
                    worker.stdout.readline()
                    time.sleep(chance.uniform(0, 0.05))
                assert worker.poll() is None, f"the worker ended by itself: {worker.communicate()[1].decode()}"
                worker.kill()
                worker.communicate()
            check_usable(target)
            found = target.workspace("acme").current()
            moved.add(None if found is None else found.version)
        assert moved - {None}, "no worker lived to activate a version"
        left = target.workspace("acme")
        # As if it were later: leases of killed processes have ended, and no request of theirs is on its way.
        later = asset_use._now() + 3_600_000
        monkeypatch.setattr(asset_use, "_now", lambda: later)
        monkeypatch.setattr(pruning, "GONE_SECONDS", -3600)
        monkeypatch.setattr(asset_use, "GONE_SECONDS", 1.0)
        left.prune(1)
        left.prune(1)  # the marks of what went
        for version in source.workspace("acme").versions():
            carry(source.objects, target.objects, "acme", version)
        assert set(source.workspace("acme").versions()) <= set(left.versions())
        assert [left.verify(version) for version in left.versions()] == [[]] * len(left.versions())


@pytest.mark.parametrize(
    ("kind", "rounds"),
    [
        ("directory", 20),
        ("any", 6),
        pytest.param("directory", 200, marks=pytest.mark.slow),
        pytest.param("any", 30, marks=pytest.mark.slow),
    ],
)
def test_every_version_has_its_assets_however_builds_pushes_and_prunes_overlap(
    tmp_path: Path, kind: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_store(tmp_path / "source")
    files = with_files(tmp_path / "source")
    for number in range(1, VERSIONS + 1):
        names = [f"{number % FILES}.png", f"{(number + 1) % FILES}.png"]
        publish(source.workspace("acme"), number, {}, files, names)
    with ExitStack() as running:
        if kind == "directory":
            place = str(tmp_path / "target")
        else:
            server = running.enter_context(object_store(kind))
            for name, value in server.environment.items():
                monkeypatch.setenv(name, value)
            place = server.place()
        environments = [{**os.environ, "XDG_CACHE_HOME": str(tmp_path / f"cache-{number % 2}")} for number in range(3)]
        command = [sys.executable, "-m", "tests.stores.bucket_worker", str(tmp_path / "source"), place, str(rounds)]
        workers = [
            running.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, env=one)) for one in environments
        ]
        target = open_store(place, cache=tmp_path / "cache")
        looked = 0
        while any(worker.poll() is None for worker in workers):
            looked += check_assets(target)
        assert [worker.returncode for worker in workers] == [0, 0, 0]
        check_usable(target)
        assert looked
        left = target.workspace("acme")
        assert [left.verify(version) for version in left.versions()] == [[]] * len(left.versions())


def check_assets(target: Store) -> int:
    """Look at the assets of the versions there are, beside prunes; return the number of those that stayed meanwhile."""
    place = target.workspace("acme")
    before = stored_at(target)
    missing = {}
    for version in before:
        with suppress(MissingVersion):
            missing[version] = missing_assets(target.objects, place.manifest(version))
    # A version that is marked may have lost its assets while its manifest is there still.
    after = stored_at(target)
    stayed = {version: keys for version, keys in missing.items() if after.get(version) == before[version]}
    assert not any(stayed.values()), stayed
    return len(stayed)


def stored_at(target: Store) -> dict[str, int]:
    """When the manifest of each version was stored: another time tells that it went and was carried again."""
    stored = {one.key: one.modified_at for one in target.objects.names("acme/snapshots")}
    there = ((version, f"acme/snapshots/{version}/{MANIFEST}") for version in target.workspace("acme").versions())
    return {version: stored[key] for version, key in there if key in stored}

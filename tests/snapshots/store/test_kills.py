"""Processes that push, activate and drop versions in a bucket, killed at random instants: it stays usable."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from snapshots.columns import FileKind
from snapshots.store.carrying import carry
from snapshots.store.store import Store, open_store
from snapshots.store.verification import wrong_sizes
from tests.stores.object_stores import object_store
from tests.stores.store_content import BLOG, Row, publish

VERSIONS = 6
TOGETHER = 2
"""Processes that work, and are killed, at the same time."""


def check_usable(target: Store) -> None:
    """Every listed version has all its files, and the current one is among them."""
    place = target.workspace("acme")
    versions = place.versions()
    for version in versions:
        assert not list(wrong_sizes(target.objects, f"acme/snapshots/{version}", place.manifest(version)))
    current = place.current()
    assert current is None or current.version in versions


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("moto", 6),
        pytest.param("moto", 200, marks=pytest.mark.slow),
        pytest.param("seaweedfs", 200, marks=pytest.mark.slow),
    ],
)
def test_a_bucket_stays_usable_whoever_is_killed(
    tmp_path: Path, kind: str, kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_store(tmp_path / "source")
    for number in range(1, VERSIONS + 1):
        rows = [Row(f"row-{number}-{row}") for row in range(50)]
        publish(
            source.workspace("acme"),
            number,
            {(BLOG, "ja", FileKind.PUBLISHED): rows, (BLOG, "en", FileKind.PUBLISHED): rows[:1]},
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
            workers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(TOGETHER)]
            for worker in workers:
                assert worker.stdout is not None
                worker.stdout.readline()
            for worker in workers:
                time.sleep(chance.uniform(0.02, 0.4))
                assert worker.poll() is None, "the worker ended by itself"
                worker.kill()
                worker.communicate()
            check_usable(target)
            found = target.workspace("acme").current()
            moved.add(None if found is None else found.version)
        assert moved - {None}, "no worker lived to activate a version"
        left = target.workspace("acme")
        left.prune(1)
        for version in source.workspace("acme").versions():
            carry(source.objects, target.objects, "acme", version)
        assert len(left.versions()) == VERSIONS
        assert [left.verify(version) for version in left.versions()] == [[]] * VERSIONS

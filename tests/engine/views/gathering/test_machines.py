"""Machines as real processes over one bucket, killed at random instants, with answers lost and the store stopped."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.views.collecting.targets import Kind
from engine.views.gathering.layout import SPOOL
from snapshots.store.locations import open_objects
from snapshots.store.objects import Objects
from tests.engine.views.gathering.machines import Machine, rows_in
from tests.servers.ports import free_port
from tests.stores.object_stores import ObjectStore, object_store
from tests.stores.store_proxy import store_proxy

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

SCRIPT = Path(__file__).with_name("killed_machines.py")
DEADLINE = 60.0
HOUR = 3_600_000


class Running:
    """A machine's process, and what it has acknowledged."""

    def __init__(self, location: str, root: Path, name: str, skew: int, seconds: float) -> None:
        self.acknowledged = root.with_name(f"{root.name}-{name}.txt")
        with self.acknowledged.open("wb") as out, root.with_name(f"{root.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), location, str(root), name, str(skew), str(seconds)],
                stdout=out,
                stderr=log,
            )

    def paths(self) -> set[str]:
        """The paths whose views are acknowledged; the last may be missing, as one that is killed tells no more."""
        return set(self.acknowledged.read_text().splitlines())


@contextmanager
def bucket(kind: str) -> Iterator[ObjectStore]:
    with object_store(kind) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


def settle(directory: Path, objects: Objects, machines: int) -> Machine:
    """Have every machine send what it has, one of them write it, and return that one."""
    several = [Machine(directory / f"machine-{number}", objects) for number in range(machines)]
    now = int(time.time() * 1000) + HOUR
    for machine in several:
        machine.send(now)
    several[0].gathering.round(now, flush=True)
    several[0].gathering.round(now, flush=True)
    return several[0]


def check(directory: Path, objects: Objects, machines: int, runs: list[Running]) -> tuple[int, int]:
    """Each acknowledged view counts once, and each other at most once. Returns how many were acknowledged, counted."""
    acknowledged = set().union(*(run.paths() for run in runs))
    one = settle(directory, objects, machines)
    counted: Counter[str] = Counter()
    for (kind, key, _), views in one.counts().items():
        assert kind == Kind.PATH.value
        counted[key] += views
    assert set(counted.values()) == {1}
    assert acknowledged <= set(counted)
    assert len(counted) - len(acknowledged) <= len(runs) * 5
    assert Counter(view.key for view in rows_in(objects)) == counted
    assert [listed.key for listed in objects.names(SPOOL) if listed.key.endswith(".ndjson")] == []
    return len(acknowledged), len(counted)


def run_and_kill(directory: Path, location: str, machines: int, kills: int, chance: random.Random) -> list[Running]:
    """Run machines, and kill one after the other at random instants; each begins again on its disk."""
    skews = (0, HOUR, -2 * HOUR)
    runs: list[Running] = []

    def start(number: int) -> Running:
        root = directory / f"machine-{number}"
        runs.append(Running(location, root, f"{number}-{len(runs)}", skews[number % 3], 2 * DEADLINE))
        return runs[-1]

    living = [start(number) for number in range(machines)]
    for _ in range(kills):
        time.sleep(chance.uniform(0.2, 1.2))
        number = chance.randrange(machines)
        living[number].process.send_signal(signal.SIGKILL)
        living[number].process.wait()
        living[number] = start(number)
    time.sleep(1.5)
    for run in living:
        run.process.kill()
        run.process.wait()
    return runs


def killed(directory: Path, kind: str, kills: int, share: float) -> tuple[int, int]:
    """Kill machines whose requests go through a proxy that drops some of the answers to PUT."""
    chance = random.Random(kills)
    with bucket(kind) as store, store_proxy(store.port, drop=share) as proxy:
        place = store.place()
        lossy = place.replace(str(store.port), str(proxy.port), 1)
        runs = run_and_kill(directory, lossy, 3, kills, chance)
        return check(directory, open_objects(place), 3, runs)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "kills"), [("moto", 6), ("seaweedfs", 24)])
def test_killed_machines_lose_and_double_nothing(tmp_path: Path, kind: str, kills: int) -> None:
    acknowledged, _ = killed(tmp_path, kind, kills=kills, share=0.3)
    assert acknowledged > 200


@pytest.mark.slow
def test_views_wait_while_the_store_is_stopped(tmp_path: Path) -> None:
    with bucket("moto") as store, store_proxy(store.port) as proxy:
        place = store.place()
        through = place.replace(str(store.port), str(proxy.port), 1)
        runs = [Running(through, tmp_path / f"machine-{number}", str(number), 0, DEADLINE) for number in range(2)]
        objects = open_objects(place)
        deadline = time.monotonic() + DEADLINE
        while not objects.names(SPOOL):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        proxy.upstream = free_port()
        time.sleep(1)
        before = [len(run.paths()) for run in runs]
        time.sleep(1)
        assert all(len(run.paths()) > count for run, count in zip(runs, before, strict=True))
        proxy.upstream = store.port
        time.sleep(1)
        for run in runs:
            run.process.kill()
            run.process.wait()
        check(tmp_path, objects, 2, runs)

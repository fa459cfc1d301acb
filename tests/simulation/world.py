"""A whole installation in one process: a bucket, machines that read it, people who change it, and what goes wrong.

The product's code runs unchanged. What lies below it is simulated: the client library of the bucket, the operations of
disks, threads and locks, clocks, and what is random.
"""

from __future__ import annotations

import concurrent.futures
import json
import logging
import os
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from snapshots.problems import ParquetryError
from snapshots.store.buckets import bucket_objects
from snapshots.store.current import CURRENT
from snapshots.store.manifest import MANIFEST
from tests.simulation.below.chance import Chance, Rates
from tests.simulation.below.disk import Disks
from tests.simulation.below.power import Unsynced
from tests.simulation.below.receivers import Receiver, client_of
from tests.simulation.below.scheduler import SECOND, Scheduler
from tests.simulation.below.service import Service
from tests.simulation.below.template import WORKSPACES, Template
from tests.simulation.below.threads import threads_of
from tests.simulation.ending import check_end
from tests.simulation.growth.bounds import IDLE, check_growth, check_requests
from tests.simulation.ledger import Ledger, Violated
from tests.simulation.machines import BUCKET, DIRECTORY, EPOCH_MS, Machine, ReadingMachine
from tests.simulation.openings import check_openings
from tests.simulation.outside.outside import Outside
from tests.simulation.people import Office
from tests.simulation.published.published import Published
from tests.simulation.wholeness import Wholeness

MINUTE = 60 * SECOND
QUIET = (30 * SECOND, 60 * SECOND, 120 * SECOND, 240 * SECOND)
"""Microseconds without faults and people at the end, in which everything is to become as it should be: when it is
looked at, until it is."""
CATCHING_UP = 4 * SECOND
"""Microseconds in which a machine whose store answers again follows what it missed, which takes two polls and a look;
or tells that it hangs once more, which takes three polls and a look."""
KEPT_LINES = 4000
_FAULTS = {"cut off": "is_cut_off", "hangs": "hangs", "full": "is_full", "refused": "refused"}
"""What of a machine is so while something befalls it."""


class World:
    """One run of one seed."""

    def __init__(
        self,
        seed: str,
        template: Template,
        kept: Collection[str] | None = None,
        *,
        minutes: float = 2,
        scene: Mapping[str, Any] | None = None,
    ) -> None:
        """``scene`` has what is given of the world, by name; chance decides the rest."""
        self.given = given = scene or {}
        self.chance = Chance(seed, kept)
        self.template = template
        self.workspaces = tuple(WORKSPACES)
        chance = self.chance.of_world()
        self.rates = Rates(chance)
        for name, rate in vars(self.rates).items():
            setattr(self.rates, name, given.get(name, 0.0 if "only" in given else rate))
        self.meets = given.get("meets")
        """Whether people act at the same instants, where that is given."""
        self.is_directory = given.get("directory", chance.random() < 0.3)
        """Whether the store is a directory of the one machine there is, and not in a bucket."""
        self.location = DIRECTORY if self.is_directory else BUCKET
        nights = chance.choice((0, 0, 0, 1, 12))
        if nights == 12 and random.Random(f"{seed}/months").random() < 0.5:
            nights = 60
        self.nights = given.get("nights", nights)
        """How often all machines sleep for a day, in between."""
        self.retention_days = 3 if self.nights else None
        self.scheduler = Scheduler(seed)
        self.ledger = Ledger()
        self.history: deque[str] = deque(maxlen=KEPT_LINES)
        self.is_over = False
        """Whether faults and people have ended."""
        self.is_resting = False
        """Whether all is over, and nobody does anything any more."""
        self._end = round(minutes * MINUTE)
        self._entropy = random.Random(f"{seed}/entropy")
        self.service = Service(self.scheduler, self.chance, self.rates, self.wall_ms)
        self.service.stored = lambda key: self._note_version(key, self.service.objects[key].data)
        self._wholeness: dict[int, Wholeness] = {}
        self.service.changed = self._check_whole
        self.disks = Disks(self.scheduler, self._dies)
        self.disks.moved = self._note_moved
        if self.rates.cut:
            self.disks.unsynced = Unsynced(lambda: self.scheduler.now)
        self.outside = Outside(self)
        self.published = Published(self)
        self.readers = [
            ReadingMachine(self, f"reader-{number}", chance.choice((0, 0, 900_000, -900_000)))
            for number in range(1 if self.is_directory else given.get("readers", chance.choice((1, 2, 2))))
        ]
        self.office = Office(self, "office", chance.choice((0, 0, 700_000, -700_000)))
        if self.is_directory:
            self.office.offset = self.readers[0].offset
        self.machines: list[Machine] = [*self.readers, self.office]
        self.receivers: dict[str, Receiver] = {}
        for name in self.workspaces:
            for number in range(given.get("receivers", chance.choice((0, 1, 2)))):
                host = f"{name}-{number}.example"
                self.receivers[host] = Receiver(self, host, name)
        self.opens = given.get("opens", chance.random() < 0.02)
        """Whether the versions of the run are opened, which takes long, and their answers compared."""
        self.has_stewards = not self.is_directory and given.get("stewards", chance.random() < 0.2)
        """Whether there are buckets that a backup is restored into, or that are damaged and mended."""

    def wall_ms(self) -> int:
        """Return the true time, UTC milliseconds."""
        return EPOCH_MS + (self.scheduler.now + self.scheduler.asleep) // 1000

    def run(self) -> None:
        """Let everything happen. Raises ``Violated``, and whatever the product should not have raised."""
        with self._installed():
            try:
                for machine in self.machines:
                    machine.begin()
                self._plan_faults()
                self._plan_nights()
                self.outside.plan(self._end)
                self.scheduler.run(self._end)
                self._calm()
                self._settle()
            finally:
                self.is_over = True
                self.scheduler.end()
        if self.opens:
            for name in self.workspaces:
                current = [version for _, version in self.ledger.versions.get(name, [])]
                check_openings(self.template, name, current, Path("openings"))

    @property
    def faults(self) -> int:
        """How often something has gone wrong so far."""
        return sum(not one.endswith(" acts") for one in self.chance.taken)

    def _settle(self) -> None:
        """Go on until all is as it should be. Raises ``Violated`` where it does not become so."""
        for quiet in QUIET:
            self.scheduler.run(self._end + quiet)
            try:
                check_end(self)
            except Violated:
                if quiet == QUIET[-1]:
                    raise
            else:
                self._rest(quiet)
                return

    def _rest(self, quiet: int) -> None:
        """In a world that lasted for long, look at what must not have grown, and how often idle machines ask."""
        if not self.nights:
            return
        check_growth(self)
        self.is_resting = True
        self.scheduler.run(self._end + quiet + 10 * SECOND)
        asked = self.service.asked.copy()
        self.scheduler.run(self._end + quiet + 10 * SECOND + IDLE)
        check_requests(self, asked)

    def tell(self, line: str) -> None:
        """Add a line to the history."""
        self.history.append(f"{self.scheduler.now / SECOND:10.4f}  {line}")

    # What befalls machines.

    def _dies(self) -> bool:
        actor = self.scheduler.current
        assert actor is not None
        process = actor.process
        if self.is_over:
            return False
        rate = self.rates.command_death if process.is_command else self.rates.death
        if not rate or actor.chance.random() >= rate or not self.chance.falls(actor.name, "dies"):
            return False
        self.tell(f"{process.name} dies")
        return True

    def _plan_faults(self) -> None:
        """Decide for each minute and machine what befalls it."""
        chance = random.Random(f"{self.chance.seed}/faults")
        for machine in self.machines:
            for minute in range(self._end // MINUTE + 1):
                for what, rate in (
                    ("cut off", self.rates.outage),
                    ("hangs", self.rates.hang),
                    ("full", self.rates.full),
                    ("refused", self.rates.refused),
                    ("jump", self.rates.jump),
                    ("power", self.rates.cut),
                ):
                    happens = chance.random() < rate
                    at = minute * MINUTE + round(chance.random() * MINUTE)
                    lasts = round(chance.choice((3, 30, 90)) * chance.random() * SECOND)
                    jump = round(chance.choice((2, 30, 4000, 200_000)) * chance.uniform(-1, 1) * SECOND)
                    if happens:
                        self.scheduler.at(at, self._fault(machine, what, lasts, jump))

    def _fault(self, machine: Machine, what: str, lasts: int, jump: int) -> Callable[[], None]:
        workspace = self.workspaces[lasts % len(self.workspaces)]

        def begin() -> None:
            if self.is_over or not self.chance.falls(machine.name, what):
                return
            if what == "jump":
                for one in self.machines if self.is_directory else [machine]:
                    one.offset += jump
                self.tell(f"{machine.name}: its clock is set by {jump / SECOND:.1f} s")
                return
            if what == "power":
                self._lose_power(self.machines if self.is_directory else [machine], jump)
            else:
                self.tell(f"{machine.name}: {what} for {lasts / SECOND:.1f} s")
                for one in self.machines if self.is_directory else [machine]:  # which have one disk
                    one.room = 0
                    setattr(one, _FAULTS[what], workspace if what == "refused" else True)
                    self.scheduler.at(lasts, partial(self._end_fault, one, what))

        return begin

    def _lose_power(self, machines: Sequence[Machine], number: int) -> None:
        """Cut the power of machines that share a disk; ``number`` decides what of it is lost."""
        for machine in machines:
            self.tell(f"{machine.name}: loses its power")
            self.ledger.lost_power(self.scheduler.now, machine.name)
            machine.end_all()
        if self.disks.unsynced is not None:
            for machine in machines:
                self.disks.unsynced.cut(machine.root, random.Random(f"{self.chance.seed}/{number}"))
        if self.is_directory:
            for workspace in self.workspaces:
                if os.path.exists(path := f"{DIRECTORY}/{workspace}/{CURRENT}"):  # noqa: PTH110 - not by a door
                    self._note_moved(path)

    def _end_fault(self, machine: Machine, what: str) -> None:
        if getattr(machine, _FAULTS[what]):
            setattr(machine, _FAULTS[what], None if what == "refused" else False)
            self.tell(f"{machine.name}: no longer {what}")

    def _plan_nights(self) -> None:
        """Let all machines sleep for a day now and then, so that what is done once a day is done."""
        for night in range(self.nights):
            self.scheduler.at(round(self._end * (night + 0.5) / self.nights), self._sleep)

    def _sleep(self) -> None:
        if not self.is_over and self.chance.falls("all", "sleep"):
            self.put_to_sleep(25 * 3600 * SECOND)
            self.tell("all machines were asleep for a day")

    def put_to_sleep(self, microseconds: int) -> None:
        """Let all machines sleep for longer than a request that has arrived is late."""
        self.service.carry_out_late()
        self.scheduler.asleep += microseconds

    def _calm(self) -> None:
        """End all faults; people go home."""
        self.is_over = True
        self.tell("all faults end")
        for machine in self.machines:
            for what in _FAULTS:
                self._end_fault(machine, what)
            machine.offset = 0
        self.outside.calm()
        rates = self.rates
        rates.lost_request = rates.lost_answer = rates.late = rates.doubled = 0.0

    # What is asked of machines, and has to hold.

    def _note_moved(self, path: str) -> None:
        if path.startswith(f"{DIRECTORY}/") and path.endswith(f"/{CURRENT}"):
            with open(path, "rb") as opened:  # noqa: PTH123 - not by a door
                self._note_version(path.removeprefix(f"{DIRECTORY}/"), opened.read())

    def _note_version(self, key: str, data: bytes) -> None:
        """Note which version has become current in the store."""
        workspace, _, name = key.partition("/")
        if name != CURRENT:
            return
        version = data.split(b'"version":"', 1)[1].split(b'"', 1)[0].decode()
        history = self.ledger.versions.setdefault(workspace, [])
        if not history or history[-1][1] != version:
            history.append((self.scheduler.now, version))
            self.tell(f"store: {workspace} is at {version}")

    def wholeness(self, bucket: Mapping[str, Any]) -> Wholeness:
        """Return what is known of the versions of a bucket."""
        return self._wholeness.setdefault(id(bucket), Wholeness(bucket))

    def _check_whole(self, bucket: Mapping[str, Any], key: str) -> None:
        """Hold that what has changed in a bucket leaves its versions whole."""
        wrong = self.wholeness(bucket).changed(key)
        if wrong is not None:  # not raised, since the product would catch it
            self.scheduler.failure = self.scheduler.failure or Violated(wrong)

    def visit(self, machine: ReadingMachine) -> None:
        """Ask a machine for what clients ask, as an actor of its worker, for ever."""
        chance = self.scheduler.current.chance  # type: ignore[union-attr]  # the worker's
        while True:
            time.sleep(0.2 + 0.6 * chance.random())
            workspace = chance.choice(self.workspaces)
            self._view(machine, workspace, f"/p{chance.randrange(5)}")
            self._check_keys(machine, workspace, chance)
            self._check_version(machine, workspace)
            self._check_withdrawn(machine, workspace)
            self.outside.check(machine)
            self.published.check(machine, workspace)

    def _view(self, machine: ReadingMachine, workspace: str, path: str) -> None:
        assert machine.workspaces is not None
        if not machine.workspaces.has(workspace) or self.is_over:
            return
        ledger = self.ledger
        ledger.unsure_views[workspace, path] += 1
        try:
            machine.keep_view(workspace, path)
        except ParquetryError:
            pass  # dropped, and known to be
        else:
            ledger.took_view(self.scheduler.now, machine.name, workspace, path)
        ledger.unsure_views[workspace, path] -= 1

    def _check_keys(self, machine: ReadingMachine, workspace: str, chance: random.Random) -> None:
        assert machine.workspaces is not None
        known = [one for one in self.ledger.keys if one.workspace == workspace]
        if not known or not machine.workspaces.has(workspace):
            return
        key = chance.choice(known)
        now, since = self.scheduler.now, max(key.disabled.since, key.deleted.since)
        if now - since <= max(key.disabled.bound, key.deleted.bound) or self._is_new(machine):
            return
        if now - machine.failed_at <= CATCHING_UP:  # it says so no longer, and its workers are about to read the keys
            return
        is_good = key.disabled.others == {False} and key.deleted.others == {False}
        is_bad = key.disabled.others == {True} or key.deleted.others == {True}
        found = machine.workspaces.keyring
        try:
            accepted = not found.identify(key.text.encode(), workspace).disabled
        except ParquetryError:
            accepted = False
        if (accepted and is_bad) or (not accepted and is_good):
            told = machine.told()
            if not self._excuses(machine, told, workspace, ("keys", "workspace")):
                word = "accepts" if accepted else "refuses"
                raise Violated(
                    f"{machine.name} {word} the key {key.prefix} of {workspace}, {(now - since) / SECOND:.1f} s after "
                    f"that was changed, and says nothing of it: {sorted(told)}"
                )

    def _check_version(self, machine: ReadingMachine, workspace: str) -> None:
        assert machine.workspaces is not None
        served = machine.workspaces.served(workspace)
        if served is None or self._is_new(machine):
            return
        version: str = served.reader.version
        now = self.scheduler.now
        if version not in {one for _, one in self.ledger.versions.get(workspace, [])}:
            raise Violated(f"{machine.name} serves {version} of {workspace}, which was never current")
        if not self.ledger.was_current(workspace, version, now, 160 * SECOND):
            told = machine.told()
            if not self._excuses(machine, told, workspace, ("snapshot", "current", "workspace")):
                raise Violated(
                    f"{machine.name} serves {version} of {workspace}, long after another became current, and says "
                    f"nothing of it: {sorted(told)}"
                )

    def _check_withdrawn(self, machine: ReadingMachine, workspace: str) -> None:
        """Hold that no version stays open for pins that was deleted."""
        assert machine.workspaces is not None
        now = self.scheduler.now
        if not machine.workspaces.has(workspace) or self._is_new(machine) or now - machine.failed_at <= CATCHING_UP:
            return
        for version in machine.workspaces.of(workspace).snapshots.kept.versions:
            gone = self.ledger.gone.get((workspace, version))
            if gone is None or now - gone.since <= gone.bound or self._has(workspace, version):
                continue
            told = machine.told()
            if not self._excuses(machine, told, workspace, ("snapshot", "current", "workspace")):
                raise Violated(
                    f"{machine.name} answers for {version} of {workspace}, {(now - gone.since) / SECOND:.1f} s after "
                    f"it was deleted, and says nothing of it: {sorted(told)}"
                )

    def _has(self, workspace: str, version: str) -> bool:
        """Whether the store has a version, which a request may have brought back that was late."""
        key = f"{workspace}/snapshots/{version}/{MANIFEST}"
        return Path(DIRECTORY, key).exists() if self.is_directory else key in self.service.objects

    def told_receiver(self, receiver: Receiver, event: dict[str, Any]) -> None:
        """Hold an event that a receiver was told against what has happened."""
        if event["type"] != "content.changed":
            return
        version = event["data"]["snapshot"].partition("@")[0]
        self.tell(f"{receiver.host} is told of {version}: {event['data']['reason']}")
        known = [one for _, one in self.ledger.versions.get(receiver.workspace, [])]
        if version not in known:
            raise Violated(f"{receiver.host} is told of {version}, which was never current")
        if event["data"]["reason"] == "rollback" and known.count(version) < 2:
            raise Violated(f"{receiver.host} is told of a rollback to {version}, which was current for the first time")

    def _is_new(self, machine: ReadingMachine) -> bool:
        """Whether processes of a machine have just begun to look."""
        return self.scheduler.now - max(machine.worker_since, *machine.began_at.values()) < 10 * SECOND

    def _excuses(
        self, machine: ReadingMachine, told: Collection[tuple[str, str]], workspace: str, whats: Collection[str]
    ) -> bool:
        """Whether a machine says that it does not follow these parts of a workspace, and says what is true."""
        # Whoever says that the store is away has had no answer a moment ago.
        is_away = self.scheduler.now - machine.failed_at < 30 * SECOND
        machines = ("keeper", "clock", *(("bucket", "store") if is_away or self.is_directory else ()))
        return any((what in whats and where == workspace) or what in machines for what, where in told)

    # What lies below the product.

    @contextmanager
    def _installed(self) -> Iterator[None]:
        """Put the simulated world below the product, in an empty directory that is the current one."""
        logger = logging.getLogger("parquetry")
        handler = _Lines(self)
        level, propagates = logger.level, logger.propagate
        with ExitStack() as stack:
            for module, name, value in (*self.disks.doors(), *self._clocks(), *self._threads(), *self._others()):
                stack.enter_context(patch.object(module, name, value))
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
            logger.propagate = False
            random.seed(f"{self.chance.seed}/random")
            try:
                yield
            finally:
                logger.removeHandler(handler)
                logger.setLevel(level)
                logger.propagate = propagates

    def _clocks(self) -> list[tuple[Any, str, Any]]:
        scheduler = self.scheduler

        def wall() -> int:
            actor = scheduler.current
            return self.wall_ms() * 1_000_000 if actor is None else actor.process.machine.wall_ns()

        def steady(_clock: int = 0) -> int:
            return (scheduler.now + scheduler.asleep + 1000 * SECOND) * 1000

        return [
            (time, "time", lambda: wall() / 1e9),
            (time, "time_ns", wall),
            (time, "monotonic", lambda: steady() / 1e9),
            (time, "monotonic_ns", steady),
            (time, "clock_gettime_ns", steady),
            (time, "sleep", lambda seconds: scheduler.pause(max(1, round(seconds * SECOND)))),
        ]

    def _threads(self) -> list[tuple[Any, str, Any]]:
        made = threads_of(self.scheduler)
        pool = made.pop("ThreadPoolExecutor")
        holders = [module for module in _modules() if getattr(module, "ThreadPoolExecutor", None) is _POOL]
        return [
            *((threading, name, one) for name, one in made.items()),
            *((module, "ThreadPoolExecutor", pool) for module in (concurrent.futures, *holders)),
        ]

    def _others(self) -> list[tuple[Any, str, Any]]:
        from server import lookout
        from server.background.webhooks import sender
        from server.views import batching, collection

        scheduler, entropy = self.scheduler, self._entropy

        def pid() -> int:
            return _PID if scheduler.current is None else scheduler.current.process.pid

        def kill(pid: int, _signal: int) -> None:
            process = scheduler.processes.get(pid)
            if process is None or not process.is_alive:
                raise ProcessLookupError(pid)

        def host() -> str:
            return "host"

        return [
            (os, "urandom", entropy.randbytes),
            (random, "_urandom", entropy.randbytes),
            (os, "getpid", pid),
            (os, "kill", kill),
            (os, "sched_setscheduler", lambda *_: None),
            (os, "nice", lambda *_: 0),
            (socket, "gethostname", host),
            (Path, "resolve", lambda path, strict=False: Path("/", path)),
            (bucket_objects, "obstore", self.service),
            (lookout, "memory_is_short", lambda: False),
            (batching, "SimpleQueue", lambda: None),
            (batching.ViewKeeping, "start", lambda _: None),
            (collection, "read_list", lambda: None),
            (sender, "WebhookClientThread", client_of(self.receivers)),
            *self.outside.doors(),
        ]


class _Lines(logging.Handler):
    """Takes the lines of the log into the history. A traceback in it is a failure: nothing unforeseen may happen."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.lock = None  # nobody else goes on meanwhile

    def emit(self, record: logging.LogRecord) -> None:
        actor = self._world.scheduler.current
        who = "hub" if actor is None else actor.process.name
        said = record.getMessage()
        self._world.tell(f"{who} logs {record.levelname}: {said}")
        if "add it by hand: " in said:
            line = json.loads(said.partition("add it by hand: ")[2])
            key = line["sentence"].rpartition("(")[2].partition(")")[0]
            self._world.ledger.audit_by_hand[said.partition(":")[0], f"{line['action']} {key}"] += 1
        if record.exc_info and record.exc_info[1] is not None:
            self._world.scheduler.failure = self._world.scheduler.failure or record.exc_info[1]


_POOL = concurrent.futures.ThreadPoolExecutor
_PID = os.getpid()


def _modules() -> list[Any]:
    import sys

    names = ("snapshots", "engine", "server")
    return [module for name, module in sorted(sys.modules.items()) if name.partition(".")[0] in names]

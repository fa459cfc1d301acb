"""One actor at a time, on a simulated clock: whoever's operation is done first goes on.

An actor is what a thread is to the product. It belongs to a process, which can die at any of its operations; from then
on, nothing that it does has any effect, and none of its operations returns.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

import greenlet

SECOND = 1_000_000
"""Microseconds, in which the simulated time is counted."""


class Died(BaseException):
    """The process was killed in the middle of this operation."""


class Process:
    """A process of a machine."""

    def __init__(self, machine: Any, name: str, pid: int) -> None:
        self.machine = machine
        self.name = name
        self.pid = pid
        self.is_alive = True
        self.is_command = False
        self.disturbed = False
        """Whether one of its operations has failed."""
        self.descriptors: set[int] = set()
        self.actors: list[Actor] = []


class Actor:
    """A thread of a process."""

    __slots__ = ("chance", "greenlet", "name", "process", "turn")

    def __init__(self, process: Process, name: str, chance: random.Random) -> None:
        self.process = process
        self.name = name
        self.chance = chance
        self.turn = 0
        """How often it went on: what is due for an earlier turn is nothing to it any more."""
        self.greenlet: Any = None


class Scheduler:
    """The time, and who goes on when."""

    def __init__(self, seed: str) -> None:
        self.now = 0
        """Microseconds since the beginning."""
        self.asleep = 0
        """Microseconds in which all machines together were asleep, which the time does not count."""
        self.steps = 0
        self.current: Actor | None = None
        self.failure: BaseException | None = None
        self._seed = seed
        self._hub = greenlet.getcurrent()
        self._until = 0
        self._serial = count()
        self._due: list[tuple[int, int, Any, int]] = []
        self._pids = count(1000)
        self._names: dict[str, int] = {}
        self.processes: dict[int, Process] = {}

    def process(self, machine: Any, name: str) -> Process:
        """Begin a process, which has no actor yet."""
        process = Process(machine, name, next(self._pids))
        self.processes[process.pid] = process
        return process

    def spawn(self, process: Process, name: str, work: Callable[[], object], after: int = 0) -> Actor:
        """Begin an actor that does ``work``, ``after`` so many microseconds."""
        number = self._names[name] = self._names.get(name, 0) + 1
        actor = Actor(process, f"{name}.{number}", random.Random(f"{self._seed}/{name}.{number}"))
        process.actors.append(actor)

        def run() -> None:
            try:
                if process.is_alive:
                    work()
            except (Died, greenlet.GreenletExit):
                pass
            except BaseException as error:
                if process.is_alive:
                    self.failure = self.failure or error
            finally:
                if actor in process.actors:
                    process.actors.remove(actor)

        actor.greenlet = greenlet.greenlet(run, parent=self._hub)
        self.wake(actor, after)
        return actor

    def at(self, after: int, event: Callable[[], object]) -> None:
        """Let something happen ``after`` so many microseconds, which is no actor's operation."""
        heappush(self._due, (self.now + after, next(self._serial), event, -1))

    def wake(self, actor: Actor, after: int = 0) -> None:
        """Let an actor that waits go on."""
        heappush(self._due, (self.now + after, next(self._serial), actor, actor.turn))

    def pause(self, microseconds: int) -> None:
        """Let the current actor's operation take so long. Raises ``Died``."""
        actor = self.current
        if actor is None:
            return
        if not actor.process.is_alive:
            raise Died
        self.steps += 1
        at = self.now + microseconds
        if (self._due and self._due[0][0] <= at) or at > self._until:
            heappush(self._due, (at, next(self._serial), actor, actor.turn))
            self.switch(actor)
        else:
            self.now = at

    def switch(self, actor: Actor) -> None:
        """Let others go on, until somebody wakes the current actor. Raises ``Died``."""
        loop = asyncio._get_running_loop()
        if loop is not None:  # which is one of this actor's alone
            asyncio._set_running_loop(None)
        self._hub.switch()
        if loop is not None:
            asyncio._set_running_loop(loop)
        if not actor.process.is_alive:
            raise Died

    def kill(self, process: Process) -> None:
        """End a process as SIGKILL does: its files are closed, and its locks free."""
        if not process.is_alive:
            return
        process.is_alive = False
        for descriptor in sorted(process.descriptors):
            os.close(descriptor)
        process.descriptors.clear()
        for actor in list(process.actors):
            if actor is not self.current:
                self.wake(actor)

    def run(self, until: int) -> None:
        """Go on until so many microseconds after the beginning. Raises what no actor may raise."""
        self._until = until
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, what, turn = heappop(due)
            if turn < 0:
                what()
            elif turn == what.turn and not what.greenlet.dead:
                what.turn += 1
                self.current = what
                what.greenlet.switch()
                self.current = None
            if self.failure is not None:
                raise self.failure
        self.now = until

    def end(self) -> None:
        """Kill all processes, and let their actors end."""
        for process in self.processes.values():
            self.kill(process)
        failure = self.failure
        self._until = self.now
        while self._due:
            _, _, what, turn = heappop(self._due)
            if turn >= 0 and turn == what.turn and not what.greenlet.dead:
                what.turn += 1
                self.current = what
                what.greenlet.switch()
                self.current = None
        self.failure = failure

"""What a seed decides: how a world is made, which faults happen, and what people do.

Each fault and each deed has a name, made of who it happens to and how far they have come. A run can be had again with
some of them left out, which is how a history is made shorter.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection


class Chance:
    """The decisions of one run."""

    def __init__(self, seed: str, kept: Collection[str] | None = None) -> None:
        """``kept`` are the decisions that may fall; ``None`` for all."""
        self.seed = seed
        self._kept = None if kept is None else frozenset(kept)
        self.taken: list[str] = []
        """The decisions that fell, in order."""
        self._numbers: Counter[str] = Counter()
        self._world = random.Random(f"{seed}/world")

    def of_world(self) -> random.Random:
        """Return the chance by which the world is made."""
        return self._world

    def falls(self, who: str, what: str) -> bool:
        """Take a decision that chance has made for somebody; return whether it is to be so in this run."""
        self._numbers[who] += 1
        name = f"{who}#{self._numbers[who]} {what}"
        if self._kept is not None and name not in self._kept:
            return False
        self.taken.append(name)
        return True


class Rates:
    """How often things go wrong in a world, as parts of one."""

    def __init__(self, chance: random.Random) -> None:
        self.is_calm = is_calm = chance.random() < 0.15
        """Whether nothing goes wrong at all."""

        def rate(*choices: float) -> float:
            found = chance.choice((0.0, *choices))
            return 0.0 if is_calm else found

        self.lost_request = rate(0.002, 0.02)
        """The request never gets there, and nothing is heard."""
        self.lost_answer = rate(0.002, 0.02)
        """It is carried out, and nothing is heard."""
        self.late = rate(0.002, 0.01)
        """It is carried out long after whoever asked has given up."""
        self.doubled = rate(0.002, 0.02)
        """The client's library asks again, although it has been carried out."""
        self.death = rate(0.00002, 0.0001, 0.0005)
        """Of one operation: its process dies."""
        self.command_death = rate(0.001, 0.005, 0.02)
        """Of one operation of a person's command."""
        self.outage = rate(0.1, 0.5)
        """Of one minute: a machine cannot reach the store any more for a while."""
        self.hang = rate(0.1, 0.4)
        """Of one minute: requests of a machine are not answered for a while."""
        self.refused = rate(0.1, 0.5)
        """Of one minute: the store refuses a machine what is of one workspace, for a while."""
        self.full = rate(0.3, 1.0)
        """Of one minute: the disk of a machine is full for a while."""
        self.jump = rate(0.05, 0.2)
        """Of one minute: the clock of a machine is set to another time."""
        self.cut = rate(0.1, 0.5)
        """Of one minute: a machine loses its power, and what was not brought to its disk."""

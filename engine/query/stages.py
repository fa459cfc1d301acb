"""How long each stage of an answer takes: for whoever asks why a query is slow."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


class Stages:
    """Is told when a stage is done. This one does not listen: what serves requests pays a call for it."""

    def done(self, stage: str) -> None:
        """The stage that began when the one before it was done."""


UNWATCHED = Stages()


@dataclass(slots=True)
class TimedStages(Stages):
    """The milliseconds of each stage, in the order in which they first came to an end; a repeated one is added up."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def done(self, stage: str) -> None:
        now = time.perf_counter()
        self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + (now - self._since) * 1000
        self._since = now

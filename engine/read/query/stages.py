"""The stages of an answer and the parts of its list, timed for people who ask why a query is slow."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from engine.read.reader.statement import Statement


class Stages:
    """A listener that does nothing: the one of a server, whose requests pay a call for each stage."""

    def done(self, stage: str) -> None:
        """Called at the end of a stage, which began at the end of the one before."""

    def part(self, about: str, statement: Statement | None, *, kept: bool) -> None:
        """Called with each part of a list: whether it was kept, and the statement that was run for it otherwise."""


UNWATCHED = Stages()


@dataclass(frozen=True, slots=True)
class PartOfList:
    """One part of a list: its order, or the set of rows that meet a condition."""

    about: str
    statement: Statement | None
    """``None`` where DuckDB ran none."""
    kept: bool
    milliseconds: float


@dataclass(slots=True)
class TimedStages(Stages):
    """The milliseconds of each stage, in the order in which they first came to an end; a repeated one is added up."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    parts: list[PartOfList] = field(default_factory=list)
    _since: float = field(default_factory=time.perf_counter)
    _part_since: float = field(default_factory=time.perf_counter)

    def done(self, stage: str) -> None:
        now = time.perf_counter()
        self.milliseconds[stage] = self.milliseconds.get(stage, 0.0) + (now - self._since) * 1000
        self._since = self._part_since = now

    def part(self, about: str, statement: Statement | None, *, kept: bool) -> None:
        now = time.perf_counter()
        self.parts.append(PartOfList(about, statement, kept, (now - self._part_since) * 1000))
        self._part_since = now

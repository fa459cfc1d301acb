"""Run worlds: one seed after the other, each in an empty directory in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.simulation.below.template import Template
from tests.simulation.world import World

_MEMORY = Path("/dev/shm")


class Ran(NamedTuple):
    """The outcome of one run."""

    seed: str
    steps: int
    failure: BaseException | None
    decisions: list[str]
    history: list[str]

    @property
    def kind(self) -> str:
        """What failed, told from other failures."""
        if self.failure is None:
            return ""
        words = str(self.failure).split()
        return " ".join([type(self.failure).__name__, *(word for word in words[:12] if word.isalpha())])


@contextmanager
def place() -> Iterator[Path]:
    """Give a directory in memory, for the block."""
    with tempfile.TemporaryDirectory(prefix="simulation-", dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)


class Runs:
    """Runs of worlds over one template."""

    def __init__(self, root: Path, scene: Mapping[str, Any] | None = None) -> None:
        """``scene`` has what is given of all worlds."""
        self._root = root
        self._scene = scene
        self._template = Template(root / "template")
        self.steps = 0
        self.runs = 0
        # What is made once in a process is made now: a seed is to run alike, whatever ran before it.
        self.run("first", minutes=0.1)
        self.steps = 0
        self.runs = 0

    def run(self, seed: str, *, minutes: float, kept: Collection[str] | None = None) -> Ran:
        """Run one seed, with all of its decisions or those that are ``kept``."""
        directory = self._root / "world"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        before = Path.cwd()
        os.chdir(directory)
        world = World(seed, self._template, kept, minutes=minutes, scene=self._scene)
        failure: BaseException | None = None
        try:
            world.run()
        except KeyboardInterrupt:
            raise
        except Exception as error:
            failure = error
        finally:
            os.chdir(before)
        self.steps += world.scheduler.steps
        self.runs += 1
        return Ran(seed, world.scheduler.steps, failure, world.chance.taken, list(world.history))

"""A fault that is put back, so that the simulation shows that it finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

Change = tuple[Any, str, Any]
"""What is to stand where: (object, attribute, value)."""


@dataclass(frozen=True)
class Fault:
    """A mistake, as changes of modules and classes."""

    about: str
    changes: Callable[[], list[Change]]
    scene: dict[str, Any] = field(default_factory=dict)
    """What is given of the worlds in which it is looked for; chance decides the rest."""
    seed: int = 0
    """The first seed with which it is looked for: one that found it."""

    @contextmanager
    def put_back(self) -> Iterator[None]:
        """Let the product make the mistake for the block."""
        made = [patch.object(*one) for one in self.changes()]
        for one in made:
            one.start()
        try:
            yield
        finally:
            for one in made:
                one.stop()


QUIET: dict[str, Any] = {"only": True, "directory": False, "nights": 0}
"""A store in a bucket, and nothing goes wrong but what is named beside."""

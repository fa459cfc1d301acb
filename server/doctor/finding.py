"""What a look at an installation finds, and what the looks are given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from server.settings import Settings
from snapshots.store.store import Store


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, or a hint."""

    subject: str
    """The look that found it: a name of ``examination.LOOKS``, or ``examination.STORE``."""
    is_wrong: bool
    """Whether it is wrong, and not only a hint."""
    what: str
    """A sentence."""
    why: str
    """Why it matters, as a sentence."""
    command: str
    """What mends it: a command to be typed, or the setting to be changed."""


class Case(msgspec.Struct, frozen=True):
    """What is looked at."""

    settings: Settings
    """As the server of this environment would have them."""
    store: Store
    """The store that all machines share."""
    environment: Mapping[str, str]
    checkout: Path | None
    """The directory of a workspace's files, where the command runs in one."""
    prometheus: str | None
    """The address of a Prometheus; ``None`` where none was named."""
    now: int
    """UTC milliseconds."""

    @property
    def root(self) -> Path | None:
        """The directory that is the store; ``None`` for one in a bucket."""
        return self.store.root if self.store.bucket is None else None

"""The bounds of making the parts of a version."""

from __future__ import annotations

import msgspec


class MaterialiseSettings(msgspec.Struct, frozen=True):
    """The memory and threads that making parts may use."""

    memory: str = "1GB"
    threads: int = 2

"""How the files of a version are written. The rows are the same whatever the settings."""

from __future__ import annotations

from typing import Final

import msgspec


class WriteSettings(msgspec.Struct, frozen=True):
    """What is written beside the rows, and how the rows are compressed."""

    indexed: bool
    """Whether there are search indexes."""
    compression: str
    """A codec of Parquet."""
    level: int | None
    """The codec's level; ``None`` where it has none."""


FULL: Final = WriteSettings(indexed=True, compression="zstd", level=1)
"""What is published: the same bytes for the same content."""
LIGHT: Final = WriteSettings(indexed=False, compression="snappy", level=None)
"""For an answer soon after a save, as ``cms dev`` gives it: more bytes, made in less time."""

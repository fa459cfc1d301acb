"""Settings of the one writer of data files. Versions of the same content have the same rows whatever the settings."""

from __future__ import annotations

from typing import Final

import msgspec


class WriteSettings(msgspec.Struct, frozen=True):
    """The way in which the files of a version are written."""

    indexed: bool
    """Whether search indexes are written too."""
    compression: str
    """The name of a Parquet codec."""
    level: int | None
    """The codec's level; ``None`` where it has none."""


FULL: Final = WriteSettings(indexed=True, compression="zstd", level=1)
"""For versions to publish: the same bytes for the same content."""
LIGHT: Final = WriteSettings(indexed=False, compression="snappy", level=None)
"""For ``cms dev``: more bytes, written in less time. Such versions are marked as ``Manifest.quick``."""

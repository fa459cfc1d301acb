"""A point: a version and an instant, which together decide what is visible; ``<version>@<instant>`` as text."""

from __future__ import annotations

import re
from datetime import UTC
from typing import Final

import msgspec

from snapshots.problems import ParquetryError
from snapshots.times import format_datetime, parse_datetime

PINNED_SECONDS: Final = 3600
"""How long ago the instant of a request with a key may be, unless a server is told otherwise (decision 68)."""
_FORM: Final = re.compile(r"(?P<version>[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8})@(?P<at>[0-9TZ:.-]{20,24})")


class Point(msgspec.Struct, frozen=True):
    """A version of a workspace at an instant."""

    version: str
    at: int
    """UTC milliseconds."""

    def __str__(self) -> str:
        return f"{self.version}@{format_datetime(self.at)}"


class PointGone(ParquetryError):
    """The content visible at a point is not told, or not any more. ``without`` is the parameter that named the point.

    The reason is told to nobody: a version that was never current is answered like a version that never existed.
    """

    def __init__(self, point: Point, *, without: str) -> None:
        at = format_datetime(point.at)
        super().__init__(
            f"Snapshot version {point.version} is no longer kept as of {at}. Begin again without {without}."
        )


def parse_point(text: str) -> Point:
    """Return the point that ``<version>@<instant>`` names, such as
    ``20261101T090000000Z-1a2b3c4d@2026-11-01T09:30:00.000Z``. Raises ``ValueError`` for any other text."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError("expected <version>@<instant>, such as 20261101T090000000Z-1a2b3c4d@2026-11-01T09:30:00.000Z")
    return Point(found["version"], parse_datetime(found["at"], UTC))

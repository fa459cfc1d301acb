"""The instant that a page shows the content at, as people write it in an address."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import msgspec

from server.pages.rendering import local
from snapshots.times import parse_datetime


class Instant(msgspec.Struct, frozen=True):
    """The instant that a page shows the content at."""

    at: int
    """UTC milliseconds."""
    asked: str = ""
    """The instant as the page's address has it; empty for the present."""
    wrong: str | None = None
    """The reason why the instant asked for cannot be used, in which case ``at`` is the present."""

    @classmethod
    def read(cls, asked: str, zone: ZoneInfo, now: int) -> Instant:
        """A date-time as people or a browser write it, in the time zone ``zone`` where it has no offset."""
        if not asked:
            return cls(now)
        try:
            return cls(parse_datetime(asked, zone), asked)
        except ValueError as error:
            return cls(now, wrong=f"As of: {error}.")

    def written(self, zone: ZoneInfo) -> str:
        """The instant as a browser's field for one has it; empty for the present."""
        return local(self.at, zone).replace(" ", "T") if self.asked else ""

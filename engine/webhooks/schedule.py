"""When a request that failed is made again."""

from __future__ import annotations

from typing import Final

_SECOND, _MINUTE, _HOUR = 1000, 60_000, 3_600_000
PAUSES: Final = (
    *(5 * _SECOND, 5 * _MINUTE, 30 * _MINUTE),
    *(hours * _HOUR for hours in (2, 5, 10, 14, 20, 24)),
)
"""Milliseconds between one try and the next. The first try is made at once, and the last is the one after these."""
JITTER: Final = 0.1
"""The part of a pause that is added at random at most, so that not all endpoints are tried at the same instant."""
LONGEST_WISH: Final = 24 * _HOUR
"""Milliseconds for which a receiver's ``Retry-After`` is honoured at most."""


def next_try(failures: int, now: int, retry_after: float | None, chance: float) -> int | None:
    """Return the instant of the next try after ``failures`` failed ones, the last at ``now`` (UTC ms).

    ``retry_after`` are the seconds that the receiver asks for; ``chance`` is a random number from 0 to 1. ``None``
    when there is no further try.
    """
    if failures > len(PAUSES):
        return None
    pause = PAUSES[failures - 1] * (1 + JITTER * chance)
    wish = min((retry_after or 0) * 1000, LONGEST_WISH)
    return now + int(max(pause, wish))

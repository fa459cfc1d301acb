"""The states of language versions at an instant: as SQL, and beside it as Python (decision 22)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from engine.visibility import LIVE, SCHEDULED, is_live, is_scheduled


class State(StrEnum):
    """The state of a language version at an instant."""

    LIVE = "live"
    SCHEDULED = "scheduled"
    ENDED = "ended"
    DRAFT = "draft"
    """Unpublished changes, or a version that was never published."""


STATES: Final = tuple(State)
IN_STATE: Final[Mapping[State | None, str]] = {
    State.LIVE: LIVE,
    State.SCHEDULED: SCHEDULED,
    State.ENDED: f"NOT ({LIVE}) AND NOT ({SCHEDULED})",
}
"""The condition in SQL that a published version is in a state at ``$now``; which versions are drafts, files tell."""


def state_at(live_from: int, live_until: int, now: int) -> State:
    """Return the state of a published version with this live window, UTC milliseconds."""
    if is_live(live_from, live_until, now):
        return State.LIVE
    return State.SCHEDULED if is_scheduled(live_from, now) else State.ENDED

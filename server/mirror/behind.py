"""Track the parts of workspaces in which this machine is behind the store, and log when that begins and ends."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from server.logs import LOGGER

KEYS: Final = "keys"
CURRENT_VERSION: Final = "snapshot"
ALL: Final = "workspace"
"""Nothing of a workspace can be looked at."""
COUNTS: Final = "counts"
VIEWS: Final = "views"
"""Page views of this machine that cannot be sent."""
WEBHOOKS: Final = "webhooks"

_BEGINS: Final = {
    VIEWS: "%s: %s wait on this machine: they cannot be sent to the store",
    WEBHOOKS: "%s: %s wait: what the store has of them cannot be read or written",
}
_ENDS: Final = {VIEWS: "%s: %s are sent to the store again", WEBHOOKS: "%s: %s are followed again"}

_log = logging.getLogger(LOGGER)


class BehindStates:
    """Tracks from one poll to the next which parts of workspaces are behind the store. Used by one thread."""

    def __init__(self, polls_ms: Mapping[str, int]) -> None:
        """``polls_ms`` maps each part that can be behind to the milliseconds of two polls, after which it is logged."""
        self._polls_ms = polls_ms
        self._since: dict[tuple[str, str], int] = {}
        self._told: set[tuple[str, str]] = set()

    def told(self, found: Iterable[tuple[str, str]], now: int) -> dict[str, dict[str, int]]:
        """Return, by workspace, the parts that have been behind for more than two polls, and since when (UTC ms).

        ``found`` lists the (workspace, part) pairs that cannot be followed at ``now`` (UTC milliseconds).
        """
        self._since = {state: self._since.get(state, now) for state in found}
        told = {state for state, since in self._since.items() if not 0 <= now - since < self._polls_ms[state[1]]}
        for name, what in sorted(told - self._told):
            _log.warning(
                _BEGINS.get(what, "%s: %s on this machine has been older than in the store for two polls"), name, what
            )
        for name, what in sorted(self._told - told):
            _log.info(_ENDS.get(what, "%s: %s on this machine is as in the store again"), name, what)
        self._told = told
        behind: dict[str, dict[str, int]] = {}
        for name, what in sorted(told):
            behind.setdefault(name, {})[what] = self._since[name, what]
        return behind

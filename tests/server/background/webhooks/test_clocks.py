"""The sender goes on where the clock of its machine was set back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from server.background.served import VersionServed
from server.background.webhooks.sent_workspace import SentWorkspace

NOW = 1_800_000_000_000
DAY = 86_400_000
SETTLING = 5_000


def workspace(served: VersionServed) -> SentWorkspace:
    source: Any = SimpleNamespace(id="acme", served=served, workspace_store=SimpleNamespace(current=lambda: None))
    nothing: Any = None
    return SentWorkspace(source, nothing, nothing)


def test_a_version_served_since_tomorrow_is_told_once_readers_have_had_their_time() -> None:
    sent = workspace(VersionServed("one", NOW + DAY))
    assert sent.served(NOW + DAY, SETTLING) is None
    told = [sent.served(NOW + moment, SETTLING) is not None for moment in (0, 2_000, SETTLING)]
    assert told == [False, False, True]


def test_a_version_served_since_then_waits_as_long() -> None:
    sent = workspace(VersionServed("one", NOW))
    told = [sent.served(NOW + moment, SETTLING) is not None for moment in (0, SETTLING - 1, SETTLING)]
    assert told == [False, False, True]
    sent.source.served = VersionServed("two", NOW + 60_000)
    assert sent.served(NOW + 60_000, SETTLING) is None


def test_who_was_looked_at_tomorrow_is_looked_at_first() -> None:
    today, tomorrow, never = (workspace(VersionServed("one", NOW)) for _ in range(3))
    today.looked_at, tomorrow.looked_at = NOW - 1, NOW + DAY
    assert [one.last_look(NOW) for one in (today, tomorrow, never)] == [NOW - 1, 0, 0]

"""The requests that readers send to an object store, and the cost of requests and storage at list prices."""

from __future__ import annotations

from typing import Final

import msgspec

from snapshots.store.buckets.services import SERVICES

READS_A_MINUTE: Final = 57
"""How often a reader asks for the hint of changes, and for new counts of page views."""
LOOKS_A_MINUTE: Final = 3
"""A reader's requests for the workspace whose turn it is: its current version, its keys and its counts."""
WEBHOOKS_AN_HOUR: Final = 12
"""A reader's looks for webhooks, at one workspace at a time."""
LISTS_A_MINUTE: Final = 1
"""A reader's lists of the workspaces, each of which costs as much as a write."""
HEARTBEATS_AN_HOUR: Final = 30
"""A reader's writes of what it serves, for the console."""
WRITERS_A_MINUTE: Final = 3
"""How often a reader asks which one writes the counts of page views, unless it does so itself."""
WRITES_A_MINUTE: Final = 6
"""Writes and lists of the one reader that writes the counts: its lease, and the list of the views sent."""
SENDERS_A_MINUTE: Final = 2
"""Where there are webhooks: how often a reader asks which one sends them, or says that it does so itself."""
HOURS_A_MONTH: Final = 30 * 24


class Costs(msgspec.Struct, frozen=True):
    """The cost of readers while nothing changes."""

    requests: int
    """The requests of all readers in an hour."""
    hour: float
    """US dollars, for the requests of an hour."""
    month: float
    """US dollars, for the requests of a month and the storage."""
    service: str


def costs(kind: str, readers: int, workspaces: int, stored: int, *, webhooks: bool) -> Costs:
    """Return what ``readers`` of a store with ``workspaces`` and ``stored`` bytes cost; ``kind`` as in ``Bucket``.

    ``webhooks`` says whether any workspace has some.
    """
    prices = SERVICES[kind].prices
    senders = SENDERS_A_MINUTE if webhooks else 0
    looks = 60 * LOOKS_A_MINUTE + WEBHOOKS_AN_HOUR if workspaces else 0
    reads = readers * (60 * READS_A_MINUTE + looks) + (readers - 1) * 60 * (WRITERS_A_MINUTE + senders)
    writes = 60 * (readers * LISTS_A_MINUTE + WRITES_A_MINUTE + senders) + readers * HEARTBEATS_AN_HOUR
    hour = (reads * prices.thousand_reads + writes * prices.thousand_writes) / 1000
    return Costs(reads + writes, hour, hour * HOURS_A_MONTH + stored / 1e9 * prices.gigabyte_month, prices.service)

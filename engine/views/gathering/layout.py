"""The keys of a store's objects that hold page views. Those below ``_views`` are in buckets only.

```
_views/spool/<workspace>/<sender>/<n>.ndjson     sealed segments of a machine, until they are in counts and rows
_views/spool/<workspace>/<sender>/closed         the sender will never write again
_views/writer.json                               the lease of the machine that writes
_views/counts.json                               a hint: workspaces whose counts have changed
<workspace>/views/counts/today.parquet           replaced by compare-and-set; it alone says what is valid
<workspace>/views/counts/base-<day>-….parquet    the counts of the days before
<workspace>/views/day=YYYY-MM-DD/<n>.parquet     raw rows, for any engine
```
A sender is what a worker is in the spool of one machine: its name is never used again, and its segments are numbered
from 1 without a gap. No workspace's ID begins with an underscore.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from engine.views.collecting.spool import VIEWS
from engine.views.collecting.targets import day_number, day_of
from engine.views.counting.count_files import COUNTS, TODAY
from snapshots.store.objects import ListedObject, Objects

SPOOL: Final = "_views/spool"
LEASE: Final = "_views/writer.json"
HINT: Final = "_views/counts.json"
_CLOSED: Final = "closed"
_DAY: Final = "day="


@dataclass(slots=True)
class Sent:
    """The content of a workspace's spool: the sorted segments of each sender, and the senders that are closed."""

    segments: dict[str, list[int]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)


def segment_key(workspace: str, sender: str, number: int) -> str:
    return f"{SPOOL}/{workspace}/{sender}/{number:09}.ndjson"


def closed_key(workspace: str, sender: str) -> str:
    return f"{SPOOL}/{workspace}/{sender}/{_CLOSED}"


def today_key(workspace: str) -> str:
    return counts_key(workspace, TODAY)


def counts_key(workspace: str, name: str) -> str:
    return f"{counts_prefix(workspace)}/{name}"


def counts_prefix(workspace: str) -> str:
    return f"{workspace}/{VIEWS}/{COUNTS}"


def rows_key(workspace: str, day: int, number: int) -> str:
    """The key of the file with the rows of a JST day (days since 1970) that were filed under a number."""
    return f"{workspace}/{VIEWS}/{_DAY}{day_of(day)}/{number:08}.parquet"


def sent_views(listed: Iterable[ListedObject]) -> dict[str, Sent]:
    """The objects below ``SPOOL`` by workspace; those of other names are left alone."""
    found: dict[str, Sent] = {}
    for one in listed:
        parts = one.key.removeprefix(f"{SPOOL}/").split("/")
        if len(parts) != 3:
            continue
        workspace, sender, name = parts
        stem = name.removesuffix(".ndjson")
        if name == _CLOSED:
            found.setdefault(workspace, Sent()).closed.add(sender)
        elif stem != name and stem.isascii() and stem.isdigit():
            found.setdefault(workspace, Sent()).segments.setdefault(sender, []).append(int(stem))
    for sent in found.values():
        for numbers in sent.segments.values():
            numbers.sort()
    return found


def last_filing(objects: Objects, workspace: str) -> int:
    """The highest number of the files of rows of a workspace; 0 where there are none. Raises ``StoreError``."""
    found = [day_and_number(one.key) for one in objects.names(f"{workspace}/{VIEWS}")]
    return max((at[1] for at in found if at is not None), default=0)


def day_and_number(key: str) -> tuple[int, int] | None:
    """The JST day (days since 1970) and the number in the key of a file of rows; ``None`` for another object."""
    folder, _, name = key.rpartition("/")
    text, stem = folder.rpartition("/")[2], name.removesuffix(".parquet")
    if not text.startswith(_DAY) or stem == name or not (stem.isascii() and stem.isdigit()):
        return None
    try:
        return day_number(date.fromisoformat(text.removeprefix(_DAY))), int(stem)
    except ValueError:
        return None

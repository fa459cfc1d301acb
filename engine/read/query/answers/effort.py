"""Choose where the answer of a bound plan is made: on the event loop, or in one of two lanes of threads.

An answer made inline runs no statement, asks no search index and waits for nothing: its list is joined of kept parts,
and its entries are read by position. These are few, because the operating system may have to fetch each from the disk
while nothing else is answered.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from engine.read.query.answers.bind import ChangesPlan, Plan
from engine.read.query.plan import EntryPlan, ListPlan
from engine.read.query.selection.select import selection_is_kept
from engine.read.reader.reader import Reader
from engine.views.counting.totals import ViewTotals

MOST_DOCUMENTS: Final = 32
"""Entries read for one answer made inline, those referred to included."""
MOST_BYTES: Final = 256 << 10
"""Bytes of these entries together, each counted as its API's average."""
MOST_ROWS: Final = 1 << 18
"""Rows of an API, all its languages together, whose sets are joined inline: that takes a tenth of a millisecond."""


class Effort(Enum):
    """The place where an answer is made."""

    INLINE = "on the event loop"
    SHORT = "in a thread for short work"
    LONG = "in a thread for searches, conditions and orders"


def effort(reader: Reader, plan: Plan, now: int, views: ViewTotals) -> Effort:
    """Return where the answer to a bound plan at ``now`` (UTC ms) is made, with these view counts."""
    if not isinstance(plan, ListPlan | EntryPlan):
        return Effort.LONG if isinstance(plan, ChangesPlan) else Effort.SHORT
    if _is_small(reader, plan) and _is_known(reader, plan, now, views):
        return Effort.INLINE
    if isinstance(plan, ListPlan) and (plan.all_conditions or plan.orders):
        return Effort.LONG
    return Effort.SHORT


def _is_small(reader: Reader, plan: ListPlan | EntryPlan) -> bool:
    """Whether the plan reads few entries, and small ones."""
    shape = plan.shape
    if shape.expansions and (
        shape.depth > 1 or not all(one.is_one for one in shape.expansions)
    ):  # which may name any number of entries
        return False
    entries = plan.limit if isinstance(plan, ListPlan) else 1
    apis = [plan.api, *(api for expansion in shape.expansions for api in expansion.apis)]
    size = sum(entries * reader.rows(api).mean_size for api in apis)
    return entries * len(apis) <= MOST_DOCUMENTS and size <= MOST_BYTES


def _is_known(reader: Reader, plan: ListPlan | EntryPlan, now: int, views: ViewTotals) -> bool:
    """Whether the answer needs no statement, no search index and no other file."""
    if isinstance(plan, EntryPlan):
        if plan.draft_key is not None:
            return False
    elif (plan.all_conditions and reader.rows(plan.api).count > MOST_ROWS) or not selection_is_kept(
        reader, plan, now, views
    ):
        return False
    return all(reader.known_epoch(api, visibility, now) is not None for api, visibility in plan.shape.read)

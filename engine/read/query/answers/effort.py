"""Choose where the answer of a bound plan is made: on the event loop, or in one of two lanes of threads.

An answer made inline runs no statement, asks no search index and waits for nothing: its list is joined of kept parts,
and its entries are read by position. These are few, because the operating system may have to fetch each from the disk
while nothing else is answered.
"""

from __future__ import annotations

from typing import Final

from engine.read.query.answers.bind import ChangesPlan, Plan
from engine.read.query.plan import EntryPlan, ListPlan
from engine.read.reader.reader import Reader

MOST_DOCUMENTS: Final = 32
"""Entries read for one answer made inline, those referred to included."""
MOST_BYTES: Final = 256 << 10
"""Bytes of these entries together, each counted as its API's average."""
MOST_ROWS: Final = 1 << 18
"""Rows of an API, all its languages together, whose sets are joined inline: that takes a tenth of a millisecond."""


def is_long(plan: Plan) -> bool:
    """Return whether an answer belongs into the lane for searches, conditions and orders, once in a thread."""
    if isinstance(plan, ListPlan):
        return bool(plan.all_conditions or plan.orders)
    return isinstance(plan, ChangesPlan)


def is_small(reader: Reader, plan: Plan) -> bool:
    """Return whether an answer may be made inline, where all that it is made of is kept: it reads few entries, and
    small ones, and joins no large sets."""
    if isinstance(plan, ListPlan):
        entries = plan.limit
        if plan.all_conditions and reader.rows(plan.api).count > MOST_ROWS:
            return False
    elif isinstance(plan, EntryPlan) and plan.draft_key is None:
        entries = 1
    else:
        return False
    shape = plan.shape
    apis = [plan.api]
    for expansion in shape.expansions:
        if shape.depth > 1 or not expansion.is_one:  # which may name any number of entries
            return False
        apis += expansion.apis
    size = sum([entries * reader.rows(api).mean_size for api in apis])
    return entries * len(apis) <= MOST_DOCUMENTS and size <= MOST_BYTES

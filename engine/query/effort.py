"""How much work the answer to a bound plan takes: whether the event loop makes it itself, or which lane of threads.

An answer made inline takes no statement and waits for nothing: its rows follow from what is known of the version, or
from few values, and its documents are read by position. The documents are few, because the operating system may have
to fetch each of them from the disk first, while nothing else is answered.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from engine.query.answer_cache import looked_at
from engine.query.plan import EntryPlan, ListPlan
from engine.reader.reader import Reader
from snapshots.model import FieldType

MOST_DOCUMENTS: Final = 32
"""Entries read for one answer, those referred to included."""
MOST_BYTES: Final = 256 << 10
"""Of all these entries, as large as the API's are on average."""
MOST_VALUES: Final = 1 << 16
"""Looked at for one answer: those of all rows in its languages, for each condition and each key of its order."""


class Effort(Enum):
    """Where the answer to a plan is made."""

    INLINE = "inline"
    """On the event loop: handing the work to a thread would be most of its cost."""
    QUICK = "quick"
    """In the lane of threads for work that neither searches nor sorts."""
    SLOW = "slow"
    """In the lane for all other work."""


def effort(reader: Reader, plan: ListPlan | EntryPlan, now: int) -> Effort:
    """Where the answer to a bound plan at ``now`` (UTC milliseconds) is to be made."""
    if _is_inline(reader, plan, now):
        return Effort.INLINE
    if isinstance(plan, EntryPlan) or (plan.in_default_order and not plan.filtered):
        return Effort.QUICK
    return Effort.SLOW


def _is_inline(reader: Reader, plan: ListPlan | EntryPlan, now: int) -> bool:
    shape = plan.shape
    if shape.depth > 1 and shape.expansions:
        return False
    if isinstance(plan, EntryPlan):
        if plan.draft_key is not None:
            return False
        entries = 1
    else:
        if plan.phrase is not None or reader.known_visible(plan.api, plan.visibility, now) is None:
            return False
        in_slice = plan.in_default_order and plan.published_between is not None
        if not in_slice and (_values(reader, plan) > MOST_VALUES or not reader.decides(plan)):
            return False
        entries = plan.limit
    documents = entries
    size = entries * reader.positions(plan.api).mean_size
    for expansion in shape.expansions:
        if expansion.field.type is FieldType.REFERENCES:  # which may name any number of entries
            return False
        documents += entries
        size += entries * reader.positions(expansion.target).mean_size
    if documents > MOST_DOCUMENTS or size > MOST_BYTES:
        return False
    read = looked_at(plan.api, plan.visibility, shape)
    return all(reader.known_epoch(api, visibility, now) is not None for api, visibility in read)


def _values(reader: Reader, plan: ListPlan) -> int:
    """The number of values that the conditions and the order of a list look at."""
    rows = reader.positions(plan.api).rows
    languages = filter(None, {plan.visibility.lang, plan.visibility.fallback})
    return sum(len(rows[lang]) for lang in languages) * (len(plan.conditions) + len(plan.orders))

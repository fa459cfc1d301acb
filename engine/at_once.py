"""Which answers are made so quickly that handing them to a thread would be most of their cost.

Such an answer takes no statement and waits for nothing: its rows follow from what is known of the version, and its
documents are read by position. They are few, because each may be the one that the operating system has to fetch from
the disk first, while nothing else is answered.
"""

from __future__ import annotations

from typing import Final

from engine.plan import EntryPlan, ListPlan
from engine.reader import Reader
from engine.responses import looked_at
from snapshots.model import FieldType

MOST_DOCUMENTS: Final = 32
"""Entries read for one answer, those referred to included."""
MOST_BYTES: Final = 256 << 10
"""Of all these entries, as large as the API's are on average."""


def answered_at_once(reader: Reader, plan: ListPlan | EntryPlan, now: int) -> bool:
    """Whether the answer to a bound plan at ``now`` (UTC milliseconds) takes no statement and few documents."""
    shape = plan.shape
    if shape.depth > 1 and shape.expansions:
        return False
    if isinstance(plan, EntryPlan):
        if plan.draft_key is not None:
            return False
        entries = 1
    else:
        if plan.phrase is not None or not plan.in_default_order or plan.published_between is None:
            return False
        if reader.known_visible(plan.api, plan.visibility, now) is None:
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

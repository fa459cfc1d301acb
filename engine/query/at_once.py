"""Until the endpoints ask for the effort themselves."""

from __future__ import annotations

from engine.page_views.counting.totals import NO_VIEWS
from engine.query.effort import MOST_ROWS, Effort, effort
from engine.query.plan import VIEWS, EntryPlan, ListPlan
from engine.reader.reader import Reader
from snapshots.model import Api


def has_few_values(reader: Reader, api: Api) -> bool:
    return reader.rows(api).count <= MOST_ROWS


def answered_at_once(reader: Reader, plan: ListPlan | EntryPlan, now: int) -> bool:
    if isinstance(plan, ListPlan) and any(key.field == VIEWS for key in plan.orders):
        return False
    return effort(reader, plan, now, NO_VIEWS) is Effort.INLINE

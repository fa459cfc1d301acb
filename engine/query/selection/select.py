"""A bound list → its length and the rows of its page: its order, restricted to its conditions (design section 4)."""

from __future__ import annotations

from engine.page_views.counting.totals import ViewTotals
from engine.query.plan import ListPlan
from engine.query.selection.conditions import conditions_are_kept, matching
from engine.query.selection.orders import Selection, order_is_kept, order_of
from engine.query.stages import Stages
from engine.reader.reader import Reader


def select(reader: Reader, plan: ListPlan, now: int, views: ViewTotals, deadline: float, stages: Stages) -> Selection:
    """Return the total and the page of a list at ``now`` (UTC ms), by these view counts. Raises ``QueryTimeout``."""
    order = order_of(reader, plan, now, views, deadline, stages)
    if not plan.all_conditions:
        return order.page(plan.offset, plan.limit)
    return order.page_among(matching(reader, plan, deadline, stages), plan.offset, plan.limit)


def selection_is_kept(reader: Reader, plan: ListPlan, now: int, views: ViewTotals) -> bool:
    """Whether ``select`` only joins what is kept: it runs no statement, and waits for nothing."""
    return order_is_kept(reader, plan, now, views) and conditions_are_kept(reader, plan)

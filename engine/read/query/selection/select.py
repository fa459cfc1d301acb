"""Select the rows of a bound list's page, and count those of the list (design section 4, points 1 and 5).

The visible rows in order are asked of DuckDB once an epoch and kept; a page is a part of them, restricted to the rows
that meet the list's conditions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from contextlib import nullcontext
from typing import Final, cast

import msgspec
import numpy as np

from engine.read.query.plan import VIEWS, ListPlan
from engine.read.query.selection.bits import Array, Bits, RowSet, as_bits, bits_at, marks_of, page_of, size_of
from engine.read.query.selection.conditions import matching
from engine.read.query.selection.sql import order_statement
from engine.read.query.stages import Stages
from engine.read.reader.reader import Epoch, Reader
from engine.read.search.placed_rows import PlacedRows
from engine.views.counting.totals import ViewTotals

_ABOUT = "order and visibility"
_SPARE = 64
"""Rows of the order that are read beyond those expected to fill a page; twice as many each time."""


_NEAR: Final = 64
"""A page that lies within the first of so many parts of the matching rows is found without putting all in order."""


class Selection(msgspec.Struct, frozen=True):
    """The length of a list, and the rows of one page."""

    total: int
    """The number of entries in the list."""
    rows: list[int]
    """The rows of the page, in order."""
    epoch: Epoch
    """The stretch of time in which the same rows are visible."""


class Order(msgspec.Struct, frozen=True):
    """The rows of a list without conditions, in order, for the length of an epoch."""

    rows: Array
    visible: Bits
    """The rows as a set."""
    is_stored: bool
    """Whether the rows are stored in this order, so that they ascend."""
    epoch: Epoch

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.rows.nbytes + self.visible.nbytes

    def page(self, offset: int, limit: int) -> Selection:
        """One page of all rows."""
        return Selection(len(self.rows), self.rows[offset : offset + limit].tolist(), self.epoch)

    def page_among(self, matching: RowSet, offset: int, limit: int) -> Selection:
        """One page of the rows that are in a set as well."""
        if self.is_stored and isinstance(matching, range):
            rows = self.rows.data  # whose items are taken in a third of the time
            first = bisect_left(rows, matching.start)
            end = bisect_left(rows, matching.stop, first)
            page = rows[first + offset : min(first + offset + limit, end)].tolist()
            return Selection(end - first, page, self.epoch)
        remaining = self.visible & as_bits(matching, len(self.visible) * 64)
        if self.is_stored:
            return Selection(*page_of(remaining, offset, limit), self.epoch)
        marks = marks_of(remaining, len(remaining) * 64)
        return self._page_of(size_of(remaining), marks.__getitem__, offset, limit)

    def page_among_placed(self, visible: PlacedRows, matching: PlacedRows, offset: int, limit: int) -> Selection:
        """One page of the rows of one language that are in a set as well; ``visible`` are those of the order."""
        remaining = matching.in_both(visible)
        if (total := remaining.size) < min(offset + limit, total) * _NEAR:
            return self.page_among(remaining, offset, limit)
        return self._page_of(total, remaining.holds, offset, limit)

    def _page_of(self, total: int, holds: Callable[[Array], Array], offset: int, limit: int) -> Selection:
        """One page of the ``total`` rows that ``holds`` tells of."""
        end = min(offset + limit, total)
        if offset >= end:
            return Selection(total, [], self.epoch)
        found, at, spare, pages = 0, 0, _SPARE, []
        while found < end:
            # The part of the order that should hold what is missing, were the set spread evenly over it.
            part = self.rows[at : at + (end - found) * len(self.rows) // total + spare]
            at, spare = at + len(part), spare * 2
            inside = holds(part)
            count = int(np.count_nonzero(inside))
            if found + count > offset:
                pages.append(part[inside][max(offset - found, 0) :])
            found += count
        return Selection(total, np.concatenate(pages)[:limit].tolist(), self.epoch)


def select(reader: Reader, plan: ListPlan, now: int, views: ViewTotals, deadline: float, stages: Stages) -> Selection:
    """Return the total and the page of a list at ``now`` (UTC ms), by these view counts. Raises as ``Reader.part``."""
    order = order_of(reader, plan, now, views, deadline, stages)
    if not plan.all_conditions:
        return order.page(plan.offset, plan.limit)
    meeting = matching(reader, plan, deadline, stages)
    if not isinstance(meeting, PlacedRows):
        return order.page_among(meeting, plan.offset, plan.limit)
    name = (reader.number, "visible at places", plan.api.uid, plan.visibility, order.epoch.since)
    count = reader.rows(plan.api).count
    visible = reader.part(name, lambda: meeting.places.placed(marks_of(order.visible, count)), deadline)
    return order.page_among_placed(visible, meeting, plan.offset, plan.limit)


def order_of(reader: Reader, plan: ListPlan, now: int, views: ViewTotals, deadline: float, stages: Stages) -> Order:
    """Return the order of a plan's list at ``now`` (UTC ms), by the view counts given. Raises as ``Reader.part``."""
    epoch = reader.epoch(plan.api, plan.visibility, now, deadline)
    # Without any view counts all are zero, and ``views`` decides nothing.
    keys = tuple([key for key in plan.orders if key.field != VIEWS or views.generation])
    is_by_views = VIEWS in [key.field for key in keys]
    generation = views.generation if is_by_views else 0
    name = (reader.number, "order", plan.api.uid, plan.visibility, keys, epoch.since, generation)
    kept = reader.kept.get(name)
    if kept is not None:
        stages.part(_ABOUT, None, kept=True)
        return cast("Order", kept)

    def make() -> Order:
        tables = reader.tables(plan.api, plan.visibility.languages)
        statement = order_statement(tables, plan.visibility, keys, now)
        with reader.counted(views) if is_by_views else nullcontext():
            rows = reader.run_for_columns(statement, deadline)["row"]
        stages.part(_ABOUT, statement, kept=False)
        is_stored = bool((rows[1:] > rows[:-1]).all())
        return Order(rows, bits_at(rows, reader.rows(plan.api).count), is_stored, epoch)

    return reader.part(name, make, deadline)

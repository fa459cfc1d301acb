"""A plan's conditions → the rows they leave, by the search index and field values by position, without a statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

import numpy as np

from engine.cache.search_file import SearchFile, is_indexed
from engine.query.plan import VIEWS, BoundCondition, ListPlan
from engine.reader.rows import Positions
from engine.reader.search import TermIndex
from engine.reader.value_orders import SortKey
from engine.reader.values import Array, FieldValues, Mask
from snapshots.model import TEXT_TYPES
from snapshots.store.manifest import Manifest

Check: TypeAlias = Callable[[], None]
"""Raises where a request has to end."""

_SEARCHES: Final = {"contains": False, "not_contains": True}
"""The operators that search texts, and whether what is found is what does not match."""


class Matches:
    """Which rows of an API's table meet conditions of a plan, of whatever visibility."""

    def __init__(self, plan: ListPlan, conditions: dict[int, Array], phrase: Array | None) -> None:
        self._plan = plan
        self._conditions = conditions
        self._phrase = phrase

    @property
    def decide(self) -> bool:
        """Whether these are all that the plan has."""
        return len(self._conditions) == len(self._plan.conditions)

    def of(self, rows: Sequence[int]) -> Array:
        """Those of ``rows`` that match, in their order, where the conditions decide."""
        if isinstance(rows, range):
            inside: Array = np.flatnonzero(self._joined(slice(rows.start, rows.stop))) + rows.start
            return inside
        numbers = np.array(rows, np.int64)
        matching: Array = numbers[self._joined(slice(None))[numbers]]
        return matching

    def _joined(self, rows: slice) -> Array:
        """Which of some rows match."""
        joined = np.logical_or if self._plan.joiner == "or" else np.logical_and
        masks = [mask[rows] for mask in self._conditions.values()]
        mask = reduce(joined, masks) if masks else None
        if self._phrase is not None:
            mask = self._phrase[rows] if mask is None else mask & self._phrase[rows]
        assert mask is not None  # noqa: S101 - a plan without conditions has no ``Matches``
        return mask

    def condition(self, number: int) -> Array | None:
        """The positions of the rows that meet a condition, counted from 0; ``None`` for one that SQL decides."""
        mask = self._conditions.get(number)
        return None if mask is None else np.flatnonzero(mask)

    @property
    def phrase(self) -> Array | None:
        """The positions of the rows that hold the plan's phrase; ``None`` where it has none."""
        return None if self._phrase is None else np.flatnonzero(self._phrase)


class Searches:
    """The search indexes and values of an opened version. Any number of threads may use them at the same time."""

    def __init__(
        self,
        file: SearchFile,
        manifest: Manifest,
        positions: Mapping[str, Positions],
        values: Mapping[str, FieldValues],
    ) -> None:
        """``positions`` and ``values`` are those of each API by its ``uid``."""
        self._file = file
        self._positions = positions
        self._values = values
        self._indexed = {api.uid for api in manifest.workspace.apis if is_indexed(manifest, api)}
        self._indexes = {(one.api, one.lang, one.field): TermIndex(file, one) for one in file.sections}

    def matches(self, plan: ListPlan, check: Check) -> Matches | None:
        """What is known of a plan's conditions without a statement: of all, or else of those that search the index.

        ``None`` where that is nothing, or slices of the default order tell as much. Raises what ``check`` raises.
        """
        indexed = plan.api.uid in self._indexed
        if not indexed and plan.phrase is not None:
            return None
        searching = {number: one for number, one in enumerate(plan.conditions) if indexed and _searches(one, plan)}
        others = {number: one for number, one in enumerate(plan.conditions) if number not in searching}
        masks: dict[int, Mask] = {}
        in_slice = plan.published_between is not None and plan.phrase is None
        if others and not in_slice and self.sort_keys(plan) is not None:
            known = {number: self._values[plan.api.uid].mask(one) for number, one in others.items()}
            masks = {number: mask for number, mask in known.items() if mask is not None}
            if len(masks) < len(others):
                masks = {}
        if not (searching or masks or plan.phrase is not None):
            return None
        conditions = {}
        for number, one in searching.items():
            found = self._holding(plan, [one.field], str(one.value), check)
            conditions[number] = ~found if _SEARCHES[one.rule.operator] else found
        for number, mask in masks.items():
            conditions[number] = self._meeting(plan, mask)
            check()
        phrase = None if plan.phrase is None else self._holding(plan, plan.searched, plan.phrase, check)
        return Matches(plan, conditions, phrase)

    def decides(self, plan: ListPlan) -> bool:
        """Whether the values of fields alone tell the rows of a list without a phrase, and their order."""
        if any(order.field == VIEWS for order in plan.orders) or self.sort_keys(plan) is None:
            return False
        values = self._values[plan.api.uid]
        return plan.published_between is not None or all(values.mask(one) is not None for one in plan.conditions)

    def sort_keys(self, plan: ListPlan) -> list[SortKey] | None:
        """What a list is sorted by before the default order; none where that, or views alone, is the order, and
        ``None`` where only SQL can tell."""
        if plan.in_default_order or (len(plan.orders) == 1 and plan.orders[0].field == VIEWS):
            return []
        found = []
        for order in plan.orders:
            keys = self._values[plan.api.uid].keys(order.field)
            if keys is None:
                return None
            found.append(SortKey(keys, descending=order.descending))
        return found

    def _meeting(self, plan: ListPlan, mask: Mask) -> Array:
        """Which rows of the API's table meet a condition; only those a plan can return are right."""
        positions = self._positions[plan.api.uid]
        found = np.zeros(len(positions.published), dtype=bool)
        for lang in filter(None, {plan.visibility.lang, plan.visibility.fallback}):
            rows = positions.rows[lang]
            found[rows.start : rows.stop] = mask(rows.start, rows.stop)
        return found

    def _holding(self, plan: ListPlan, fields: Sequence[str], term: str, check: Check) -> Array:
        """Which rows of the API's table hold ``term`` in one of ``fields``; only those a plan can return are right."""
        mask = np.zeros(len(self._positions[plan.api.uid].published), dtype=bool)
        for lang in {plan.visibility.lang, plan.visibility.fallback}:
            indexes = [self._indexes.get((plan.api.uid, lang or "", field)) for field in fields]
            # Where most is found comes first: what is found once is not looked up again.
            for index in sorted(filter(None, indexes), key=lambda index: -index.size):
                index.mark_matching(term, mask[index.first : index.first + index.rows], check)
        return mask

    def close(self) -> None:
        """Nothing may be searched any more."""
        self._indexes.clear()
        self._file.close()


def _searches(condition: BoundCondition, plan: ListPlan) -> bool:
    field = plan.api.field(condition.field)
    return condition.rule.operator in _SEARCHES and field is not None and field.type in TEXT_TYPES

"""A plan's searches → the rows they leave, by the search index: the link between plans and ``engine.search``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from engine.plan import BoundCondition, ListPlan
from engine.search import TermIndex
from engine.search_file import SearchFile, is_indexed
from snapshots.manifest import Manifest
from snapshots.model import TEXT_TYPES

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Check: TypeAlias = Callable[[], None]
"""Raises where a request has to end."""

_SEARCHES: Final = {"contains": False, "not_contains": True}
"""The operators that search texts, and whether what is found is what does not match."""


class Matches:
    """Which rows of an API's table meet the searches of a plan, of whatever visibility."""

    def __init__(self, plan: ListPlan, conditions: dict[int, Array], phrase: Array | None) -> None:
        self._plan = plan
        self._conditions = conditions
        self._phrase = phrase

    @property
    def decide(self) -> bool:
        """Whether the plan has no other conditions."""
        return len(self._conditions) == len(self._plan.conditions)

    def of(self, rows: Sequence[int]) -> Array:
        """Those of ``rows`` that match, in their order, where the searches decide."""
        mask = self._phrase
        if self._conditions:
            joined = np.logical_or if self._plan.joiner == "or" else np.logical_and
            found = joined.reduce(list(self._conditions.values()))
            mask = found if mask is None else mask & found
        assert mask is not None  # noqa: S101 - a plan without searches has no ``Matches``
        if isinstance(rows, range):
            inside: Array = np.flatnonzero(mask[rows.start : rows.stop]) + rows.start
            return inside
        numbers = np.array(rows, np.int64)
        matching: Array = numbers[mask[numbers]]
        return matching

    def condition(self, number: int) -> Array | None:
        """The positions of the rows that meet a condition, counted from 0; ``None`` for one that does not search."""
        mask = self._conditions.get(number)
        return None if mask is None else np.flatnonzero(mask)

    @property
    def phrase(self) -> Array | None:
        """The positions of the rows that hold the plan's phrase; ``None`` where it has none."""
        return None if self._phrase is None else np.flatnonzero(self._phrase)


class Searches:
    """The search indexes of an opened version. Any number of threads may use them at the same time."""

    def __init__(self, file: SearchFile, manifest: Manifest) -> None:
        self._file = file
        self._manifest = manifest
        self._indexed = {api.uid for api in manifest.workspace.apis if is_indexed(manifest, api)}
        self._indexes = {(one.api, one.lang, one.field): TermIndex(file, one) for one in file.sections}
        self._rows: dict[str, int] = {}
        for one in file.sections:
            self._rows[one.api] = max(self._rows.get(one.api, 0), one.first + one.rows)

    def matches(self, plan: ListPlan, check: Check) -> Matches | None:
        """What a plan's searches find; ``None`` where it has none, or its API is not indexed.

        Raises what ``check`` raises.
        """
        searching = {number: one for number, one in enumerate(plan.conditions) if _searches(one, plan)}
        if plan.api.uid not in self._indexed or not (searching or plan.phrase is not None):
            return None
        conditions = {}
        for number, one in searching.items():
            found = self._holding(plan, [one.field], str(one.value), check)
            conditions[number] = ~found if _SEARCHES[one.rule.operator] else found
        phrase = None if plan.phrase is None else self._holding(plan, plan.searched, plan.phrase, check)
        return Matches(plan, conditions, phrase)

    def _holding(self, plan: ListPlan, fields: Sequence[str], term: str, check: Check) -> Array:
        """Which rows of the API's table hold ``term`` in one of ``fields``; only those a plan can return are right."""
        mask = np.zeros(self._rows.get(plan.api.uid, 0), dtype=bool)
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

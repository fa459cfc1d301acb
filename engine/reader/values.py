"""An API's field values by position: conditions → the rows that meet them, without a statement (contract 4.6).

What is not known here is left to SQL: texts, whether a reference is there, and references to entries that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from engine.cache.bodies import Bodies
from engine.cache.row_arrays import PUBLISHED, reference_starts_array, references_array
from engine.cache.value_arrays import code_starts_array, codes_array, names_array, numbers_array
from engine.query.plan import BoundCondition
from engine.reader.rows import Positions
from snapshots.model import Api, Field, FieldType

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Mask: TypeAlias = Callable[[int, int], Array]
"""From the first of some rows and the end of them to which of them meet a condition."""
Keys: TypeAlias = "Callable[[slice | Array], Array]"
"""From rows to what they are sorted by in ascending order; NaN is no value."""

_NEGATED: Final = {"not_equals": "equals", "not_contains": "contains", "not_exists": "exists"}


class FieldValues:
    """The values of one API of an opened version. Any number of threads may use them at the same time."""

    def __init__(self, api: Api, bodies: Bodies, targets: dict[str, Positions]) -> None:
        """``targets``: the positions of all APIs, by their ``uid``."""
        self._api: Final = api
        self._bodies: Final = bodies
        self._targets: Final = targets
        self._names: dict[str, list[str | bool | None]] = {}

    def mask(self, condition: BoundCondition) -> Mask | None:
        """What tells the rows that meet a condition, whether they are visible or not; ``None`` where SQL has to."""
        operator = condition.rule.operator
        positive = self._positive(condition, _NEGATED.get(operator, operator))
        if positive is None or operator not in _NEGATED:
            return positive
        return lambda first, end: ~positive(first, end)

    def _positive(self, condition: BoundCondition, operator: str) -> Mask | None:
        numbers = self._numbers(condition.field)
        if numbers is not None:
            return _number_mask(numbers, operator, condition.value)
        field = self._api.field(condition.field)
        if field is None:
            return None
        if field.type is FieldType.REFERENCE and operator == "equals":
            return self._referring(field, condition.value)
        if field.type is FieldType.REFERENCES and operator == "contains":
            return self._referring(field, condition.value)
        codes = self._array(codes_array(field.id))
        if codes is None:
            return None
        names = self._known_names(field)
        if field.type is FieldType.MULTIPLE_SELECT:
            starts = self._array(code_starts_array(field.id))
            assert starts is not None  # noqa: S101 - written together
            if operator == "exists":
                return lambda first, end: starts[first + 1 : end + 1] > starts[first:end]
            if operator != "contains":
                return None
            return _item_mask(codes, starts, [n for n, name in enumerate(names) if name == condition.value])
        if operator == "equals":
            return _code_mask(codes, [n for n, name in enumerate(names) if name == condition.value], len(names))
        if operator == "exists":
            # Of a boolean any value is one; of a text, and of what only says whether there is something, not each.
            kept = [
                n
                for n, name in enumerate(names)
                if (name is not None if field.type is FieldType.BOOLEAN else bool(name))
            ]
            return _code_mask(codes, kept, len(names))
        return None

    def _referring(self, field: Field, value: object) -> Mask | None:
        """The rows that refer to an entry; ``None`` where the entry is not there, though some may name it."""
        numbers = self._array(references_array(field))
        target = None if field.target is None else self._targets.get(field.target)
        number = None if target is None or numbers is None else target.entry_number(str(value))
        if number is None or numbers is None:
            return None
        starts = self._array(reference_starts_array(field))
        if starts is None:
            return lambda first, end: numbers[first:end] == number
        return _item_mask(numbers, starts, [number])

    def keys(self, field_id: str) -> Keys | None:
        """What rows are sorted by; ``None`` where SQL has to."""
        numbers = self._numbers(field_id)
        if numbers is not None:
            return numbers.__getitem__
        field, codes = self._api.field(field_id), self._array(codes_array(field_id))
        if field is None or field.type is not FieldType.BOOLEAN or codes is None:
            return None
        ranks = np.array([np.nan if name is None else float(name) for name in self._known_names(field)])
        return lambda rows: ranks[codes[rows]]

    def _numbers(self, field_id: str) -> Array | None:
        """The numbers, or instants, of a field or meta field of that kind."""
        return self._array(PUBLISHED if field_id == PUBLISHED else numbers_array(field_id))

    def _array(self, name: str) -> Array | None:
        stored = self._bodies.array(self._api.uid, name)
        return None if stored is None else np.asarray(stored)

    def _known_names(self, field: Field) -> list[str | bool | None]:
        names = self._names.get(field.id)
        if names is None:
            stored = self._bodies.array(self._api.uid, names_array(field.id))
            assert stored is not None  # noqa: S101 - written together
            names = self._names[field.id] = msgspec.json.decode(stored, type=list[str | bool | None])
        return names


def _number_mask(numbers: Array, operator: str, value: Any) -> Mask | None:
    if operator == "exists":
        return lambda first, end: numbers[first:end] == numbers[first:end]
    compare = {"equals": np.equal, "greater_than": np.greater, "less_than": np.less}.get(operator)
    return None if compare is None else lambda first, end: compare(numbers[first:end], value)


def _code_mask(codes: Array, wanted: Sequence[int], count: int) -> Mask:
    """The rows with one of the wanted codes, of so many that there are."""
    if len(wanted) == 1:
        return lambda first, end: codes[first:end] == wanted[0]
    table = np.zeros(max(count, 1), bool)
    table[list(wanted)] = True
    return lambda first, end: table[codes[first:end]]


def _item_mask(items: Array, starts: Array, wanted: Sequence[int]) -> Mask:
    """The rows of whose items one is wanted; ``starts`` is where each row's begin."""

    def mask(first: int, end: int) -> Array:
        found = np.zeros(end - first, bool)
        for one in wanted:
            at = np.flatnonzero(items[starts[first] : starts[end]] == one) + starts[first]
            found[np.searchsorted(starts, at, side="right") - 1 - first] = True
        return found

    return mask

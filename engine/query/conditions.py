"""The rows that meet a list's conditions and hold its phrase, as a set (design section 4, points 2 to 4).

A range is a slice of its field's order, a word is looked up in the search index, and every other condition is asked of
DuckDB by its row of the operators' table: those not kept in one statement together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_, or_
from typing import cast

import msgspec
import numpy as np

from engine.query.bits import Array, Bits, bits_at, bits_of
from engine.query.filters import By
from engine.query.plan import BoundCondition, ListPlan
from engine.query.sql import conditions_statement, values_statement
from engine.query.stages import Stages
from engine.reader.kept import Name
from engine.reader.reader import Reader
from snapshots.model import Api


class FieldOrder(msgspec.Struct, frozen=True):
    """The values of a field of numbers or instants, ascending, each with its row; rows without a value are left out."""

    values: Array
    rows: Array

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self.values.nbytes + self.rows.nbytes)

    def meeting(self, condition: BoundCondition) -> Array:
        """The rows whose value is above, or below, that of the condition."""
        if condition.by is By.ABOVE:
            return self.rows[np.searchsorted(self.values, cast("float", condition.value), "right") :]
        return self.rows[: np.searchsorted(self.values, cast("float", condition.value), "left")]


def matching(reader: Reader, plan: ListPlan, deadline: float, stages: Stages) -> Bits:
    """Return the set of rows that a filtered plan's conditions and phrase leave, visible or not.

    Only rows in the languages of the plan's visibility are told right. Raises ``QueryTimeout``.
    """
    sets: dict[BoundCondition, Bits] = {}
    asked: list[BoundCondition] = []
    for condition in plan.all_conditions:
        kept = reader.kept.get(_name(reader, plan, condition))
        if kept is not None:
            sets[condition] = cast("Bits", kept)
            stages.part(condition.about, None, kept=True)
        elif condition.by in (By.ABOVE, By.BELOW):
            sets[condition] = _in_range(reader, plan.api, condition, deadline, stages)
        elif _is_looked_up(reader, plan, condition):
            sets[condition] = _holding(reader, plan, condition, deadline)
            reader.kept.put(_name(reader, plan, condition), sets[condition])
            stages.part(f"{condition.about}: looked up in the search index", None, kept=False)
        else:
            asked.append(condition)
    if asked:
        for condition, found in zip(asked, _asked(reader, plan.api, asked, deadline, stages), strict=True):
            sets[condition] = found
            reader.kept.put(_name(reader, plan, condition), found)
    joined = [sets[condition] for condition in plan.conditions]
    left = [reduce(or_ if plan.joiner == "or" else and_, joined)] if joined else []
    if plan.phrase is not None:
        left.append(sets[plan.phrase])
    return reduce(and_, left)


def conditions_are_kept(reader: Reader, plan: ListPlan) -> bool:
    """Whether ``matching`` runs no statement and looks nothing up."""
    return all(
        (
            _values_name(reader, plan.api, condition)
            if condition.by in (By.ABOVE, By.BELOW)
            else _name(reader, plan, condition)
        )
        in reader.kept
        for condition in plan.all_conditions
    )


def _in_range(reader: Reader, api: Api, condition: BoundCondition, deadline: float, stages: Stages) -> Bits:
    """A slice of the order of the condition's field, which is asked for once in the life of a reader."""
    name = _values_name(reader, api, condition)

    def make() -> FieldOrder:
        statement = values_statement(api, condition.fields[0])
        columns = reader.run_for_columns(statement, deadline)
        stages.part(f"the order of {condition.fields[0]}", statement, kept=False)
        return FieldOrder(columns["value"], columns["row"].astype(np.int32))

    if name in reader.kept:
        stages.part(f"the order of {condition.fields[0]}", None, kept=True)
    order = reader.kept.obtain(name, make, reader.left(deadline))
    found = bits_at(order.meeting(condition), reader.rows(api).count)
    stages.part(f"{condition.about}: a slice of that order", None, kept=False)
    return found


def _holding(reader: Reader, plan: ListPlan, condition: BoundCondition, deadline: float) -> Bits:
    """The rows one of whose fields holds the condition's text, or, as the rule has it, all others."""
    marks = reader.search.holding(
        plan.api,
        plan.visibility.languages,
        condition.fields,
        str(condition.value),
        reader.rows(plan.api).count,
        lambda: reader.check(deadline),
    )
    return bits_of(~marks if condition.by is By.NO_WORDS else marks)


def _asked(
    reader: Reader, api: Api, conditions: Sequence[BoundCondition], deadline: float, stages: Stages
) -> Iterator[Bits]:
    """The rows that meet each of some conditions, by one statement."""
    statement = conditions_statement(api, conditions)
    columns = reader.run_for_columns(statement, deadline)
    stages.part(", ".join(condition.about for condition in conditions), statement, kept=False)
    for number in range(len(conditions)):
        yield bits_at(columns["row"][np.asarray(columns[f"meets{number}"], bool)], reader.rows(api).count)


def _is_looked_up(reader: Reader, plan: ListPlan, condition: BoundCondition) -> bool:
    return condition.by in (By.WORDS, By.NO_WORDS) and reader.search.has(plan.api)


def _name(reader: Reader, plan: ListPlan, condition: BoundCondition) -> Name:
    """The name of a condition's set. A look-up is right only in the languages that were looked at."""
    languages = plan.visibility.languages if _is_looked_up(reader, plan, condition) else ()
    return (reader.number, "meets", plan.api.uid, condition, languages)


def _values_name(reader: Reader, api: Api, condition: BoundCondition) -> Name:
    return (reader.number, "values", api.uid, condition.fields[0])

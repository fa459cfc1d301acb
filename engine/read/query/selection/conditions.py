"""The rows that meet a list's conditions and hold its phrase, as a set (design section 4, points 2 to 4).

A range is found among its field's values, a word is looked up in the search index, and every other condition is asked
of DuckDB by its row of the operators' table: those not kept in one statement together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_, neg, or_
from typing import cast

import msgspec
import numpy as np

from engine.read.query.filters import By
from engine.read.query.plan import BoundCondition, ListPlan
from engine.read.query.selection.bits import Array, Bits, bits_at, bits_between, bits_of
from engine.read.query.selection.sql import conditions_statement, values_statement
from engine.read.query.stages import Stages
from engine.read.reader.kept import Name
from engine.read.reader.reader import Reader
from engine.read.reader.statement import KEPT_ONLY, NotKept
from snapshots.model import Api


class Values(msgspec.Struct, frozen=True):
    """The values of a field in one language, as numbers, by row."""

    first: int
    """The row of the first."""
    numbers: Array
    """NaN for none, which is neither above nor below anything."""
    descend: bool
    """Whether no value is above the one before, so that a range is one stretch of rows. A list's default order is one
    of them."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self.numbers.nbytes)

    def above(self, bound: float, count: int) -> Bits:
        """Return the rows with a value above a bound, of ``count`` rows in all."""
        if self.descend:
            return bits_between(self.first, self.first + bisect_left(self.numbers, -bound, key=neg), count)
        return self._marked(self.numbers > bound, count)

    def below(self, bound: float, count: int) -> Bits:
        """Return the rows with a value below a bound, of ``count`` rows in all."""
        if self.descend:
            first = self.first + bisect_right(self.numbers, -bound, key=neg)
            return bits_between(first, self.first + len(self.numbers), count)
        return self._marked(self.numbers < bound, count)

    def _marked(self, met: Array, count: int) -> Bits:
        marks = np.zeros(count, bool)
        marks[self.first : self.first + len(met)] = met
        return bits_of(marks)


def matching(reader: Reader, plan: ListPlan, deadline: float, stages: Stages) -> Bits:
    """Return the set of rows that a filtered plan's conditions and phrase leave, visible or not.

    The set is right for rows in the languages of the plan's visibility only. Raises as ``Reader.part``.
    """
    sets: dict[BoundCondition, Bits] = {}
    asked: list[BoundCondition] = []
    for condition in plan.all_conditions:
        if condition.by in (By.ABOVE, By.BELOW):
            sets[condition] = _in_range(reader, plan, condition, deadline, stages)
            continue
        kept = reader.kept.get(_name(reader, plan, condition))
        if kept is not None:
            sets[condition] = cast("Bits", kept)
            stages.part(condition.about, None, kept=True)
        elif _is_looked_up(reader, plan, condition):
            sets[condition] = _holding(reader, plan, condition, deadline)
            reader.kept.put(_name(reader, plan, condition), sets[condition])
            stages.part(f"{condition.about}: looked up in the search index", None, kept=False)
        else:
            asked.append(condition)
    if asked:
        for condition, found in zip(asked, _asked(reader, plan, asked, deadline, stages), strict=True):
            sets[condition] = found
            reader.kept.put(_name(reader, plan, condition), found)
    joined = [sets[condition] for condition in plan.conditions]
    left = [reduce(or_ if plan.joiner == "or" else and_, joined)] if joined else []
    if plan.phrase is not None:
        left.append(sets[plan.phrase])
    return reduce(and_, left)


def _in_range(reader: Reader, plan: ListPlan, condition: BoundCondition, deadline: float, stages: Stages) -> Bits:
    """The rows in a range, by the values of the field in each language, which a reader asks for once."""
    stored = reader.rows(plan.api)
    bound = cast("float", condition.value)
    found: list[Bits] = []
    for lang in plan.visibility.languages:
        name = _values_name(reader, plan.api, condition, lang)
        about = f"the values of {condition.fields[0]} in {lang}"
        rows = stored.of_language(lang)

        def make(lang: str = lang, about: str = about, rows: range = rows) -> Values:
            statement = values_statement(reader.tables(plan.api, [lang])[lang], condition.fields[0])
            columns = reader.run_for_columns(statement, deadline)
            stages.part(about, statement, kept=False)
            numbers = np.full(len(rows), np.nan)
            numbers[columns["row"] - rows.start] = columns["value"]
            return Values(rows.start, numbers, bool((numbers[1:] <= numbers[:-1]).all()))

        if name in reader.kept:
            stages.part(about, None, kept=True)
        values = reader.part(name, make, deadline)
        found.append((values.above if condition.by is By.ABOVE else values.below)(bound, stored.count))
    stages.part(f"{condition.about}: compared with those values", None, kept=False)
    return reduce(or_, found)


def _holding(reader: Reader, plan: ListPlan, condition: BoundCondition, deadline: float) -> Bits:
    """The rows one of whose fields holds the condition's text, or, as the rule has it, all others."""
    if deadline == KEPT_ONLY:
        raise NotKept
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
    reader: Reader, plan: ListPlan, conditions: Sequence[BoundCondition], deadline: float, stages: Stages
) -> Iterator[Bits]:
    """The set of rows of each condition, by one statement for all."""
    statement = conditions_statement(reader.tables(plan.api, plan.visibility.languages).values(), conditions)
    columns = reader.run_for_columns(statement, deadline)
    stages.part(", ".join(condition.about for condition in conditions), statement, kept=False)
    for number in range(len(conditions)):
        yield bits_at(columns["row"][np.asarray(columns[f"meets{number}"], bool)], reader.rows(plan.api).count)


def _is_looked_up(reader: Reader, plan: ListPlan, condition: BoundCondition) -> bool:
    return condition.by in (By.WORDS, By.NO_WORDS) and reader.search.has(plan.api)


def _name(reader: Reader, plan: ListPlan, condition: BoundCondition) -> Name:
    """The name of a condition's set, which is right only in the languages it was made from."""
    return (reader.number, "meets", plan.api.uid, condition, plan.visibility.languages)


def _values_name(reader: Reader, api: Api, condition: BoundCondition, lang: str) -> Name:
    return (reader.number, "values", api.uid, condition.fields[0], lang)

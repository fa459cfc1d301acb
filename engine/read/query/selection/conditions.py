"""The rows that meet a list's conditions and hold its phrase, as a set (design section 4, points 2 to 4).

A range is found among its field's values, a word is looked up in the search index, and every other condition is asked
of DuckDB by its row of the operators' table: those not kept in one statement together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import cast

import msgspec
import numpy as np

from engine.read.query.filters import By
from engine.read.query.plan import BoundCondition, ListPlan
from engine.read.query.selection.bits import Array, Bits, RowSet, bits_at, bits_of, in_both, in_either
from engine.read.query.selection.sql import conditions_statement, values_statement
from engine.read.query.stages import Stages
from engine.read.reader.kept import Name
from engine.read.reader.reader import Reader
from engine.read.reader.statement import KEPT_ONLY, NotKept
from engine.read.search.placed_rows import PlacedRows
from snapshots.model import Api


class Values(msgspec.Struct, frozen=True):
    """The values of a field in one language, as numbers, by row."""

    first: int
    """The row of the first."""
    numbers: Array
    """NaN for none, which is neither above nor below anything. With ``descend`` the values are negated, so that these
    ascend."""
    descend: bool
    """Whether no value is above the one before, so that a range is one stretch of rows. A list's default order is one
    of them."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return int(self.numbers.nbytes)

    def above(self, bound: float, count: int) -> RowSet:
        """Return the rows with a value above a bound, of ``count`` rows in all."""
        if self.descend:
            return range(self.first, self.first + bisect_left(self.numbers.data, -bound))
        return self._marked(self.numbers > bound, count)

    def below(self, bound: float, count: int) -> RowSet:
        """Return the rows with a value below a bound, of ``count`` rows in all."""
        if self.descend:
            first = self.first + bisect_right(self.numbers.data, -bound)
            return range(first, self.first + len(self.numbers))
        return self._marked(self.numbers < bound, count)

    def _marked(self, met: Array, count: int) -> Bits:
        marks = np.zeros(count, bool)
        marks[self.first : self.first + len(met)] = met
        return bits_of(marks)


def values_from(first: int, numbers: Array) -> Values:
    """Return the values of a field by row, from the row ``first`` on; NaN for none."""
    descend = bool((numbers[1:] <= numbers[:-1]).all())
    return Values(first, -numbers if descend else numbers, descend)


def matching(reader: Reader, plan: ListPlan, deadline: float, stages: Stages) -> RowSet:
    """Return the set of rows that a filtered plan's conditions and phrase leave, visible or not.

    The set is right for rows in the languages of the plan's visibility only. Raises as ``Reader.part``.
    """
    conditions = plan.all_conditions
    found = [_without_statement(reader, plan, condition, deadline, stages) for condition in conditions]
    asked = [condition for condition, rows in zip(conditions, found, strict=True) if rows is None]
    answers = _asked(reader, plan, asked, deadline, stages) if asked else iter(())
    sets = [next(answers) if rows is None else rows for rows in found]
    count = reader.rows(plan.api).count
    phrase = [sets.pop()] if plan.phrase is not None else []
    join = in_either if plan.joiner == "or" else in_both
    joined = [reduce(lambda one, other: join(one, other, count), sets)] if sets else []
    return reduce(lambda one, other: in_both(one, other, count), joined + phrase)


def _without_statement(
    reader: Reader, plan: ListPlan, condition: BoundCondition, deadline: float, stages: Stages
) -> RowSet | None:
    """The rows that meet a condition, where DuckDB need not be asked for them."""
    if condition.by in (By.ABOVE, By.BELOW):
        return _in_range(reader, plan, condition, deadline, stages)
    name = _name(reader, plan, condition)
    kept = reader.kept.get(name)
    if kept is not None:
        stages.part(condition.about, None, kept=True)
        return cast("Bits | PlacedRows", kept)
    if not _is_looked_up(reader, plan, condition):
        return None
    found = _holding(reader, plan, condition, deadline)
    reader.kept.put(name, found)
    stages.part(f"{condition.about}: looked up in the search index", None, kept=False)
    return found


def _in_range(reader: Reader, plan: ListPlan, condition: BoundCondition, deadline: float, stages: Stages) -> RowSet:
    """The rows in a range, by the values of the field in each language."""
    bound, count = cast("float", condition.value), reader.rows(plan.api).count
    found: list[RowSet] = []
    for lang in plan.visibility.languages:
        values = _values(reader, plan.api, condition.fields[0], lang, deadline, stages)
        found.append((values.above if condition.by is By.ABOVE else values.below)(bound, count))
    stages.part(f"{condition.about}: compared with those values", None, kept=False)
    return reduce(lambda one, other: in_either(one, other, count), found)


def _values(reader: Reader, api: Api, field: str, lang: str, deadline: float, stages: Stages) -> Values:
    """The values of a field in one language, which a reader asks for once."""
    name = (reader.number, "values", api.uid, field, lang)
    about = f"the values of {field} in {lang}"
    kept = reader.kept.get(name)
    if kept is not None:
        stages.part(about, None, kept=True)
        return cast("Values", kept)

    def make() -> Values:
        statement = values_statement(reader.tables(api, [lang])[lang], field)
        columns = reader.run_for_columns(statement, deadline)
        stages.part(about, statement, kept=False)
        rows = reader.rows(api).of_language(lang)
        numbers = np.full(len(rows), np.nan)
        numbers[columns["row"] - rows.start] = columns["value"]
        return values_from(rows.start, numbers)

    return reader.part(name, make, deadline)


def _holding(reader: Reader, plan: ListPlan, condition: BoundCondition, deadline: float) -> Bits | PlacedRows:
    """The rows one of whose fields holds the condition's text, or, as the rule has it, all others."""
    if deadline == KEPT_ONLY:
        raise NotKept
    text, languages = str(condition.value), plan.visibility.languages
    found = reader.search.holding(plan.api, languages, condition.fields, text, lambda: reader.check(deadline))
    if condition.by is By.NO_WORDS:
        found = [one.others() for one in found]
    if len(found) == 1 and _is_alone(plan):
        return found[0]
    marks = np.zeros(reader.rows(plan.api).count, dtype=bool)
    for one in found:
        one.copy_to(marks)
    return bits_of(marks)


def _is_alone(plan: ListPlan) -> bool:
    """Whether a plan has one condition, so that its rows need not be joined with others."""
    return len(plan.all_conditions) == 1


def _asked(
    reader: Reader, plan: ListPlan, conditions: Sequence[BoundCondition], deadline: float, stages: Stages
) -> Iterator[Bits]:
    """The set of rows of each condition, by one statement for all. They are kept from then on."""
    statement = conditions_statement(reader.tables(plan.api, plan.visibility.languages).values(), conditions)
    columns = reader.run_for_columns(statement, deadline)
    stages.part(", ".join(condition.about for condition in conditions), statement, kept=False)
    for number, condition in enumerate(conditions):
        found = bits_at(columns["row"][np.asarray(columns[f"meets{number}"], bool)], reader.rows(plan.api).count)
        reader.kept.put(_name(reader, plan, condition), found)
        yield found


def _is_looked_up(reader: Reader, plan: ListPlan, condition: BoundCondition) -> bool:
    return condition.by in (By.WORDS, By.NO_WORDS) and reader.search.has(plan.api)


def _name(reader: Reader, plan: ListPlan, condition: BoundCondition) -> Name:
    """The name of a condition's set, which is right only in the languages it was made from."""
    is_placed = _is_alone(plan) and _is_looked_up(reader, plan, condition)
    return (reader.number, "found" if is_placed else "meets", plan.api.uid, condition, plan.visibility.languages)

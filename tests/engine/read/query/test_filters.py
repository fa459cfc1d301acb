"""``filters``: text → conditions, and every operator on every kind of field (contract 4.6, decisions 11-17, 36)."""

from __future__ import annotations

import pytest

from engine.read.query.filters import OPERATORS, Condition, Kind, MetaKind, parse_filters, rule_for, value_of
from engine.read.query.invalid_query import InvalidQuery
from engine.read.query.parameters import decoded
from snapshots.model import FieldType

# Contract 4.6, written out once more by hand: what takes which operator.
TAKES: dict[Kind, str] = {
    FieldType.TEXT: "equals not_equals contains not_contains exists not_exists",
    FieldType.TEXTAREA: "equals not_equals contains not_contains exists not_exists",
    FieldType.RICHTEXT: "contains not_contains exists not_exists",
    FieldType.NUMBER: "equals not_equals greater_than less_than exists not_exists",
    FieldType.DATETIME: "greater_than less_than exists not_exists",
    FieldType.BOOLEAN: "equals not_equals exists not_exists",
    FieldType.SINGLE_SELECT: "equals not_equals exists not_exists",
    FieldType.MULTIPLE_SELECT: "contains not_contains exists not_exists",
    FieldType.REFERENCE: "equals not_equals exists not_exists",
    FieldType.REFERENCES: "contains not_contains exists not_exists",
    FieldType.IMAGE: "exists not_exists",
    MetaKind.ID: "equals not_equals exists not_exists",
    MetaKind.DATE: "greater_than less_than exists not_exists",
}


def conditions(raw: str) -> list[tuple[str, str, str]]:
    found = parse_filters(raw, lambda text: decoded("filters", text))
    return [(found.joiner, "", ""), *((c.field, c.operator, c.value) for c in found.conditions)][1:]


def condition(operator: str, value: str = "") -> Condition:
    return Condition(3, f"f[{operator}]{value}", "f", operator, value)


@pytest.mark.parametrize("kind", TAKES, ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_on_every_kind(operator: str, kind: Kind) -> None:
    if operator in TAKES[kind].split():
        assert rule_for(condition(operator), kind).operator == operator
        return
    with pytest.raises(InvalidQuery) as raised:
        rule_for(condition(operator), kind)
    assert f'condition 3 ("f[{operator}]")' in str(raised.value)
    assert str(raised.value).endswith(f"It takes {', '.join(o for o in OPERATORS if o in TAKES[kind].split())}.")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a[equals]b", [("a", "equals", "b")]),
        ("a[exists][and]b[exists]", [("a", "exists", ""), ("b", "exists", "")]),
        ("a[equals]%5Band%5D", [("a", "equals", "[and]")]),
        ("a[equals]x%5Bor%5Db[exists]", [("a", "equals", "x[or]b[exists]")]),
        ("a%5Bequals%5Dx%5Bor%5Db%5Bexists%5D", [("a", "equals", "x"), ("b", "exists", "")]),
        ("a%5bequals%5dx+y%2By", [("a", "equals", "x y+y")]),
        ("a[equals]x+y%2By", [("a", "equals", "x y+y")]),
        ("a[equals]", [("a", "equals", "")]),
        ("a[equals]b[contains]c", [("a", "equals", "b[contains]c")]),
        ("a[equals][x][", [("a", "equals", "[x][")]),
        ("a[equals]%2525", [("a", "equals", "%25")]),
        ("a%5Bequals%5D%2525", [("a", "equals", "%25")]),
        ("a[equals]%zz%", [("a", "equals", "%zz%")]),
        ("+a[equals]b", [(" a", "equals", "b")]),
    ],
)
def test_conditions_are_taken_apart(raw: str, expected: list[tuple[str, str, str]]) -> None:
    assert conditions(raw) == expected


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("a[exists][and]b[exists][or]c[exists]", "[and] and [or] cannot be mixed"),
        ("a[exists][and]", 'condition 2 (""): the condition is empty'),
        ("[or]a[exists]", "condition 1"),
        ("title", "there is no operator. Write fieldID[operator]value"),
        ("a[exists][and]a[equal]b", 'condition 2 ("a[equal]b"): there is no operator "equal". Did you mean "equals"?'),
        ("a[x]b[equals]c", 'there is no operator "x"'),
        ("a%5Bequals]b", "there is no operator"),
        ("[equals]b", "there is no field before [equals]"),
        ("[and]".join(["a[exists]"] * 11), "at most 10 conditions, got 11"),
        ("a[equals]" + "x" * 992, "at most 1000 characters, got 1001"),
        ("a%5Bequals%5D" + "%E6%9D%B1" * 992, "at most 1000 characters, got 1001"),
        ("a[equals]%ff", "not UTF-8"),
    ],
)
def test_what_cannot_be_taken_apart_is_explained(raw: str, says: str) -> None:
    with pytest.raises(InvalidQuery) as raised:
        conditions(raw)
    assert str(raised.value).startswith("filters: ")
    assert says in str(raised.value)


def test_the_characters_are_counted_decoded() -> None:
    assert conditions("a[equals]" + "%E6%9D%B1" * 991) == [("a", "equals", "東" * 991)]


@pytest.mark.parametrize(
    ("kind", "operator", "text", "expected"),
    [
        (FieldType.NUMBER, "equals", "1e3", 1000.0),
        (FieldType.NUMBER, "less_than", "-0.5", -0.5),
        (FieldType.BOOLEAN, "equals", "true", True),
        (FieldType.BOOLEAN, "not_equals", "false", False),
        (FieldType.TEXT, "equals", " Café ", " Café "),
        (FieldType.TEXT, "equals", "", ""),
        (FieldType.TEXT, "contains", "CAFE\u0301 ", "café "),
        (FieldType.MULTIPLE_SELECT, "contains", "Red", "Red"),
        (FieldType.DATETIME, "greater_than", "2020-01-01", 1_577_836_800_000),
        (MetaKind.DATE, "less_than", "2020-01-01T09:00+09:00", 1_577_836_800_000),
        (MetaKind.DATE, "greater_than", "2020-01-01T00:00:00.0009Z", 1_577_836_800_000),
        (MetaKind.DATE, "less_than", "2020-01-01T00:00:00.0009Z", 1_577_836_800_001),
        (MetaKind.DATE, "less_than", "2020-01-01T00:00:00.0000Z", 1_577_836_800_000),
        (FieldType.IMAGE, "exists", "", None),
    ],
)
def test_values(kind: Kind, operator: str, text: str, expected: object) -> None:
    one = condition(operator, text)
    value = value_of(one, rule_for(one, kind))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("kind", "operator", "text", "says"),
    [
        (FieldType.NUMBER, "equals", "five", 'expected a number such as 3, -0.5 or 1e3, got "five"'),
        (FieldType.NUMBER, "equals", "", "expected a number"),
        (FieldType.NUMBER, "equals", "05", "expected a number"),
        (FieldType.NUMBER, "equals", "1e999", "expected a number"),
        (FieldType.NUMBER, "equals", "NaN", "expected a number"),
        (FieldType.NUMBER, "equals", "٣", "expected a number"),
        (FieldType.BOOLEAN, "equals", "True", "expected true or false"),
        (FieldType.DATETIME, "less_than", "yesterday", "expected a date-time"),
        (FieldType.DATETIME, "less_than", "2020-02-30", "no such date-time"),
        (FieldType.TEXT, "contains", "", "need some text"),
        (FieldType.REFERENCES, "not_contains", "", "need some text"),
        (FieldType.TEXT, "exists", "x", "take no value"),
    ],
)
def test_refused_values_are_explained(kind: Kind, operator: str, text: str, says: str) -> None:
    one = condition(operator, text)
    with pytest.raises(InvalidQuery, match="condition 3") as raised:
        value_of(one, rule_for(one, kind))
    assert says in str(raised.value)

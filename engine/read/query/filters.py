"""Parse the text of ``filters`` into conditions, by a table of operators, field types and SQL (contract 4.6)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC
from enum import Enum, StrEnum
from typing import Final, Literal, TypeAlias

import msgspec

from engine.read.query.invalid_query import InvalidQuery, nearest, shown
from snapshots.compile.values import normalise_search
from snapshots.model import ARRAY_TYPES, KEPT_AS_FLAG, TEXT_TYPES, FieldType, ValueKind, types_where
from snapshots.times import parse_datetime

MAX_CONDITIONS: Final = 10
MAX_CHARACTERS: Final = 1000
"""Characters of ``filters``, counted after decoding (decision 11)."""

Joiner: TypeAlias = Literal["and", "or"]
Value: TypeAlias = str | float | bool | int | None


class MetaKind(StrEnum):
    """The kinds of meta fields, which operators take beside the field types."""

    ID = "meta id"
    DATE = "meta date"


Kind: TypeAlias = FieldType | MetaKind


class Condition(msgspec.Struct, frozen=True):
    """One condition as the client wrote it, decoded: its number (from 1), its text, and the text's parts."""

    number: int
    text: str
    field: str
    operator: str
    value: str

    def invalid(self, reason: str) -> InvalidQuery:
        return InvalidQuery(f"filters: condition {self.number} ({shown(self.text)}): {reason}")


class Filters(msgspec.Struct, frozen=True):
    """Conditions of which all (``and``) or at least one (``or``) must hold."""

    joiner: Joiner = "and"
    conditions: tuple[Condition, ...] = ()


class By(Enum):
    """The means by which the rows that meet a condition are found (design section 4)."""

    STATEMENT = "the rule's SQL"
    ABOVE = "the values of the field, above that of the condition"
    BELOW = "the values of the field, below that of the condition"
    WORDS = "the search index, or the rule's SQL in a version built without one"
    NO_WORDS = "all rows but those of WORDS"


class Rule(msgspec.Struct, frozen=True):
    """One row of the table of operators.

    ``parse`` turns the condition's text into the value to compare with, and raises ``ValueError`` saying what is
    expected. ``sql`` is the condition in SQL: ``{column}`` is the field's column, ``{search}`` the one with its
    visible text, ``{value}`` the parameter. It may be NULL where the condition does not hold, since it is never
    negated. Public lists find the rows as ``by`` says, lists of all versions always by the SQL.
    """

    operator: str
    kinds: frozenset[Kind]
    parse: Callable[[str], Value]
    sql: str
    by: By = By.STATEMENT


_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_FINER_THAN_MS: Final = re.compile(r"\.[0-9]{3}[0-9]*[1-9]")


def _text(text: str) -> str:
    return text


def _some_text(text: str) -> str:
    if not text:
        raise ValueError("contains and not_contains need some text after the operator")
    return text


def _phrase(text: str) -> str:
    return normalise_search(_some_text(text))


def _number(text: str) -> float:
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"expected a number such as 3, -0.5 or 1e3, got {shown(text)}")
    return value


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"expected true or false, got {shown(text)}")
    return text == "true"


def _instant(text: str) -> int:
    return parse_datetime(text, UTC)


def _instant_above(text: str) -> int:
    # Stored times are whole milliseconds; parsing cuts finer fractions off, which would make "less than" miss one.
    return _instant(text) + (_FINER_THAN_MS.search(text) is not None)


def _nothing(text: str) -> None:
    if text:
        raise ValueError("exists and not_exists take no value; leave out what follows the operator")


def _single(*kinds: ValueKind) -> frozenset[Kind]:
    """Return the field types with one value of such a kind, which the reader keeps."""
    return frozenset(types_where(lambda facts: facts.kind in kinds and not facts.is_array) - KEPT_AS_FLAG)


_WITH_EMPTY_TEXT: Final = _single(ValueKind.TEXT, ValueKind.OPTION, ValueKind.ENTRY)
_EXACT: Final = _WITH_EMPTY_TEXT | {MetaKind.ID}
_NUMBERS: Final = _single(ValueKind.NUMBER)
_BOOLEANS: Final = _single(ValueKind.BOOLEAN)
_INSTANTS: Final = _single(ValueKind.INSTANT) | {MetaKind.DATE}
_TEXTS: Final[frozenset[Kind]] = frozenset(TEXT_TYPES)
_ARRAYS: Final[frozenset[Kind]] = frozenset(ARRAY_TYPES - KEPT_AS_FLAG)
# The cache holds only whether there is a value, since no operator asks for more.
_FLAGS: Final[frozenset[Kind]] = frozenset(KEPT_AS_FLAG)
_OTHERS: Final = _NUMBERS | _BOOLEANS | _INSTANTS | {MetaKind.ID}

CONTAINS: Final = "contains({search}, {value})"
"""The condition in SQL that a text holds another."""

RULES: Final = (
    Rule("equals", _EXACT, _text, "{column} = {value}"),
    Rule("equals", _NUMBERS, _number, "{column} = {value}"),
    Rule("equals", _BOOLEANS, _boolean, "{column} = {value}"),
    Rule("not_equals", _EXACT, _text, "{column} IS DISTINCT FROM {value}"),
    Rule("not_equals", _NUMBERS, _number, "{column} IS DISTINCT FROM {value}"),
    Rule("not_equals", _BOOLEANS, _boolean, "{column} IS DISTINCT FROM {value}"),
    Rule("contains", _TEXTS, _phrase, CONTAINS, By.WORDS),
    Rule("contains", _ARRAYS, _some_text, "list_contains({column}, {value})"),
    Rule("not_contains", _TEXTS, _phrase, f"NOT coalesce({CONTAINS}, false)", By.NO_WORDS),
    Rule("not_contains", _ARRAYS, _some_text, "NOT list_contains({column}, {value})"),
    Rule("greater_than", _NUMBERS, _number, "{column} > {value}", By.ABOVE),
    Rule("greater_than", _INSTANTS, _instant, "{column} > {value}", By.ABOVE),
    Rule("less_than", _NUMBERS, _number, "{column} < {value}", By.BELOW),
    Rule("less_than", _INSTANTS, _instant_above, "{column} < {value}", By.BELOW),
    Rule("exists", _WITH_EMPTY_TEXT, _nothing, "{column} <> ''"),
    Rule("exists", _ARRAYS, _nothing, "len({column}) > 0"),
    Rule("exists", _FLAGS, _nothing, "{column}"),
    Rule("exists", _OTHERS, _nothing, "{column} IS NOT NULL"),
    Rule("not_exists", _WITH_EMPTY_TEXT, _nothing, "coalesce({column}, '') = ''"),
    Rule("not_exists", _ARRAYS, _nothing, "len({column}) = 0"),
    Rule("not_exists", _FLAGS, _nothing, "NOT {column}"),
    Rule("not_exists", _OTHERS, _nothing, "{column} IS NULL"),
)
"""Every operator on every field type it takes; adding one is adding a row (contract 4.6, decisions 13-17)."""

OPERATORS: Final = tuple(dict.fromkeys(rule.operator for rule in RULES))
_RULES: Final = {(rule.operator, kind): rule for rule in RULES for kind in rule.kinds}

_JOINER: Final = re.compile(r"\[(and|or)\]")
_OPERATOR: Final = re.compile(r"\[(" + "|".join(OPERATORS) + r")\]")
_ANY_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_FORM: Final = "fieldID[operator]value, such as title[equals]Hello"


def rule_for(condition: Condition, kind: Kind) -> Rule:
    """The rule for a condition on a field of this kind. Raises ``InvalidQuery`` where the kind does not take it."""
    rule = _RULES.get((condition.operator, kind))
    if rule is None:
        taken = ", ".join(operator for operator in OPERATORS if (operator, kind) in _RULES)
        what = "meta field" if isinstance(kind, MetaKind) else f"{kind} field"
        raise condition.invalid(f'the {what} "{condition.field}" does not take {condition.operator}. It takes {taken}.')
    return rule


def value_of(condition: Condition, rule: Rule) -> Value:
    """The value a condition compares with. Raises ``InvalidQuery`` for one that does not parse (decision 12)."""
    try:
        return rule.parse(condition.value)
    except ValueError as error:
        raise condition.invalid(f"{error}.") from None


def parse_filters(raw: str, decode: Callable[[str], str]) -> Filters:
    """A raw ``filters`` parameter as conditions (decisions 11, 12, 35 and 36).

    Where ``raw`` holds a literal bracket, only literal brackets are tokens, and each part is decoded afterwards;
    otherwise all is decoded first. ``decode`` does the percent-decoding. Raises ``InvalidQuery``.
    """
    decoded = decode(raw)
    if not decoded:
        return Filters()
    if len(decoded) > MAX_CHARACTERS:
        raise InvalidQuery(f"filters: at most {MAX_CHARACTERS} characters, got {len(decoded)}.")
    if "[" in raw or "]" in raw:
        text, after = raw, decode
    else:
        text, after = decoded, _text
    pieces = _JOINER.split(text)
    joiners = set(pieces[1::2])
    if len(joiners) > 1:
        raise InvalidQuery("filters: [and] and [or] cannot be mixed in one expression. Use one of them only.")
    texts = pieces[0::2]
    if len(texts) > MAX_CONDITIONS:
        raise InvalidQuery(f"filters: at most {MAX_CONDITIONS} conditions, got {len(texts)}.")
    conditions = tuple(_condition(number, piece, after) for number, piece in enumerate(texts, 1))
    return Filters("or" if "or" in joiners else "and", conditions)


def _condition(number: int, piece: str, decode: Callable[[str], str]) -> Condition:
    text = decode(piece)
    found = _OPERATOR.search(piece)
    if found is not None:
        field, value = decode(piece[: found.start()]), decode(piece[found.end() :])
        condition = Condition(number, text, field, found[1], value)
        if field and not (other := _ANY_BRACKETS.search(piece[: found.start()])):
            return condition
        if not field:
            raise condition.invalid(f"there is no field before [{found[1]}]. Write {_FORM}.")
    else:
        condition = Condition(number, text, "", "", "")
        other = _ANY_BRACKETS.search(piece)
    if other:
        operator = decode(other[1])
        raise condition.invalid(f"there is no operator {shown(operator)}.{nearest(operator, OPERATORS)}")
    if not text.strip():
        raise condition.invalid(f"the condition is empty. Write {_FORM}, and [and] or [or] only between two.")
    raise condition.invalid(f"there is no operator. Write {_FORM}; operators: {', '.join(OPERATORS)}.")

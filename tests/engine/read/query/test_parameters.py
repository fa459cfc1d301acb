"""Query strings → what is asked (contract 4.3, decisions 4-9, 35): no API is looked at yet."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.read.query.filters import Condition, Filters
from engine.read.query.parameters import (
    EntryQuery,
    InvalidQuery,
    ListQuery,
    OrderKey,
    parse_entry_query,
    parse_list_query,
)

LIST = ListQuery()
ENTRY = EntryQuery()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", LIST),
        (b"&&=&=x&unknown=1", LIST),
        (b"limit=1&offset=0&depth=2", replace(LIST, limit=1, depth=2)),
        (b"limit=abc&limit=100", replace(LIST, limit=100)),
        (b"offset=9007199254740991", replace(LIST, offset=2**53 - 1)),
        (b"l%69mit=7", replace(LIST, limit=7)),
        (b"%ff=1&limit=7", replace(LIST, limit=7)),
        (b"orders=", LIST),
        (
            b"orders=-a,b,-views",
            replace(LIST, orders=(OrderKey("a", True), OrderKey("b", False), OrderKey("views", True))),
        ),
        (b"fields=", LIST),
        (b"fields=+title+,,x,%E3%80%80y", replace(LIST, fields=frozenset({"title", "", "x", "y"}))),
        (b"q=", LIST),
        (b"q=+%E3%80%80+", LIST),
        (b"q=+a++b+", replace(LIST, phrase="a  b")),
        (b"q=%E6%9D%B1" + b"x" * 99, replace(LIST, phrase="東" + "x" * 99)),
        ("q=東".encode(), replace(LIST, phrase="東")),
        (b"filters=", LIST),
        (b"lang=en&lang_fallback=true", replace(LIST, lang="en", lang_fallback=True)),
        (b"lang_fallback=false", LIST),
        (b"include=_langs,_langs", replace(LIST, include_langs=True)),
        (b"draftKey=%20%20", LIST),
        (b"draftKey=%ff", LIST),
    ],
)
def test_list_parameters(raw: bytes, expected: ListQuery) -> None:
    assert parse_list_query(raw) == expected


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"limit=", 'limit: expected an integer from 1 to 100, got ""'),
        (b"limit", "limit"),
        (b"limit=0", '"0"'),
        (b"limit=101", '"101"'),
        (b"limit=010", '"010"'),
        (b"limit=%2B5", '"+5"'),
        (b"limit=5.0", '"5.0"'),
        (b"limit=1e1", '"1e1"'),
        ("limit=５".encode(), '"５"'),
        (b"limit=" + b"9" * 5000, "…"),
        (b"offset=-1", "offset: expected an integer from 0 to 9007199254740991"),
        (b"offset=9007199254740992", "offset"),
        (b"depth=3", "depth: expected an integer from 0 to 2"),
        (b"depth=%ff", "depth: the value is not UTF-8"),
        (b"depth=\xff", "depth: the value is not UTF-8"),
        (b"orders=title,", "orders: a key is empty"),
        (b"orders=-", "orders: a key is empty"),
        (b"orders=a,b,c,d", "orders: at most 3 keys, got 4"),
        (b"fields=" + b"," * 50, "fields: at most 50 field IDs, got 51"),
        (b"q=" + b"x" * 101, "q: at most 100 characters, got 101"),
        (b"lang=", "lang: expected a language code"),
        (b"lang_fallback=", 'lang_fallback: expected true or false, got ""'),
        (b"lang_fallback=True", 'got "True"'),
        (b"include=", "include: only _langs"),
        (b"include=_langs,", "include: only _langs"),
        (b"include=_langs,x%0Ay", 'got "x\\u000ay"'),
    ],
)
def test_refused_list_parameters_are_named(raw: bytes, says: str) -> None:
    with pytest.raises(InvalidQuery) as raised:
        parse_list_query(raw)
    assert says in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("raw", "header", "expected"),
    [
        (b"limit=abc&offset=&orders=,&q=" + b"x" * 200 + b"&filters=[", None, ENTRY),
        (
            b"depth=0&fields=a&lang=en&lang_fallback=true&include=_langs",
            None,
            EntryQuery(0, frozenset({"a"}), "en", True, True),
        ),
        (b"draftKey=abc", None, replace(ENTRY, draft_key="abc")),
        (b"draftKey=abc", b"def", replace(ENTRY, draft_key="def")),
        (b"draftKey=%20bad", b"def", replace(ENTRY, draft_key="def")),
        (b"draftKey=" + b"_-9Zaz" + b"x" * 58, None, replace(ENTRY, draft_key="_-9Zaz" + "x" * 58)),
    ],
)
def test_entry_parameters(raw: bytes, header: bytes | None, expected: EntryQuery) -> None:
    assert parse_entry_query(raw, header) == expected


@pytest.mark.parametrize(
    ("raw", "header", "says"),
    [
        (b"draftKey=", None, "draftKey: a draft key is"),
        (b"draftKey=" + b"x" * 65, None, "draftKey"),
        (b"draftKey=a%0A", None, "draftKey"),
        (b"draftKey=good", b"", "X-Draft-Key: a draft key is"),
        (b"", b"\xe6", "X-Draft-Key"),
        (b"depth=", b"good", "depth"),
    ],
)
def test_refused_entry_parameters_are_named(raw: bytes, header: bytes | None, says: str) -> None:
    with pytest.raises(InvalidQuery, match=says):
        parse_entry_query(raw, header)


def test_filters_are_part_of_a_list_query() -> None:
    condition = Condition(1, "a[equals]b c", "a", "equals", "b c")
    assert parse_list_query(b"filters=a[equals]b+c").filters == Filters("and", (condition,))

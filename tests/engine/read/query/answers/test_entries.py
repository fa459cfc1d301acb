"""Values put into a compiled body: found as bytes, without taking the body apart, and only where they are."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.read.query.answers.entries import with_values

IMAGE = {"url": "https://img.example/a.png", "width": 3, "height": None, "alt": ',"author":"x"'}


@pytest.mark.parametrize(
    "fields",
    [
        {"author": "a", "related": ["b", "c"]},
        {"author": None, "related": []},
        {"title": ',"author":"a","related":["b"]', "author": "a", "related": ["b"]},
        {"title": '\\",\\"author\\":\\"a', "author": "a", "related": None},
        {"related": ["a"], "author": "b"},
        {"author": "a"},
        {"cover": IMAGE, "author": "a", "related": ["b"], "after": [1, 2]},
        {"cover": IMAGE, "url": "a", "width": ["b"], "author": None},
        {"url": "a", "cover": IMAGE, "alt": None, "related": ["b"]},
        {"facts": {"a": 1, "author": "x", "related": ["y"]}, "author": "a", "related": ["b"]},
        {"author": "a", "facts": [{"a": 1, "author": "x"}], "related": ["b"]},
    ],
    ids=str,
)
def test_references_are_replaced_and_nothing_else(fields: dict[str, Any]) -> None:
    entry = {"id": "e"} | fields
    expanded = {"author": {"id": "x", "author": "y"}, "related": [{"id": "z"}], "url": None, "width": [], "alt": None}
    values = {name: value for name, value in expanded.items() if name in fields}
    pieces = {name: (msgspec.json.encode(one),) for name, one in values.items()}
    spliced = not ({"facts", "url"} & fields.keys())
    found = b"".join(with_values(msgspec.json.encode(entry), pieces, spliced=spliced))
    assert msgspec.json.decode(found) == entry | values
    assert list(msgspec.json.decode(found)) == list(entry)

"""Large JSON item by item: the same values as when read whole, in little memory, and the line of what is broken."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.importers.losses import Unreadable
from snapshots.importers.reading import json_items
from snapshots.importers.reading.json_items import document, lines, members
from tests.generated.budget import RANDOM, TIMES

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.slow
@settings(RANDOM, max_examples=50 * TIMES)
@given(st.dictionaries(st.text(), ANY), st.integers(1, 50), st.sampled_from([None, 1]))
def test_members_are_those_of_the_whole(tmp_path_factory: Any, value: Any, chunk: int, indent: int | None) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_items, "_CHUNK", chunk)
        found = list(members(path))
    expected = [(key, one) for key, item in value.items() for one in (item if isinstance(item, list) else [item])]
    assert found == expected
    assert document(path) == value


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("w") as file:
        file.write('{"entries": [')
        for number in range(15_000):
            file.write(f'{{"id": "{number}", "text": "{"x" * 500}"}},\n')
        file.write("{}]}")
    tracemalloc.start()
    count = sum(1 for _ in members(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 15_001
    assert peak < path.stat().st_size / 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[1,\n2,\n"a]', "a.json:3: broken JSON"),
        ("[1 2]", "a comma or ] is expected"),
        ('{"a" 1}', ": is expected"),
        ("{1: 2}", "a key in quotes is expected"),
        ("5", "an object or an array is expected"),
    ],
)
def test_what_is_broken_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(Unreadable, match=message.replace("[", r"\[").replace("]", r"\]")):
        list(members(tmp_path / "a.json"))


def test_lines_of_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n{"b": 2}')
    assert list(lines(path)) == [(1, {"a": 1}), (3, {"b": 2})]
    path.write_text('{"a": 1}\n{"a": }\n')
    with pytest.raises(Unreadable, match=r"a\.jsonl:2: broken JSON"):
        list(lines(path))
    path.write_text('{"a": 1}\n5\n')
    with pytest.raises(Unreadable, match=r"a\.jsonl:2: one object a line is expected"):
        list(lines(path))

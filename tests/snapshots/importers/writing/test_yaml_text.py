"""Values written as YAML are read back by this program as the same values."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.documents.document import Format, Plain
from snapshots.documents.read import read_documents
from snapshots.importers.writing.yaml_text import MAX_YAML_ITEMS, document_text, inline
from snapshots.problems import Problems
from tests.generated.budget import RANDOM, TIMES

ODD = (
    *("null", "~", "true", "1", "- a", "a: b", "a #b", "<<", "|", "---\n", "...\n", "<<<<<<< a\n", "％："),
    *("\n", "a\n", "a\n\n", " a\nb", "a \nb", "\ta\nb", "a\r\nb", "\ufeff", "\x85\u2028", "a\n  b\n c"),
    *('x "quoted"' * 20, "2025-01-01T00:00:00.000Z"),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.sampled_from(ODD)
ANY = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e15, 1e15) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def plain(value: Any) -> Any:
    """A value as it was read, with texts, numbers and words told apart as a field of the type JSON does."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Plain):
        return {"true": True, "false": False}[value] if value in ("true", "false") else number(str(value))
    return str(value) if isinstance(value, str) else value


def number(text: str) -> Any:
    return float(text) if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", text) else text


def read(text: str, extension: str = "yaml") -> Any:
    problems = Problems()
    kind = Format.YAML if extension == "yaml" else Format.JSON
    [document] = read_documents(f"a.{extension}", kind, text.encode(), problems)
    assert problems.kept == [], text
    return plain(document.values)


@settings(RANDOM, max_examples=60 * TIMES)
@given(st.dictionaries(st.text("abcdefgh_", min_size=1), ANY))
def test_a_document_is_read_back(values: dict[str, Any]) -> None:
    text, extension = document_text(values)
    assert read(text, extension) == values


@given(ANY)
def test_a_value_on_one_line_is_read_back(value: Any) -> None:
    assert "\n" not in inline(value)
    assert read(f"a: {inline(value)}\n") == {"a": value}


def test_what_yaml_has_limits_for_is_json() -> None:
    assert document_text({"a": [0] * MAX_YAML_ITEMS})[1] == "json"
    assert document_text({"a": {"k" * 2000: 1}})[1] == "json"


def test_long_texts_stand_on_lines_of_their_own() -> None:
    assert document_text({"a": "one\n\ntwo", "b": [{"c": "x\ny\n"}]})[0] == (
        "a: |-\n  one\n\n  two\nb:\n  - c: |\n      x\n      y\n"
    )

"""Documents compiled many at once and one by one: the same rows, the same problems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.build.pieces import made_ids
from snapshots.compile import compile_columns
from snapshots.compile.entries import ApiCompiler, UnknownKeys
from snapshots.compile.rows import RowsBuilder
from snapshots.definitions.workspace import Definitions, load_workspace
from snapshots.documents.document import Format, read_lines
from snapshots.problems import Problem, Problems
from snapshots.sources.listing import SourceFile

THINGS = """\
uid: api_x
endpoint: x
kind: list
multilingual: true
fields:
  - {id: title, type: text, required: true}
  - {id: note, type: textarea}
  - {id: body, type: richtext}
  - {id: price, type: number}
  - {id: day, type: datetime}
  - {id: open, type: boolean, required: true}
  - {id: kind, type: single_select, options: [news, guide]}
  - {id: labels, type: multiple_select, options: [red, blue], required: true}
  - {id: words, type: multiple_select}
  - {id: parent, type: reference, api: x}
  - {id: links, type: references, api: x}
  - {id: made, type: references, api: made}
  - {id: place, type: text, from: "{kind|name}"}
  - {id: cover, type: image}
"""
MADE = """\
uid: api_made
endpoint: made
kind: list
source: "made/{name}.json"
id: "{name}"
id_map: {odd: even}
fields: [{id: t, type: text}]
"""
NEAR = "2026-01-02T03:04:05Z"

USUAL: dict[str, list[Any]] = {
    "id": ["a", "b-1", "C_2"],
    "lang": ["en", "ja"],
    "title": ["Hello", "Grüße", "x"],
    "open": [True, False],
    "labels": [["red"], ["blue", "red", "red"]],
    "createdAt": [NEAR, NEAR, "2026-01-02", "2026-01-02T03:04:05.678Z", "2016-12-31T23:59:60Z", "2026-01-02 03:04:05Z"],
}
MORE: dict[str, list[Any]] = {
    "note": ["", "two\nlines", "É", "\u0130"],
    "body": ["<p>a</p>", "<p>a  b</p><p>c", "plain", "<script>x</script>", "Ä &amp; b", "<a href=x>y</a>"],
    "price": [1, 0, -3, 2.5, 3.0, -0.0, 0.1, 2**53, -(2**53), 9007199254740992.0],
    "day": [NEAR, "2026-01-02T03:04:05+09:00", "2026-01-02"],
    "kind": ["news", "guide"],
    "words": [[], ["é"], ["red", "one two"]],
    "parent": ["a", "b-1"],
    "links": [["a"], ["a", "a", "b-1"], []],
    "made": [["odd"], ["a b", "x"], []],
    "cover": [
        {"url": "/a.png", "width": 3, "height": 4, "alt": "é"},
        {"alt": "", "height": None, "url": "/a?ü=1"},
        {"url": "/a b", "width": 2**53},
        {"width": 1, "height": 7, "url": "/a.png", "alt": "A & B"},
        "https://x/y",
    ],
    "updatedAt": [NEAR, "2030-01-02T03:04:05.678Z"],
    "publishedAt": [NEAR],
    "publishStart": ["2026-03-01"],
    "publishEnd": ["2026-04-01"],
    "status": ["published", "draft", "scheduled"],
}
ODD: dict[str, list[Any]] = {
    "id": [1, "no id", "", None, ["a"], {"a": 1}, "a" * 65, "é"],
    "lang": ["fr", 1, None, ["en"]],
    "title": [1, None, "", "nul\0", ["x"], {"x": 1}],
    "body": [1, ["x"], "nul\0", "\ud800"],
    "open": [1, 0, 1.0, "true", None],
    "labels": ["red", [], ["green"], [1], [["red"]], [None], None, 3],
    "words": ["red", [1], [None], {"a": "b"}, [{"a": 1}]],
    "price": [2**53 + 1, 1e300, -9007199254740994.0, "1", True, None, [1]],
    "day": ["yesterday", 5, "2026-13-01", None, ["x"]],
    "kind": ["News", 1, True, None, ["news"]],
    "parent": ["no id", 1, None, ["a"], ""],
    "links": ["a", [1], ["no id"], [["a"]], None, [True, 1], ["a" * 64], ["a", "a" * 65], ["é"], ["a", ""]],
    "made": ["odd", [""], [1], None],
    "cover": [
        *({"url": url} for url in ("", None, 1, ["/a"], " /a", "/a ", "/a\n", "/\0", "\ud800", "/\xa0")),
        *({"url": "/a", "width": width} for width in (-1, 0, 2**53 + 1, True, 1.0, 1.5, "1", [1], {})),
        *({"url": "/a", "height": 1, "alt": alt} for alt in ("nul\0", "\ud800", 1, ["x"], {})),
        {"uri": "x"},
        1,
        None,
        [],
    ],
    "createdAt": ["never", 5, None, "", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-02T03:04:05+0900"],
    "publishStart": ["2026-05-01", "x", 1],
    "publishEnd": ["2026-02-01", []],
    "status": ["gone", 1, None, True, []],
    "draft": [True, False, "true"],
    "draftKey": ["k", "no key", 1, None],
    "unknown": [1],
}


def _documents() -> st.SearchStrategy[dict[str, Any]]:
    usual = st.fixed_dictionaries(
        {key: st.sampled_from(values) for key, values in USUAL.items()},
        optional={key: st.sampled_from(values) for key, values in MORE.items()},
    )
    one_odd = st.sampled_from(sorted(ODD)).flatmap(lambda key: st.tuples(st.just(key), st.sampled_from(ODD[key])))
    odd = st.lists(one_odd, max_size=2).map(dict)
    return st.tuples(usual, st.one_of(st.just({}), st.just({}), odd)).map(lambda both: both[0] | both[1])


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Definitions:
    root = tmp_path_factory.mktemp("workspace")
    (root / "apis").mkdir()
    (root / "workspace.yaml").write_text("id: w\nlanguages: [en, ja]\ntimezone: Asia/Tokyo\n")
    (root / "apis/x.yaml").write_text(THINGS)
    (root / "apis/made.yaml").write_text(MADE)
    problems = Problems()
    found = load_workspace(root, problems)
    assert found is not None
    assert not problems.kept
    return found


Compiled = tuple[dict[str, Any], list[Problem], dict[str, tuple[int, int]]]


def _compiled(definitions: Definitions, data: bytes, kind: Format, git: tuple[int, int] | None) -> Compiled:
    """``kind`` decides the way: only documents of JSONL are compiled many at once."""
    api = definitions.workspace.api_by_uid("api_x")
    assert api is not None
    zone = ZoneInfo(definitions.workspace.timezone)
    compiler = ApiCompiler(definitions.workspace, api, definitions.sources[api.uid], zone, made_ids(definitions))
    source = SourceFile("content/x.jsonl", api.uid, kind, len(data), 0, 0, None, None, False, {}, "x")
    problems, unknown = Problems(), UnknownKeys()
    compiler.compile(source, 0, read_lines(source.path, data, 1, problems), problems, unknown, git)
    rows = asdict(compiler.rows())
    rows["columns"] = {name: list(column) for name, column in rows["columns"].items()}
    rows = {name: list(value) if isinstance(value, (list, tuple)) else value for name, value in rows.items()}
    return rows, problems.kept, unknown.counts


@given(
    documents=st.lists(_documents(), min_size=1, max_size=12),
    batch=st.integers(1, 6),
    git=st.sampled_from([None, (5, 6)]),
    few=st.sampled_from([0, 1 << 17]),
)
def test_both_ways_give_the_same(
    definitions: Definitions, documents: list[dict[str, Any]], batch: int, git: tuple[int, int] | None, few: int
) -> None:
    data = "\n".join(map(json.dumps, documents)).encode()
    one_by_one = _compiled(definitions, data, Format.JSON, git)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("snapshots.compile.entries.BATCH", batch)
        patched.setattr("snapshots.compile.value_columns.RICH_TEXTS", few)
        assert _compiled(definitions, data, Format.JSONL, git) == one_by_one


def _refused_batches(definitions: Definitions, documents: list[dict[str, Any]]) -> Iterator[bool]:
    answers: list[bool] = []
    original = compile_columns.DocumentColumns.compile

    def noted(self: compile_columns.DocumentColumns, some: Any, number: int, git: Any, rows: RowsBuilder) -> bool:
        answers.append(original(self, some, number, git, rows))
        return answers[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compile_columns.DocumentColumns, "compile", noted)
        patched.setattr("snapshots.compile.entries.BATCH", 1)
        _compiled(definitions, "\n".join(map(json.dumps, documents)).encode(), Format.JSONL, None)
    return (not answer for answer in answers)


def test_what_is_right_is_compiled_together(definitions: Definitions) -> None:
    """Else the test above would compare one way with itself."""
    base = {key: values[0] for key, values in USUAL.items()}
    right = [base, *(base | {key: value} for key, values in MORE.items() for value in values if key != "status")]
    right += [base | {"status": "draft"}, base | {"status": "scheduled", "publishStart": NEAR}]
    assert not any(_refused_batches(definitions, right))

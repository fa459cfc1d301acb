"""Content files to raw values with lines: what each format gives, and an exact problem for what it cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snapshots.documents import yaml_reader
from snapshots.documents.document import MAX_DEPTH, ContentDocument, Format, Markdown, Plain
from snapshots.documents.read import read_documents
from snapshots.problems import Problems

DEEP = 100_000


def read(format_: Format, text: str | bytes) -> tuple[list[ContentDocument], list[str]]:
    """The documents of a file called ``f`` that may be delivered, and its problems as ``line kind``."""
    problems = Problems()
    data = text.encode() if isinstance(text, str) else text
    documents = [document for document in read_documents("f", format_, data, problems) if not document.broken]
    assert all(problem.file == "f" for problem in problems.kept)
    return documents, [f"{problem.line} {problem.kind}" for problem in problems.kept]


def one(format_: Format, text: str | bytes) -> ContentDocument:
    documents, problems = read(format_, text)
    assert problems == []
    (document,) = documents
    return document


def typed(value: Any) -> Any:
    """A value with the types of its scalars made visible."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value), value)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("1.10", Plain("1.10")),
        ("0123", Plain("0123")),
        ("on", Plain("on")),
        ("2024-01-01", Plain("2024-01-01")),
        ("", Plain("")),
        ("~", Plain("~")),
        ("null", Plain("null")),
        ("'1.10'", "1.10"),
        ('"on"', "on"),
        ('"a\\u00e9\\n"', "aé\n"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        (">\n  one\n  line\n", "one line\n"),
        ("plain text: no\n".replace(": no", ""), Plain("plain text")),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ('!!int "5"', Plain("5")),
        ('!!timestamp "2024-01-01"', Plain("2024-01-01")),
        ("[a, 'b', [c]]", [Plain("a"), "b", [Plain("c")]]),
        ("{b: 1, 'c': {d: 'e'}}", {"b": Plain("1"), "c": {"d": "e"}}),
        ("!!seq [!!map {b: 1}]", [{"b": Plain("1")}]),
        ("[&x {b: 1}, *x]", [{"b": Plain("1")}, {"b": Plain("1")}]),
        ("{<<: {b: 1, c: 2}, c: 3}", {"c": Plain("3"), "b": Plain("1")}),
        ("{<<: [{b: 1}, {b: 2, c: 2}]}", {"b": Plain("1"), "c": Plain("2")}),
        ("{'<<': text}", {"<<": Plain("text")}),
        ("{1: x, true: y}", {"1": Plain("x"), "true": Plain("y")}),
    ],
)
def test_yaml_values_stay_as_written(yaml: str, expected: object) -> None:
    assert typed(one(Format.YAML, f"a: {yaml}").values) == typed({"a": expected})


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("a: 1\nb: 2\na: 3\n", ["3 duplicate-key"]),
        ("a:\n  b: 1\n  c: 2\n  b: 3\na: 4\n", ["4 duplicate-key", "5 duplicate-key"]),
        ("a: [\n", ["2 syntax"]),
        ("a: b: c\n", ["1 syntax"]),
        ("a:\n\t- b\n", ["2 syntax"]),
        ('a: 1\nb: "\\ud800"\n', ["2 syntax"]),
        ("a: 1\nb: *x\n", ["2 syntax"]),
        ("a: 1\nb: x\x01y\n", ["2 control-character"]),
        ("a: 1\nb: é\x00y\n", ["2 control-character"]),
        ("a: !!python/object:os.system x\nb: !mine y\n", ["1 custom-tag", "2 custom-tag"]),
        ("a: !!set {b}\n", ["1 custom-tag"]),
        ("? [a]\n: b\n", ["1 key"]),
        ("a: 1\n<<: 2\n", ["2 merge"]),
        ("a: 1\n---\nb: 2\n", ["2 documents"]),
        ("", ["1 empty"]),
        ("# a comment\n", ["1 empty"]),
        ("text\n", ["1 no-mapping"]),
        ("- a: 1\n- text\n- b: 2\n", ["2 no-mapping"]),
        ("- a: 1\n- b: 1\n  b: 2\n- c: [\n", ["3 duplicate-key", "5 syntax"]),
        ("a: &a [*a]\n", ["1 alias-bomb"]),
        ("%TAG !a! x\n" * 200 + "---\na: 1\n", ["1 syntax"]),
        ("a: 'x\u2028y'\nb: 1\na: 2\n", ["3 duplicate-key"]),
        (b"a: 1\nb: \xff\n", ["2 encoding"]),
        ("a: 1".encode("utf-16"), ["1 encoding"]),
        (bytes(range(256)) * 40, ["2 encoding"]),
    ],
)
def test_yaml_problems_are_named_at_their_line(text: str | bytes, problems: list[str]) -> None:
    assert read(Format.YAML, text)[1] == problems


def test_a_duplicate_key_names_the_first_one() -> None:
    problems = Problems()
    (document,) = read_documents("f", Format.YAML, b"b: 0\na: 1\n\na: 2\n", problems)
    assert document.broken, "the rest of it is still checked, so that one run reports everything"
    assert str(problems.kept[0]) == "f:4: error: the key 'a' appears twice: first on line 2"


@pytest.mark.parametrize(
    "text",
    ["[" * DEEP, "{a: " * DEEP, "- " * DEEP, "a: " + "[" * DEEP, "[[], " * DEEP],
)
def test_yaml_nested_without_end_is_refused(text: str) -> None:
    documents, problems = read(Format.YAML, text)
    assert documents == []
    assert problems[-1] == "1 too-deep"


@pytest.mark.parametrize(("depth", "problems"), [(64, []), (65, ["1 too-deep"])])
@pytest.mark.parametrize("format_", [Format.YAML, Format.JSON, Format.JSONL])
def test_the_bound_on_nesting_is_the_same_everywhere(format_: Format, depth: int, problems: list[str]) -> None:
    text = '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
    assert read(format_, text)[1] == problems


def test_aliases_count_for_the_nesting_they_repeat() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 70))]
    assert read(Format.YAML, "\n".join(lines))[1] == ["64 too-deep"]


@pytest.mark.parametrize(
    "text",
    [
        'a: &a ["lol", "lol"]\n'
        + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}' if n else '*a'] * 9)}]\n" for n in range(9)),
        "a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 1000 + "]\n",
        "- &a {" + ", ".join(f"k{n}: v" for n in range(5000)) + "}\n" + "- {<<: *a}\n" * 500,
    ],
    ids=["nested", "long text", "merges"],
)
def test_an_alias_bomb_is_refused_before_it_goes_off(text: str) -> None:
    assert [problem.split()[1] for problem in read(Format.YAML, text)[1]] == ["alias-bomb"]


def test_a_document_with_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert yaml_reader.MAX_VALUES == 200_000
    monkeypatch.setattr(yaml_reader, "MAX_VALUES", 2_000)
    assert read(Format.YAML, "a: [" + "x," * 2_001 + "]")[1] == ["1 too-large"]
    assert read(Format.YAML, "a: [" + "x," * 1_990 + "]")[1] == []
    documents, problems = read(Format.YAML, "- a: 1\n" * 2_001)
    assert (len(documents), problems) == (2_001, [])


def test_items_of_a_yaml_list_are_documents_with_their_lines() -> None:
    documents, problems = read(Format.YAML, "# people\n- name: a\n\n- name: b\n  tags:\n    - x\n    - y\n")
    assert problems == []
    assert [(d.item, d.line, d.values["name"]) for d in documents] == [(0, 2, "a"), (1, 4, "b")]
    assert documents[1].line_of("tags") == 5
    assert documents[1].line_of("tags", 1) == 7
    assert documents[1].line_of("tags", 9) == 5
    assert documents[1].line_of("nothing") == 4
    assert read(Format.YAML, "[]") == ([], [])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("close", ["---", "...", "---  "])
def test_markdown_is_front_matter_and_body(end: str, mark: str, close: str) -> None:
    text = mark + end.join(["--- ", "title: Hi", "", "n: '1'", close, "", "# Body", "---", "x"])
    document = one(Format.MARKDOWN, text)
    assert typed(document.values) == typed({"title": Plain("Hi"), "n": "1"})
    assert document.body == Markdown("\n# Body\n---\nx")
    assert type(document.body) is Markdown
    assert [document.line, document.line_of("n"), document.line_of("$body")] == [1, 4, 6]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("", ""),
        ("# Just text\n", "# Just text\n"),
        ("text\n---\na: 1\n---\n", "text\n---\na: 1\n---\n"),
        ("----\n", "----\n"),
        ("---\n---\nbody", "body"),
        ("---\n# nothing\n---\nbody", "body"),
        ("---\na: 1\n---", ""),
    ],
)
def test_markdown_bodies(text: str, body: str) -> None:
    assert one(Format.MARKDOWN, text).body == body


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("---\na: 1\n", ["1 front-matter"]),
        ("---", ["1 front-matter"]),
        ("---\na: 1\n--- x\n", ["1 front-matter"]),
        ("---\n- a\n---\n", ["2 no-mapping"]),
        ("---\na: 1\nb: [\n---\n", ["4 syntax"]),
        ("---\nx: 0\na: 1\na: 2\n---\n", ["4 duplicate-key"]),
        ("---\na: " + "[" * DEEP + "\n---\n", ["2 too-deep"]),
        (b"---\na: 1\n---\n\nx\xffy\n", ["5 encoding"]),
    ],
)
def test_markdown_problems_are_named_at_their_line(text: str | bytes, problems: list[str]) -> None:
    assert read(Format.MARKDOWN, text) == ([], problems)


def test_what_a_markdown_file_may_not_have_meant_is_a_warning() -> None:
    problems = Problems()
    (document,) = read_documents("f", Format.MARKDOWN, b"---\na: 1\n---\n\nab\x08c\n", problems)
    assert document.body == "\nab\x08c\n"
    assert [str(p) for p in problems.kept] == ["f:5: warning: control character U+0008 at column 3: remove it"]


def test_json_documents_and_their_lines() -> None:
    text = '\ufeff[\n  {"a": 1,\r\n   "b": [1,\n {"c": "x\\n,{}"}]},\n\n  {"a": 2.5, "b": null, "ü": true}\n]\n'
    documents, problems = read(Format.JSON, text)
    assert problems == []
    assert typed(documents[0].values) == typed({"a": 1, "b": [1, {"c": "x\n,{}"}]})
    assert typed(documents[1].values) == typed({"a": 2.5, "b": None, "ü": True})
    assert [(d.item, d.line) for d in documents] == [(0, 2), (1, 6)]
    first = documents[0]
    assert [first.line_of("a"), first.line_of("b"), first.line_of("b", 1), first.line_of("b", 1, "c")] == [2, 3, 4, 4]
    assert one(Format.JSON, '\n{"a": {\n"b": 1}}').line_of("a", "b") == 3
    assert read(Format.JSON, " [ ] ") == ([], [])


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["1 empty"]),
        (" \n", ["1 empty"]),
        ("{", ["1 syntax"]),
        ('{"a": 1,\n}', ["2 syntax"]),
        ('{"a": 1}\n\n{"b": 1}', ["3 syntax"]),
        ('[{"a": 1}\n{"b": 1}]', ["2 syntax"]),
        ('[{"a": 1},\n]', ["2 syntax"]),
        ('[{"a": 1}]\nx', ["2 syntax"]),
        ('[\n{"a": 1}', ["2 syntax"]),
        ("[1,\n2]", ["1 no-mapping", "2 no-mapping"]),
        ('"text"', ["1 no-mapping"]),
        ('{"a":\nNaN}', ["2 syntax"]),
        ('[{"a": "NaN"},\n{"b":\n-Infinity}]', ["3 syntax"]),
        ('{"a":\n' + "1" * 5000 + "}", ["2 syntax"]),
        ('{"a": 1,\n"b": {"c": 1,\n"c": 2},\n"a": 3}', ["3 duplicate-key", "4 duplicate-key"]),
        ('[{"a": 1, "a": 2},\n{"b": 1, "\\u0062": 2}]', ["1 duplicate-key", "2 duplicate-key"]),
        ('{"a": 1,\n"b": ["x", "\\udc00"]}', ["2 encoding"]),
        ('{"a": 1,\n"\\ud800": 1}', ["2 encoding"]),
        ('{"a": "x\ny"}', ["1 syntax"]),
        ("[" * DEEP, ["1 too-deep"]),
        ('[{"x": 1},\n' + '{"a":\n' * DEEP, ["66 too-deep"]),
        (b'{"a":\n"\xff"}', ["2 encoding"]),
        (b"\0" * 1000, ["1 syntax"]),
    ],
)
def test_json_problems_are_named_at_their_line(text: str | bytes, problems: list[str]) -> None:
    assert read(Format.JSON, text)[1] == problems


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n  }', "invalid JSON: there is a comma before '}' (column 3)"),
        ('{"a": [1,\n]}', "invalid JSON: there is a comma before ']' (column 1)"),
        ('[{"a": 1 , }]', "invalid JSON: there is a comma before '}' (column 12)"),
        ('{"a": 1 "b"}', "invalid JSON: expecting ',' delimiter (column 9)"),
        ('{"a": ,}', "invalid JSON: expecting value (column 7)"),
    ],
)
def test_json_problems_read_alike_under_every_version_of_python(text: str, message: str) -> None:
    problems = Problems()
    assert list(read_documents("f.json", Format.JSON, text.encode(), problems)) == []
    assert [problem.message for problem in problems.kept] == [message]


def test_a_surrogate_pair_is_a_character() -> None:
    assert one(Format.JSON, '{"a": "\\ud83d\\ude00"}').values == {"a": "😀"}
    assert one(Format.JSONL, '{"a": "\\uD83D\\uDE00"}').values == {"a": "😀"}


def test_one_bad_line_of_jsonl_leaves_the_others() -> None:
    lines = [
        b'{"a": 1}\r',
        b"",
        b"{",
        b"   ",
        b"[1]",
        b'{"a": 1, "a": 2}',
        b'{"a": "\xff"}',
        b'{"a": NaN}',
        b"[" * DEEP,
        b'{"a": "\\udc00"}',
        b'{"a": 2} {"a": 3}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": 4}',
    ]
    problems = Problems()
    documents = [d for d in read_documents("f", Format.JSONL, b"\n".join(lines), problems) if not d.broken]
    assert [(d.values["a"], d.line, d.line_of("a"), d.item) for d in documents] == [
        (1, 1, 1, None),
        (4, 13, 13, None),
    ]
    assert [(p.line, p.kind) for p in problems.kept] == [
        (3, "syntax"),
        (5, "no-mapping"),
        (6, "duplicate-key"),
        (7, "encoding"),
        (8, "syntax"),
        (9, "too-deep"),
        (10, "encoding"),
        (11, "syntax"),
        (12, "syntax"),
    ]
    assert all(problem.in_version for problem in problems.kept)


@pytest.mark.parametrize("depth", [1, 4, 5, 64, 65])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"b": ', "}")])
def test_lines_of_jsonl_are_nested_as_deep_as_other_documents(depth: int, opening: str, closing: str) -> None:
    deep = f'{{"a": {opening * (depth - 1)}1{closing * (depth - 1)}}}'
    twice = deep.replace("1", '{"c": 1, "c": 2}')
    documents, problems = read(Format.JSONL, f'{{"a": 0}}\n{deep}\n{twice}\n{{"a": 2}}\n')
    alone, wrong = read(Format.JSON, deep)
    assert wrong == (["1 too-deep"] if depth > MAX_DEPTH else [])
    assert [d.values for d in documents if not d.broken] == [{"a": 0}, *(d.values for d in alone), {"a": 2}]
    assert problems == [*("2 too-deep" for _ in wrong), "3 too-deep" if depth >= MAX_DEPTH else "3 duplicate-key"]


def test_a_byte_order_mark_is_read_over_only_at_the_start() -> None:
    documents, problems = read(Format.JSONL, '\ufeff{"a": 1}\n\ufeff{"a": 2}\n{"a": 3}\n')
    assert [document.values["a"] for document in documents] == [1, 3]
    assert problems == ["2 syntax"]


@pytest.mark.parametrize(
    ("format_", "text", "in_version"),
    [
        (Format.MARKDOWN, "---\na: [\n---\n", True),
        (Format.YAML, "a: [\n", True),
        (Format.YAML, "# list\n- a: [\n", False),
        (Format.YAML, "- a: 1\n  a: 2\n", True),
        (Format.JSON, "{", True),
        (Format.JSON, "[{", False),
        (Format.JSON, '[{"a": 1, "a": 2}]', True),
    ],
)
def test_only_what_spoils_one_version_can_be_left_out(format_: Format, text: str, in_version: bool) -> None:
    problems = Problems()
    list(read_documents("f", format_, text.encode(), problems))
    assert [problem.in_version for problem in problems.kept] == [in_version]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inside, max_size=4)
    ),
    max_leaves=12,
)
json_objects = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), json_values, max_size=4)


@given(json_objects, st.sampled_from([None, 2]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_whatever_json_holds_is_read_back(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert one(Format.JSON, text).values == value
    assert one(Format.JSON, f"[{text}]").values == value
    if indent is None:
        assert one(Format.JSONL, text).values == value


@given(json_objects)
@settings(max_examples=40, deadline=None)
def test_lines_inside_json_are_those_of_its_text(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    document = one(Format.JSON, text)
    written = text.split("\n")
    for key in value:
        line = written[document.line_of(key) - 1]
        assert line.startswith(f" {json.dumps(key, ensure_ascii=False)}: ")


@given(st.binary(max_size=200) | st.text("-:[]{}&*!|>'\"%@`#, \n\tab\x00\x85\ufeff", max_size=60).map(str.encode))
@example(b"---\n\xef\xbb\xbf\n---")
@example(b"? ")
@example(b"&a : *a")
@example(b"!<tag:yaml.org,2002:str> a: b")
@settings(max_examples=150, deadline=None)
def test_no_bytes_at_all_break_a_reader(data: bytes) -> None:
    lines = data.count(b"\n") + data.count(b"\r") + 2
    for format_ in Format:
        for content in (data, b"---\n" + data + b"\n---\n"):
            problems = Problems()
            documents = list(read_documents("f", format_, content, problems))
            assert all(1 <= p.line <= lines + 4 for p in problems.kept)
            assert all(type(document.values) is dict for document in documents)
            nothing = "".join(content.decode("utf-8", "replace").split()) in ("[]", "-[]")
            assert documents or problems.errors or format_ is Format.JSONL or nothing

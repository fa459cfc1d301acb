"""Files that are nearly right: each slip is named as what it is, on the line it is on."""

from __future__ import annotations

import pytest

from snapshots.documents.document import Format
from snapshots.documents.read import read_documents
from snapshots.problems import Problems

MD, YAML, JSON, JSONL, TOML = Format.MARKDOWN, Format.YAML, Format.JSON, Format.JSONL, Format.TOML
CONFLICT = "<<<<<<< HEAD\ntitle: a\n=======\ntitle: b\n>>>>>>> other\n"


def said(format_: Format, text: str) -> list[str]:
    problems = Problems()
    list(read_documents("f", format_, text.encode(), problems))
    return [f"{problem.line} {problem.severity}: {problem.message}" for problem in problems.kept]


@pytest.mark.parametrize(
    ("format_", "text", "line", "words"),
    [
        (MD, "\n---\ntitle: a\n---\nx\n", "1 error", "a blank line stands before the ---"),
        (MD, "\r\n\r\n---\r\ntitle: a\r\n---\r\nx\r\n", "1 error", "a blank line stands before the ---"),
        (MD, " ---\ntitle: a\n---\nx\n", "1 error", "a space stands before the ---"),
        (MD, "\n\n\t---\ntitle: a\n---\n", "3 error", "a space stands before the ---"),
        (MD, "----\ntitle: a\n----\nx\n", "1 error", "this line is ----: write ---"),
        (MD, "\u2014-\ntitle: a\n---\nx\n", "1 error", "write ---"),
        (MD, "---yaml\ndraft: true\n---\nx\n", "1 error", "without the name of a format: write ---"),
        (MD, "--- TOML\r\ndraft = true\r\n---\r\nx\r\n", "1 error", "write +++ on this line and on the one that"),
        (MD, '---json\n{"draft": true}\n---\nx\n', "1 error", "remove this line and the one that ends it"),
        (MD, "---\ntitle: a\n----\nx\n", "3 error", "ends with a line of ---, but this line is '----'"),
        (MD, "---\ntitle: a\nx\n", "1 error", "never closed: end it with a line of ---"),
        (MD, "+++\ntitle = 1\nx\n", "1 error", "never closed: end it with a line of +++"),
        (MD, f"---\n{CONFLICT}---\nx\n", "2 error", "a merge conflict begins here"),
        (MD, f"---\ntitle: a\n---\nx\n{CONFLICT}", "5 error", "a merge conflict begins here"),
        (YAML, f"- x: 1\n{CONFLICT}", "2 error", "a merge conflict begins here"),
        (JSON, '{\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> b\n}', "2 error", "a merge conflict"),
        (JSONL, '{"a": 1}\n<<<<<<< HEAD\n{"a": 1}\n=======\n{"a": 2}\n>>>>>>> b\n', "2 error", "a merge conflict"),
        (MD, "---\ntitle: a\n---\nx\n```sh\nls\n", "5 warning", "code fence that begins here is never closed"),
        (MD, "~~~~\n```\n~~~\n", "1 warning", "code fence that begins here is never closed"),
        (MD, '---\ntitle: "a\nrank: 5\n---\nx\n', "2 error", "the quote that begins here is never closed"),
        (YAML, "rank: 5\ntitle: 'a\nx: b\n", "2 error", "the quote that begins here is never closed"),
        (MD, '---\ntitle: "a\nrank: 5\nother: "b"\n---\n', "2 error", "the quote that begins here is closed only 2"),
        (MD, "---\ntitle: 'a\nrank: 5\nother: it's\n---\n", "2 error", "the quote that begins here is closed only 2"),
        (MD, "---\ntitle\uff1aa\nrank: 5\n---\n", "2 error", "there is a full-width colon after 'title'"),
        (MD, "---\ntitle: a\nrank\uff1a5\n---\n", "3 error", "there is a full-width colon after 'rank'"),
        (MD, "---\ntitle\uff1aa\n---\n", "2 error", "there is a full-width colon after 'title'"),
        (YAML, "a: 1\n題名\uff1aa\n説明\uff1ab\nrank: 5\n", "2 error", "there is a full-width colon after '題名'"),
        (YAML, "title:a\nrank: 5\n", "1 error", "there is no space after the colon of 'title'"),
        (YAML, "title:\u3000a\nrank: 5\n", "1 error", "there is no space after the colon of 'title'"),
        (JSON, '{"title": "a, "rank": 5}', "1 error", "the text that begins at column 11 is not closed"),
        (JSON, '{\n  "title": "a,\n  "rank": 5\n}', "2 error", "the text that begins at column 12 is not closed"),
        (JSON, '{"title"\uff1a"a"}', "1 error", "\uff1a at column 9 is a full-width character: write :"),
        (JSON, '{\n\u201ctitle\u201d: "a"}', "2 error", 'is a full-width character: write "'),
        (TOML, "a = 1\nrank = \uff15\n", "2 error", "\uff15 at column 8 is a full-width character: write 5"),
        (TOML, "rank\uff1a 5\n", "1 error", "\uff1a at column 5 is a full-width character: write ="),
        (TOML, "title = \u201cx\u201d\n", "1 error", 'is a full-width character: write "'),
        (TOML, 'a = 1\ntitle = "x\nb = 2\n', "2 error", "the quote on this line is never closed"),
        (TOML, "a = 1\ntitle = 'x\nb = 2\n", "2 error", "the quote that begins here is never closed"),
        (TOML, 'a = 1\ntitle = """x\nb = 2\n', "2 error", "the quote that begins here is never closed"),
        (MD, '+++\ntitle = "x\n+++\n', "2 error", "the quote on this line is never closed"),
        (JSON, '{"rank": \uff15}', "1 error", "is a full-width character: write 5"),
    ],
)
def test_a_slip_is_one_problem_where_it_is(format_: Format, text: str, line: str, words: str) -> None:
    (problem,) = said(format_, text)
    assert problem.startswith(f"{line}: ")
    assert words in problem


@pytest.mark.parametrize(
    "text",
    [
        "\n---\nA rule, then text.\n",
        "----\n\nA rule.\n",
        "\n\nText.\n",
        "--- a\nb\n",
        "```\nx\n```\n",
        "````md\n```\n````\n",
        "~~~\n```\n~~~\n",
        "Use ```x``` inline.\n",
        "```inline``` at the start\n",
        "```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> c\n```\n",
        "<<<<<<< is how a conflict begins\n",
        "Title\n=======\n",
        '{% include "x" %}\n',
        "{#id}\n",
        "{title}\n",
        '---\ntitle: "two\n  lines"\n---\n',
        "---\nurl: http://x.example/a:b\n---\n",
        "---\ntext: |\n  a\uff1ab\n---\n",
    ],
)
def test_text_that_only_looks_like_a_slip_is_left_alone(text: str) -> None:
    assert said(MD, text) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [("a:\n  - x:y\n\t- z\n", 3), ("a:\n  - x:y\ntitle: a: b\n", 3), ("a: 1\nx:y: [\n", 3), ("x:y\n", 1)],
)
def test_another_fault_is_not_blamed_on_a_colon_before_it(text: str, line: int) -> None:
    (problem,) = said(YAML, text)
    assert problem.startswith(f"{line} error: ")
    assert ("there is no space after the colon" in problem) == (line == 1)


def test_looking_for_slips_takes_linear_time() -> None:
    for hostile in ("\n" * 300_000 + "x", " " * 300_000 + "\n", "<<<<<<< a\n" * 60_000, "```\n<<<<<<< a\n" * 40_000):
        said(MD, hostile)

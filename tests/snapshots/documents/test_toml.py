"""TOML files, and TOML and JSON as front matter: values, lines, and an exact problem for what cannot be read."""

from __future__ import annotations

import pytest

from snapshots.documents.document import ContentDocument, Format, Markdown
from snapshots.documents.read import read_documents
from snapshots.problems import Problems

TOML = '''\
# a comment with a "quote
title = "T # no comment"
"quoted.key" = 'x'
weight = 5
tags = [
  "a",  # first
  "b",
]
text = """
two = lines
"""
date = 2024-05-02 09:00:00Z
day = 2024-05-02
at.once = true

[params.author]
name = "A"
inline = {x = 1, y = {z = [1, 2]}}

[[menu]]
name = "one"

[[menu]]
name = "two"
'''


def read(format_: Format, text: str) -> tuple[list[ContentDocument], list[str]]:
    problems = Problems()
    documents = list(read_documents("f", format_, text.encode(), problems))
    return documents, [f"{problem.line} {problem.kind}" for problem in problems.kept]


def test_values_and_lines() -> None:
    ((document,), problems) = read(Format.TOML, TOML)
    assert problems == []
    assert document.values == {
        "title": "T # no comment",
        "quoted.key": "x",
        "weight": 5,
        "tags": ["a", "b"],
        "text": "two = lines\n",
        "date": "2024-05-02T09:00:00+00:00",
        "day": "2024-05-02",
        "at": {"once": True},
        "params": {"author": {"name": "A", "inline": {"x": 1, "y": {"z": [1, 2]}}}},
        "menu": [{"name": "one"}, {"name": "two"}],
    }
    places: dict[tuple[str | int, ...], int] = {
        ("title",): 2,
        ("quoted.key",): 3,
        ("tags",): 5,
        ("tags", 0): 6,
        ("tags", 1): 7,
        ("text",): 9,
        ("date",): 12,
        ("at", "once"): 14,
        ("params", "author"): 16,
        ("params", "author", "name"): 17,
        ("params", "author", "inline", "y", "z"): 18,
        ("menu", 0, "name"): 21,
        ("menu", 1, "name"): 24,
    }
    assert {path: document.line_of(*path) for path in places} == places


def test_toml_front_matter() -> None:
    ((document,), problems) = read(Format.MARKDOWN, "+++\ntitle = 'T'\ndate = 2024-05-02\n+++\n\nBody.\n")
    assert problems == []
    assert document.values == {"title": "T", "date": "2024-05-02"}
    assert document.body == Markdown("\nBody.\n")
    assert (document.line_of("date"), document.line_of("$body")) == (3, 5)


def test_json_front_matter() -> None:
    ((document,), problems) = read(Format.MARKDOWN, '{\n  "title": "T",\n  "tags": ["a"]\n}\nBody {x}.\n')
    assert problems == []
    assert document.values == {"title": "T", "tags": ["a"]}
    assert document.body == Markdown("Body {x}.\n")
    assert (document.line_of("tags"), document.line_of("$body")) == (3, 5)


@pytest.mark.parametrize(
    ("format_", "text", "problem"),
    [
        (Format.TOML, "a = 1\nb = \n", "2 syntax"),
        (Format.TOML, "a = 1\na = 2\n", "2 syntax"),
        (Format.TOML, 'a = 1\nb = "x\n', "2 syntax"),
        (Format.TOML, "a = [1,\n", "2 syntax"),
        (Format.TOML, "x = 1\na = " + "[" * 100 + "]" * 100, "2 too-deep"),
        (Format.TOML, "a = " + "[" * 100_000, "1 too-deep"),
        (Format.TOML, "a = " + "9" * 5_000, "1 syntax"),
        (Format.MARKDOWN, "+++\na = 1\nb = \n+++\n", "3 syntax"),
        (Format.MARKDOWN, '{\n"title": "T",\n}\nBody\n', "3 syntax"),
        (Format.MARKDOWN, '{"a": 1, "a": 2}\nBody\n', "1 duplicate-key"),
    ],
)
def test_what_cannot_be_read_is_a_problem_at_its_line(format_: Format, text: str, problem: str) -> None:
    assert read(format_, text)[1] == [problem]

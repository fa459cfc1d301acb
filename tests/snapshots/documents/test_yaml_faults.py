"""What people get wrong in front matter: one message, in plain words, at the line of the cause."""

from __future__ import annotations

import pytest
import yaml

from snapshots.documents.document import Format
from snapshots.documents.read import read_documents
from snapshots.problems import Problems

NO_COLON = (
    "has no colon, so it is not a key with a value: write 'key: value'; indent it if it goes on with the text above; "
    "or end the front matter with a line of --- before it"
)
TAB = "a tab stands where this line begins, and YAML takes spaces only: indent it with spaces"
FAULTS = [
    ("tags: [a, b\ntitle: T\ndate: 2026-01-01", 2, "the [ at column 7 is never closed: write ] where the values end"),
    ("title: T\ntags: [a, b", 3, "the [ at column 7 is never closed: write ] where the values end"),
    ("tags: [\n  a,\n  b\ntitle: T", 2, "the [ at column 7 is never closed: write ] where the values end"),
    (
        "tags: [\n  a\n  b: c\n  d: e]\ntitle: T",
        4,
        "a comma is missing before this line, or the ] that closes the [ at column 7 of line 2",
    ),
    ("cover: {url: a.jpg, alt: x\ntitle: T", 2, "the { at column 8 is never closed: write } where the values end"),
    ("more:\n  - a: [1, 2\n  - b: 3", 3, "the [ at column 8 is never closed: write ] where the values end"),
    ("tags: [a, b]]\ntitle: T", 2, "the ] at column 13 closes nothing: remove it"),
    ("cover: {url: a alt: x}", 2, "a comma, or the } that closes the { at column 8, is missing before column 19"),
    ("title: T\nseo:\n\ttitle: x", 4, TAB),
    ("\ttitle: T", 2, TAB),
    ("tags:\n\t- a\n\t- b", 3, TAB),
    ("title: T\n\tcategory: news", 3, TAB),
    ("tags:\n  - a\n\t- b", 4, TAB),
    (
        "date: 2026-01-01\ntitle: Part 2: The crumb",
        3,
        "the value of 'title' has a colon in it, so it must be in quotes: write title: \"Part 2: The crumb\"",
    ),
    (
        'title: The "best": bread',
        2,
        "the value of 'title' has a colon in it, so it must be in quotes: write title: 'The \"best\": bread'",
    ),
    ("title: T:\nx: y", 2, "the value of 'title' has a colon in it, so it must be in quotes: write title: \"T:\""),
    (
        "seo:\n  title: A: b",
        3,
        "the value of 'title' has a colon in it, so it must be in quotes: write title: \"A: b\"",
    ),
    ('title: "T\nx: y', 2, "the quote that begins here is never closed: close it at the end of the value"),
    (
        "title: 'It's bread'\nx: y",
        2,
        "the ' at column 11 ends the text, and more follows: write '' for an apostrophe inside single quotes, or put "
        "the whole value in double quotes",
    ),
    (
        'title: "The "best" bread"',
        2,
        'the " at column 13 ends the text, and more follows: write \\" for a quote inside double quotes, or put the '
        "whole value in single quotes",
    ),
    ("title:T\nx: y", 2, "there is no space after the colon of 'title': write 'title: '"),
    ("title T\nx: y", 2, f"'title T' {NO_COLON}"),
    ("title: T\nx y\nz: 1", 3, f"'x y' {NO_COLON}"),
    ("title: T\n# Heading\nSome text.", 4, f"'Some text.' {NO_COLON}"),
    ("author: @mika", 2, "the value of 'author' cannot begin with @ unless it is in quotes: write author: \"@mika\""),
    ("title: `x` y", 2, "the value of 'title' cannot begin with ` unless it is in quotes: write title: \"`x` y\""),
    ("title: **T** x", 2, "the value of 'title' cannot begin with * unless it is in quotes: write title: \"**T** x\""),
    ("title: %50", 2, "the value of 'title' cannot begin with % unless it is in quotes: write title: \"%50\""),
    ("title: - T", 2, "the value of 'title' cannot begin with - unless it is in quotes: write title: \"- T\""),
    ("**title**: T", 2, "a key cannot begin with *: remove it, and its like before the colon"),
    ("title: !Hola", 2, "the tag !Hola is not supported: remove it, or put a text that begins with ! in quotes"),
    (
        "title: | T",
        2,
        "nothing can follow the | at column 8 on its line: begin the text on the next line, indented, or put it in "
        'quotes: "| T"',
    ),
    (
        "title: T\n  date: 2026-01-01",
        3,
        "this line is indented more than the key above it, which has a value already: begin it exactly below that key, "
        "or put the value in quotes if it goes on here",
    ),
    (
        "seo:\n   title: a\n  text: b",
        4,
        "this line begins at column 3, and no key that it could belong to does: begin it exactly below the key above "
        "that it goes with",
    ),
    (" title: T\nx: y", 2, "a space stands before the key on this line and none before the next key: remove it"),
    (
        'cover: "C:\\pics\\oven.jpg"',
        2,
        "the backslash at column 10 means something else in double quotes: write it twice, or put the value in single "
        "quotes",
    ),
    (
        "title = T\nx = y",
        2,
        "'title' is followed by =, which YAML has no use for: write 'title: T', or, if all of it is TOML, begin and "
        "end it with a line of +++",
    ),
    (
        "title: {{ page.title }}",
        2,
        "a key must be a text, but this one is a mapping: quote it, as every value that begins with {{",
    ),
    # Only the first of several faults is told: the others may follow from it.
    ("tags: [a\ntitle: A: b\nauthor: @mika", 2, "the [ at column 7 is never closed: write ] where the values end"),
    ("x: 1\nx: 2\ntags: [a\ny: z", 3, "the key 'x' appears twice: first on line 2"),
]


def problems_of(front_matter: str, ends: str) -> list[tuple[int, str]]:
    problems = Problems()
    text = f"---\n{front_matter}\n---\nText: more\n".replace("\n", ends)
    list(read_documents("f.md", Format.MARKDOWN, text.encode(), problems))
    return [(problem.line, problem.message) for problem in problems.kept]


@pytest.mark.parametrize(("front_matter", "line", "message"), FAULTS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_fault_is_told_once_in_plain_words_where_it_is(front_matter: str, line: int, message: str, ends: str) -> None:
    assert problems_of(front_matter, ends) == [(line, message)]


@pytest.mark.parametrize(
    ("front_matter", "line", "message"), [fault for fault in FAULTS if "write title: " in fault[2]]
)
def test_the_line_that_a_message_suggests_is_right(front_matter: str, line: int, message: str) -> None:
    suggested = message.partition(": write ")[2]
    assert list(yaml.safe_load(suggested)) == ["title"]
    lines = front_matter.split("\n")
    lines[line - 2] = lines[line - 2].partition("title")[0] + suggested
    assert problems_of("\n".join(lines), "\n") == []

"""Markdown that is made to hurt parsers, in the manner of the fuzz corpora of CommonMark's implementations.

Every text is a content file that is checked as people's are: it may be refused with a reason, but nothing ends.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SECONDS = 480
"""After which a text counts as one that takes forever."""
MANY = 10_000
"""Repetitions that make a text longer than those in which nothing is counted (``SMALL``)."""

PIECES = (
    *(
        "*",
        "**",
        "_",
        "__",
        "***",
        "~~",
        "~",
        "`",
        "``",
        "```\n",
        "~~~\n",
        "[",
        "]",
        "![",
        "](",
        ")",
        "][",
        "[]:",
        "<",
        ">",
    ),
    *("<!--", "-->", "<?", "<![CDATA[", "]]>", "<a", "</a>", "<div>\n", "</div>\n", "<script>\n", "&", "&amp;", "&#0;"),
    *(
        "&#x10ffff;",
        "\\",
        "\\\n",
        "  \n",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\t",
        " ",
        "    ",
        "# ",
        "###### ",
        "===\n",
        "---\n",
    ),
    *(
        "- ",
        "+ ",
        "1. ",
        "999999999) ",
        "> ",
        "> [!NOTE]\n",
        "- [ ] ",
        "- [x] ",
        "[^1]",
        "[^1]: ",
        "[^a\u0301]",
        ": term\n",
    ),
    *(
        "| a | b |\n",
        "|---|:-:|\n",
        "|",
        ":tada:",
        ":",
        "https://a.b/(c",
        "www.a.b",
        "a@b.c",
        "{#id}",
        "{: .a}",
        "{{< x >}}",
    ),
    *(
        "\0",
        "\ufeff",
        "\u00a0",
        "\u2028",
        "\u202e",
        "\u200d",
        "\U0001f469\u200d\U0001f4bb",
        "é",
        "日本",
        "\ufdd0",
        "\ud7ff",
        "a",
        "B1",
    ),
)


def pathological(n: int) -> Iterator[tuple[str, str]]:
    """(name, text): the shapes for which parsers once took time or memory that grows with the square, or ran deep."""
    yield "nested strong emphasis", "*a **a " * n + "b" + " a** a*" * n
    yield "emphasis that only closes", "a_ " * n
    yield "emphasis that only opens", "_a " * n
    yield "links that only close", "a]" * n
    yield "links that only open", "[a" * n
    yield "images that only open", "![a" * n
    yield "mismatched openers and closers", "*a_ " * n
    yield "openers and closers of length 3", "a**b" + "c* " * n
    yield "links and emphasis", "[ a_" * n
    yield "nested brackets", "[" * n + "a" + "]" * n
    yield "nested links", "[" * n + "a" + "](b)" * n
    yield "pattern [ (](", "[ (](" * n
    yield "pattern ![[]()", "![[]()" * n
    yield "pattern - a *", "- a *\n" * n
    yield "nested quotes", "> " * n + "a"
    yield "deep lists", "".join("  " * depth + "* a\n" for depth in range(600))
    yield "lists in one line", "- " * n + "a"
    yield "numbered lists in one line", "1. " * n + "a"
    yield "quotes and lists in turn", "> - " * n + "a"
    yield "backslashes", "\\" * (4 * n)
    yield "backticks of all lengths", "".join("e" + "`" * length for length in range(1, 1_000))
    yield "backticks without an end", "`" * (4 * n) + "a"
    yield "unclosed links with <", "[a](<b" * n
    yield "unclosed links", "[a](b" * n
    yield "unclosed <!--", "</" + "<!--" * n
    yield "declarations", "<!A " * n
    yield "processing instructions", "<?" * n
    yield "CDATA", "<![CDATA[" * n
    yield "entities", "&" * n + "&#;" * n + "&#x;" * n
    yield "tabs", "a\t" * n + "\n" + "\t" * n + "a"
    yield "empty lines in deep lists", "- " * 30 + "x" + "\n" * n
    yield "one line", "a" * (n * 100)
    yield "many lines", "a\n" * (n * 5)
    yield "NULs", "a\0b " * n + "\0" * n
    yield "reference definitions", "".join(f"[{number}]: /u\n" for number in range(n)) + "[0] [1]"
    yield "one reference many times", f"[a]: /{'u' * 10_000}\n\n" + "[a] " * n
    yield "references that overlap", "[" + "a" * 900 + "]: /u\n" + ("[" + "a" * 900) * 100
    yield "footnotes of footnotes", "".join(f"[^{number}]: [^{number + 1}]\n\n" for number in range(2_000)) + "[^0]"
    yield "one footnote many times", "[^a] " * 5_000 + "\n\n[^a]: b\n"
    yield "footnotes that call themselves", "[^a]\n\n[^a]: [^a] [^a]\n" * 500
    yield "a wide table", "|a" * 400 + "|\n" + "|-" * 400 + "|\n" + "|b" * 400 + "|\n"
    yield "a table that is too wide", "|a" * n + "|\n" + "|-" * n + "|\n|b|\n" * 10
    yield "a table with short rows", "|a" * 400 + "|\n" + "|-" * 400 + "|\n" + "|b|\n" * 1_000
    yield "a long table", "|a|b|\n|-|-|\n" + "|c|d|\n" * n
    yield "strike-through", "~a ~~b " * n
    yield "shortcodes", ":a" * n + ":tada:" * n
    yield "addresses", "www." * n + "http://" * n + "a@" * n + "x" + ".b" * n
    yield "an address in brackets", "http://a.b/" + "(" * n + ")" * n
    yield "alerts", "> [!NOTE] *a\n> b\n\n" * 2_000
    yield "attribute lists", "a {#b .c d=e} " * n + "\n# h {#x" + " .y" * n + "}\n"
    yield "headings of one name", "# a\n" * 2_000
    yield "headings with underlines", "a\n===\n" * 1_000
    yield "descriptions", "a\n\n: b\n\n" * 2_000
    yield (
        "characters of all planes",
        "".join(chr(code) for code in range(1, 0x110000, 97) if not 0xD800 <= code < 0xE000),
    )
    yield "joined marks", "e" + "\u0301" * n + " *" + "\u200d" * n + "*"


def mixtures(count: int) -> Iterator[tuple[str, str]]:
    """(name, text): pieces of syntax in any order, some repeated, the same at each run."""
    for number in range(count):
        made = random.Random(number)
        pieces = [made.choice(PIECES) * made.choice((1, 1, 1, 2, 5, 200)) for _ in range(made.randint(1, 120))]
        yield f"mixture {number}", "".join(pieces) * made.choice((1, 1, 1, 10))


def checked(directory: Path, texts: Iterator[tuple[str, str]]) -> list[str]:
    """Check a workspace with a file for each text, and return the messages.

    A text at which the process ends is named by the second run.
    """
    (directory / "apis").mkdir()
    (directory / "workspace.yaml").write_text("id: acme\nlanguages: [en]\n")
    fields = "fields:\n  - {id: title, name: T, type: text}\n  - {id: body, name: Body, type: richtext}\n"
    (directory / "apis/posts.yaml").write_text(f"uid: posts\nname: P\nendpoint: posts\nkind: list\n{fields}")
    (directory / "content/posts").mkdir(parents=True)
    for number, (name, text) in enumerate(texts):
        page = f"---\nstatus: published\ntitle: {name!r}\n---\n{text}\n"
        (directory / f"content/posts/p{number}.md").write_text(page, encoding="utf-8", newline="")
    for _again in range(2):
        ran = subprocess.run(
            [sys.executable, "-m", "parquetry", "check", "--json", "."],
            capture_output=True,
            check=False,
            cwd=directory,
            timeout=SECONDS,
            env={**os.environ, "XDG_CACHE_HOME": str(directory / "cache")},
        )
        if ran.returncode in (0, 1):
            break
    assert ran.returncode in (0, 1), ran.stderr
    problems = json.loads(ran.stdout)["problems"]
    deadly = [one["file"] for one in problems if "Markdown parser" in one["message"]]
    assert [(directory / file).read_text(encoding="utf-8")[:200] for file in deadly] == []
    return [one["message"] for one in problems]


@pytest.mark.parametrize(("many", "mixed"), [(MANY, 250), pytest.param(2 * MANY, 250, marks=pytest.mark.slow)])
def test_hostile_texts_end_nothing(tmp_path: Path, many: int, mixed: int) -> None:
    messages = checked(tmp_path, chain(pathological(many), mixtures(mixed)))
    assert sum("more than 500 columns" in message for message in messages) == 1


def test_very_many_mixtures_end_nothing(tmp_path: Path) -> None:
    checked(tmp_path, mixtures(4_000))  # more problems than are kept, so that nothing is known of a single one

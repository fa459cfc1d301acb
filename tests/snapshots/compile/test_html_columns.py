"""HTML of many values looked at together must come to what each comes to by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.compile import html_columns
from snapshots.compile.html_columns import search_texts
from snapshots.compile.plain_html import is_plain
from snapshots.compile.richtext import sanitise_and_read
from snapshots.compile.values import normalise_search
from tests.snapshots.compile.test_plain_html import PIECES, blocks

SPACED = [" ", "  ", "\n", "\t", "\x0c", "<p> a</p>", "<p>a </p>", " <br>", "<br> ", "<li>", "</li>", "A", "&amp;LT;"]
LONG = [
    "<blockquote>",
    "</blockquote>",
    "<blockquoth>",
    "<strong>",
    "</strong>",
    "<h2x>",
    "<a\0>",
    "<p\0>",
    "\x01",
    "</a>",
]
pieces = st.lists(st.sampled_from([*PIECES, *SPACED, *LONG]), max_size=10).map("".join)
ascii_blocks = st.lists(blocks(), max_size=4).map(lambda parts: "".join(parts).encode("ascii", "ignore").decode())
HTMLS = st.lists(st.one_of(pieces, ascii_blocks, blocks()), max_size=8)


def by_itself(html: str) -> tuple[str, str] | None:
    try:
        settled, text = sanitise_and_read(html)
    except (ValueError, UnicodeEncodeError):
        return None
    return settled, normalise_search(text)


@given(HTMLS, st.sampled_from([3, 40, 1_000]))
def test_what_is_found_together_is_what_is_found_alone(htmls: list[str], most: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(html_columns, "MOST", most)
        found = search_texts(htmls)
    assert len(found) == len(htmls)
    for html, text in zip(htmls, found, strict=True):
        assert text is None or by_itself(html) == (html, text)


@given(st.lists(ascii_blocks, max_size=8))
def test_what_is_plain_is_found_together(htmls: list[str]) -> None:
    """Else the test above would compare nothing."""
    plain = [html for html in htmls if is_plain(html)]
    assert None not in search_texts(plain)


def test_one_that_is_unusual_holds_up_no_other() -> None:
    usual = "<h2>Title</h2><p>Some <b>Bold</b> text,\n  so <em>bold</em>.</p><ul><li>a</li><li>b<br>c</li></ul>"
    link = (
        '<h1 id="A-1">Tar</h1> <blockquote><p>See <a href="https://www.gnu.org/software/tar/">it</a>.</p></blockquote>'
    )
    found = search_texts(
        [usual, "<table></table>", link, "<p>é</p>", "a\rb", "<p>&quot;", "", "a &lt; B &amp;&nbsp; C"]
    )
    assert found == [
        "title some bold text, so bold. a b c",
        None,
        "tar see it.",
        *(None, None, None),
        "",
        "a < b & c",
    ]

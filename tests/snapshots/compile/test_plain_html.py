"""HTML told plain without a parser must be what the sanitiser makes of it, to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.compile.plain_html import plain_text
from snapshots.compile.richtext import RichText

RICH_TEXT = RichText()
NAMES = ["p", "h2", "ul", "ol", "li", "blockquote", "strong", "em", "b", "code", "br", "q", "u", "s", "a"]
PIECES = [
    *(f"<{slash}{name}>" for name in NAMES for slash in ("", "/")),
    *(
        '<h2 id="user-content-a-b">',
        '<h2 id="a-b">',
        '<a href="https://example.com/?a=b">',
        '<a href="javascript:x">',
        '<p id="x">',
        '<a id="x">',
    ),
    *("<script>", "<p >", "<P>", "<br/>", "<pre>", "</pre>", "<div>", "</div>", "<!-- c -->", "&", "<", ">", '"'),
    *("text", " ", "\n", "&amp;", "&lt;", "&nbsp;", "&quot;", "é", "日本語", "\U0001f600"),
    *("\r", "\x00", "\xa0", "\ufeff", "\x0c", "\x0b", "\x7f", "\x85"),
]
INLINE = ['a href="https://example.com/x"', "strong", "em", "b", "i", "u", "s", "code", "sub", "sup", "small", "mark"]
INLINE += ["kbd", "q", "cite"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_pieces(html: str) -> None:
    if plain_text(html) is not None:
        assert RICH_TEXT.settled(html) == html


def element(name: str, parts: list[str]) -> str:
    return f"<{name}>{''.join(parts)}</{name.partition(' ')[0]}>"


inline = st.recursive(
    st.sampled_from(["word", "two words", "&amp;", "<br>", "日本", "\n", ""]),
    lambda inner: st.builds(element, st.sampled_from(INLINE), st.lists(inner, max_size=3)),
    max_leaves=6,
)
texts = st.lists(inline, max_size=3).map("".join)


@st.composite
def blocks(draw: st.DrawFn, depth: int = 3) -> str:
    text = draw(texts)
    kind = draw(st.sampled_from(["p", "h1", 'h6 id="user-content-日本-x_1"', "ul", "ol", "blockquote", "text"]))
    if kind == "text":
        return text
    if kind in ("ul", "ol"):
        items = draw(st.lists(blocks(depth - 1) if depth else st.just(text), max_size=3))
        return element(kind, [draw(st.sampled_from(["", "\n"])), *(element("li", [item]) for item in items)])
    if kind == "blockquote" and depth:
        return element(kind, [draw(blocks(depth - 1))])
    return element(kind, [text])


@given(st.lists(blocks(), max_size=4).map("".join))
def test_well_formed_blocks(html: str) -> None:
    if plain_text(html) is not None:
        assert RICH_TEXT.settled(html) == html


@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), blocks()))
def test_the_shortcut_never_shows(html: str) -> None:
    try:
        expected = RICH_TEXT.settled(html)
    except (ValueError, UnicodeEncodeError):
        return
    assert RICH_TEXT.of_html(html)[0] == expected


@pytest.mark.parametrize(
    "html",
    [
        "<h2>Title</h2><p>Some <strong>bold</strong> text &amp; more.</p><ul><li>a</li><li>b<br>c</li></ul>",
        "<blockquote><p>Quote</p></blockquote>",
        '<h1 id="user-content-tar">tar</h1>\n<p>See <a href="https://www.gnu.org/software/tar/">the manual</a>.</p>',
        "<p>日本語 😀</p>\n<ol>\n<li><p>one</p></li>\n</ol>",
    ],
)
def test_ordinary_rich_text_is_plain(html: str) -> None:
    assert plain_text(html) is not None
    assert RICH_TEXT.settled(html) == html


@pytest.mark.parametrize(
    "html",
    [
        *("<p>open", "</p>", "<p><p>two</p></p>", "<p><ul></ul></p>", "<h1><h2>x</h2></h1>", "<li>x</li>"),
        *('<p class="x">a</p>', '<p id="x">a</p>', "<a>x</a>", '<a href="javascript:x">x</a>', '<a href="/x">x</a>'),
        *("<b><i>x</b></i>", "<b><b>x</b></b>", "<script>x</script>", "<P>x</P>"),
        *("a & b", "a > b", "<p>\xa0</p>"),
    ],
)
def test_what_a_parser_has_to_judge(html: str) -> None:
    assert plain_text(html) is None

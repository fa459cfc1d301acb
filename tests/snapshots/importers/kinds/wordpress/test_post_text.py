"""The text of WordPress posts as HTML, those made to take long among them."""

from __future__ import annotations

import pytest

from snapshots.importers.kinds.wordpress.post_text import paragraphs, post_html

LONG = 200_000


def made(text: str) -> tuple[str, list[str]]:
    told: list[str] = []
    return post_html(text, lambda _: None, lambda what, _: told.append(what)), told


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\n\ntwo\nthree", "<p>one</p>\n<p>two<br>\nthree</p>"),
        ("<div>a\n\nb</div>", "<div>a\n<p>b</p></div>"),
        ("<p>a\n\nb</p>", "<p>a\nb</p>"),
        ("<b>a</b>\r\n\r\nb", "<p><b>a</b></p>\n<p>b</p>"),
        ("x <PRE>a\n\nb</PRE> y", "<p>x</p>\n<PRE>a\n\nb</PRE>\n<p>y</p>"),
        ("<pre>never closed\n\nb", "<pre>never closed\n<p>b</p>"),
        ("", ""),
    ],
)
def test_paragraphs(text: str, html: str) -> None:
    assert paragraphs(text) == html


@pytest.mark.parametrize(
    ("text", "html", "told"),
    [
        ("[sic] [1] [a b]", "<p>[sic] [1] [a b]</p>", []),
        ('[x y="1"]in[/x] [z a=1 /]', "<p>in</p>", ["the shortcode [x]", "the shortcode [z]"]),
        ("[[x]] [[x a=1]]", "<p>[x] [x a=1]</p>", []),
        ("[video src='a.mp4']", '<video controls src="a.mp4"></video>', []),
        (
            "[embed]https://vimeo.com/12[/embed]",
            '<iframe src="https://player.vimeo.com/video/12" allowfullscreen></iframe>',
            [],
        ),
        ("[gallery]", "", ["a gallery that lists no pictures"]),
        ('<!-- wp:block {"ref":12} /-->', "", ["a reusable block"]),
        ("[caption]no picture[/caption]", "<p>no picture</p>", []),
        ("[caption id=a]never closed", "<p>never closed</p>", ["the shortcode [caption]"]),
        ('<!-- a note --><!-- wp:spacer /--><!-- wp:x/y {"a":"b"} /-->z', "<!-- a note -->z", ["the block x/y"]),
    ],
)
def test_shortcodes_and_blocks(text: str, html: str, told: list[str]) -> None:
    assert made(text) == (html, told)


@pytest.mark.parametrize(
    "part",
    [
        "<pre",
        "[caption",
        "[caption]",
        "[embed]x",
        "[embed",
        "<!-- wp:a {",
        "[a ",
        "[a" + " " * 50,
        "<a<img",
        "\n ",
        "[[",
        "<div>",
    ],
)
def test_texts_made_to_take_long_do_not(part: str) -> None:
    # Were the time to grow with the square, these would take minutes.
    made(part * (LONG // len(part)))

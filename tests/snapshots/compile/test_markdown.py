"""Markdown as site generators read it: attribute lists, definition lists, emoji, alerts, and single tildes."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from snapshots.compile.richtext import RichText
from snapshots.definitions.model import RichTextSettings

P = "user-content-"
CLASSES = RichTextSettings(classes=("lead", "right", "big"), iframe_hosts=("www.video.example", "*.maps.example"))


def rendered(markdown: str, settings: RichTextSettings = CLASSES) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return the HTML of a Markdown text, and what was removed from it: → (how often, line)."""
    rich_text = RichText(settings)
    html, _ = rich_text.of_markdown(markdown)
    return html, {one.what: (one.count, one.line) for one in rich_text.removed}


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("## Opening *hours* {#hours}", f'<h2 id="{P}hours">Opening <em>hours</em></h2>\n'),
        ("## A {#b}\n\n[x](#b)", f'<h2 id="{P}b">A</h2>\n<p><a href="#{P}b">x</a></p>\n'),
        ("A {#b .big}\n===", f'<h1 id="{P}b" class="big">A</h1>\n'),
        ("## A b {.big}", f'<h2 id="{P}a-b" class="big">A b</h2>\n'),
        ("## A {: #x_1 lang=ja}", f'<h2 id="{P}x_1" lang="ja">A</h2>\n'),
        ("## A\n{: #b .big}", f'<h2 id="{P}b" class="big">A</h2>\n'),
        ("## `x {#b}`", f'<h2 id="{P}x-b"><code>x {{#b}}</code></h2>\n'),
        ("## A {# b}\n\n## C {b}", f'<h2 id="{P}a--b">A {{# b}}</h2>\n<h2 id="{P}c-b">C {{b}}</h2>\n'),
        (
            "    ## A {#b}\n\n`{: .x}` {{.Name}} {.x",
            "<pre><code>## A {#b}\n</code></pre>\n<p><code>{: .x}</code> {{.Name}} {.x</p>\n",
        ),
        ("One\ntwo.\n{: .lead}", '<p class="lead">One\ntwo.</p>\n'),
        ("{: .lead}\nOne", '<p class="lead">One</p>\n'),
        (
            "- a\n- b\n{: .big #l}\n\n> q\n{: .lead}",
            f'<ul class="big" id="{P}l">\n<li>a</li>\n<li>b</li>\n</ul>\n'
            '<blockquote class="lead">\n<p>q</p>\n</blockquote>\n',
        ),
        ("```\nx\n```\n{: .big}", '<pre class="big"><code>x\n</code></pre>\n'),
        (
            "|a|b|\n|-|-|\n|1|2|\n{: .big}",
            '<table class="big">\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n'
            "<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
        ),
        ('![a](b.png){: .right width="300"}', '<p><img class="right" width="300" src="b.png" alt="a"></p>\n'),
        (
            '[a **b**](c){: title="x &amp; > y" .big} *d*{.lead}',
            '<p><a title="x &amp; &gt; y" class="big" href="c">a <strong>b</strong></a> <em class="lead">d</em></p>\n',
        ),
        ("Term\n: one\n: two **b**", "<dl>\n<dt>Term</dt>\n<dd>one</dd>\n<dd>two <strong>b</strong></dd>\n</dl>\n"),
        (":tada: `:tada:` \\:tada: 日本:tada:", "<p>🎉 <code>:tada:</code> :tada: 日本🎉</p>\n"),
        (
            "1:100:2 <http://x:100:80/> a:no_such:",
            '<p>1:100:2 <a href="http://x:100:80/">http://x:100:80/</a> a:no_such:</p>\n',
        ),
        ("10~20 日本~中国 ~a~", "<p>10~20 日本~中国 ~a~</p>\n"),
        ("~~a~~ `~b~ ~c~` [x](/~d/~e) \\~f~", '<p><del>a</del> <code>~b~ ~c~</code> <a href="/~d/~e">x</a> ~f~</p>\n'),
        ("~~~\n~a~ ~b~\n~~~", "<pre><code>~a~ ~b~\n</code></pre>\n"),
        (
            "> [!TIP] *Warm* `it` <b>up</b> & [go](/x)\n> Now.",
            '<div class="markdown-alert markdown-alert-tip">\n'
            '<p class="markdown-alert-title"><em>Warm</em> <code>it</code> <b>up</b> &amp; <a href="/x">go</a></p>\n'
            "<p>Now.</p>\n</div>\n",
        ),
        (
            "> [!TIP] - *a*\n> b",
            '<div class="markdown-alert markdown-alert-tip">\n<p class="markdown-alert-title">- *a*</p>\n'
            "<p>b</p>\n</div>\n",
        ),
        ('<div class="lead other">\n\n*a*\n\n</div>', '<div class="lead">\n<p><em>a</em></p>\n</div>\n'),
        (
            '<video src="a.mp4" controls poster="p.png" onplay="x()"><source src="javascript:x" type="video/mp4">'
            "</video>",
            '<p><video src="a.mp4" controls="" poster="p.png"><source type="video/mp4"></video></p>\n',
        ),
        (
            '<iframe src="https://www.video.example/embed/1?a=b" width="5" onload="x()" srcdoc="<b>">&lt;b></iframe>',
            '<iframe src="https://www.video.example/embed/1?a=b" width="5"></iframe>\n',
        ),
        ('a <iframe src="//x.maps.example"></iframe>b', '<p>a <iframe src="//x.maps.example"></iframe>b</p>\n'),
    ],
)
def test_rendered(markdown: str, expected: str) -> None:
    html, _ = rendered(markdown)
    assert html == expected
    assert RichText(CLASSES).of_html(html)[0] == html


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/", "http://www.video.example/", "javascript:x", "https://www.video.example.evil.example/",
        "https://evil.example/www.video.example", "https://www.video.example@evil.example/", "/local", "",
        "https:\\\\www.video.example\\", "https://evil.example\\@www.video.example/", "//maps.example/",
        "https://www.video.example:x@evil.example/", "https://evilmaps.example/", "data:text/html,x",
        "https://www.video.example/ https://evil.example", "https:www.video.example", "https://www.video.example\t/",
    ],
)  # fmt: skip
def test_other_frames_are_removed(url: str) -> None:
    html, removed = rendered(f'a\n\nb <iframe src="{url}" width="5"></iframe>c')
    assert html == "<p>a</p>\n<p>b c</p>\n"
    assert removed == {"<iframe>": (1, 2)}


def test_no_frames_without_hosts() -> None:
    assert rendered('<iframe src="https://www.video.example/"></iframe>', RichTextSettings())[0] == "\n"


def test_what_is_removed_is_told_with_its_line() -> None:
    _, removed = rendered(
        "<!-- <object> -->\n`<object>` is\n\n<p class='lead hero' style='x'>a</p>\n\n<P STYLE=y>b</P>\n\n"
        '<form action="/x"><button>c</button></form>\n\n[d](javascript:x)\n\n## !!\n\ne[^1]\n\n[^1]: f\n\n'
        "<script>let a = '<object>'</script>\n\n![g](h){: .huge}\n"
    )
    assert removed == {
        'class "hero"': (1, 3),
        "style of <p>": (2, 3),
        "<form>": (1, 7),
        "<button>": (1, 7),
        "href of <a>": (1, 9),
        "<script>": (1, 17),
        'class "huge"': (1, 19),
    }


@pytest.mark.parametrize(
    "markdown",
    [
        "# tar\n\n> Archive.\n\n- `tar {{x}}`:\n\n`a`",
        "|a|\n|-|\n|b|",
        "- [x] a\n\n![b](c.png)\n\nd[^1]\n\n[^1]: e",
        "a<br/>",
    ],
)
def test_ordinary_text_loses_nothing(markdown: str) -> None:
    assert rendered(markdown, RichTextSettings())[1] == {}


@pytest.mark.parametrize(
    "markdown",
    [
        "{: .a\n" * 20_000, "{: .a" * 40_000, "# " + "{.a " * 40_000, "# " + " " * 100_000 + "{#a",
        "# a {#b}\n" * 2_000,
        "~a" * 60_000, ":a" * 60_000, "<script" * 20_000, "<!--" * 40_000, "a\n{: .a}\n\n" * 20_000,
        '{: a="' * 30_000, "[a](b){: .a}" * 10_000, "> [!TIP] " + "*a" * 20_000, "<iframe src=//x.maps.example>" * 400,
    ],
)  # fmt: skip
def test_hostile_texts_take_no_time(markdown: str) -> None:
    began = time.process_time()
    with suppress(ValueError):
        rendered(markdown)
    assert time.process_time() - began < 5

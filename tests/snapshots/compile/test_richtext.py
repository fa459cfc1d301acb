"""Rich text: what Markdown becomes, what sanitising keeps, and what counts as visible."""

from __future__ import annotations

import time
from html import escape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from snapshots.compile import richtext
from snapshots.compile.richtext import RichText, visible_text
from snapshots.definitions.model import RichTextSettings
from tests.generated.any_text import CHARACTERS

RICH_TEXT = RichText()


def sanitise(html: str) -> str:
    return RICH_TEXT.of_html(html)[0]


def render_markdown(text: str) -> str:
    return RICH_TEXT.of_markdown(text)[0]


KEPT = [
    "plain text, 日本語 and 🥐",
    "<p>a <strong>b</strong><br>c</p>",
    '<h2 id="user-content-opening-hours">Opening hours</h2>',
    '<h2 id="user-content-営業時間">営業時間</h2>',
    '<pre><code class="language-c++">int x;\n</code></pre>',
    '<pre class="language-python">x = 1</pre>',
    '<figure><img src="/a.png" alt="A" width="10" height="20"><figcaption>A</figcaption></figure>',
    '<p><a href="https://example.com/?a=1&amp;b=2" rel="nofollow" title="t">x</a></p>',
    '<a href="mailto:a@example.com">a</a><a href="#x">x</a><a href="../y">y</a>',
    '<table><thead><tr><th align="right">1</th></tr></thead><tbody><tr><td colspan="2">2</td></tr></tbody></table>',
    "<table><tbody><tr><td>1</td></tr></tbody><tfoot><tr><td>2</td></tr></tfoot></table>",
    '<ul>\n<li><input type="checkbox" checked="" disabled=""> done</li></ul>',
    '<sup class="footnote-ref"><a href="#user-content-fn-1" id="user-content-fnref-1">1</a></sup>',
    '<section class="footnotes"><ol><li id="user-content-fn-1">n <a class="footnote-backref">↩</a></li></ol></section>',
    '<div class="markdown-alert markdown-alert-tip"><p class="markdown-alert-title">Tip</p></div>',
    "<ruby>漢<rp>(</rp><rt>かん</rt></ruby>",
    '<p lang="ja">a&nbsp;b &lt;i&gt; &amp;amp;</p>',
    "<details><summary>s</summary>d</details>",
    '<blockquote cite="https://example.com/?a=1&amp;b=2">a</blockquote><q cite="../b">c</q>',
    '<h2 id="user-content-user-content-x">a</h2><a href="#user-content-user-content-x">b</a><a href="#top">c</a>',
]

BOX = '<input type="checkbox" disabled="">'
P = "user-content-"

CHANGED = [
    ("<script>alert(1)</script>a", "a"),
    ("<style>p{}</style>a", "a"),
    ('<p onclick="x()" style="color:red">a</p>', "<p>a</p>"),
    ('<a href="javascript:alert(1)">a</a>', "<a>a</a>"),
    ('<a href="java&#10;script:alert(1)">a</a>', "<a>a</a>"),
    ('<a href="&#x6A;avascript:alert(1)">a</a>', "<a>a</a>"),
    ('<a href="vbscript:x">a</a>', "<a>a</a>"),
    ('<img src="data:image/svg+xml,<svg onload=alert(1)>">', "<img>"),
    ("<img src=x onerror=alert(1)>", '<img src="x">'),
    ('<a href="/x" target="_blank">a</a>', '<a href="/x">a</a>'),
    ("<svg><style><img src=x onerror=y></style></svg>", '<img src="x">'),
    ("<iframe src=//e.example></iframe>a", "a"),
    ("<noscript><p>a</p></noscript>", "&lt;p&gt;a&lt;/p&gt;"),
    ('<code class="language-js evil">a</code>', '<code class="language-js">a</code>'),
    ('<code class="evil">a</code>', "<code>a</code>"),
    ('<code class="language-">a</code>', "<code>a</code>"),
    ('<p class="language-js">a</p>', "<p>a</p>"),
    ('<p id="x">a</p>', '<p id="user-content-x">a</p>'),
    ('<h2 id="">a</h2>', "<h2>a</h2>"),
    ('<h2 id="user-content-">a</h2>', "<h2>a</h2>"),
    ('<h2 id="x">a</h2>', '<h2 id="user-content-x">a</h2>'),
    ('<a id="cookie">a</a>', '<a id="user-content-cookie">a</a>'),
    ('<a name="cookie">a</a><img name="body"><input type="checkbox" name="n">', "<a>a</a><img>" + BOX),
    ('<a href="#x">a</a><h2 id="x">a</h2>', '<a href="#user-content-x">a</a><h2 id="user-content-x">a</h2>'),
    (
        '<h2 id="a&amp;b c">a</h2><a href="#a&b%20c">a</a>',
        f'<h2 id="{P}a&amp;b c">a</h2><a href="#{P}a&amp;b%20c">a</a>',
    ),
    ('<code>&lt;a href="#x"&gt;</code><h2 id="x">a</h2>', f'<code>&lt;a href="#x"&gt;</code><h2 id="{P}x">a</h2>'),
    ('<td headers="a user-content-b">x', "x"),
    (
        '<table><tbody><tr><td headers=" a\nuser-content-b ">x</td></tr></tbody></table>',
        f'<table><tbody><tr><td headers="{P}a {P}b">x</td></tr></tbody></table>',
    ),
    (
        '<label for="a">x</label><p aria-labelledby="a" aria-describedby="b" aria-controls="c">y</p>',
        "<label>x</label><p>y</p>",
    ),
    ('<map name="m"><area href="javascript:x" ping="javascript:y"></map>', "<map><area></map>"),
    *(
        (f'<{tag} cite="{url}">a</{tag}>', f"<{tag}>a</{tag}>")
        for tag in ("blockquote", "q", "del", "ins")
        for url in ("javascript:alert(1)", "JavaScript&colon;x", " java&#9;script:x", "data:text/html,x", "vbscript:x")
    ),
    ('<input type="checkbox" onclick="x()">a', '<input type="checkbox" disabled="">a'),
    ('<input type="text" value="v" checked>a<input>b', "ab"),
    ("<form action=/x><button>a</button></form>", "a"),
    *((f"<{tag}><p>a</p></{tag.upper()}>b", "<p>a</p>b") for tag in ("card", "list", "text", "filter", "title-bar")),
    ('<img alt="a <card> b"><card x=">">c</card>', '<img alt="a &lt;card&gt; b">c'),
    ("<template>t</template>a", "a"),
    ("a\r\nb\rc", "a\nb\nc"),
    ("a&#13;b", "a\nb"),
    ("<p><button><p>x", "<p></p><p>x</p><p></p>"),
    ("<pre>\n\n\nx</pre>", "<pre>x</pre>"),
    ("<!-- c -->a", "a"),
    ("a < b & c", "a &lt; b &amp; c"),
    ("<p>a", "<p>a</p>"),
    ("\ufeff\ufeffa", "a"),
    ("&#xFEFF;" * 20 + "<b>a</b>", "<b>a</b>"),
]


@pytest.mark.parametrize("html", KEPT)
def test_kept_as_written(html: str) -> None:
    assert sanitise(html) == html


@pytest.mark.parametrize(("html", "expected"), CHANGED)
def test_made_safe(html: str, expected: str) -> None:
    assert sanitise(html) == expected
    assert sanitise(expected) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("", ""),
        ("# Hello *you*", '<h1 id="user-content-hello-you">Hello <em>you</em></h1>\n'),
        ("## A\n\n## A", '<h2 id="user-content-a">A</h2>\n<h2 id="user-content-a-1">A</h2>\n'),
        ("# パンの店", '<h1 id="user-content-パンの店">パンの店</h1>\n'),
        ('# "Quoted" & <b>bold</b>', '<h1 id="user-content-quoted--bold">"Quoted" &amp; <b>bold</b></h1>\n'),
        ("## !!", "<h2>!!</h2>\n"),
        ("**日本語。**です", "<p><strong>日本語。</strong>です</p>\n"),
        ("~~gone~~ <script>x</script>", "<p><del>gone</del> </p>\n"),
        (
            "www.example.com",
            '<p><a href="http://www.example.com">www.example.com</a></p>\n',
        ),
        (
            "- [x] a\n- [ ] b *c*\n  d\n  - [ ] e\n- [x]\n- [ ] f\n  > g",
            '<ul>\n<li><label><input type="checkbox" checked="" disabled=""> a</label></li>\n'
            '<li><label><input type="checkbox" disabled=""> b <em>c</em>\nd</label>\n'
            '<ul>\n<li><label><input type="checkbox" disabled=""> e</label></li>\n</ul>\n</li>\n'
            '<li><input type="checkbox" checked="" disabled=""> </li>\n'
            '<li><label><input type="checkbox" disabled=""> f</label>\n'
            "<blockquote>\n<p>g</p>\n</blockquote>\n</li>\n</ul>\n",
        ),
        (
            "1. [ ] a\n\n   b\n\n2. [x] c",
            '<ol>\n<li>\n<p><label><input type="checkbox" disabled=""> a</label></p>\n<p>b</p>\n</li>\n'
            '<li>\n<p><label><input type="checkbox" checked="" disabled=""> c</label></p>\n</li>\n</ol>\n',
        ),
        ("```py title\nx < 1\n```", '<pre><code class="language-py">x &lt; 1\n</code></pre>\n'),
        (
            "a[^n]\n\n[^n]: note",
            '<p>a<sup class="footnote-ref"><a href="#user-content-fn-n" id="user-content-fnref-n">1</a></sup></p>\n'
            '<section class="footnotes">\n<ol>\n<li id="user-content-fn-n">\n<p>note <a href="#user-content-fnref-n" '
            'class="footnote-backref" aria-label="Back to reference 1">↩</a></p>\n</li>\n</ol>\n</section>\n',
        ),
        (
            "|a|b|\n|-|-:|\n|1|2|",
            '<table>\n<thead>\n<tr>\n<th>a</th>\n<th align="right">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n'
            '<td align="right">2</td>\n</tr>\n</tbody>\n</table>\n',
        ),
        (
            "> [!TIP]\n> Warm it.",
            '<div class="markdown-alert markdown-alert-tip">\n<p class="markdown-alert-title">Tip</p>\n'
            "<p>Warm it.</p>\n</div>\n",
        ),
        ("[x](javascript:alert(1)) <a href='javascript:alert(1)'>y</a>", "<p><a>x</a> <a>y</a></p>\n"),
        ("a\r\n\r\nb", "<p>a</p>\n<p>b</p>\n"),
        (
            "# User content\n[a](#user-content)",
            f'<h1 id="{P}user-content">User content</h1>\n<p><a href="#{P}user-content">a</a></p>\n',
        ),
        (
            "# 日 本\n[a](#日-本) [b](#B) [c](#)",
            f'<h1 id="{P}日-本">日 本</h1>\n<p><a href="#{P}%E6%97%A5-%E6%9C%AC">a</a> <a href="#B">b</a> '
            '<a href="#">c</a></p>\n',
        ),
    ],
)
def test_markdown(markdown: str, expected: str) -> None:
    assert render_markdown(markdown) == expected
    assert sanitise(expected) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("plain  text\n ", "plain text"),
        ("<h2>Fresh</h2><p>bread</p>", "Fresh bread"),
        ("<p>Fr<b>e</b>sh<br>br<wbr>ead</p>", "Fresh bread"),
        ("<table><tbody><tr><td>1</td><td>2</td></tr></tbody></table>", "1 2"),
        ("<ul><li>a</li><li>b</li></ul>c", "a b c"),
        ("<p>10&nbsp;km &amp;lt; &lt;b&gt;</p>", "10 km &lt; <b>"),
        ('<p><img src="x" alt="not seen">a</p>', "a"),
        ('<p title="&lt;b&gt; > ">a</p>', "a"),
        ("<p>全角\u3000空白\u2003と</p>", "全角 空白 と"),
        ("<pre>a\n  b\tc</pre>", "a b c"),
        ("<p>a\x0bb\x0cc\x1cd\x1fe</p>", "a b c d e"),
        ("<hr>a<hr>", "a"),
        ("<sub>a</sub><small>b</small><span>c</span><article>d</article>", "abc d"),
    ],
)
def test_visible_text(html: str, expected: str) -> None:
    assert visible_text(sanitise(html)) == expected


TAG_NAMES = (
    "p div span b i a h1 h2 li ul ol pre code table tbody thead tr td th br hr img input q ruby rt details summary "
    "section figure figcaption blockquote dl dt dd script style svg math form button textarea select option template "
    "title noscript iframe nobr font marquee body html head wbr s sup sub center caption col tfoot em rp unknown"
)
TAGS = TAG_NAMES.split()
ATTRIBUTES = [
    "", ' id="x"', " class='language-a b'", ' title="a>b<c&quot;"', " href=javascript:x", ' href="/x?a&b"',
    " onclick=x", ' cite="javascript:x"', " name=x", ' headers="x y"', " href=#x",
    " type=checkbox", " checked", ' lang="\xa0"', " align=right", ' class="footnote-ref"', "/",
]  # fmt: skip
PIECES = st.one_of(
    st.builds(lambda tag, attribute: f"<{tag}{attribute}>", st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES)),
    st.sampled_from(TAGS).map(lambda tag: f"</{tag}>"),
    st.sampled_from(
        ["<!--", "-->", "<", ">", "&", "&amp;", "&nbsp;", "&#13;", "\r\n", "\n", " ", "]]>", "<![CDATA[", '"']
    ),
    st.text(CHARACTERS, max_size=5),
)
SOUP = st.lists(PIECES, max_size=25).map("".join)

SEPARATING_NAMES = (
    "article aside blockquote br caption center col colgroup dd details div dl dt figcaption figure footer h1 h2 h3 h4 "
    "h5 h6 header hgroup hr li nav ol p pre section summary table tbody td tfoot th thead tr ul"
)
SEPARATING = frozenset(SEPARATING_NAMES.split())


def tree_text(html: str) -> str:
    """Visible text by walking the tree of another parser, the slow and obvious way."""

    def walk(node: LexborNode, out: list[str]) -> None:
        child = node.child
        while child is not None:
            if child.is_text_node:
                out.append(child.text_content or "")
            elif child.tag in SEPARATING:
                out.append(" ")
                walk(child, out)
                out.append(" ")
            else:
                walk(child, out)
            child = child.next

    body = LexborHTMLParser(f"<!doctype html><body><div>{html}</div>").body
    assert body is not None
    out: list[str] = []
    walk(body, out)
    return " ".join("".join(out).split())


@settings(max_examples=150, deadline=None)
@given(SOUP)
@example("<p><button><p>x")
@example("<table><a><tr><a>")
@example("<pre>\n<pre>\n\n\n")
@example("<input type=checkbox><input>")
def test_sanitising_is_idempotent_and_safe(html: str) -> None:
    once = sanitise(html)
    assert sanitise(once) == once
    tree = LexborHTMLParser(f"<body>{once}")
    for node in tree.css("body *"):
        assert node.tag not in {"script", "style", "iframe", "form", "object", "embed", "svg", "math", "template"}
        assert not any(name.startswith("on") for name in node.attributes)
        assert not any("javascript:" in (value or "") for value in node.attributes.values())
        assert (node.attributes.get("id") or P).startswith(P)
        assert "name" not in node.attributes
        if node.tag == "input":
            assert {"type": "checkbox", "disabled": ""}.items() <= node.attributes.items()


@settings(max_examples=150, deadline=None)
@given(SOUP)
def test_visible_text_equals_a_tree_walk(html: str) -> None:
    clean = sanitise(html)
    assert visible_text(clean) == tree_text(clean)


@given(st.text(CHARACTERS))
def test_text_without_markup_is_all_visible(text: str) -> None:
    kept = text.replace("\0", "").lstrip("\ufeff")
    assert visible_text(sanitise(escape(kept))) == " ".join(kept.split())


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="*_~`#>-+|:[]()!^&<ab 1.\n\t日。", max_size=60))
def test_markdown_comes_out_sanitised(markdown: str) -> None:
    html = render_markdown(markdown)
    assert sanitise(html) == html


@pytest.mark.parametrize(
    ("html", "part_of_message"),
    [
        ("<div>" * 50_000, "more than 500 HTML elements"),
        ("<ul><li>" * 50_000, "close elements such as <ul>"),
        ("<b>x</p>" * 50_000, "more than 500 HTML elements"),
        ("<a " + " ".join(f"a{i}" for i in range(50_000)) + ">", "more than 500 attributes"),
        ("<a " + "/".join(f'a{i}="1"' for i in range(50_000)) + ">", "more than 500 attributes"),
        ("<p>" + "x" * 4_000_000, "4,000,003 characters"),
        ("<p>\ud83e</p>", "U+D83E"),
        ("\udd50", "U+DD50"),
    ],
)
def test_refused_html(html: str, part_of_message: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=r".") as error:
        sanitise(html)
    assert part_of_message in str(error.value)
    assert len(str(error.value)) < 200
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("markdown", "part_of_message"),
    [
        ("|a" * 50_000 + "|\n" + "|-" * 50_000 + "|\n" + "|x\n" * 100, "more than 500 columns"),
        ("> " * 50_000 + "a", "more than 500 HTML elements"),
        ("x" * 4_000_001, "4,000,001 characters"),
        ("\ud83e", "U+D83E"),
    ],
)
def test_refused_markdown(markdown: str, part_of_message: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=r".") as error:
        render_markdown(markdown)
    assert part_of_message in str(error.value)
    assert time.process_time() - began < 3


def test_html_that_does_not_settle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(richtext, "MAX_PASSES", 1)
    with pytest.raises(ValueError, match="badly nested"):
        sanitise("<p><button><p>x")


def test_large_but_ordinary_texts_are_accepted() -> None:
    page = '<h2 id="a">A</h2><p>text <b>b</b> and <a href="/x" title="y">c</a></p><ul><li>a<li>b</ul>' * 3000
    assert sanitise(page).count("<li>") == 6000
    lines = "|" * 30_000 + "x\n" + "-" * 30_000 + "\n\n- a\n" * 2000
    assert render_markdown(lines).count("<li>") == 2000


FRAMES = RichText(RichTextSettings(iframe_hosts=("ok.example",), classes=("hero",)))
FRAME_PIECES = st.one_of(
    PIECES,
    st.builds(
        lambda tag, attribute: f"<{tag}{attribute}>",
        st.sampled_from(["iframe", "iframe", "video", "source", "audio", "track", "p"]),
        st.sampled_from([*ATTRIBUTES, ' src="https://ok.example/x"', " src=//evil.example", ' srcdoc="<b>"']),
    ),
    st.sampled_from(["</iframe>", "</iframe", "</video>", "&lt;/iframe&gt;", "<p class='hero b'>"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(FRAME_PIECES, max_size=20).map("".join))
@example('<iframe src="https://ok.example/x"><b></iframe>')
def test_allowed_frames_change_nothing_else(html: str) -> None:
    once, text = FRAMES.of_html(html)
    assert FRAMES.of_html(once) == (once, text)
    assert text == tree_text(once)
    for node in LexborHTMLParser(f"<body>{once}").css("body *"):
        assert node.tag not in {"script", "style", "form", "object", "embed", "svg", "math", "template"}
        assert not any(name.startswith("on") or name == "srcdoc" for name in node.attributes)
        if node.tag == "iframe":
            assert node.attributes["src"] == "https://ok.example/x"
            assert not node.text()

"""Shortcodes, Liquid and MDX in Markdown: replaced, dropped, left, or warned about; code stays code."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from snapshots.compile.shortcodes import MAX_LENGTH, Shortcodes
from snapshots.definitions.model import Shortcode

NAMED = {
    "note": Shortcode("replace", '<p class="note">{text}</p>'),
    "ads": Shortcode("drop"),
    "raw": Shortcode("leave"),
    "param": Shortcode("replace", "v{0}"),
    "box": Shortcode("replace", "<div>\n\n{inner}\n\n</div>"),
    "include figure.html": Shortcode("replace", "![{alt}]({src})"),
    "site.baseurl": Shortcode("replace", "/base"),
    "Note": Shortcode("replace", "> [!NOTE] {title}\n> {inner}"),
    "import": Shortcode("drop"),
    "twice": Shortcode("replace", "{inner}{inner}"),
}


def replaced(text: str, *, mdx: bool = False) -> tuple[str, list[tuple[int, str]]]:
    """Return a text without its shortcodes, and the places and the first words of the warnings."""
    doubts: list[tuple[int, str]] = []
    shortcodes = Shortcodes(NAMED)
    result = shortcodes.replaced(text, lambda place, message: doubts.append((place, message)), mdx=mdx)
    doubts += [(place, shown) for (shown, _), places in shortcodes.left.items() for place in places]
    return result, sorted((place, message.partition(" stays")[0].partition(" closes")[0]) for place, message in doubts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no {shortcodes} here <b>", "no {shortcodes} here <b>"),
        ('{{< note text="x <b> \\"y\\"" >}}', '<p class="note">x &lt;b&gt; &quot;y&quot;</p>'),
        ("{{< note text=`a\n\nb` >}}{{<note text=x/>}}", '<p class="note">a b</p><p class="note">x</p>'),
        ("{{< note other=x >}}", '<p class="note"></p>'),
        ("{{< note text='{inner}' >}}", '<p class="note">{inner}</p>'),
        ("a {{< ads >}}gone{{< /ads >}} b {{< ads >}}", "a  b "),
        ("{{% box %}}a{{% box %}}b{{% /box %}}{{% /box %}}", "<div>\n\na<div>\n\nb\n\n</div>\n\n</div>"),
        ("{{< box >}}{{< param 1 >}}{{< note text=x >}}{{< /box >}}", '<div>\n\nv1<p class="note">x</p>\n\n</div>'),
        ("{{< raw >}}{{< param 1 >}}{{< /raw >}}", "{{< raw >}}v1{{< /raw >}}"),
        ("`{{< param 1.2 >}}` `{{< no >}}` {{</* note */>}}", "`v1.2` `{{< no >}}` {{< note >}}"),
        (
            "```\n{{< no >}}\n{{ no }}\n```\n~~~\n<Note>{% no %}\n~~~",
            "```\n{{< no >}}\n{{ no }}\n```\n~~~\n<Note>{% no %}\n~~~",
        ),
        ('{% include figure.html src="a.png" alt="b c" %}', "![b c](a.png)"),
        ("{%- ads -%}x{%- endads -%}y", "y"),
        ("[a]({{ site.baseurl }}/b) {{ site.baseurl | escape }}", "[a](/base/b) /base"),
        ('{{ "b/c" | param }} {{"d"|param: 1 | other}} {{ \'e\' | ads }}.', "vb/c vd ."),
        ('<Note title="T">x</Note><Note title={"U"} />', "> [!NOTE] T\n> x> [!NOTE] U\n> "),
        ("<Note\n  title='a > b'\n>x</Note>", "> [!NOTE] a &gt; b\n> x"),
        ("`<Note>`", "`<Note>`"),
        ("<Other>x</Other> <DIV>y</DIV> `List<String>`", "<Other>x</Other> <DIV>y</DIV> `List<String>`"),
    ],
)
def test_replaced(text: str, expected: str) -> None:
    assert replaced(text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "doubts"),
    [
        ('a {{< no a="b" >}} {{% no %}}x{{% /no %}}', [(2, "{{< no >}}"), (19, "{{% no %}}")]),
        ("{% no x %}{% endno %}", [(0, "{% no %}")]),
        ("{{ page.title }} {{ 'a' | b }}", [(0, "{{ page.title }}"), (17, "{{ … | b }}")]),
        ("{% include other.html %}", [(0, "{% include %}")]),
        ("{{< /note >}} {% endads %}", [(0, "{{< /note >}}"), (14, "{% endads %}")]),
        ("<Tabs items={['a']}>x</Tabs>", [(0, "<Tabs>")]),
        ("{{< note", [(0, "{{< note…")]),
        ("a\n\n:::note\nb\n:::\n", [(3, ":::note")]),
        ("a [[b]] ![[c.png]] [[d]](e) `[[f]]`", [(2, "[[…]]"), (8, "![[…]]")]),
        ("a\n{% if x", [(2, "{% if…")]),
    ],
)
def test_told(text: str, doubts: list[tuple[int, str]]) -> None:
    assert replaced(text)[1] == doubts


CONTAINERS = {
    ":::": Shortcode("replace", "<{alert}>{title}|{inner}</{alert}>"),
    "::: code-group": Shortcode("replace", "{inner}"),
    "[[": Shortcode("replace", "[{text}](@/{page})"),
    "import-in-md": Shortcode("drop"),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":::tip[A *b*]\nx\n:::", "<tip>A *b*|\nx\n</tip>"),
        ("::: danger Stop here\nx\n:::\ny", "<caution>Stop here|\nx\n</caution>\ny"),
        ("::::info\n:::note\nx\n:::\n::::", "<note>Info|\n<note>Note|\nx\n</note>\n</note>"),
        ("::: code-group\n```js [a.js]\n:::note\n```\n:::", "\n```js [a.js]\n:::note\n```\n"),
        ("a ::: b\n:::\n", "a ::: b\n:::\n"),
        ("[[A b|c]] [[D/E#F]] `[[x]]`", "[c](@/A b) [E &gt; F](@/D/E#F) `[[x]]`"),
        ("> [!info]- Folded\n> x\n", "> [!NOTE] Folded\n> x\n"),
        ("> [!bug]\n> x\n", "> [!CAUTION] Bug\n> x\n"),
        ("> [!NOTE]\n> x\n> [!unheard] y", "> [!NOTE]\n> x\n> [!unheard] y"),
        ('!!! warning "Hot"\n    a\n\n    - b\nc\n', "> [!WARNING] Hot\n> a\n>\n> - b\nc\n"),
        ("- x\n\n  ??? note\n      a\n", "- x\n\n  > [!NOTE] Note\n  > a\n"),
        ("!!! note\nb\n", "!!! note\nb\n"),
        ("```\n> [!info] x\n!!! note\n    a\n```\n", "```\n> [!info] x\n!!! note\n    a\n```\n"),
        ("import A from './a'\nimport {b,\n c} from \"x\";\n\nimport x\n", "import x\n"),
        ("export const a = 1\n\n# A\n\nimport b from 'c'\n", "# A\n\nimport b from 'c'\n"),
        ("import your luggage, from home\n", "import your luggage, from home\n"),
    ],
)
def test_what_generators_have_besides_tags(text: str, expected: str) -> None:
    assert Shortcodes(CONTAINERS).replaced(text, lambda place, message: pytest.fail(message), mdx=False) == expected


def test_the_id_of_a_heading_is_no_expression_of_mdx() -> None:
    text = "# T {#own-id}\n\n{1 + 1}\n"
    assert replaced(text, mdx=True) == (text, [(15, "{…}")])


def test_mdx() -> None:
    text = "import A from 'a'\nimport {B} from 'b'\n\n# Hi {1 + {a: 2}.a}\n\n{/* c */}`{x}` <Chart data={1} />\n\n"
    text += "export const a = {\n  b: 1\n}\n\nimport x\n\n<Tab icon={<Icon/>}>\n"
    result, doubts = replaced(text, mdx=True)
    assert result.startswith("\n# Hi {1 + {a: 2}.a}\n\n`{x}` &lt;Chart data={1} />\n\nexport const a")
    assert "import" not in result
    assert [what for _, what in doubts] == [
        "{…}",
        "<Chart>",
        "export …",
        "<Tab…",
        "{…}",
        "<Icon>",
    ]
    assert replaced("import A from 'a'\n\n{x} <Chart>") == ("import A from 'a'\n\n{x} <Chart>", [])


def test_a_component_that_stays_is_no_html() -> None:
    named = Shortcodes({"Left": Shortcode("leave")})
    text = "<Card a={1}>\n\n**x** <Left>y</Left>\n\n</Card> `<Card>` </Other>"
    stays = "&lt;Card a={1}>\n\n**x** &lt;Left>y&lt;/Left>\n\n&lt;/Card> `<Card>` &lt;/Other>"
    assert named.replaced(text, lambda *_: None, mdx=True) == stays
    assert named.replaced("<Left>y</Left> <Card>z</Card>", lambda *_: None, mdx=False) == (
        "&lt;Left>y&lt;/Left> <Card>z</Card>"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{{<" * 60_000, "{{< note " * 30_000, '{{< "' * 40_000, "{%" * 90_000, "{{ " * 60_000, "<A '" * 50_000,
        "<A {" * 50_000,
        "{{< box >}}" * 10_000, "{{< /box >}}" * 10_000, "{{< box >}}" * 5_000 + "{{< /box >}}" * 5_000,
        "`" * 50_000 + "{{", "".join("`" * n + " " for n in range(500)) + "{{ a }}", "``` \n" * 20_000 + "{{< a >}}",
        "{{< twice >}}" * 40 + "x" + "{{< /twice >}}" * 40, "{" * 100_000 + "{{ a }}", "import " * 30_000 + "{{ a }}",
        "{{< note " + 'a="' * 30_000 + " >}}", "{{< note " + "a=" * 50_000 + " >}}", "<A" + " a" * 50_000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("mdx", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_hostile_texts_take_no_time(text: str, mdx: bool) -> None:
    began = time.process_time()
    with suppress(ValueError):
        assert len(replaced(text, mdx=mdx)[0]) <= MAX_LENGTH + len(text)
    assert time.process_time() - began < 5


DROP = Shortcode("drop")
COMMENTS = {"comment": DROP, "{#": DROP, "%%": DROP, "raw": Shortcode("replace", "{inner}")}


@pytest.mark.parametrize(
    ("text", "plain", "named"),
    [
        ("a {% comment %}S{% if %}{% comment %}S{% endcomment %}S{% endcomment %} b", "a  b", "a  b"),
        ("a {%- Comment -%} S {%- endcomment -%} b", "a  b", "a  b"),
        ("a {% # S %}{%- # S -%} b", "a  b", "a  b"),
        ("a {{< comment >}}S{{< x >}}{{< /comment >}} {{% comment %}}\n\nS{{% /comment %}} b", "a   b", "a   b"),
        ("a {{/* S */}}{{- /* S\n\nS */ -}} b {/* S */}", "a  b ", "a  b "),
        ("a {# S #} b", None, "a  b"),
        ("a %%S%% b\n%%\nS\n\nS\n%%", None, "a  b\n"),
        ("a\n%%\nS", "a\n%%\nS", "a\n"),
        ("## T {#id}\n\n{#S#}\n", None, "## T {#id}\n\n\n"),
        ("`%%c%%` `{/* c */}` `{{/* c */}}`", "`%%c%%` `{/* c */}` `{{/* c */}}`", "`%%c%%` `{/* c */}` `{{/* c */}}`"),
        ("```\n{% comment %}c{% endcomment %}\n```", "```\n{% comment %}c{% endcomment %}\n```", "```\n\n```"),
        ("{% raw %}{% comment %}c{% endcomment %}{# c #}{% endraw %}", None, "{% comment %}c{% endcomment %}{# c #}"),
        ("100%% sure\n\nand 5%% of it", "100%% sure\n\nand 5%% of it", "100 of it"),
    ],
)
def test_comments_never_reach_a_text(text: str, plain: str | None, named: str) -> None:
    """``plain`` is the text without settings, where nothing of it is in doubt; else each doubt is a warning."""
    for settings, expected in (({}, plain), (COMMENTS, named)):
        reports: list[tuple[int, str]] = []
        shortcodes = Shortcodes(settings)
        made = shortcodes.replaced(text, lambda *report, to=reports: to.append(report), mdx=False)
        told = [message for _, message in reports]
        assert made == (text if expected is None else expected)
        assert [one for one in told if "stays in the text" not in one] == []
        assert bool(told or shortcodes.left) == (expected is None), told


def test_a_comment_without_an_end_takes_the_rest_and_is_told() -> None:
    told: list[tuple[int, str]] = []
    text = "a\n{% comment %}S\n\n## S\n"
    assert Shortcodes({}).replaced(text, lambda at, message: told.append((at, message)), mdx=False) == "a\n"
    assert told == [(2, "{% comment %} has no end, so all after it is left out: close the comment")]

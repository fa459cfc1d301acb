"""Render Markdown as HTML, not sanitised yet: CommonMark, GitHub's extensions, and those that site generators share.

comrak parses. Its gaps are filled in the HTML it writes, where code is code without any parsing: attribute lists
(``{#id}``, ``{: .class}``), Markdown in the titles of alerts, and labels of tasks. A single ``~``, which comrak takes
for strike-through, and a ``:`` inside a word, which may begin an emoji, stand aside as other characters while it
parses.
"""

from __future__ import annotations

import re
from html import escape, unescape

import comrak

from snapshots.compile.plain_html import ID_PREFIX

MAX_COLUMNS = 500
"""Columns a Markdown table may have."""
MAX_HEADINGS = 2_000
"""Headings of a Markdown text; the time of making their IDs unique grows with the square of equal ones."""
SMALL = 20_000
"""Texts of at most this many characters are cheap however they nest or repeat, so nothing is counted in them."""


def _extensions(*, heading_ids: bool) -> comrak.ExtensionOptions:
    options = comrak.ExtensionOptions()
    for name in (
        *("alerts", "autolink", "cjk_friendly_emphasis", "description_lists", "footnotes"),
        *("shortcodes", "strikethrough", "table", "tasklist"),
    ):
        setattr(options, name, True)
    if heading_ids:
        options.header_id_prefix = ID_PREFIX
    return options


def _rendering() -> comrak.RenderOptions:
    options = comrak.RenderOptions()
    options.unsafe_ = True  # raw HTML is CommonMark; sanitising comes after
    return options


_EXTENSIONS = _extensions(heading_ids=True)
_WITHOUT_IDS = _extensions(heading_ids=False)
_RENDERING = _rendering()
_HEADING = re.compile("<h[1-6]>")
_ANCHOR = r'<a href="#[^"]*" aria-label="[^"]*" data-heading-content="[^"]*" class="anchor"></a>'
_HEADING_ANCHOR = re.compile(rf"{_ANCHOR}(?=</h[1-6]>)")


def render(text: str) -> str:
    """Return Markdown as HTML.

    Headings carry an ``id``, after ``ID_PREFIX``: their own (``{#id}``), or one made of their text.

    Raises ``ValueError`` for more than ``MAX_HEADINGS`` headings or ``MAX_COLUMNS`` columns of a table.
    """
    if len(text) > SMALL and "|" in text and _has_wide_table(text):
        raise ValueError(f"a table has more than {MAX_COLUMNS} columns: split it")
    if text.count("\n") >= MAX_HEADINGS:
        html = comrak.render_markdown(text, extension_options=_WITHOUT_IDS, render_options=_RENDERING)
        if len(_HEADING.findall(html)) > MAX_HEADINGS:
            raise ValueError(f"more than {MAX_HEADINGS:,} headings: split the entry")
    html = _parsed(text)
    if 'class="anchor"' in html:
        if _ATTRIBUTE_LIST.search(html):
            html = _HEADING_WITH_LIST.sub(_heading, html)
        html = _HEADING_ANCHOR.sub("", html)
    if "markdown-alert-title" in html:
        html = _ALERT_TITLE.sub(_alert_title, html)
    if '<li><input type="checkbox"' in html:
        html = _TASK_OF_PARAGRAPHS.sub(r"<li>\n<p>\1", html)
        html = _TASK.sub(r"\1<label>\2\3</label>", html)
    return _with_attribute_lists(html) if _ATTRIBUTE_LIST.search(html) else html


_DELIMITER_ROW = re.compile(rf"^[ \t>|:-]{{{MAX_COLUMNS},}}\r?$", re.MULTILINE)


def _has_wide_table(text: str) -> bool:
    return any(row[0].count("|") > MAX_COLUMNS for row in _DELIMITER_ROW.finditer(text))


# Two of Unicode's noncharacters, which are nothing in any text. In addresses comrak percent-encodes them.
_TILDE, _COLON = "\ufdd0", "\ufdd1"
# They begin with the character itself, for which re searches at once.
_LONE_TILDE = re.compile(r"~(?<![~\\]~)(?!~)")
_COLON_IN_WORD = re.compile(r":(?<=[A-Za-z0-9]:)(?=[a-z0-9_+-]+:)")


def _parsed(text: str) -> str:
    """Return the HTML that comrak makes of a text, in which only ``~~`` strikes through."""
    aside = []
    if text.count("~") > 1 and _TILDE not in text:
        text, count = _LONE_TILDE.subn(_TILDE, text)
        aside += [(_TILDE, "%EF%B7%90", "~")] if count else []
    if text.count(":") > 1 and _COLON not in text:
        text, count = _COLON_IN_WORD.subn(_COLON, text)
        aside += [(_COLON, "%EF%B7%91", ":")] if count else []
    html = comrak.render_markdown(text, extension_options=_EXTENSIONS, render_options=_RENDERING)
    for stand_in, encoded, character in aside:
        html = html.replace(stand_in, character).replace(encoded, character)
    return html


_ALERT_TITLE = re.compile(
    r'(<div class="markdown-alert markdown-alert-[a-z]+">\n<p class="markdown-alert-title">)([^\n]*)(?=</p>\n)'
)


def _alert_title(found: re.Match[str]) -> str:
    title = found[2]
    if re.search(r"[][*_`~\\:&]", title) is None:
        return found[0]
    html = _parsed(unescape(title)).removesuffix("</p>\n")
    # A title that is a block of its own, such as a list, stays as written.
    return found[1] + html.removeprefix("<p>") if html.startswith("<p>") and "</p>" not in html else found[0]


_BOX = r'<input type="checkbox"(?: checked="")? disabled="" /> '
_TASK_OF_PARAGRAPHS = re.compile(rf"<li>({_BOX})\n<p>")
_TASK = re.compile(
    rf"(<li>(?:\n<p>)?)({_BOX})(?!</)(\S(?:(?!<li>).)*?)(?=</p>|</li>|\n<(?:blockquote|div|dl|h[1-6]|hr|ol|p|pre|section|table|ul)\b)",
    re.DOTALL,
)
"""A task of a list: its text, as far as it is in one line with the box, is the box's label."""

_ITEM = r"""(?:[#.][\w:-]+|[A-Za-z][\w-]*(?:=(?:&quot;(?:(?!&quot;)[^<>\n{}])*&quot;|[^\s<>{}"']+))?)"""
_FIRST_ITEM = r"[#.][\w:-]+"
_LIST = rf"\{{(?::\s*{_ITEM}|{_FIRST_ITEM})(?:\s+{_ITEM})*\s*\}}"
"""kramdown's ``{: #id .class key="value"}``, or ``{#id .class}`` as others write it, in HTML as comrak writes it."""
_MARKED_LIST = rf"\{{:\s*{_ITEM}(?:\s+{_ITEM})*\s*\}}"
_ATTRIBUTE_LIST = re.compile(r"\{(?::\s*[#.A-Za-z]|[#.][\w:-])")
"""Found wherever there may be a list, in a moment."""

_HEADING_WITH_LIST = re.compile(
    rf"(?P<opening><h[1-6]) id=\"(?P<id>[^\"]*)\">(?P<text>[^\n]*?)(?P<list>{_LIST}){_ANCHOR}(?=</h[1-6]>)"
)
_TABLE_ROW = re.compile(rf"<tr>\n<td[^>]*>({_MARKED_LIST})</td>\n(?:<td[^>]*></td>\n)*</tr>\n</tbody>\n(</table>)")
_LAST_LINE = re.compile(rf"\n({_MARKED_LIST})(</p>(?:\n</blockquote>)?|</li>\n</[uo]l>|</dd>\n</dl>)")
_FIRST_LINE = re.compile(rf"<p>({_MARKED_LIST})\n")
_LINE_AFTER = re.compile(rf"(</(h[1-6]|p|pre|table|ul|ol|dl|blockquote|div)>)\n<p>({_MARKED_LIST})</p>")
_AFTER_ELEMENT = re.compile(rf"(<img [^>]*>|</(?:a|em|strong|code|del)>)({_LIST})")


def _heading(found: re.Match[str]) -> str:
    attributes = _attributes(found["list"])
    own = attributes.pop("id", None)
    if own is None:
        # comrak made the ID of the list too.
        slug = re.sub(r"[^\w-]", "", unescape(found["list"]).lower().replace(" ", "-"))
        own = found["id"].removesuffix(slug).rstrip("-")
    return f'{found["opening"]} id="{escape(own)}"{_written(attributes)}>{found["text"].rstrip()}'


def _with_attribute_lists(html: str) -> str:
    """Return HTML in which each attribute list became attributes of the element that it belongs to."""
    html = _TABLE_ROW.sub(r"</tbody>\n\2\n<p>\1</p>", html)
    html = _FIRST_LINE.sub(lambda found: f"<p{_written(_attributes(found[1]))}>", html)
    html = _on_closed(html, _LAST_LINE, list_at=1, closing_at=2)
    html = _on_closed(html, _LINE_AFTER, list_at=3, closing_at=1)
    return _on_closed(html, _AFTER_ELEMENT, list_at=2, closing_at=1)


def _on_closed(html: str, pattern: re.Pattern[str], *, list_at: int, closing_at: int) -> str:
    """Return HTML in which the lists that ``pattern`` finds are on the elements whose tags it finds beside them."""
    insertions: dict[int, str] = {}
    removals: list[tuple[int, int]] = []
    openings: dict[int, int] | None = None
    for found in pattern.finditer(html):
        closing = found[closing_at]
        if closing.startswith("<img"):
            at = found.start(closing_at) + len("<img")
        else:
            openings = _openings(html) if openings is None else openings
            last = found.start(closing_at) + closing.rindex("</")
            opening = openings.get(last)
            if opening is None:
                continue
            at = opening
        insertions[at] = insertions.get(at, "") + _written(_attributes(found[list_at]))
        if found[0].endswith("</p>") and list_at == 3:
            removals.append((found.end(closing_at), found.end()))
        elif list_at == 1:
            removals.append((found.start(), found.end(list_at)))
        else:
            removals.append(found.span(list_at))
    pieces, done = [], 0
    for at, until, inserted in sorted(
        [(at, at, text) for at, text in insertions.items()] + [(*span, "") for span in removals]
    ):
        pieces += [html[done:at], inserted]
        done = until
    return "".join((*pieces, html[done:]))


_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")


def _openings(html: str) -> dict[int, int]:
    """Return, by the place of each closing tag, the end of the name in its opening tag."""
    opened: dict[str, list[int]] = {}
    result = {}
    for found in _TAG.finditer(html):
        if not found[1]:
            opened.setdefault(found[2], []).append(found.end())
        elif opened.get(found[2]):
            result[found.start()] = opened[found[2]].pop()
    return result


_ITEMS = re.compile(r"""([#.])([\w:-]+)|([A-Za-z][\w-]*)(?:=(?:"([^"]*)"|(\S+)))?""")


def _attributes(written: str) -> dict[str, str]:
    """Return the attributes of a list; the last of several with one name counts, but classes add up."""
    result: dict[str, str] = {}
    for mark, name, key, quoted, bare in _ITEMS.findall(unescape(written).strip("{}").removeprefix(":")):
        if mark == "#":
            result["id"] = name
        elif mark == ".":
            result["class"] = f"{result['class']} {name}" if "class" in result else name
        else:
            result[key] = quoted or bare
    return result


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())

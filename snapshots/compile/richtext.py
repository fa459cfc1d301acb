"""Rich text: Markdown → HTML → sanitised HTML → visible text (decisions 14, 19 and 37; workspace-format).

Sanitising keeps the elements and attributes of nh3's own allow-list, and those that Markdown with GitHub's
extensions needs besides: ``class="language-…"`` on ``code`` and ``pre``, ``id`` on headings and on footnotes and
their links, the classes of footnotes and alerts, disabled check boxes, ``section``, ``tfoot``, and ``rel`` and
``aria-label`` on links. Everything else goes: scripts, styles and their content, event handlers, forms, frames,
and URLs of any scheme but the usual ones. No ``rel`` is added to links: authors' markup is not changed more than
safety asks for, and browsers isolate ``target="_blank"``, which is not kept anyway.

Every ``id`` begins with ``ID_PREFIX``, so that no text can take a name that a page's scripts look up (DOM clobbering).
Links to the IDs of the same text follow, as do the ``headers`` of table cells.
"""

from __future__ import annotations

import re
from copy import deepcopy
from html import escape, unescape
from urllib.parse import unquote

import comrak
import nh3

from snapshots.compile.plain_html import ID_PREFIX, decoded, one_line, plain_text

MAX_LENGTH = 4_000_000
"""Characters a rich text may have: a long book."""
MAX_NESTING = 500
"""Elements that may be open at once; the time of parsing grows with their square."""
MAX_ATTRIBUTES = 500
"""Attributes one tag may have."""
MAX_PASSES = 8
"""How often HTML is parsed until it stays as it is; badly broken HTML has taken four passes."""
MAX_COLUMNS = 500
"""Columns a Markdown table may have."""

MAX_HEADINGS = 2_000
"""Headings of a Markdown text; the time of making their IDs unique grows with the square of equal ones."""

_SMALL = 20_000
"""Texts of at most this many characters are cheap however they nest or repeat, so nothing is counted in them."""

_INLINE = (
    "a|abbr|acronym|area|b|bdi|bdo|cite|code|data|del|dfn|em|i|img|input|ins|kbd|map|mark|q|rp|rt|rtc|ruby|s|samp|"
    "small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
"""The allowed elements whose tags do not separate words; those of all others do."""


def _cleaner() -> nh3.Cleaner:
    attributes = deepcopy(nh3.ALLOWED_ATTRIBUTES)
    for tag, names in _EXTRA_ATTRIBUTES.items():
        attributes.setdefault(tag, set()).update(names)
    return nh3.Cleaner(
        tags=nh3.ALLOWED_TAGS | {"input", "section", "tfoot"},
        attributes=attributes,
        attribute_filter=_kept_value,
        tag_attribute_values={"input": {"type": {"checkbox"}, "checked": {"", "checked"}}},
        set_tag_attribute_values={"input": {"disabled": ""}},
        link_rel=None,
    )


_EXTRA_ATTRIBUTES = {
    **{f"h{level}": {"id"} for level in range(1, 7)},
    "a": {"id", "class", "rel", "aria-label"},
    "code": {"class"},
    "div": {"class"},
    "li": {"id"},
    "p": {"class"},
    "pre": {"class"},
    "section": {"class"},
    "sup": {"id", "class"},
}
_ALERTS = ("note", "tip", "important", "warning", "caution")
_CLASSES = {
    "a": frozenset({"footnote-backref"}),
    "div": frozenset({"markdown-alert", *(f"markdown-alert-{kind}" for kind in _ALERTS)}),
    "p": frozenset({"markdown-alert-title"}),
    "section": frozenset({"footnotes"}),
    "sup": frozenset({"footnote-ref"}),
}


def _kept_value(tag: str, attribute: str, value: str) -> str | None:
    """Return the allowed part of an attribute's value; ``None`` removes the attribute."""
    if attribute == "class":
        known = _CLASSES.get(tag)
        if known is None:
            kept = [name for name in value.split() if name.startswith("language-") and len(name) > len("language-")]
        else:
            kept = [name for name in value.split() if name in known]
        return " ".join(kept) or None
    if attribute == "id":
        return _prefixed(value) if value not in ("", ID_PREFIX) else None
    if attribute == "headers":
        return " ".join(map(_prefixed, value.split())) or None
    if attribute == "cite":
        return value if _is_allowed_url(value) else None
    return value


def _prefixed(identifier: str) -> str:
    return identifier if identifier.startswith(ID_PREFIX) else ID_PREFIX + identifier


def _is_allowed_url(url: str) -> bool:
    """Return whether a link may lead to a URL; the cleaner itself judges only attributes that browsers follow."""
    return "href" in _CLEANER_OF_LINKS.clean(f'<a href="{escape(url)}">')


_CLEANER = _cleaner()
_CLEANER_OF_LINKS = nh3.Cleaner(tags={"a"}, attributes={"a": {"href"}}, link_rel=None)
_LINK_TO_ID = re.compile(r'(<a(?: [^>]*)? href="#)([^"]+)"')
_ID = re.compile(r'<[^>]* id="([^"]*)"')
# Sanitised HTML is canonical: in text and in attribute values alike, every < and > is an entity.
_NEEDS_PARSING = re.compile("[<>&\r\0\xa0\ufeff]")
_LEADING_LINES_OF_PRE = re.compile(r"(<pre(?: [^>]*)?>)\n+")
_OTHER_INPUT = re.compile(r'<input(?![^>]* type="checkbox")[^>]*>')
_SEPARATING_TAG = rf"<(?!/?(?:{_INLINE})[ >])[^>]*>"
_SEPARATION = re.compile(rf"{_SEPARATING_TAG}(?:\s*{_SEPARATING_TAG})*\s*")
_TAG = re.compile(r"<[^>]*>")


def sanitise(html: str) -> str:
    """Return HTML as written, made safe and canonical. Text without markup stays as it is.

    Sanitising sanitised HTML changes nothing. Raises ``ValueError``, with a message that says why, for
    text that is too long, nested too deep or too badly, or holds a lone surrogate.
    """
    return sanitise_and_read(html)[0]


def sanitise_and_read(html: str) -> tuple[str, str]:
    """Return sanitised HTML and its visible text."""
    if _NEEDS_PARSING.search(html) is None:
        _refuse_surrogates(html)
        return html, one_line(html)
    if len(html) <= MAX_LENGTH:
        # A quote in text needs no entity; a quote inside an attribute's value makes HTML that is not plain.
        plain = html.replace("&quot;", '"') if "&" in html else html
        text = plain_text(plain)
        if text is not None:
            return plain, text
    _refuse_costly(html)
    try:
        settled = _settled(html)
    except UnicodeEncodeError:
        _refuse_surrogates(html)
        raise
    return settled, visible_text(settled)


def _settled(html: str) -> str:
    # Removing an element can make its content parse differently (a paragraph inside a paragraph), so the result is
    # parsed again until it stays as it is. Canonical HTML is parsed once.
    for _ in range(MAX_PASSES):
        html = html.lstrip("\ufeff")  # the parser drops a byte order mark, and only one
        cleaned = _CLEANER.clean(html)
        if "<input" in cleaned:
            cleaned = _OTHER_INPUT.sub("", cleaned)
        if "<pre" in cleaned:
            # The parser drops the line end after <pre>, and the serialiser does not put it back.
            cleaned = _LEADING_LINES_OF_PRE.sub(r"\1", cleaned)
        if cleaned == html:
            return _with_links_to_ids(cleaned)
        html = cleaned
    raise ValueError("HTML so badly nested that it changes whenever it is parsed: close its elements in order")


def _with_links_to_ids(cleaned: str) -> str:
    """Return HTML whose links to IDs of the same text lead to the prefixed ones; others may mean the page around it."""
    if 'href="#' not in cleaned:
        return cleaned
    identifiers = set(map(unescape, _ID.findall(cleaned)))

    def followed(link: re.Match[str]) -> str:
        target = unquote(unescape(link[2]))
        if target in identifiers or ID_PREFIX + target not in identifiers:
            return link[0]
        return f'{link[1]}{ID_PREFIX}{link[2]}"'

    return _LINK_TO_ID.sub(followed, cleaned)


def visible_text(sanitised: str) -> str:
    """Return the text that a reader sees of sanitised HTML, as one line (decision 37).

    Tags are dropped and entities decoded; starts and ends of blocks, ``<br>`` and table cells separate words,
    and a run of white space is one space. Only right for the output of ``sanitise`` and ``render_markdown``.
    """
    text = sanitised
    if "<" in text:
        text = _SEPARATION.sub(" ", text)
        if "<" in text:
            text = _TAG.sub("", text)
    if "&" in text:
        text = decoded(text)
    return one_line(text)


def _extensions(*, heading_ids: bool) -> comrak.ExtensionOptions:
    options = comrak.ExtensionOptions()
    for name in ("alerts", "autolink", "cjk_friendly_emphasis", "footnotes", "strikethrough", "table", "tasklist"):
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
_HEADING_ANCHOR = re.compile(
    r'<a href="#[^"]*" aria-label="[^"]*" data-heading-content="[^"]*" class="anchor"></a>(?=</h[1-6]>)'
)


def render_markdown(text: str) -> str:
    """Return CommonMark with GitHub's extensions as sanitised HTML.

    The extensions are tables, strikethrough, autolinks, task lists, footnotes and alerts; emphasis also works
    between Chinese, Japanese and Korean characters. Headings carry an ``id`` made of their text, after ``ID_PREFIX``.

    Raises ``ValueError`` as ``sanitise`` does, and for more than ``MAX_HEADINGS`` headings or ``MAX_COLUMNS`` columns
    of a table.
    """
    return render_and_read(text)[0]


def render_and_read(text: str) -> tuple[str, str]:
    """Return Markdown as sanitised HTML, and its visible text."""
    _refuse_surrogates(text)
    if len(text) > MAX_LENGTH:
        raise ValueError(_too_long(text))
    if len(text) > _SMALL and "|" in text and _has_wide_table(text):
        raise ValueError(f"a table has more than {MAX_COLUMNS} columns: split it")
    if text.count("\n") >= MAX_HEADINGS:
        html = comrak.render_markdown(text, extension_options=_WITHOUT_IDS, render_options=_RENDERING)
        if len(_HEADING.findall(html)) > MAX_HEADINGS:
            raise ValueError(f"more than {MAX_HEADINGS:,} headings: split the entry")
    html = comrak.render_markdown(text, extension_options=_EXTENSIONS, render_options=_RENDERING)
    if 'class="anchor"' in html:
        html = _HEADING_ANCHOR.sub("", html)
    return sanitise_and_read(html)


_DELIMITER_ROW = re.compile(rf"^[ \t>|:-]{{{MAX_COLUMNS},}}\r?$", re.MULTILINE)


def _has_wide_table(text: str) -> bool:
    return any(row[0].count("|") > MAX_COLUMNS for row in _DELIMITER_ROW.finditer(text))


_ANY_TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)""")
_ANY_ATTRIBUTE = re.compile(r"""[^\s/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"']+))?""")
# Elements without content, and those that the next of their kind closes: never nested by being repeated.
_NEVER_NESTED = re.compile(
    "area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|param|rp|rt|source|tbody|td|tfoot|th|thead|tr|"
    "track|wbr",
    re.IGNORECASE,
)


def _refuse_costly(html: str) -> None:
    if len(html) <= _SMALL:
        return
    if len(html) > MAX_LENGTH:
        raise ValueError(_too_long(html))
    open_elements = 0
    for slash, name, attributes in _ANY_TAG.findall(html):
        if len(attributes) > MAX_ATTRIBUTES and len(_ANY_ATTRIBUTE.findall(attributes)) > MAX_ATTRIBUTES:
            raise ValueError(f"a <{name[:20]}> tag has more than {MAX_ATTRIBUTES} attributes")
        if _NEVER_NESTED.fullmatch(name) is None:
            open_elements = max(0, open_elements - 1) if slash else open_elements + 1
            if open_elements > MAX_NESTING:
                raise ValueError(
                    f"more than {MAX_NESTING} HTML elements are open at once: close elements such as <{name[:20]}>"
                )


def _too_long(text: str) -> str:
    return f"a rich text of {len(text):,} characters; at most {MAX_LENGTH:,} are allowed: split the entry"


def _refuse_surrogates(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise ValueError(
            f"half of a surrogate pair (U+{code:04X}) at character {error.start + 1}: remove it, or write the whole "
            "character"
        ) from None

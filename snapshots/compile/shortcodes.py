"""Replace shortcodes, Liquid tags and MDX in Markdown, as ``shortcodes`` in workspace.yaml says.

Tags looked for in all Markdown: Hugo's ``{{< name … >}}`` and ``{{% name … %}}``, Liquid's ``{% name … %}`` and ``{{
name }}``, and JSX (``<Name …>``); in ``.mdx`` files only, since elsewhere they are text: imports, exports and
expressions. Comments of all of these never reach a text; those of Nunjucks and Jinja (``{# … #}``) and of Obsidian
(``%% … %%``), which elsewhere are text, where the settings drop ``{#`` or ``%%``. Whatever is not named in the
settings stays in the text, with a warning at its line. In code, as in the tools themselves, Hugo's and Liquid's are
replaced where they are named, JSX never.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import nh3

from snapshots.definitions.model import Shortcode
from snapshots.documents.markdown_blocks import CONTAINER, EMBED, WIKI_LINK, Found, found_in

MAX_LENGTH = 4_000_000
"""Characters of a text with its shortcodes replaced."""
_SHOWN = 60
"""Characters of a tag that a warning shows."""

_MAY_BE = re.compile(r"\{\{|\{%|\{#|\{/\*|%%|</?[A-Z]|:::|\[\[|\[!|!!!|\?\?\?")
_SIMPLE_CODE = re.compile("`[^`]*`")
_TOKEN = re.compile(
    r"""
    \{\{-?\s*/\* (?P<go> .*? ) \*/\s*-?\}\}
  | \{/\* (?P<js> .*? ) \*/\}
  | \{\#(?![\w:.-]+\}) (?P<jinja> .*? ) \#\}
  | (?<!%)%%(?!%) (?P<obsidian> .*? ) (?: %% | \Z )
  | \{\{[<%] (?P<hugo> (?: (?!\{\{[<%]|[>%]\}\}) . )* ) [>%]\}\}
  | \{%-?    (?P<liquid> (?: (?!\{%|%\}) . )* ) %\}
  | \{\{-?(?![<%{]) (?P<output> [^{}\n]* ) \}\}
  | <(?P<slash>/?) (?P<jsx> [A-Z][\w.]* )
     (?P<properties> (?: [\s/] (?: [^<>{}"'] | "[^"<]*" | '[^'<]*' | \{(?:[^{}<]|\{[^{}<]*\})*\} )* )? ) >
    """,
    re.VERBOSE | re.DOTALL,
)
_MDX = re.compile(
    r"""
    (?: \A | (?<=\n\n) ) (?P<statement> import | export )\b (?: (?!\n[ \t]*(?:\n|\Z)) . )* \n?
  | \{(?!\#[\w:.-]+\}) (?P<expression> (?: [^{}] | \{[^{}]*\} )* ) \}
    """,
    re.VERBOSE | re.DOTALL,
)
_STATEMENTS = re.compile(
    r"\s*(?:(?:import\s[^\n;]*?(?:\sfrom\s*)?[\"'][^\"'\n]+[\"'];?|import\s*\{[^}]*\}\s*from\s*[\"'][^\"'\n]+[\"'];?"
    r"|export\s(?:const|default)\s[^\n]*)[ \t]*(?:\n\s*|\Z))+"
)
"""Lines of imports and exports at the beginning of a text."""
STATEMENTS_OF_MD = "import-in-md"
"""The name in the settings of those lines in files that are not called ``.mdx``; elsewhere they are text."""
_TEXT_MARKS = frozenset({"%%", CONTAINER, WIKI_LINK, EMBED})
"""Names of markup that no sanitising removes."""
_COMMENT = re.compile(
    r"(?:\{%-?\s*(?P<liquid>end)?comment\s*-?%\}|\{\{[<%]\s*(?P<hugo>/)?\s*comment\s*[>%]\}\})", re.IGNORECASE
)
_END_OF_RAW = re.compile(r"\{%-?\s*endraw\s*-?%\}")
_COMMENTS = {"jinja": ("{#", "{# … #}"), "obsidian": ("%%", "%% … %%")}
"""Comments that are text but where the settings name them: their name, and the comment as a warning shows it."""
_LEFT = re.compile(r"\{\{[<%]\s*\w*|\{%-?\s*\w*")
_LEFT_JSX = re.compile(rf"{_LEFT.pattern}|</?[A-Z][\w.]*[\s{{]")
_ESCAPED = re.compile(r"\s*/\*(.*)\*/\s*", re.DOTALL)
_NAME = re.compile(r"\s*(/?)\s*([\w./-]+)\s*")
_PARAMETER = re.compile(
    r"""(?:([A-Za-z_][\w.-]*)\s*[=:]\s*)?(?:"((?:\\.|[^"\\])*)"|'([^']*)'|`([^`]*)`|\{([^{}]*)\}|([^\s"'`{}=]+))""",
    re.DOTALL,
)
_FILTERED = re.compile(r"""\s*(["'])(.*?)\1\s*\|\s*([\w-]+)""")
"""A text and the first of its filters, by which the tag is named."""
_OF_SITE = frozenset({"relative_url", "absolute_url"})
"""Jekyll's filters that begin an address with a slash."""
_NAME_IN_BRACES = re.compile(r"\{([A-Za-z0-9_.-]+)\}")
_HTML_ELEMENTS = frozenset(
    name.upper()
    for name in nh3.ALLOWED_TAGS | {"body", "button", "font", "form", "head", "html", "iframe", "input", "svg", "video"}
)
"""HTML elements, no components, even if written with capitals."""

Report = Callable[[int, str], None]
"""Called with a place in the text and a warning about it."""


@dataclass(slots=True)
class _Token:
    start: int
    end: int
    name: str
    written: str
    """The tag, as a warning shows it."""
    arguments: str = ""
    closes: bool = False
    stands_alone: bool = False
    shortcode: Shortcode | None = None
    partner: _Token | None = None

    @property
    def kind(self) -> str:
        """The tag as a warning about all of its kind shows it."""
        if self.is_component:
            return f"<{self.name}>"
        return f"{{{{ … | {self.name} }}}}" if " | " in self.written and self.written.startswith("{{") else self.written

    @property
    def is_component(self) -> bool:
        return self.written.startswith("<")

    def left(self, text: str) -> str:
        """Return the tag as it stays in a text: a component as characters, since Markdown would take it for HTML."""
        written = text[self.start : self.end]
        return f"&lt;{written[1:]}" if self.is_component else written


class _Piece(NamedTuple):
    """A part of a text whose shortcodes are replaced."""

    text: str
    start: int
    """Where it was written, or else the tag in whose place it is."""
    is_written: bool = False


class Shortcodes:
    """Replaces the shortcodes of texts."""

    def __init__(self, named: Mapping[str, Shortcode]) -> None:
        self._named = named
        self._takes_statements = STATEMENTS_OF_MD in named
        """Whether lines of imports can begin a file that is not called ``.mdx``, as in Docusaurus."""
        self._first_words = {name.partition(" ")[0] for name in named}
        self._pieces: list[_Piece] = []
        """The pieces of the last text; empty if the text is unchanged."""
        self.left: dict[tuple[str, str], list[int]] = {}
        """The places in the last text of tags that stay in it, by the tag as a warning shows it, and its name."""
        self._verbatim: list[tuple[int, int]] = []
        """The places in the text between ``raw`` and ``endraw``, in which no tag is one."""

    def forget(self) -> None:
        """Forget the last text: the next one has no shortcodes."""
        self._pieces = []
        self.left = {}

    def replaced(self, text: str, report: Report, *, mdx: bool) -> str:
        """Return a Markdown text with its shortcodes replaced. Raises ``ValueError`` when it grows too long."""
        self.forget()
        if not mdx and not self._may_have(text):
            return text
        tokens = self._tokens(text, report, mdx=mdx)
        _pair(tokens, report)
        output: list[list[_Piece]] = [[]]
        length, done = 0, 0
        for token in tokens:
            output[-1].append(_Piece(text[done : token.start], done, is_written=True))
            done = token.end
            if token.partner is not None and not token.closes:
                output.append([])
                continue
            if token.partner is not None:
                inside = output.pop()
                inner = "".join(piece.text for piece in inside)
                made = _expanded(token.partner, inner, text, token)
                before, found, after = made.partition(inner) if inner else (made, "", "")
                output[-1].append(_Piece(before, token.partner.start))
                if found:
                    output[-1] += [*inside, _Piece(after, token.start)]
            else:
                made = _expanded(token, "", text, None)
                output[-1].append(_Piece(made, token.start))
            length += len(made)
            if length > MAX_LENGTH:
                raise ValueError(f"more than {MAX_LENGTH:,} characters with its shortcodes replaced: split the entry")
        self._pieces = [*output[0], _Piece(text[done:], done, is_written=True)]
        return "".join(piece.text for piece in self._pieces)

    def written_at(self, offset: int) -> int:
        """Return the place in the last text as it was written for one in what was made of it."""
        at = 0
        for piece in self._pieces:
            if offset < at + len(piece.text):
                return piece.start + (offset - at if piece.is_written else 0)
            at += len(piece.text)
        return offset

    def _may_have(self, text: str) -> bool:
        """Return False, in a moment, for most texts without a tag to replace or to report."""
        if self._takes_statements and _STATEMENTS.match(text):
            return True
        if not any(mark in text for mark in ("{", "%%", "<", ":::", "[[", "[!", "!!!", "???")):
            return False
        if "`" not in text:
            return _MAY_BE.search(text) is not None
        if "``" in text or "~~~" in text or any(map(text.__contains__, self._first_words)):
            return True
        return _MAY_BE.search(_SIMPLE_CODE.sub("", text)) is not None

    def _tokens(self, text: str, report: Report, *, mdx: bool) -> list[_Token]:
        """Return the tags to replace, in order; report those that the settings do not name."""
        code = _Code(text)
        self._verbatim.clear()
        found = list(self._found(text, code, report))
        found += [self._block(block) for block in found_in(text) if not code.holds(block.start)]
        found.sort(key=lambda token: token.start)
        if not mdx and self._takes_statements and (statements := _STATEMENTS.match(text)) is not None:
            found = [token for token in found if token.start >= statements.end()]
            found.insert(0, _Token(*statements.span(), STATEMENTS_OF_MD, "import …", stands_alone=True))
        if mdx:
            taken = [(token.start, token.end) for token in found]
            found += [token for token in _mdx(text) if not _within(taken, token.start)]
            found.sort(key=lambda token: token.start)
        tokens: list[_Token] = []
        end = 0
        for token in found:
            if token.start < end:
                continue
            is_jsx = token.is_component or token.name in ("import", "export", "expression")
            if token.shortcode is None:
                token.shortcode = self._said_of(token)
            if code.holds(token.start) and (is_jsx or token.shortcode is None):
                continue
            if token.shortcode is None:
                # Sanitising removes JSX that looks like HTML, and says so.
                stays = mdx or "{" in token.written or token.name in _TEXT_MARKS
                if not token.closes and stays:
                    self.left.setdefault((token.kind, _cut(token.name)), []).append(token.start)
                if not (stays and token.is_component):
                    continue
                token.shortcode, token.closes, token.stands_alone = Shortcode("leave"), False, True
            tokens.append(token)
            end = token.end
        taken = [(token.start, token.end) for token in found]
        for left in (_LEFT_JSX if mdx else _LEFT).finditer(text):
            is_read = _within(taken, left.start()) or _within(self._verbatim, left.start())
            if not code.holds(left.start()) and not is_read:
                report(left.start(), f"{left[0].strip()}… stays in the text: it has no end, or one that cannot be read")
        return tokens

    def _block(self, block: Found) -> _Token:
        shortcode = Shortcode("replace", block.instead) if block.instead else None
        return _Token(
            block.start,
            block.end,
            block.name,
            block.written,
            block.arguments,
            block.closes,
            block.stands_alone,
            shortcode,
        )

    def _said_of(self, token: _Token) -> Shortcode | None:
        """Return the replacement of a tag, by its name and its first parameter, or by its name alone."""
        first = _PARAMETER.match(token.arguments)
        if first is not None and first[1] is None:
            said = self._named.get(f"{token.name} {''.join(filter(None, first.groups()))}")
            if said is not None:
                return said
        return self._named.get(token.name)

    def _found(self, text: str, code: _Code, report: Report) -> Iterator[_Token]:
        at = 0
        while (found := _TOKEN.search(text, at)) is not None:
            start, end = found.span()
            at = end
            comment = self._comment(text, found, code, report)
            if comment is not None:
                at = comment.end
                yield comment
                continue
            if found["go"] is not None or found["js"] is not None:  # in code, where it is shown
                continue
            may_be = next((one for group, one in _COMMENTS.items() if found[group] is not None), None)
            if may_be is not None:
                at = start + 2
                if not code.holds(start) and "\n\n" not in found[0] and found[0].endswith(("#}", "%%")):
                    yield _Token(start, at, *may_be, stands_alone=True)
                continue
            if found["jsx"] is not None:
                if found["jsx"] not in _HTML_ELEMENTS:
                    written = f"<{found['slash']}{found['jsx']}{'={…}' if '{' in found['properties'] else ''}>"
                    alone = found["properties"].endswith("/")
                    yield _Token(start, end, found["jsx"], written, found["properties"], bool(found["slash"]), alone)
                continue
            inside = next(part for part in (found["hugo"], found["liquid"], found["output"]) if part is not None)
            filtered = _FILTERED.match(inside) if found["output"] is not None else None
            if filtered is not None:
                mark, said, called = filtered.groups()
                if called in _OF_SITE:
                    said = f"/{said.removeprefix('/')}"
                yield _Token(start, end, called, _cut(found[0]), f"{mark}{said}{mark}", stands_alone=True)
                continue
            name = _NAME.match(inside)
            if found["hugo"] is not None and (escaped := _ESCAPED.fullmatch(inside)) is not None:
                # Hugo's way to show a shortcode: the comment marks go.
                shown = f"{found[0][:3]}{escaped[1]}{found[0][-3:]}"
                yield _Token(start, end, "", shown, stands_alone=True, shortcode=Shortcode("replace", shown))
                continue
            if name is None:
                yield _Token(start, end, inside.strip(), _cut(found[0]), stands_alone=True)
                continue
            arguments = inside[name.end() :].rstrip().removesuffix("-")
            closes = bool(name[1])
            called = name[2].rstrip("/")
            if found["liquid"] is not None and called == "raw" and (verbatim := _END_OF_RAW.search(text, end)):
                at = verbatim.start()
                self._verbatim.append((end, at))
            if found["liquid"] is not None and called.startswith("end") and len(called) > len("end"):
                closes, called = True, called.removeprefix("end")
            marks = (found[0][:2], found[0][-2:]) if found["hugo"] is None else (found[0][:3], found[0][-3:])
            if found["output"] is not None:
                marks, arguments = ("{{", "}}"), ""
            written = f"{marks[0]} {'/' if closes and found['hugo'] is not None else ''}{_cut(name[2])} {marks[1]}"
            alone = arguments.endswith("/") or name[2].endswith("/") or found["output"] is not None
            yield _Token(start, end, called, written, arguments, closes, alone)

    def _comment(self, text: str, found: re.Match[str], code: _Code, report: Report) -> _Token | None:
        """Return the comment that begins with a tag, as a token that leaves nothing; ``None`` where none begins."""
        start, end = found.span()
        named, in_code = self._named.get("comment"), code.holds(start)
        group = next((one for one in _COMMENTS if found[one] is not None), None)
        if group is not None:
            said = self._named.get(_COMMENTS[group][0])
            is_comment = said is not None and said.action == "drop" and not (in_code and group == "obsidian")
        elif found["go"] is not None or found["js"] is not None:
            is_comment = not in_code
        elif found["liquid"] is not None and found["liquid"].lstrip().startswith("#"):
            is_comment = not in_code or named is not None
        else:
            opening = _COMMENT.fullmatch(text, start, end)
            closing = opening is not None and (opening["liquid"] or opening["hugo"])
            is_comment = opening is not None and not closing and (named is None or named.action == "drop")
            is_comment = is_comment and (not in_code or named is not None)
            if is_comment:
                end, is_closed = _end_of_comment(text, end)
                if not is_closed:
                    report(start, f"{_cut(found[0])} has no end, so all after it is left out: close the comment")
        return _Token(start, end, "", "", stands_alone=True, shortcode=Shortcode("drop")) if is_comment else None


def _end_of_comment(text: str, at: int) -> tuple[int, bool]:
    """Return the end of the comment in which a place is, and whether it is closed there; comments can be nested."""
    depth = 1
    for found in _COMMENT.finditer(text, at):
        depth += -1 if found["liquid"] or found["hugo"] else 1
        if depth == 0:
            return found.end(), True
    return len(text), False


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _mdx(text: str) -> Iterator[_Token]:
    for found in _MDX.finditer(text):
        if found["statement"] is not None:
            yield _Token(*found.span(), found["statement"], f"{found['statement']} …", stands_alone=True)
        elif found["expression"].strip().startswith("/*"):
            yield _Token(*found.span(), "", "", stands_alone=True, shortcode=Shortcode("drop"))
        else:
            yield _Token(*found.span(), "expression", "{…}", stands_alone=True)


def _pair(tokens: list[_Token], report: Report) -> None:
    """Join openings and closings; report a closing without an opening."""
    opened: dict[str, list[int]] = {}
    for number, token in enumerate(tokens):
        if not token.closes:
            if not token.stands_alone:
                opened.setdefault(token.name, []).append(number)
            continue
        mine = opened.get(token.name)
        if not mine:
            report(token.start, f"{token.written} closes nothing: remove it, or write its opening before it")
            continue
        opening = mine.pop()
        token.partner, tokens[opening].partner = tokens[opening], token
        for others in opened.values():  # an opening inside of a pair stands alone
            while others and others[-1] > opening:
                others.pop()


def _expanded(token: _Token, inner: str, text: str, closing: _Token | None) -> str:
    """Return the text in place of a tag, or of a pair of them around ``inner``."""
    shortcode = token.shortcode
    if shortcode is None or shortcode.action == "leave":
        return token.left(text) + inner + (closing.left(text) if closing else "")
    if shortcode.action == "drop" or (token.closes and closing is None):
        return ""
    if not token.name:
        return shortcode.template
    values = {"inner": inner}
    position = 0
    for name, *written in _PARAMETER.findall(token.arguments.rstrip().removesuffix("/")):
        quoted, _, _, expression, _ = written
        value = quoted.replace('\\"', '"') or expression.strip().strip("\"'`") or "".join(written)
        value = escape(" ".join(value.split()))
        values.setdefault(name or str(position), value)
        position += not name
    return _NAME_IN_BRACES.sub(lambda found: values.get(found[1], ""), shortcode.template)


class _Code:
    """The code in a Markdown text."""

    def __init__(self, text: str) -> None:
        self._spans = list(_code(text)) if "`" in text or "~~~" in text else []
        self._starts = [start for start, _ in self._spans]

    def holds(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._spans[at][1]


def _within(spans: list[tuple[int, int]], offset: int) -> bool:
    at = bisect_right(spans, (offset, len(spans) and spans[-1][1])) - 1
    return at >= 0 and spans[at][0] <= offset < spans[at][1]


_FENCE = re.compile(r"^[ >\t]*(?:[-*+] +|[0-9]+[.)] +)?(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_RUN = re.compile("`+")


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Return the places of fenced code blocks and code spans, in order."""
    fences = list(_FENCE.finditer(text))
    at, number = 0, 0
    while number < len(fences):
        opening = fences[number]
        number += 1
        if opening.start(1) < at:
            continue
        yield from _code_spans(text, at, opening.start(1))
        mark = opening[1]
        while number < len(fences) and not fences[number][1].startswith(mark):
            number += 1
        end = fences[number].end() if number < len(fences) else len(text)
        number += 1
        yield opening.start(1), end
        at = end
    yield from _code_spans(text, at, len(text))


def _code_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    runs = list(_RUN.finditer(text, start, end))
    following: dict[int, int] = {}
    closing: list[int | None] = [None] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number].end() - runs[number].start()
        closing[number] = following.get(length)
        following[length] = number
    number = 0
    while number < len(runs):
        partner = closing[number]
        if partner is None:
            number += 1
            continue
        yield runs[number].start(), runs[partner].end()
        number = partner + 1

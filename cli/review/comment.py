"""Write a review as Markdown for a comment on a pull request; content cannot break out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from cli.changes.report import Report, counted
from cli.output import wording
from cli.output.passages import Ink, Passage, Span
from cli.output.problems import problem_count
from cli.review.translations import translation_section

if TYPE_CHECKING:
    from snapshots.compare.compatibility import SchemaChange
    from snapshots.problems import Problems
    from snapshots.translations.model import Translations

MARK = "<!-- parquetry-review:{workspace} -->"
"""The first line of a comment, by which the next run finds it; it is not shown."""
MOST_CHARACTERS = 60_000
"""GitHub takes comments of up to 65,536 characters."""
MOST_PROBLEMS = 50

_MARKUP = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_[]|~"})
_BLANKS = re.compile(r"\s+")
_NO_MENTION = "\u200b"
"""A space without width: after ``@`` or ``#`` it keeps a service from notifying a person or linking an issue."""


@dataclass(frozen=True, slots=True)
class Review:
    """The changes that publishing a workspace would make, and all problems of the workspace."""

    workspace: str
    problems: Problems
    report: Report | None
    """``None`` where there is nothing to compare; ``remark`` says why."""
    remark: str
    """A sentence that says what was compared, or why nothing was."""
    translations: tuple[Translations, ...] = ()


def comment(review: Review) -> str:
    """Return the comment, of ``MOST_CHARACTERS`` at most."""
    lines = [
        MARK.format(workspace=review.workspace),
        f"### Content of {_code(review.workspace)}",
        "",
        _bold(verdict(review)),
        "",
    ]
    used = sum(len(line) + 1 for line in lines)
    for line in _body(review):
        used += len(line) + 1
        if used > MOST_CHARACTERS - 200:
            lines += ["", "There is more than a comment can hold: `cms review` in a terminal shows it all."]
            break
        lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


def verdict(review: Review) -> tuple[str, str]:
    """Return what publishing comes to in a sentence or two: what has to stand out, then the rest."""
    found = problem_count(review.problems)
    if review.problems.errors:
        return f"Not publishable: {found}.", ""
    if review.report is None:
        return "", f"{found}. {review.remark}"
    changes = review.report.changes
    if changes.same:
        return "", f"Publishing this changes nothing. {found}. {review.remark}".rstrip()
    counts = counted(review.report.counts)
    breaking = f"{wording.plural(changes.breaking, 'change')} would break clients." if changes.breaking else ""
    said = [f"Language versions: {counts}.", f"{found}.", review.remark, f"Times are {review.report.zone}."]
    return breaking, " ".join(one for one in said if one)


def _bold(said: tuple[str, str]) -> str:
    return " ".join(part for part in (f"**{said[0]}**" if said[0] else "", said[1]) if part)


def _body(review: Review) -> Iterator[str]:
    report = review.report
    schema = report.changes.schema if report is not None else ()
    yield from _schema("Breaks clients", [change for change in schema if change.breaking])
    yield from _problems(review.problems)
    yield from translation_section(review.translations)
    yield from _schema("Other changes to the definitions", [change for change in schema if not change.breaking])
    for section in report.sections if report is not None else ():
        lines = [line for one in section.passages for line in _lines(one)]
        if section.counts:
            summary = f"<b>{escape(section.title)}</b>: {escape(section.counts)}"
            yield from (f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", "")
        else:
            yield from (f"#### {_text(section.title)}", "", *lines, "")


def _lines(one: Passage, indent: str = "") -> Iterator[str]:
    yield f"{indent}- {''.join(_marked(one.spans))}"
    for inner in one.inside:
        yield from _lines(inner, f"{indent}  ")


_ELEMENTS = {Ink.GONE: "del", Ink.NEW: "ins"}


def _marked(spans: Sequence[Span]) -> Iterator[str]:
    """Return a passage's parts as Markdown; a text with words that differ is one piece of code."""
    is_worded = any(span.ink in _ELEMENTS for span in spans)
    inside = False
    for number, span in enumerate(spans):
        joins = is_worded and (span.ink in (Ink.NAME, *_ELEMENTS) or (inside and not span.text.strip()))
        joins = joins and span.url is None and number > 0
        if joins != inside:
            yield "<code>" if joins else "</code>"
            inside = joins
        yield _span(span, inside=inside)
    if inside:
        yield "</code>"


def _span(span: Span, *, inside: bool) -> str:
    text = escape(_BLANKS.sub(" ", span.text), quote=False).translate(_MARKUP)
    if inside:
        element = _ELEMENTS.get(span.ink)
        return text if element is None else f"<{element}>{text}</{element}>"
    if span.ink is Ink.PLAIN:
        return _guarded(text)
    code = _code(span.text)
    return code if span.url is None else f'<a href="{escape(span.url, quote=True)}">{code}</a>'


def _schema(title: str, changes: Iterable[SchemaChange]) -> Iterator[str]:
    lines = [f"- {_text(str(change))}" for change in changes]
    if lines:
        yield from (f"#### {title}", "", *lines, "")


def _problems(found: Problems) -> Iterator[str]:
    kept = sorted(found.kept, key=lambda problem: problem.severity != "error")
    if not kept:
        return
    yield from ("#### Problems", "", "| where | what |", "|---|---|")
    for problem in kept[:MOST_PROBLEMS]:
        position = _code(f"{problem.file}:{problem.line}")
        yield f"| {position} | {problem.severity}: {_text(problem.text)} |"
    rest = found.errors + found.warnings - min(len(kept), MOST_PROBLEMS)
    yield from ("", f"… and {rest:,} more; `cms check` lists them." if rest else "")


def _code(text: str) -> str:
    """Return a text as code, in which services look for no names of people."""
    return f"<code>{_escaped(text)}</code>"


def _text(text: str) -> str:
    return _guarded(_escaped(text))


def _guarded(escaped: str) -> str:
    """Return an escaped text in which services find no names of people and no numbers of issues."""
    return escaped.replace("@", f"@{_NO_MENTION}").replace("#", f"#{_NO_MENTION}").replace(f"&#{_NO_MENTION}", "&#")


def _escaped(text: str) -> str:
    """Return a text on one line in which nothing is markup."""
    return escape(" ".join(text.split()), quote=False).translate(_MARKUP)

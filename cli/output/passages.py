"""Passages of a report: text whose parts have a meaning, printed for people here and as Markdown by the review."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cli.output.lines import print_line


class Ink(StrEnum):
    """The meaning of a part of a passage."""

    PLAIN = "plain"
    NAME = "name"
    """Content, or a name that content gives."""
    GONE = "gone"
    """Words that are there no more."""
    NEW = "new"
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a passage."""

    text: str
    ink: Ink = Ink.PLAIN
    url: str | None = None
    """Where it leads to, where that can be opened."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A line of a report, and the lines that belong to it."""

    spans: tuple[Span, ...]
    inside: tuple[Passage, ...] = ()


_STYLES: Final = {Ink.PLAIN: "", Ink.NAME: "bold", Ink.GONE: "red", Ink.NEW: "green", Ink.STRONG: "bold"}
_MARKS: Final = {Ink.GONE: "[-{}]", Ink.NEW: "[+{}]"}
"""Words that differ are marked also where there are no colours."""


def passage(*parts: str | Span, inside: Iterable[Passage] = ()) -> Passage:
    """Return a passage of parts; a ``str`` is plain."""
    spans = tuple(Span(part) if isinstance(part, str) else part for part in parts)
    return Passage(spans, tuple(inside))


def name(text: str, url: str | None = None) -> Span:
    """Return content as a part of a passage."""
    return Span(text, Ink.NAME, url)


def print_passages(passages: Iterable[Passage], indent: str = "  ") -> None:
    """Print passages on standard output, what belongs to one below it and further to the right."""
    for one in passages:
        parts = [(indent, ""), *((_marked(span), _STYLES[span.ink]) for span in one.spans)]
        print_line(*parts, stderr=False, hang=len(indent) + 2)
        print_passages(one.inside, f"{indent}    ")


def _marked(span: Span) -> str:
    text = " ".join(span.text.split("\n"))
    form = _MARKS.get(span.ink)
    if form is None:
        return text
    # Blanks stay outside the marks.
    inner = text.strip() or text
    return text.replace(inner, form.format(inner), 1)

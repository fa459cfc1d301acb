"""``source`` patterns → what walks a directory tree by them and what reads the named parts out of a path.

A pattern is a path relative to the workspace (workspace-format, "Sources"). In each segment ``{name}``
stands for one or more characters, as few as the rest allows from left to right, and the same name twice
for the same text; ``*``, ``?`` and ``[…]`` are a shell's. ``**`` as a whole segment stands for any number
of directories, none too, and at the end for all files below. Nothing but a literal dot matches names that
begin with one; such names are never read anyway.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

_PART = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LANGUAGE = r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*?"
_MAX_WILDCARDS = 8
"""Wildcards and named parts of one segment: matching time grows with their number."""


class InvalidPattern(ValueError):
    """A pattern that cannot be used: what is wrong with it, and what to write instead."""


class Pattern(msgspec.Struct, frozen=True):
    """A compiled pattern."""

    text: str
    names: tuple[str, ...]
    """The named parts, in order."""
    segments: tuple[re.Pattern[str] | None, ...]
    """What each segment of a path must match; ``None`` is ``**``."""
    whole: re.Pattern[str]
    """Matches a whole path; its groups are the named parts."""

    def start(self) -> frozenset[int]:
        """The segments that can come first: the state in the root directory."""
        return self._reached({0})

    def enter(self, state: frozenset[int], directory: str) -> frozenset[int]:
        """The state inside a directory, from the state around it; empty when no file below can match."""
        reached = set()
        for index in state:
            segment = self.segments[index]
            if segment is None:
                reached.add(index)
            elif index + 1 < len(self.segments) and segment.fullmatch(directory):
                reached.add(index + 1)
        return self._reached(reached)

    def takes_files(self, state: frozenset[int]) -> bool:
        """True when files directly in a directory of this state can match."""
        return len(self.segments) - 1 in state

    def parts(self, path: str) -> dict[str, str] | None:
        """The named parts of a path that matches; ``None`` when it does not."""
        found = self.whole.fullmatch(path)
        return None if found is None else found.groupdict()

    def _reached(self, indexes: set[int]) -> frozenset[int]:
        """With each ``**``, also the segment after it, for it may stand for no directory."""
        for index in range(len(self.segments) - 1):
            if index in indexes and self.segments[index] is None:
                indexes.add(index + 1)
        return frozenset(indexes)


def parse_pattern(text: str, languages: Collection[str] = (), *, others: bool = False) -> Pattern:
    """A pattern's text as a ``Pattern``.

    ``{lang}`` matches the spellings in ``languages``, and with ``others`` also anything else that could be
    a language code. Raises InvalidPattern.
    """
    codes = [re.escape(code) for code in sorted(languages, key=len, reverse=True)]
    language = "|".join([*codes, _LANGUAGE] if others or not codes else codes)
    segments: list[re.Pattern[str] | None] = []
    whole: list[str] = []
    names: list[str] = []
    written = _segments(text)
    for index, segment in enumerate(written):
        last = index == len(written) - 1
        if segment == "**":
            segments.append(None)
            whole.append("(?:[^/]+/)*")
            continue
        segments.append(re.compile(_translate(segment, [], language), re.DOTALL))
        whole.append(_translate(segment, names, language) + ("" if last else "/"))
    return Pattern(text, tuple(names), tuple(segments), re.compile("".join(whole), re.DOTALL))


def _segments(text: str) -> list[str]:
    if text.startswith("/"):
        raise InvalidPattern(f"{text!r} begins with '/': write it relative to the workspace")
    segments = text.removeprefix("./").split("/")
    for segment in segments:
        if segment == "":
            raise InvalidPattern(f"{text!r} has an empty segment: write one '/' between names and none at the end")
        if segment == "..":
            raise InvalidPattern(f"{text!r} leads out of the workspace: content must lie inside it")
        if segment.startswith("."):
            raise InvalidPattern(f"{text!r}: names that begin with a dot, such as {segment!r}, are never read")
    # Two ** in a row say no more than one, and would make matching slow.
    kept = [s for i, s in enumerate(segments) if not (s == "**" and i > 0 and segments[i - 1] == "**")]
    return [*kept, "*"] if kept[-1] == "**" else kept


def _translate(segment: str, names: list[str], language: str) -> str:
    """A segment as a regular expression; the names of its parts are added to ``names``."""
    result: list[str] = []
    at = wildcards = 0
    while at < len(segment):
        character = segment[at]
        at += 1
        if character == "{":
            part = _PART.match(segment, at - 1)
            if part is None:
                raise InvalidPattern(f"{segment!r} has a '{{' without its '}}'")
            at = part.end()
            result.append(_group(part.group(1), segment, names, language))
        elif character == "}":
            raise InvalidPattern(f"{segment!r} has a '}}' without its '{{'")
        elif character == "*":
            if not (result and result[-1] == "[^/]*"):
                result.append("[^/]*")
        elif character == "?":
            result.append("[^/]")
        elif character == "[" and (end := segment.find("]", at + (2 if segment[at : at + 1] in "!^" else 1))) > 0:
            result.append(_class(segment[at:end]))
            at = end + 1
        else:
            result.append(re.escape(character))
            continue
        wildcards += 1
    if wildcards > _MAX_WILDCARDS:
        raise InvalidPattern(
            f"{segment!r} has {wildcards} wildcards and named parts; at most {_MAX_WILDCARDS} are allowed"
        )
    return "".join(result)


def _group(name: str, segment: str, names: list[str], language: str) -> str:
    if not _NAME.fullmatch(name):
        hint = "write one pattern for each" if "," in name else "use letters, digits and _, beginning with a letter"
        raise InvalidPattern(f"{segment!r}: {{{name}}} is no name for a part: {hint}")
    if name in names:
        return f"(?P={name})"
    names.append(name)
    return f"(?P<lang>{language})" if name == "lang" else f"(?P<{name}>[^/]+?)"


def _class(text: str) -> str:
    negated = text[0] in "!^"
    inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", text[1:] if negated else text).replace("--", r"\--")
    expression = f"(?!/)[{'^' if negated else ''}{inside}]"
    try:
        re.compile(expression)
    except re.error:
        raise InvalidPattern(f"[{text}] is no set of characters: write a range from the lower to the higher") from None
    return expression

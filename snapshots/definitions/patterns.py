"""Match paths with ``source`` patterns: the directories to enter, and the named parts of a path.

A pattern is a path relative to the workspace (workspace-format, "Sources"). In each segment ``{name}``
stands for one or more characters, as few as the rest allows from left to right, and the same name twice
for the same text; ``*``, ``?`` and ``[…]`` are a shell's. ``**`` as a whole segment stands for any number
of directories, none too, and at the end for all files below. Nothing but a literal dot matches names that
begin with one; such names are never read anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain

import msgspec

_PART = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"(?P<before>^|/|[._-])\{(?P<name>[^{}?]*)\?\}(?P<after>/?)")
_MAX_OPTIONAL = 3
_PATH = "path"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LANGUAGE = r"[A-Za-z0-9]++(?:[-_][A-Za-z0-9]++){0,7}?"
"""Any language code, of at most eight parts."""
_LANG = "lang"
_MAX_WILDCARDS = 8
"""Wildcards and named parts of one segment."""
_MAX_CHOICES = 2
"""Parts of a pattern whose length is found by trying: the time of matching grows with a path's length to this power."""


class InvalidPattern(ValueError):
    """A pattern cannot be used. The message names the fault and the remedy."""


class _Token(msgspec.Struct, frozen=True):
    """A character, a wildcard or a part of a segment."""

    name: str | None
    """The name of a part."""
    expression: str
    """The regular expression of its first occurrence."""
    is_open: bool = False
    """True of a token of any length."""


_STAR = _Token(None, "[^/]*", is_open=True)


class Pattern(msgspec.Struct, frozen=True):
    """A parsed pattern."""

    text: str
    names: tuple[str, ...]
    """The named parts, in order."""
    segments: tuple[re.Pattern[str] | None, ...]
    """The expression that each segment of a path must match; ``None`` is ``**``."""
    whole: re.Pattern[str]
    """Matches a whole path; its groups are the named parts."""

    @property
    def is_tree(self) -> bool:
        """Whether the pattern ends with ``**``: it matches all files below a directory, or none."""
        return self.text.endswith("**")

    def start(self) -> frozenset[int]:
        """Return the state in the root directory: the segments that can come first."""
        return self._reached({0})

    def enter(self, state: frozenset[int], directory: str) -> frozenset[int]:
        """Return the state inside a directory, from the state around it; empty when no file below can match."""
        reached = set()
        for index in state:
            segment = self.segments[index]
            if segment is None:
                reached.add(index)
            elif index + 1 < len(self.segments) and segment.fullmatch(directory):
                reached.add(index + 1)
        return self._reached(reached)

    def takes_files(self, state: frozenset[int]) -> bool:
        """Return whether files directly in a directory of this state can match."""
        return len(self.segments) - 1 in state

    def parts(self, path: str) -> dict[str, str] | None:
        """Return the named parts of a path; ``None`` for a path that does not match."""
        found = self.whole.fullmatch(path)
        return None if found is None else found.groupdict()

    def _reached(self, indexes: set[int]) -> frozenset[int]:
        """Return the segments, and with each ``**`` the one after it, since ``**`` may stand for no directory."""
        for index in range(len(self.segments) - 1):
            if index in indexes and self.segments[index] is None:
                indexes.add(index + 1)
        return frozenset(indexes)


def alternatives(text: str) -> list[str]:
    """Return a pattern's forms with and without each of its optional parts, ``{name?}``, those with more parts first.

    A part that is left out takes with it the ``.``, ``-`` or ``_`` before it; one that is a whole segment, the segment.
    Raises InvalidPattern.
    """
    if text.count("?}") > _MAX_OPTIONAL:
        raise InvalidPattern(f"{text!r} has more than {_MAX_OPTIONAL} optional parts: write several patterns")
    found = _OPTIONAL.search(text)
    if found is None:
        if "?}" in text:
            raise InvalidPattern(f"{text!r}: an optional part must be a whole segment, or stand after . - or _")
        return [text]
    before, name, after = found["before"], found["name"], found["after"]
    whole = before in ("", "/")
    if whole and not after:
        raise InvalidPattern(f"{text!r}: {{{name}?}} must be a whole segment, or stand after . - or _")
    left, right = text[: found.start()], text[found.end() :]
    with_part = f"{left}{before}{{{name}}}{after}{right}"
    without = f"{left}{before if whole else after}{right}"
    return [*alternatives(with_part), *alternatives(without)]


def parse_pattern(text: str, languages: Collection[str] = (), *, others: bool = False) -> Pattern:
    """Parse a pattern.

    ``{lang}`` matches the spellings in ``languages``, and with ``others`` also anything else that could be
    a language code. Raises InvalidPattern.
    """
    codes = [re.escape(code) for code in sorted(languages, key=len, reverse=True)]
    spellings = "|".join([*codes, _LANGUAGE] if others or not codes else codes)
    language = _Token(_LANG, f"(?P<lang>{spellings})")
    written: list[list[_Token] | None] = []
    for segment in _segments(text):
        tokens = None if segment == "**" else _tokens(segment, language)
        takes_folders = tokens is not None and any(token.name == _PATH for token in tokens)
        if takes_folders and written and written[-1] is None:
            written.pop()  # {path} takes what ** before it would
        if takes_folders and tokens is not None and tokens[0].name != _PATH:
            raise InvalidPattern(f"{segment!r}: {{path}} takes several segments, so it must begin its own")
        written.append(tokens)
    every = list(chain.from_iterable(filter(None, written)))
    again = _repeated(every)
    whole: list[str] = []
    choices = 0
    bound: set[str] = set()
    for index, tokens in enumerate(written):
        if tokens is None:
            whole.append("(?:[^/]+/)*")
            choices += 1
            continue
        expression, more = _expression(tokens, again, bound)
        whole.append(expression + ("" if index == len(written) - 1 else "/"))
        choices += more
    if choices > _MAX_CHOICES:
        raise InvalidPattern(
            f"{text!r} can match one path in too many ways: of **, of * before a part, and of parts that stand again "
            f"later, at most {_MAX_CHOICES} can be used together"
        )
    segments = tuple(chain.from_iterable(map(_alone, written)))
    names = tuple(dict.fromkeys(token.name for token in every if token.name is not None))
    return Pattern(text, names, segments, re.compile("".join(whole), re.DOTALL))


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
    # Two ** in a row mean the same as one.
    kept = [s for i, s in enumerate(segments) if not (s == "**" and i > 0 and segments[i - 1] == "**")]
    return [*kept, "*"] if kept[-1] == "**" else kept


def _tokens(segment: str, language: _Token) -> list[_Token]:
    """Cut a segment into its tokens."""
    result: list[_Token] = []
    at = wildcards = 0
    while at < len(segment):
        character = segment[at]
        at += 1
        if character == "{":
            part = _PART.match(segment, at - 1)
            if part is None:
                raise InvalidPattern(f"{segment!r} has a '{{' without its '}}'")
            at = part.end()
            result.append(_part(part.group(1), segment, language))
        elif character == "}":
            raise InvalidPattern(f"{segment!r} has a '}}' without its '{{'")
        elif character == "*":
            if result and result[-1] is _STAR:
                continue
            result.append(_STAR)
        elif character == "?":
            result.append(_Token(None, "[^/]"))
        elif character == "[" and (end := segment.find("]", at + (2 if segment[at : at + 1] in "!^" else 1))) > 0:
            result.append(_Token(None, _class(segment[at:end])))
            at = end + 1
        else:
            result.append(_Token(None, re.escape(character)))
            continue
        wildcards += 1
    if wildcards > _MAX_WILDCARDS:
        raise InvalidPattern(
            f"{segment!r} has {wildcards} wildcards and named parts; at most {_MAX_WILDCARDS} are allowed"
        )
    return result


def _part(name: str, segment: str, language: _Token) -> _Token:
    if not _NAME.fullmatch(name):
        hint = "write one pattern for each" if "," in name else "use letters, digits and _, beginning with a letter"
        raise InvalidPattern(f"{segment!r}: {{{name}}} cannot be the name of a part: {hint}")
    if name == _PATH:
        return _Token(name, f"(?P<{name}>.+?)", is_open=True)
    return language if name == _LANG else _Token(name, f"(?P<{name}>[^/]+?)", is_open=True)


def _alone(tokens: list[_Token] | None) -> tuple[re.Pattern[str] | None, ...]:
    """Return the expressions of a segment by itself, without the parts in the segments before."""
    if tokens is None:
        return (None,)
    expression = re.compile(_expression(tokens, _repeated(tokens), set())[0], re.DOTALL)
    return (None, expression) if tokens[0].name == _PATH else (expression,)


def _repeated(tokens: Iterable[_Token]) -> set[str]:
    """Return the parts that stand more than once."""
    counts = Counter(token.name for token in tokens if token.name is not None)
    return {name for name, times in counts.items() if times > 1}


def _expression(tokens: list[_Token], again: Collection[str], bound: set[str]) -> tuple[str, int]:
    """Return a segment as a regular expression, and the number of its tokens whose length is found by trying.

    ``again`` are the parts that stand more than once in the pattern; ``bound`` are those in earlier segments, to which
    the segment's own are added. An open token takes the fewest characters before the fixed text behind it. Trying
    longer texts is useless where a later open token can take all that is left, so the group is atomic, which makes the
    time linear. Longer texts are tried only where they decide what a part is: before a part that stands again, for
    ``*`` before a part, and before a language, whose spellings differ in length.
    """
    groups: list[list[_Token]] = [[]]
    for token in tokens:
        first_time = token.name is None or token.name not in bound
        if token.is_open and first_time:
            groups.append([])
        groups[-1].append(token if first_time else _Token(None, f"(?P={token.name})"))
        if token.name is not None:
            bound.add(token.name)
    fixed, *open_groups = ("".join(token.expression for token in group) for group in groups)
    choices = 0
    for at, expression in enumerate(open_groups, 1):
        later = list(chain.from_iterable(groups[at:]))
        names = {token.name for token in later if token.name is not None}
        if any(token.name == _PATH for token in groups[at]):
            fixed += expression
            choices += 1
        elif at == len(open_groups):
            fixed += expression
        elif (
            not names.isdisjoint(again)
            or any(token.name == _LANG for token in groups[at])
            or (groups[at][0] is _STAR and names)
        ):
            fixed += expression
            choices += 1
        else:
            fixed += (
                f"(?>{expression.replace(_STAR.expression, '[^/]*?', 1) if groups[at][0] is _STAR else expression})"
            )
    return fixed, choices


def _class(text: str) -> str:
    negated = text[0] in "!^"
    inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", text[1:] if negated else text).replace("--", r"\--")
    expression = f"(?!/)[{'^' if negated else ''}{inside}]"
    try:
        re.compile(expression)
    except re.error:
        raise InvalidPattern(
            f"[{text}] is not a set of characters: write a range from the lower to the higher"
        ) from None
    return expression

"""Texts as they are compared: their words, and the marks between words, whatever generators do to spaces, quotes and
dashes."""

from __future__ import annotations

import re
import string
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final
from zlib import crc32

import msgspec

_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
"""A run of letters and digits, or a character of a script without spaces."""
_RUN: Final = 4
"""The words of a run: some follow each other by chance, these many hardly."""
_ONE_OF: Final = 4
"""The share of runs that stand for a text: which ones depends on their words alone."""
_AROUND: Final = 6
"""Words shown before and after a difference."""
_MOST_SHOWN: Final = 40
"""Words shown of a difference."""
_LARGE: Final = 5_000
"""Words from which on a text is compared by its runs only."""
_ALIKE: Final = str.maketrans(
    {
        **dict.fromkeys('"\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a`', "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
    }
)
"""The forms of quotes, dashes and ellipses, for which generators put one another."""
_ASCII: Final = frozenset(string.punctuation)
_REPEATED: Final = re.compile(r"([-.'])\1+")


class Difference(msgspec.Struct, frozen=True):
    """A place in which two texts differ, with the words around it."""

    entry: str
    page: str


class Text:
    """A text, and what is asked of it again and again."""

    def __init__(self, text: str) -> None:
        self._text = unicodedata.normalize("NFC", text)
        self.words: list[str] = _WORD.findall(self._text)
        self.joined: str = "".join(self.words)
        """All words without a space: markup inside a word divides it, and does not change this."""

    @cached_property
    def ends(self) -> list[int]:
        """Return where each word ends in all words joined."""
        return list(accumulate(map(len, self.words)))

    @cached_property
    def marks(self) -> dict[int, str]:
        """Return the marks between two words, by where the first of them ends in all words joined."""
        found, end, at = dict[int, str](), 0, 0
        for word in _WORD.finditer(self._text):
            between = self._text[end : word.start()]
            if end and not between.isspace() and (marks := _marks_of(between)):
                found[at] = marks
            end = word.end()
            at += end - word.start()
        return found

    @cached_property
    def runs(self) -> frozenset[int]:
        """Return the digests of some runs of words, the same ones in every text that has them."""
        return frozenset(one for one in _digests(self.words) if one % _ONE_OF == 0)

    def share_in(self, other: Text) -> float:
        """Return the share, from 0 to 1, of this text that stands in another one."""
        if self.joined in other.joined:
            return 1.0
        mine, theirs = self.runs, other.runs
        if len(mine) < _RUN:
            known = set(other.words)
            return sum(word in known for word in self.words) / max(1, len(self.words)) * 0.9
        return len(mine & theirs) / len(mine)

    def differences(self, page: Text) -> list[Difference]:
        """Return where the words of this text are others in a page; none where the page holds it word for word."""
        if self.joined in page.joined:
            return []
        if max(len(self.words), len(page.words)) > _LARGE:
            return [Difference("a text of this length is not compared word by word", "")]
        matcher = SequenceMatcher(None, self.words, page.words, autojunk=False)
        blocks = [(a, b, size) for a, b, size in matcher.get_matching_blocks() if size]
        return list(_between(self.words, page.words, _together(blocks, len(self.words))))

    def other_marks(self, page: Text) -> list[Difference]:
        """Return where this text has other marks between its words than a page that holds it word for word."""
        start = page.joined.find(self.joined)
        if start < 0:
            return []
        inside = range(1, len(self.joined))
        theirs = {at - start: marks for at, marks in page.marks.items() if at - start in inside}
        places = sorted(at for at in self.marks.keys() | theirs.keys() if self.marks.get(at) != theirs.get(at))
        return [
            Difference(
                _shown_marks(self.words, bisect_right(self.ends, at), self.marks.get(at, "")),
                _shown_marks(page.words, bisect_right(page.ends, start + at), theirs.get(at, "")),
            )
            for at in places
        ]

    def shown(self, start: int, end: int) -> str:
        """Return the words from ``start`` to ``end``, in brackets, with some around them."""
        return _shown(self.words, start, end)

    def beside(self, text: Text) -> tuple[int, int]:
        """Return how many words of this text stand before and after another one that it holds word for word."""
        start = self.joined.index(text.joined)
        after = len(self.words) - bisect_right(self.ends, start + len(text.joined) - 1) - 1
        return bisect_right(self.ends, start), after


def _digests(words: list[str]) -> Iterator[int]:
    for at in range(len(words) - _RUN + 1):
        yield crc32(" ".join(words[at : at + _RUN]).encode())


_Block = tuple[int, int, int]


def _together(blocks: list[_Block], count: int) -> list[_Block]:
    """Return the blocks without those at the ends that stand far from the others: equal words elsewhere on the page."""
    if not blocks:
        return []
    largest = max(range(len(blocks)), key=lambda at: blocks[at][2])
    first = last = largest
    far = max(30, count // 4)
    while first > 0:
        a, b, size = blocks[first - 1]
        gap = blocks[first][1] - (b + size)
        if gap > far + blocks[first][0] - (a + size) or (size < 2 and gap > _AROUND):
            break
        first -= 1
    while last < len(blocks) - 1:
        a, b, size = blocks[last]
        gap = blocks[last + 1][1] - (b + size)
        if gap > far + blocks[last + 1][0] - (a + size) or (blocks[last + 1][2] < 2 and gap > _AROUND):
            break
        last += 1
    return blocks[first : last + 1]


def _between(mine: list[str], theirs: list[str], blocks: list[_Block]) -> Iterator[Difference]:
    """Return what stands between the blocks that two texts share, and what the page lacks before and after them."""
    if not blocks:
        yield Difference(_shown(mine, 0, len(mine)), "")
        return
    first_mine, first_theirs, _ = blocks[0]
    if first_mine:
        yield Difference(_shown(mine, 0, first_mine), _shown(theirs, max(0, first_theirs - first_mine), first_theirs))
    for (a, b, size), (next_a, next_b, _) in pairwise(blocks):
        here, there = mine[a + size : next_a], theirs[b + size : next_b]
        if "".join(here) != "".join(there):
            yield Difference(_shown(mine, a + size, next_a), _shown(theirs, b + size, next_b))
    a, b, size = blocks[-1]
    rest = len(mine) - a - size
    if rest:
        yield Difference(_shown(mine, a + size, len(mine)), _shown(theirs, b + size, min(len(theirs), b + size + rest)))


def _shown(words: list[str], start: int, end: int) -> str:
    """Return the words of a difference, in brackets, with some around it."""
    before, after = words[max(0, start - _AROUND) : start], words[end : end + _AROUND]
    inside = words[start:end]
    if len(inside) > _MOST_SHOWN:
        inside = [*inside[: _MOST_SHOWN // 2], "…", *inside[-_MOST_SHOWN // 2 :]]
    return " ".join([*before, f"[{' '.join(inside)}]", *after])


def _shown_marks(words: list[str], at: int, marks: str) -> str:
    """Return marks before a word, in brackets, with the words around."""
    return " ".join([*words[max(0, at - _AROUND) : at], f"[{marks}]", *words[at : at + _AROUND]])


def _marks_of(text: str) -> str:
    """Return the marks of what stands between two words as they are compared."""
    shown = "".join(one for one in text.translate(_ALIKE) if one in _ASCII or unicodedata.category(one)[0] == "P")
    return _REPEATED.sub(r"\1", shown)

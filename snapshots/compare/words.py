"""Compare two texts word by word: what one has and the other has not, between the words that both have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

import msgspec

MOST_WORDS: Final = 1500
"""Words of a stretch that are compared one by one."""
MOST_SENTENCES: Final = 5000
"""Sentences of a longer one that are."""
CONTEXT: Final = 8
"""Words that are shown beside a difference."""

_ENDS: Final = frozenset(".!?。！？")
# Scripts that write no spaces between words are compared by their characters.
_ONE: Final = r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]|\w+|[^\w\s]"
_WORD: Final = re.compile(rf"(?:{_ONE})\s*|\s+")
"""A word and the blanks after it."""
_PART: Final = re.compile(rf"{_ONE}|\s+")


class Side(StrEnum):
    """The texts that a run of words is in."""

    BOTH = "both"
    BEFORE = "before"
    AFTER = "after"
    LEFT_OUT = "left out"
    """In both, and too far from any difference to be shown."""


class Run(msgspec.Struct, frozen=True):
    """A run of consecutive words."""

    side: Side
    text: str


def word_runs(before: str, after: str) -> list[Run]:
    """Return the runs of words of two texts, in their order. Runs in both are shortened to a few words beside a
    difference. Stretches with very many words that have hardly any sentence in common are runs as wholes."""
    runs: list[Run] = []
    steps = _joined(_trimmed(_stretches(_WORD.findall(before), _WORD.findall(after))))
    for number, (old, new) in enumerate(steps):
        if old == new:
            runs += _common(new, first=number == 0, last=number == len(steps) - 1)
            continue
        for side, words in ((Side.BEFORE, old), (Side.AFTER, new)):
            if words:
                runs.append(Run(side, "".join(words)))
    return runs


_Stretch: TypeAlias = tuple[list[str], list[str]]
"""Words of the one text, and those of the other in their place: the same ones, or others."""


def _trimmed(stretches: Iterable[_Stretch]) -> Iterator[_Stretch]:
    """Return stretches of which those that differ neither begin nor end with the same word or blank."""
    for old, new in stretches:
        if old == new or not old or not new:
            yield old, new
        else:
            parts = [_PART.findall("".join(words)) for words in (old, new)]
            same, tail = _alike(*parts)
            yield parts[0][:same], parts[1][:same]
            ends = [len(one) - tail for one in parts]
            yield parts[0][same : ends[0]], parts[1][same : ends[1]]
            yield parts[0][ends[0] :], parts[1][ends[1] :]


def _alike(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return the numbers of words with which two lists begin and end alike."""
    most = min(len(old), len(new))
    same = next((at for at in range(most) if old[at] != new[at]), most)
    return same, next((at for at in range(most - same) if old[-1 - at] != new[-1 - at]), most - same)


def _stretches(old: list[str], new: list[str]) -> Iterator[_Stretch]:
    """Return all words of two texts as stretches."""
    same, tail = _alike(old, new)
    yield old[:same], new[:same]
    yield from _between(old[same : len(old) - tail], new[same : len(new) - tail])
    yield old[len(old) - tail :], new[len(new) - tail :]


def _between(old: list[str], new: list[str]) -> Iterator[_Stretch]:
    """Return the stretches of two texts that begin and end differently; of long ones, sentence by sentence first."""
    if max(len(old), len(new)) <= MOST_WORDS:
        yield from _matched(old, new)
        return
    sentences = [_sentences(words) for words in (old, new)]
    if max(map(len, sentences)) > MOST_SENTENCES:
        yield old, new
        return
    for one, other in _matched(*sentences, shunned=True):
        words = [[word for sentence in some for word in sentence] for some in (one, other)]
        if one != other and max(map(len, words)) <= MOST_WORDS:
            yield from _matched(words[0], words[1])
        else:
            yield words[0], words[1]


Item = TypeVar("Item", str, tuple[str, ...])


def _matched(old: list[Item], new: list[Item], *, shunned: bool = False) -> Iterator[tuple[list[Item], list[Item]]]:
    """Return the stretches of two lists; with ``shunned``, items that come again and again are no beginning of what is
    the same, so that the time stays in proportion."""
    for _, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=shunned).get_opcodes():
        yield old[old_from:old_to], new[new_from:new_to]


def _sentences(words: list[str]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    first = 0
    for at, word in enumerate(words, 1):
        if word.strip() in _ENDS or "\n" in word:
            found.append(tuple(words[first:at]))
            first = at
    return [*found, tuple(words[first:])]


def _joined(stretches: Iterable[_Stretch]) -> list[_Stretch]:
    """Join stretches that differ, also across mere blanks, and those that do not."""
    joined: list[_Stretch] = []
    for old, new in stretches:
        if not old and not new:
            continue
        if len(joined) > 1 and old != new and _is_blank(joined[-1]) and joined[-2][0] != joined[-2][1]:
            blank, before = joined.pop(), joined.pop()
            old, new = before[0] + blank[0] + old, before[1] + blank[1] + new  # noqa: PLW2901 - the stretch grows
        elif joined and (joined[-1][0] == joined[-1][1]) == (old == new):
            before = joined.pop()
            old, new = before[0] + old, before[1] + new  # noqa: PLW2901
        joined.append((old, new))
    return joined


def _is_blank(stretch: _Stretch) -> bool:
    return stretch[0] == stretch[1] and not "".join(stretch[0]).strip()


def _common(words: list[str], *, first: bool, last: bool) -> list[Run]:
    begin = 0 if first else CONTEXT
    end = 0 if last else CONTEXT
    if len(words) <= begin + end + CONTEXT // 2:
        return [Run(Side.BOTH, "".join(words))]
    parts = [
        Run(Side.BOTH, "".join(words[:begin])),
        Run(Side.LEFT_OUT, " … "),
        Run(Side.BOTH, "".join(words[len(words) - end :])),
    ]
    return [part for part in parts if part.text]

"""Compare two texts word by word: what one has and the other has not, between the words that both have."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final

import msgspec

MOST_WORDS: Final = 1500
"""Words of a text that are compared one by one; longer texts are shown as wholes."""
CONTEXT: Final = 12
"""Words that are shown beside a difference."""

# Scripts that write no spaces between words are compared by their characters.
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]|\w+|\s+|[^\w\s]")


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
    difference. Of texts with very many words, the whole of each is a run."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [run for run in (Run(Side.BEFORE, before), Run(Side.AFTER, after)) if run.text]
    runs: list[Run] = []
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (tag, old_from, old_to, new_from, new_to) in enumerate(steps):
        if tag == "equal":
            runs += _common(new[new_from:new_to], first=number == 0, last=number == len(steps) - 1)
            continue
        for side, words in ((Side.BEFORE, old[old_from:old_to]), (Side.AFTER, new[new_from:new_to])):
            if words:
                runs.append(Run(side, "".join(words)))
    return runs


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

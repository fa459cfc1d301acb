"""A vocabulary that is made of an older one against one that is made anew, whatever parts came and went."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.read.files.search_arrays import PAIR_AT, PAIR_COUNTS, PAIR_PARTS, PAIR_ROWS
from engine.read.materialise.search_files.write_vocabulary import Older, joined_vocabulary
from tests.generated.budget import RANDOM, TIMES

Tokens = dict[str, int]
"""The tokens of a part: how many rows hold each."""
WORDS = ["a", "an", "and", "b", "ba", "été", "한글", "z9"]
OTHERS = [" ", "、", "東京", "\u0301"]
PART: st.SearchStrategy[Tokens] = st.dictionaries(st.sampled_from(WORDS + OTHERS), st.integers(1, 5))
NEW_PART = st.tuples(PART, st.integers())
"""With a number, so that two parts with the same tokens are two parts."""


@settings(RANDOM, max_examples=100 * TIMES)
@given(st.lists(st.lists(NEW_PART, max_size=4) | st.sets(st.integers(0, 5)), min_size=2, max_size=4), st.randoms())
def test_a_vocabulary_of_an_older_one_is_that_of_all_parts(steps: list[Any], chance: Any) -> None:
    parts: list[tuple[Tokens, int]] = []
    older: Mapping[str, Any] | None = None
    for step in steps:
        before = list(parts)
        if isinstance(step, set):
            parts = [one for at, one in enumerate(parts) if at not in step]
        else:
            for one in step:
                parts.insert(chance.randint(0, len(parts)), one)
        numbers = np.array([next((at for at, now in enumerate(parts) if now is one), -1) for one in before], int)
        known = set(numbers.tolist())
        anew = dict(joined_vocabulary({at: arrays(one[0]) for at, one in enumerate(parts)}, None))
        found = anew
        if older is not None:
            new = {at: arrays(one[0]) for at, one in enumerate(parts) if at not in known}
            found = dict(joined_vocabulary(new, Older(older.__getitem__, numbers)))
        for name, values in anew.items():
            if name not in (PAIR_PARTS, PAIR_ROWS, PAIR_COUNTS):
                assert found[name].dtype == values.dtype
                assert found[name].tolist() == values.tolist(), name
        assert pairs(found) == pairs(anew) == expected(parts)
        older = found


def arrays(tokens: Tokens) -> Any:
    """The arrays of a part, of whose tokens those of more than two rows are kept as bits."""
    words = sorted((one for one in tokens if one in WORDS), key=lambda one: (-tokens[one], one.encode()))
    others = sorted((one for one in tokens if one in OTHERS), key=str.encode)
    counts = [tokens[one] for one in (*words, *others)]
    lines = accumulate((count > 2 for count in counts), initial=-1)
    found = {
        "words": np.frombuffer(b"\n" + b"".join(f"{one}\n".encode() for one in words), np.uint8),
        "word_at": np.cumsum([1, *(len(one.encode()) + 1 for one in words)]),
        "ordered": np.array(sorted(range(len(words)), key=lambda at: words[at].encode()), np.uint32),
        "others": np.frombuffer("".join(others).encode(), np.uint8),
        "other_at": np.cumsum([0, *(len(one.encode()) for one in others)]),
        "counts": np.array(counts, np.uint32),
        "row_at": np.cumsum([0, *(0 if count > 2 else count for count in counts)]),
        "bits_at": np.array([at if count > 2 else -1 for at, count in zip(list(lines)[1:], counts, strict=True)], int),
    }
    return found.__getitem__


def pairs(vocabulary: Mapping[str, Any]) -> dict[str, set[tuple[int, int, int]]]:
    """By token, its pairs."""
    text, at = vocabulary["words"].tobytes(), vocabulary["word_at"].tolist()
    tokens = [text[first : end - 1].decode() for first, end in pairwise(at)]
    text, at = vocabulary["others"].tobytes(), vocabulary["other_at"].tolist()
    tokens += [text[first:end].decode() for first, end in pairwise(at)]
    every = list(zip(*(vocabulary[name].tolist() for name in (PAIR_PARTS, PAIR_ROWS, PAIR_COUNTS)), strict=True))
    ends = vocabulary[PAIR_AT].tolist()
    return {token: set(every[a:b]) for token, (a, b) in zip(tokens, pairwise(ends), strict=True)}


def expected(parts: list[tuple[Tokens, int]]) -> dict[str, set[tuple[int, int, int]]]:
    found: dict[str, set[tuple[int, int, int]]] = {}
    for number, (tokens, _) in enumerate(parts):
        array = arrays(tokens)
        for token in tokens:
            words = [one for one in tokens if one in WORDS]
            ranked = sorted(words, key=lambda one: (-tokens[one], one.encode()))
            at = (ranked + sorted((one for one in tokens if one in OTHERS), key=str.encode)).index(token)
            line = int(array("bits_at")[at])
            rows = ~line if line >= 0 else int(array("row_at")[at])
            found.setdefault(token, set()).add((number, rows, tokens[token]))
    return found

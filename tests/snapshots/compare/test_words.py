"""The words in which two texts differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from snapshots.compare.words import CONTEXT, MOST_WORDS, Run, Side, word_runs

WORDS = st.lists(st.sampled_from(["a", "b", "c d", ".", "語", "\n", "é"]), max_size=12).map(" ".join)


@given(WORDS, WORDS)
def test_both_texts_can_be_put_together_again(before: str, after: str) -> None:
    runs = word_runs(before, after)
    if Side.LEFT_OUT not in {run.side for run in runs}:
        assert "".join(run.text for run in runs if run.side is not Side.AFTER) == before
        assert "".join(run.text for run in runs if run.side is not Side.BEFORE) == after


def test_what_is_marked() -> None:
    assert word_runs("The quick fox.", "The slow fox.") == [
        Run(Side.BOTH, "The "),
        Run(Side.BEFORE, "quick"),
        Run(Side.AFTER, "slow"),
        Run(Side.BOTH, " fox."),
    ]
    assert [run.text for run in word_runs("東京の朝", "東京の夜") if run.side is not Side.BOTH] == ["朝", "夜"]
    assert word_runs("", "new") == [Run(Side.AFTER, "new")]
    assert word_runs("", "") == []


def test_what_is_far_from_a_difference_is_left_out() -> None:
    same = " ".join(map(str, range(100)))
    runs = word_runs(f"{same} x {same}", f"{same} y {same}")
    assert [run.side for run in runs] == ["left out", "both", "before", "after", "both", "left out"]
    assert len(runs[1].text.split()) <= CONTEXT


def test_very_long_texts_are_shown_as_wholes() -> None:
    before, after = "a " * MOST_WORDS, "b " * MOST_WORDS
    assert word_runs(before, after) == [Run(Side.BEFORE, before), Run(Side.AFTER, after)]

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


def test_blanks_alone_do_not_part_a_difference() -> None:
    assert [run.text for run in word_runs("on warm rye bread here", "on cold white toast here")] == [
        "on ",
        "warm rye bread",
        "cold white toast",
        " here",
    ]


def test_a_word_in_a_very_long_text_is_found_and_texts_without_a_common_sentence_are_wholes() -> None:
    sentences = [f"This is sentence number {number} of the text." for number in range(2_000)]
    changed = list(sentences)
    for at, word in ((0, "first"), (1_000, "middle"), (1_999, "last")):
        changed[at] = changed[at].replace("number", word)
    runs = word_runs(" ".join(sentences), " ".join(changed))
    assert [(run.side.value, run.text) for run in runs if run.side in (Side.BEFORE, Side.AFTER)] == [
        (side, word) for new in ("first", "middle", "last") for side, word in (("before", "number"), ("after", new))
    ]
    assert sum(len(run.text) for run in runs) < 500
    before, after = "a " * MOST_WORDS, "b " * MOST_WORDS
    assert [run.text.strip() for run in word_runs(before, after)][:2] == [before.strip(), after.strip()]

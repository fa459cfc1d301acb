"""The division of entries into segments follows from the set of IDs alone, and one more ID splits one at most."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from snapshots.columns import ALL
from snapshots.data_files.segments import Division, divided, entry_number, entry_numbers, paired

IDS = st.sets(st.text("abcdefgh", min_size=1, max_size=6), min_size=1, max_size=60)
LIMITS = st.integers(1, 20)


def members(division: Division, ids: set[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in ids:
        at = division.of_number(entry_number(one))
        assert at is not None
        assert division.nearest(entry_number(one)) == at
        found.setdefault(division.names[at], set()).add(one)
    return found


@given(IDS, LIMITS, st.randoms())
def test_segments_are_those_of_the_ids_whatever_their_order(ids: set[str], limit: int, chance: object) -> None:
    numbers = entry_numbers(sorted(ids))
    division = divided(numbers, limit)
    shuffled = np.random.default_rng(len(ids)).permutation(numbers)
    assert divided(shuffled, limit).names == division.names == tuple(sorted(division.names))
    found = members(division, ids)
    assert found.keys() == set(division.names), "none is empty"
    assert all(len(some) <= limit for some in found.values())
    named = division.of_numbers(numbers).tolist()
    assert [division.of_number(int(number)) for number in numbers] == named
    for name in division.names:  # as large as it may be: with its neighbour it would be too large
        around = {one for other, some in found.items() if other.startswith(name[:-1]) for one in some}
        assert name == ALL or len(around) > limit


@given(IDS, st.text("abcdefgh", min_size=7, max_size=7), LIMITS)
def test_another_id_changes_one_segment(ids: set[str], other: str, limit: int) -> None:
    before = members(divided(entry_numbers(ids), limit), ids)
    after = members(divided(entry_numbers(ids | {other}), limit), ids | {other})
    gone = [name for name, some in before.items() if after.get(name) != some]
    assert len(gone) <= 1
    assert set().union(*(after[name] for name in after.keys() - before.keys()), set()) <= {
        other,
        *(one for name in gone for one in before[name]),
    }


@given(IDS, IDS, LIMITS, LIMITS)
def test_paired_segments_have_the_same_numbers(old: set[str], new: set[str], one: int, other: int) -> None:
    ours, theirs = divided(entry_numbers(old), one), divided(entry_numbers(new), other)
    pairs = paired(ours.names, theirs.names)
    assert sorted(at for before, _ in pairs for at in before) == list(range(len(ours.names)))
    assert sorted(at for _, after in pairs for at in after) == list(range(len(theirs.names)))
    place = {("old", at): number for number, (before, _) in enumerate(pairs) for at in before}
    place |= {("new", at): number for number, (_, after) in enumerate(pairs) for at in after}
    for entry in old & new:
        number = entry_number(entry)
        assert place["old", ours.of_number(number)] == place["new", theirs.of_number(number)]


def test_a_number_that_no_segment_has_is_in_none() -> None:
    division = Division(["00", "1"])
    assert division.of_number(0) == 0
    assert division.of_number(1 << 62) is None
    assert division.nearest(1 << 62) == 0
    assert division.of_number(1 << 63) == 1
    assert Division([]).of_number(5) is None

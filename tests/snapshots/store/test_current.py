"""What ``current`` remembers of the versions that were current, by tables of terms."""

from __future__ import annotations

import pytest

from snapshots.store.current import FOLLOWED_MS, Current, Term

A, B, C, D = "a", "b", "c", "d"


def current(version: str, *terms: tuple[str, int, int], served: tuple[str, ...] = ()) -> Current:
    """``terms`` are newest first, as in the file."""
    at = terms[0][2] if terms else 0
    return Current(version, (), at, "olga@desk", served, tuple(Term(*term) for term in terms))


@pytest.mark.parametrize(
    ("found", "before", "after", "goes_back"),
    [
        (current(B, (A, 0, 10)), B, A, True),
        (current(B, (A, 0, 10)), A, B, False),
        (current(A, (B, 10, 20), (A, 0, 10)), B, A, True),
        (current(A, (B, 10, 20), (A, 0, 10)), A, B, False),
        (current(B, (A, 0, 10)), B, C, False),  # never current before
        # What it takes the place of is pruned: whoever was current more than once is come back to.
        (current(A, (A, 0, 10)), D, A, True),
        (current(B, (A, 0, 10)), D, A, False),
    ],
)
def test_going_back_is_told_by_the_order_in_which_versions_first_became_current(
    found: Current, before: str, after: str, *, goes_back: bool
) -> None:
    assert found.is_return(before, after) is goes_back


def test_a_version_was_current_if_anything_recorded_says_so() -> None:
    found = current(C, (B, 5, 10), served=(A,))
    assert [found.was_current(version) for version in (A, B, C, D)] == [True, True, True, False]


def test_what_was_pruned_is_not_remembered_again_once_another_version_is_current() -> None:
    found = Current(A, (), 0, "olga@desk", manifests={A: "1"}).followed_by(B, (A,), 10, "olga@desk", "2")
    assert found.was_current(A)
    after = found.without({A}).followed_by(C, (B, A), 20, "olga@desk", "3")
    assert [after.was_current(version) for version in (A, B, C)] == [False, True, True]
    # A file of a program that recorded no more than the versions before.
    assert Current(B, (A,), 10, "olga@desk").followed_by(C, (B, A), 20, "olga@desk").was_current(A)


def test_a_version_is_left_when_another_last_took_its_place() -> None:
    found = current(C, (A, 20, 30), (B, 10, 20), (A, 0, 10))
    assert [found.left_at(version) for version in (A, B, C, D)] == [30, 20, None, None]


def test_a_version_is_shown_until_readers_follow_the_next() -> None:
    found = current(B, (A, 100, 200))
    assert found.shown(A, 99) is None
    assert found.shown(A, 100) == 100
    assert found.shown(A, 199) == 199
    assert found.shown(A, 200 + FOLLOWED_MS + 1) == 200 + FOLLOWED_MS
    assert found.shown(B, 199) is None
    assert found.shown(B, 10**9) == 10**9
    assert found.shown(D, 10**9) is None

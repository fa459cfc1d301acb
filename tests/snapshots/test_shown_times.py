"""Instants as people read them, and how much later one is than another."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.model import ALWAYS, NEVER
from snapshots.shown_times import how_much_later, shown_time
from snapshots.times import parse_datetime

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> int:
    return parse_datetime(text, BERLIN)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2027-03-01T09:00", "1 Mar 2027, 09:00"),
        ("2027-07-01T07:00:00Z", "1 Jul 2027, 09:00"),
        ("2027-12-31T23:30:00Z", "1 Jan 2028, 00:30"),
        ("2027-03-01T09:00:05", "1 Mar 2027, 09:00:05"),
        ("2027-03-01T09:00:00.500", "1 Mar 2027, 09:00"),
    ],
)
def test_an_instant_is_shown_as_the_clocks_of_the_zone_show_it(written: str, shown: str) -> None:
    assert shown_time(at(written), BERLIN) == shown


def test_years_that_no_calendar_of_the_zone_has_stay_utc() -> None:
    assert shown_time(ALWAYS, ZoneInfo("America/New_York")) == "0001-01-01T00:00:00Z"
    assert shown_time(NEVER, BERLIN) == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("2027-03-01T09:00", "2027-04-01T09:00", "a month later"),  # clocks change between them
        ("2027-04-01T09:00", "2027-03-01T09:00", "a month earlier"),
        ("2027-03-01T09:00", "2027-06-01T09:00", "3 months later"),
        ("2027-03-01T09:00", "2029-03-01T09:00", "2 years later"),
        ("2027-03-01T09:00", "2028-03-01T09:00", "a year later"),
        ("2027-03-01T09:00", "2027-03-02T09:00", "a day later"),
        ("2027-03-01T09:00", "2027-03-15T09:00", "2 weeks later"),
        ("2027-03-01T09:00", "2027-03-31T09:00", "30 days later"),
        ("2027-03-01T09:00", "2027-03-01T10:00", "an hour later"),
        ("2027-03-01T09:00", "2027-03-01T11:30", "2 hours and 30 minutes later"),
        ("2027-03-01T09:00", "2027-03-02T10:00", "a day and an hour later"),
        ("2027-03-01T09:00", "2027-03-01T09:01", "a minute later"),
        ("2027-03-01T09:00:00", "2027-03-01T09:00:09", "9 seconds later"),
        ("2027-03-01T09:00", "2027-08-01T10:00", "about 5 months later"),
        ("2027-03-01T09:00", "2027-03-01T09:00", "at the same time"),
        ("2027-03-01T09:00:00.000", "2027-03-01T09:00:00.100", "less than a second later"),
    ],
)
def test_how_much_later(before: str, after: str, words: str) -> None:
    assert how_much_later(at(before), at(after), BERLIN) == words


@given(st.integers(ALWAYS, NEVER), st.integers(ALWAYS, NEVER))
def test_both_directions_say_the_same_for_any_instants(one: int, other: int) -> None:
    forth, back = (how_much_later(*pair, BERLIN) for pair in ((one, other), (other, one)))
    assert forth.replace("later", "earlier") == back or (one > other and back.replace("later", "earlier") == forth)

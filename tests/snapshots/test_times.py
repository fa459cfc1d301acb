"""Date-times: text to UTC milliseconds and back."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from snapshots.model import ALWAYS, NEVER
from snapshots.times import format_datetime, now_ms, parse_datetime, parse_written_datetime
from tests.generated.any_text import CHARACTERS
from tests.generated.budget import RANDOM, TIMES

TOKYO = ZoneInfo("Asia/Tokyo")
BERLIN = ZoneInfo("Europe/Berlin")
NEAR = "2026-01-02T03:04:05Z"
NOON = 1_793_534_400_000  # 2026-11-01T12:00:00Z


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-11-01T12:00:00.000Z", UTC, NOON),
        ("2026-11-01T12:00:00Z", TOKYO, NOON),
        ("2026-11-01T12:00Z", UTC, NOON),
        ("2026-11-01 12:00", UTC, NOON),
        ("2026-11-01t12:00:00z", UTC, NOON),
        ("2026-11-01 12:00:00z", UTC, NOON),
        ("2026-11-01T21:00:00+09:00", UTC, NOON),
        ("2026-11-01T21:00:00", TOKYO, NOON),
        ("2026-11-01T08:30:00-03:30", TOKYO, NOON),
        ("2026-11-01T12:00:00-00:00", TOKYO, NOON),
        ("2026-11-01T12:00:00.5Z", UTC, NOON + 500),
        ("2026-11-01T12:00:00.05Z", UTC, NOON + 50),
        ("2026-11-01T12:00:00.0019999999Z", UTC, NOON + 1),
        ("2026-11-01T12:00:00.25", UTC, NOON + 250),
        ("2026-11-01", UTC, NOON - 12 * 3_600_000),
        ("2026-11-01", TOKYO, NOON - 21 * 3_600_000),
        ("1969-12-31T23:59:59.9999Z", UTC, -1),
        ("1970-01-01", UTC, 0),
        ("2024-02-29", UTC, 1_709_164_800_000),
        ("0001-01-01T00:00:00Z", UTC, ALWAYS),
        ("9999-12-31T23:59:59.999Z", UTC, NEVER),
        ("2016-12-31T23:59:60Z", UTC, 1_483_228_800_000),
        ("2017-01-01T08:59:60.3+09:00", UTC, 1_483_228_800_000),
    ],
)
def test_accepted_forms(text: str, zone: ZoneInfo, expected: int) -> None:
    assert parse_datetime(text, zone) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-25T02:30:00", "2026-10-25T00:30:00.000Z"),  # twice in Berlin: the earlier
        ("2026-03-29T02:30:00", "2026-03-29T01:30:00.000Z"),  # never in Berlin: winter time holds
    ],
)
def test_clock_changes(text: str, expected: str) -> None:
    assert format_datetime(parse_datetime(text, BERLIN)) == expected


@pytest.mark.parametrize(
    ("text", "part_of_message"),
    [
        ("", "expected a date-time such as"),
        ("yesterday", 'got "yesterday"'),
        ("2026/11/01", "with hyphens"),
        ("2026.11.01 10:00", "with hyphens"),
        ("01/11/2026", "year first"),
        ("1-11-2026", "year first"),
        ("2026-1-5", "two digits"),
        ("2026-11-01T9:00", "two digits"),
        ("20261101", "hyphens and colons"),
        ("20261101T090000Z", "hyphens and colons"),
        ("2026-11-01T09:00:00+0900", "+09:00"),
        ("2026-11-01 09:00:00 +0900", "+09:00"),
        ("2026-11-01T09:00:00+09", "+09:00"),
        ("2026-11-01T09:00:00 09:00", "%2B"),
        ("2026-13-01", "month"),
        ("2026-02-30", "day"),
        ("2026-11-01T24:00:00Z", "hours go to 23"),
        ("2026-11-01T12:60:00Z", "minute"),
        ("2026-11-01T12:00:61Z", "second"),
        ("2026-11-01T12:00:60Z", "seconds go to 59"),
        ("9999-12-31T23:59:60Z", "seconds go to 59"),
        ("2026-11-01T12:00:00+24:00", "expected a date-time"),
        ("2026-11-01T12:00:00+09:60", "expected a date-time"),
        ("0000-01-01", "no such date-time"),
        ("0001-01-01T00:00:00+09:00", "outside the years"),
        ("9999-12-31T23:59:59-00:01", "outside the years"),
        (" 2026-11-01", "expected a date-time such as"),
        ("2026-11-01\n", "expected a date-time such as"),
        ("2026-11-01Z", "expected a date-time such as"),
        ("2026-11-01T", "expected a date-time such as"),
        ("2026-11-01T12", "expected a date-time such as"),
        ("2026-11-01T12:00:00.Z", "expected a date-time such as"),
        ("2026-11-01T12:00:00,5Z", "expected a date-time such as"),
        ("2026-W44-7", "expected a date-time such as"),
        ("２０２６-11-01", "expected a date-time such as"),
        ("1793534400", "expected a date-time such as"),
        ("9" * 100_000, "…"),
    ],
)
def test_refused_forms(text: str, part_of_message: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        parse_datetime(text, UTC)
    assert part_of_message in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (NOON + 7, "2026-11-01T12:00:00.007Z"),
        (ALWAYS, "0001-01-01T00:00:00.000Z"),
        (NEVER, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_format(ms: int, text: str) -> None:
    assert format_datetime(ms) == text


@pytest.mark.parametrize("ms", [ALWAYS - 1, NEVER + 1])
def test_format_outside_the_years(ms: int) -> None:
    with pytest.raises(OverflowError):
        format_datetime(ms)


@given(st.integers(ALWAYS, NEVER), st.sampled_from([UTC, TOKYO, BERLIN]))
def test_round_trip(ms: int, zone: ZoneInfo) -> None:
    assert parse_datetime(format_datetime(ms), zone) == ms


@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)),  # noqa: DTZ001 - the zone is drawn apart
    st.integers(-1439, 1439),
)
def test_any_offset_is_the_same_instant(local: datetime, offset_minutes: int) -> None:
    moment = local.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert parse_datetime(moment.isoformat(), TOKYO) == expected
    assert format_datetime(expected) == moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


@given(st.text(CHARACTERS, max_size=40))
def test_any_text_is_an_instant_or_a_value_error(text: str) -> None:
    try:
        ms = parse_datetime(text, UTC)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either outcome is right, but never another exception
    else:
        assert ALWAYS <= ms <= NEVER


def nearly_usual(changes: list[tuple[int, str]]) -> str:
    """The usual form with other characters at some places; the last place may be behind the seconds."""
    text = list("2026-11-01T10:00:59.123Z")
    for place, character in changes:
        text[place] = character
    return "".join(text)


@settings(RANDOM, max_examples=100 * TIMES)
@given(st.lists(st.tuples(st.integers(0, 23), st.sampled_from("0123456789-T:.Z+W,")), max_size=4).map(nearly_usual))
@example("2026-W44-7T10:00:00Z")
@example("2026-11-01T24:00:00Z")
@example("2026-11-01T10:00:00-0Z")
@example("2026-11-01T10:00:00.12Z")
@example("2026-11-01T10:00:00,123Z")
@example("2026-11-01T10:00:60.123Z")
def test_the_usual_form_is_no_looser_than_the_others(text: str) -> None:
    """``z`` for ``Z`` takes the general path, which must say the same."""

    def outcome(written: str) -> int | None:
        try:
            return parse_datetime(written, TOKYO)
        except ValueError:
            return None

    assert outcome(text) == outcome(text.replace("Z", "z"))


def test_now_is_the_clock_in_milliseconds() -> None:
    assert abs(now_ms() - time.time() * 1000) < 5000


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2025-12-18 00:00:00 +0000", "2025-12-18T00:00:00.000Z"),
        ("2025-12-18 00:00:00 -0500", "2025-12-18T05:00:00.000Z"),
        ("2025-12-18 00:00:00 Z", "2025-12-18T00:00:00.000Z"),
        ("2025-12-18 00:00:00 UTC", "2025-12-18T00:00:00.000Z"),
        ("2025-12-18 00:00 GMT", "2025-12-18T00:00:00.000Z"),
        ("2025-12-18T09:30:15.5 +09", "2025-12-18T00:30:15.500Z"),
        ("2025-12-18T09:30:15+0900", "2025-12-18T00:30:15.000Z"),
        ("2025-12-18 9:00", "2025-12-18T00:00:00.000Z"),
        ("2025/12/18", "2025-12-17T15:00:00.000Z"),
        ("2025/12/18 9:00:01", "2025-12-18T00:00:01.000Z"),
        ("2025-12-18T09:00:00Z", "2025-12-18T09:00:00.000Z"),
        ("Dec 18 2025", "2025-12-17T15:00:00.000Z"),
        ("December 18th, 2025 9:00", "2025-12-18T00:00:00.000Z"),
        ("Thu, 18 Dec 2025 09:00:00 GMT", "2025-12-18T09:00:00.000Z"),
    ],
)
def test_dates_as_sites_write_them(text: str, instant: str) -> None:
    assert format_datetime(parse_written_datetime(text, ZoneInfo("Asia/Tokyo"))) == instant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2025-12", "a year or month alone is not a date: write the day too"),
        ("2025/12", "a year or month alone is not a date"),
        ("2025", "a year or month alone is not a date"),
        ("2025/13/01", 'no such date-time: "2025/13/01"'),
        ("2025-12-18 24:00", "hours go to 23"),
        ("2025-12-18 9:00 EST", "expected a date-time"),
        ("2025-2-1", "two digits"),
        ("2025-12/18", "expected a date-time"),
        ("２０２５-12-18", "it has full-width characters: write 2025-12-18"),
        ("12/18/2025", "write the year first"),
        ("Juli 08 2022", "expected a date-time"),
    ],
)
def test_dates_that_no_site_should_write(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_written_datetime(text, ZoneInfo("UTC"))


def test_requests_take_no_dates_as_sites_write_them() -> None:
    for text in ("2025/12/18", "2025-12-18 9:00", "2025-12-18 00:00:00 +0000", "2025-12-18 00:00:00 UTC"):
        with pytest.raises(ValueError, match="expected a date-time"):
            parse_datetime(text, ZoneInfo("UTC"))

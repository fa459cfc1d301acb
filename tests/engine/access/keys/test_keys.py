"""Keys as such: text, periods, states and labels (contract 2.7, 3.2 and 5.7; decisions 27, 44 and 49)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.access.keys import keys
from engine.access.keys.keys import InvalidKeySettings, Key, Period
from snapshots.model import Api, ApiKind, Workspace

TODAY = date(2026, 11, 21)


def make_key(start: date, end: date | None, *, disabled: bool = False, scope: frozenset[str] | None = None) -> Key:
    return Key("key_1", "pq_AAAAAAAA", "Site", "0" * 64, scope, Period(start, end), disabled, None, 0)


def day(offset: int) -> date:
    return TODAY + timedelta(days=offset)


@pytest.mark.parametrize(
    ("start", "end", "disabled", "state", "label"),
    [
        (1, None, False, "not_yet_valid", "From 2026-11-22"),
        (1, 3, False, "not_yet_valid", "From 2026-11-22"),
        (0, None, False, "valid", "No expiry"),
        (-400, None, False, "valid", "No expiry"),
        (0, 90, False, "valid", "Until 2027-02-19"),
        (-5, 8, False, "valid", "Until 2026-11-29"),
        (-5, 7, False, "expiring", "7 days left"),
        (-5, 2, False, "expiring", "2 days left"),
        (-5, 1, False, "expiring", "1 days left"),
        (-5, 0, False, "expiring", "Expires today"),
        (0, 0, False, "expiring", "Expires today"),
        (-5, -1, False, "expired", "Expired"),
        (0, None, True, "disabled", "Disabled"),
        (-5, -1, True, "disabled", "Disabled"),
        (1, None, True, "disabled", "Disabled"),
    ],
)
def test_state_and_label(start: int, end: int | None, disabled: bool, state: str, label: str) -> None:
    key = make_key(day(start), None if end is None else day(end), disabled=disabled)
    assert keys.key_state(key, TODAY) == state
    assert keys.key_label(key, TODAY) == label


@pytest.mark.parametrize(
    ("zone", "moment", "expected"),
    [
        ("UTC", "2026-11-21T23:59:59.999+00:00", "2026-11-21"),
        ("UTC", "2026-11-22T00:00:00+00:00", "2026-11-22"),
        ("Asia/Tokyo", "2026-11-21T14:59:59.999+00:00", "2026-11-21"),
        ("Asia/Tokyo", "2026-11-21T15:00:00+00:00", "2026-11-22"),
        ("America/New_York", "2026-03-08T04:59:59+00:00", "2026-03-07"),  # winter time: UTC-5
        ("America/New_York", "2026-03-08T05:00:00+00:00", "2026-03-08"),
        ("America/New_York", "2026-03-09T03:59:59+00:00", "2026-03-08"),  # summer time began that morning: UTC-4
        ("America/New_York", "2026-03-09T04:00:00+00:00", "2026-03-09"),
        ("America/New_York", "2026-11-02T04:59:59+00:00", "2026-11-01"),  # the day of 25 hours
        ("Africa/Cairo", "2026-04-23T22:00:00+00:00", "2026-04-24"),  # midnight itself is skipped
        ("UTC", "1969-12-31T23:59:59.001+00:00", "1969-12-31"),
    ],
)
def test_local_date(zone: str, moment: str, expected: str) -> None:
    now = round(datetime.fromisoformat(moment).timestamp() * 1000)
    assert keys.local_date(now, ZoneInfo(zone)) == date.fromisoformat(expected)


@pytest.mark.parametrize(
    ("validity", "start", "end", "expected"),
    [
        (None, None, None, (0, 90)),
        ("30d", None, None, (0, 30)),
        ("90d", None, None, (0, 90)),
        ("1y", None, None, (0, 365)),
        ("none", None, None, (0, None)),
        ("30d", 10, None, (10, 40)),
        (None, 10, None, (10, 100)),
        (None, None, 0, (0, 0)),
        (None, 5, 5, (5, 5)),
        (None, -5, 5, (-5, 5)),
        ("none", 4000, None, (4000, None)),
    ],
)
def test_new_period(validity: str | None, start: int | None, end: int | None, expected: tuple[int, int | None]) -> None:
    found = keys.new_period(validity, start if start is None else day(start), end if end is None else day(end), TODAY)
    assert found == Period(day(expected[0]), None if expected[1] is None else day(expected[1]))


@pytest.mark.parametrize(
    ("validity", "start", "end", "message"),
    [
        (None, None, date(2026, 11, 20), "2026-11-20 is already past"),
        (None, date(2026, 12, 2), date(2026, 12, 1), "before the start date"),
        (None, None, date(2031, 11, 22), "The last possible date is 2031-11-21"),
        ("30d", date(2031, 11, 1), None, "more than 5 years"),
        ("90d", date.max, None, "more than 5 years"),
        ("30d", date(2020, 1, 1), None, "already past"),
        ("30d", None, date(2026, 12, 1), "not both"),
        ("2y", None, None, '"2y" is not a validity'),
    ],
)
def test_new_period_refused(validity: str | None, start: date | None, end: date | None, message: str) -> None:
    with pytest.raises(InvalidKeySettings, match=message):
        keys.new_period(validity, start, end, TODAY)


def test_last_possible_end_date() -> None:
    assert keys.new_period(None, None, date(2031, 11, 21), TODAY).end == date(2031, 11, 21)
    leap_day = date(2028, 2, 29)
    assert keys.new_period("1y", None, None, leap_day).end == date(2029, 2, 28)
    with pytest.raises(InvalidKeySettings, match="2033-02-28"):
        keys.new_period(None, None, date(2033, 3, 1), leap_day)


@pytest.mark.parametrize(
    ("validity", "start", "end", "expected"),
    [
        (None, None, None, (-100, -10)),
        (None, None, 20, (-100, 20)),
        (None, None, -5, (-100, -5)),
        (None, -50, None, (-50, -10)),
        (None, 3, 4, (3, 4)),
        ("90d", None, None, (0, 90)),
        ("30d", 2, None, (2, 32)),
        ("none", None, None, (0, None)),
    ],
)
def test_changed_period(
    validity: str | None, start: int | None, end: int | None, expected: tuple[int, int | None]
) -> None:
    current = Period(day(-100), day(-10))
    changed = keys.changed_period(
        current, validity, start if start is None else day(start), end if end is None else day(end), TODAY
    )
    assert changed == Period(day(expected[0]), None if expected[1] is None else day(expected[1]))


def test_changed_period_refused() -> None:
    current = Period(day(-100), day(-10))
    with pytest.raises(InvalidKeySettings, match="before the start date"):
        keys.changed_period(current, None, day(0), None, TODAY)
    with pytest.raises(InvalidKeySettings, match="more than 5 years"):
        keys.changed_period(current, None, None, day(2000), TODAY)


@given(st.dates(date(2026, 1, 1), date(2027, 12, 31)), st.dates(date(2026, 1, 1), date(2027, 12, 31)), st.dates())
def test_usable_days_are_exactly_the_period(one: date, other: date, today: date) -> None:
    start, end = sorted((one, other))
    usable = keys.key_state(make_key(start, end), today) in {"valid", "expiring"}
    assert usable == (start <= today <= end)


def test_key_text() -> None:
    texts = {keys.new_key_text() for _ in range(1000)}
    assert len(texts) == 1000
    assert all(keys.is_key_text(text) for text in texts)
    text = texts.pop()
    changed = text[:20] + ("a" if text[20] != "a" else "b") + text[21:]
    assert not keys.is_key_text(changed)
    assert not keys.is_key_text(text + "\n")
    assert len(text[: keys.PREFIX_LENGTH]) == 11


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "a\x1b[31m", "a\u2028b", "a\u202eb", "\u2067a", "x" * 101])
def test_name_refused(name: str) -> None:
    with pytest.raises(InvalidKeySettings):
        keys.checked_name(name)


def test_names_in_any_script() -> None:
    assert keys.checked_name("  ウェブサイト 👩‍👩‍👧 ") == "ウェブサイト 👩‍👩‍👧"
    assert keys.checked_name("موقع\u200f (1)") == "موقع\u200f (1)"


@pytest.mark.parametrize("text", ["2026-2-1", "20261121", "2026-W47-6", "2026-13-01", "tomorrow", "2026-11-21 ", ""])
def test_date_refused(text: str) -> None:
    with pytest.raises(InvalidKeySettings, match="YYYY-MM-DD"):
        keys.parse_date(text)


def test_date() -> None:
    assert keys.parse_date("2028-02-29") == date(2028, 2, 29)


def test_scope_and_limit() -> None:
    with pytest.raises(InvalidKeySettings, match="at least one API"):
        keys.checked_scope(frozenset())
    assert keys.checked_scope(None) is None
    with pytest.raises(InvalidKeySettings):
        keys.checked_rate_limit(0)
    assert keys.checked_rate_limit(1) == 1


def workspace(*endpoints: str) -> Workspace:
    apis = tuple(Api(f"api_{e}", e.title(), e, ApiKind.LIST, False, ()) for e in endpoints)
    return Workspace("acme", "Acme", ("ja",), apis=apis)


def test_scope_of_endpoints() -> None:
    acme = workspace("blog", "authors")
    assert keys.scope_of(acme, ["authors", "blog", "blog"]) == {"api_blog", "api_authors"}
    with pytest.raises(InvalidKeySettings, match=r'no API "blogs"\. Did you mean "blog"'):
        keys.scope_of(acme, ["blogs"])
    with pytest.raises(InvalidKeySettings, match="There are: blog, authors"):
        keys.scope_of(acme, ["zzz"])


def test_key_document() -> None:
    created = round(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp() * 1000)
    key = Key("key_1", "pq_AAAAAAAA", "Site", "0" * 64, frozenset({"api_blog", "api_gone"}),
              Period(TODAY, day(3)), False, 60, created)  # fmt: skip
    assert keys.key_document(key, workspace("authors", "blog"), TODAY) == {
        "id": "key_1",
        "prefix": "pq_AAAAAAAA",
        "name": "Site",
        "workspace": "acme",
        "scope": ["blog"],
        "from": "2026-11-21",
        "until": "2026-11-24",
        "state": "expiring",
        "label": "3 days left",
        "createdAt": "2026-11-21T12:00:00.000Z",
        "lastUsedAt": None,
        "rateLimit": 60,
    }
    free = keys.key_document(make_key(TODAY, None), workspace(), TODAY, last_used_at=created)
    assert (free["scope"], free["until"], free["lastUsedAt"]) == ("all", None, "2026-11-21T12:00:00.000Z")


BOTH, ONE, OTHER = frozenset({"news", "blog"}), frozenset({"news"}), frozenset({"shop"})


@pytest.mark.parametrize(
    ("before", "after", "takes_away"),
    [
        ((None, 0, None), (ONE, 0, None), True),
        ((BOTH, 0, None), (ONE, 0, None), True),
        ((BOTH, 0, None), (BOTH | OTHER, 0, None), False),
        ((BOTH, 0, None), (OTHER, 0, None), False),
        ((ONE, 0, None), (None, 0, None), False),
        ((ONE, 0, None), (None, 0, 5), False),
        ((ONE, 0, None), (ONE, 0, 5), True),
        ((ONE, 0, 5), (ONE, 0, 4), True),
        ((ONE, 0, 5), (ONE, 1, 5), True),
        ((ONE, 1, 5), (ONE, 0, 5), False),
        ((ONE, 0, 5), (ONE, 0, 6), False),
        ((ONE, 0, 5), (ONE, 0, None), False),
        ((BOTH, 0, 5), (ONE, 0, 6), False),
        ((ONE, 0, 5), (ONE, 0, 5), False),  # nothing changed
    ],
)
def test_a_change_takes_away_where_a_key_can_do_less_and_nothing_more(
    before: tuple[frozenset[str] | None, int, int | None],
    after: tuple[frozenset[str] | None, int, int | None],
    *,
    takes_away: bool,
) -> None:
    old, new = (
        make_key(day(start), None if end is None else day(end), scope=scope) for scope, start, end in (before, after)
    )
    assert keys.only_takes_away(old, new) is takes_away
    assert not keys.only_takes_away(old, msgspec.structs.replace(new, rate_limit=1))

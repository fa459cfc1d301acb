"""What happens to keys by the passage of time, at which instants, by tables of periods."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from engine.access.keys.keys import Key, Period
from engine.webhooks.key_events import KeyEventType, key_events

TOKYO, BERLIN = ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Berlin")
LAST_DAY = date(2025, 3, 31)


def key(end: date | None, created_at: int = 0, *, disabled: bool = False, name: str = "a") -> Key:
    return Key(name, "pq_", name, "", None, Period(date(2020, 1, 1), end), disabled, None, created_at)


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("zone", "expiring", "expired"),
    [
        (UTC, "2025-03-24T00:00", "2025-04-01T00:00"),
        (TOKYO, "2025-03-23T15:00", "2025-03-31T15:00"),
        (BERLIN, "2025-03-23T23:00", "2025-03-31T22:00"),  # summer time begins on the 30th
    ],
)
def test_a_key_is_expiring_a_week_before_its_last_day_and_expires_after_it(
    zone: tzinfo, expiring: str, expired: str
) -> None:
    found = [(event.at, event.type) for event in key_events([key(LAST_DAY)], zone)]
    assert found == [(ms(expiring), KeyEventType.EXPIRING), (ms(expired), KeyEventType.EXPIRED)]


def test_what_was_so_when_the_key_was_made_does_not_happen_to_it() -> None:
    near, over = ms("2025-03-24T00:00"), ms("2025-04-01T00:00")
    for created_at, happens in [(near - 1, [near, over]), (near, [over]), (over - 1, [over]), (over, [])]:
        assert [event.at for event in key_events([key(LAST_DAY, created_at)], UTC)] == happens


def test_nothing_happens_to_disabled_keys_and_those_without_an_end() -> None:
    assert key_events([key(LAST_DAY, disabled=True), key(None)], UTC) == []


def test_events_of_several_keys_come_in_the_order_of_time_and_then_of_ids() -> None:
    keys = [key(date(2025, 4, 7), name="late"), key(LAST_DAY, name="b"), key(LAST_DAY, name="a")]
    found = [(event.key.id, event.type) for event in key_events(keys, UTC)]
    assert found == [
        ("a", KeyEventType.EXPIRING),
        ("b", KeyEventType.EXPIRING),
        ("late", KeyEventType.EXPIRING),
        ("a", KeyEventType.EXPIRED),
        ("b", KeyEventType.EXPIRED),
        ("late", KeyEventType.EXPIRED),
    ]

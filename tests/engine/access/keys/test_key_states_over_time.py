"""Contract 3.2 as a table of states over time: a clock that moves through a key's life, in zones that change theirs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from engine.access.keys import access
from engine.access.keys.access import AccessFile, KeyRejected, Keyring
from engine.access.keys.keys import key_label, key_state, local_date

NOT_YET = "This API key's validity period has not started yet."
EXPIRED = "This API key has expired."

# A period of 20 whole days that holds, begins or ends with a change of the clocks: (zone, first day, UTC instants of
# the first moment of the first day, of the seventh day before the last, of the last day, and of the day after it).
LIVES = [
    ("UTC", "2026-11-01", "11-01T00:00", "11-13T00:00", "11-20T00:00", "11-21T00:00"),
    ("Asia/Tokyo", "2026-11-01", "10-31T15:00", "11-12T15:00", "11-19T15:00", "11-20T15:00"),
    ("Asia/Kathmandu", "2026-11-01", "10-31T18:15", "11-12T18:15", "11-19T18:15", "11-20T18:15"),
    # Summer time begins on 8 March: the first day has UTC-5, the last UTC-4.
    ("America/New_York", "2026-03-01", "03-01T05:00", "03-13T04:00", "03-20T04:00", "03-21T04:00"),
    # It ends on 1 November, the last day, which has 25 hours.
    ("America/New_York", "2026-10-13", "10-13T04:00", "10-25T04:00", "11-01T04:00", "11-02T05:00"),
    # It begins on the first day, which has 23 hours.
    ("Europe/Berlin", "2026-03-29", "03-28T23:00", "04-09T22:00", "04-16T22:00", "04-17T22:00"),
    # Half an hour of change on the last day.
    ("Australia/Lord_Howe", "2026-09-15", "09-14T13:30", "09-26T13:30", "10-03T13:30", "10-04T13:00"),
    # The clocks go from 0:00 to 1:00: the last day begins at one o'clock.
    ("Africa/Cairo", "2026-04-05", "04-04T22:00", "04-16T22:00", "04-23T22:00", "04-24T21:00"),
    # And back from 0:00 to 23:00, so that the last day of summer time has two hours named 23.
    ("Africa/Cairo", "2026-10-10", "10-09T21:00", "10-21T21:00", "10-28T21:00", "10-29T22:00"),
]


def utc(text: str) -> int:
    return round(datetime.fromisoformat(f"2026-{text}:00").replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(("zone_name", "start", "first", "expiring", "last", "over"), LIVES)
def test_a_life(tmp_path: Path, zone_name: str, start: str, first: str, expiring: str, last: str, over: str) -> None:
    zone = ZoneInfo(zone_name)
    day = date.fromisoformat(start)
    end = day + timedelta(19)
    created = utc(first) - 40 * 86_400_000
    key, text = access.issue_key(
        AccessFile(tmp_path), name="Site", scope=None, now=created, zone=zone, start=day, end=end
    )
    found = AccessFile(tmp_path).read()
    assert found is not None
    keyring = Keyring({"acme": found})

    def seen(now: int) -> tuple[str, str, str | None]:
        """The state, its label, and the message of a refusal."""
        today = local_date(now, zone)
        try:
            keyring.authorize(text.encode(), "acme", now, zone)
        except KeyRejected as refusal:
            return key_state(key, today), key_label(key, today), str(refusal)
        return key_state(key, today), key_label(key, today), None

    early = ("not_yet_valid", f"From {day}", NOT_YET)
    valid = ("valid", f"Until {end}", None)
    late = ("expired", "Expired", EXPIRED)
    table = [
        (created, early),
        (utc(first) - 1, early),
        (utc(first), valid),
        (utc(expiring) - 86_400_000 - 3_600_000, valid),
        (utc(expiring) - 1, valid),
        (utc(expiring), ("expiring", "7 days left", None)),
        (utc(last) - 1, ("expiring", "1 days left", None)),
        (utc(last), ("expiring", "Expires today", None)),
        (utc(over) - 1, ("expiring", "Expires today", None)),
        (utc(over), late),
        (utc(over) + 10**11, late),
    ]
    for now, expected in table:
        assert seen(now) == expected, datetime.fromtimestamp(now / 1000, zone)
    # Every quarter of an hour: each state is one stretch of time, and the days left only grow fewer.
    labels = [seen(now)[1] for now in range(utc(first) - 10**8, utc(over) + 10**8, 900_000)]
    changes = [after for before, after in pairwise(labels) if before != after]
    assert changes == [f"Until {end}", *(f"{n} days left" for n in range(7, 0, -1)), "Expires today", "Expired"]


def test_a_period_of_one_day(tmp_path: Path) -> None:
    zone = ZoneInfo("Asia/Tokyo")
    day = date(2026, 11, 21)
    file = AccessFile(tmp_path)
    _, text = access.issue_key(file, name="Site", scope=None, now=utc("11-01T00:00"), zone=zone, start=day, end=day)
    answers = _answers(file, text, zone)
    assert answers(utc("11-20T15:00") - 1) == NOT_YET
    assert answers(utc("11-20T15:00")) is None
    assert answers(utc("11-21T15:00") - 1) is None
    assert answers(utc("11-21T15:00")) == EXPIRED


def test_moves_by_hand(tmp_path: Path) -> None:
    """Expired → valid again with the same value; any → disabled and back; any → removed."""
    zone = ZoneInfo("Europe/Berlin")
    file = AccessFile(tmp_path)
    created = utc("01-01T12:00")
    key, text = access.issue_key(file, name="Site", scope=None, now=created, zone=zone, validity="30d")
    later = utc("11-21T12:00")
    assert _answers(file, text, zone)(later) == EXPIRED
    access.edit_key(file, key.prefix, access.KeyChange(name="Renamed"), now=later, zone=zone)
    assert _answers(file, text, zone)(later) == EXPIRED, "Do not change"
    access.edit_key(file, key.prefix, access.KeyChange(validity="90d"), now=later, zone=zone)
    assert _answers(file, text, zone)(later) is None
    access.edit_key(file, key.prefix, access.KeyChange(start=date(2026, 11, 22)), now=later, zone=zone)
    assert _answers(file, text, zone)(later) == NOT_YET
    access.disable_key(file, key.prefix)
    assert _answers(file, text, zone)(later) == "This API key is disabled."
    access.enable_key(file, key.prefix)
    access.edit_key(file, key.prefix, access.KeyChange(validity="none"), now=later, zone=zone)
    assert _answers(file, text, zone)(later + 10**13) is None
    access.delete_key(file, key.prefix)
    assert _answers(file, text, zone)(later) == "This API key is not valid."


def _answers(file: AccessFile, text: str, zone: ZoneInfo) -> Callable[[int], str | None]:
    """At an instant → why the key is refused, or ``None``."""
    found = file.read()
    assert found is not None
    keyring = Keyring({"acme": found})

    def answer(now: int) -> str | None:
        try:
            keyring.authorize(text.encode(), "acme", now, zone)
        except KeyRejected as refusal:
            return str(refusal)
        return None

    return answer

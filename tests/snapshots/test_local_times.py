"""Local times that clocks show twice or not at all: found, explained, and settled by what the sentence says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from snapshots.build.build import check
from snapshots.local_times import doubtful_time
from snapshots.times import format_datetime, parse_written_datetime

ZONES = ["Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe", "Asia/Tokyo", "UTC"]
_WRITTEN = re.compile(r"[0-9-]{10}T[0-9:.]+(?:Z|[+-][0-9:]{5})")


@pytest.mark.parametrize("name", ZONES)
def test_exactly_those_that_are_not_there_once_are_told_and_what_is_to_be_written_settles_them(name: str) -> None:
    zone = ZoneInfo(name)
    shown: dict[datetime, list[int]] = {}
    first = datetime(2018, 1, 1, tzinfo=UTC)
    for half in range(366 * 48):
        moment = first + timedelta(minutes=30 * half)
        shown.setdefault(moment.astimezone(zone).replace(tzinfo=None), []).append(int(moment.timestamp() * 1000))
    told = 0
    for half in range(48, 365 * 48):
        local = datetime(2018, 1, 1) + timedelta(minutes=30 * half)  # noqa: DTZ001 - a local time is what is tried
        instants = shown.get(local, [])
        text = local.isoformat("T", "minutes")
        doubt = doubtful_time(text, zone)
        assert (doubt is None) == (len(instants) == 1), text
        if doubt is not None:
            told += 1
            taken = parse_written_datetime(text, zone)
            assert format_datetime(taken) in doubt
            written = [parse_written_datetime(one, zone) for one in _WRITTEN.findall(doubt.split("Write")[1])]
            assert written == (instants or [taken])
            for one in _WRITTEN.findall(doubt.split("Write")[1]):
                assert doubtful_time(one, zone) is None
    assert (told > 0) == (name not in ("Asia/Tokyo", "UTC"))


def test_they_are_warnings_with_their_lines_wherever_a_workspace_has_dates(tmp_path: Path) -> None:
    (tmp_path / "apis").mkdir()
    (tmp_path / "content/talks").mkdir(parents=True)
    (tmp_path / "workspace.yaml").write_text("id: a\nlanguages: [en, de]\ntimezone: America/Sao_Paulo\n")
    (tmp_path / "apis/talks.yaml").write_text(
        "uid: api_Talks00000001\nendpoint: talks\nkind: list\nmultilingual: true\nmeta: {updatedAt: changed}\n"
        "fields:\n  - {id: title, type: text, from: 'title.{lang}'}\n  - {id: at, type: datetime}\n"
        "  - {id: slots, type: groups, fields: [{id: from, type: datetime}]}\n"
    )
    (tmp_path / "content/talks/one.yaml").write_text(
        "title: {en: One, de: Eins}\n"
        "createdAt: 2018-11-04\n"
        "changed: 2018-11-04T00:30\n"
        "status: scheduled\n"
        "publishStart: 2018-02-17T23:30:00\n"
        "publishEnd: 2018-11-04T00:15:00\n"
        "at: 2018-11-04\n"
        "slots:\n"
        "  - {from: 2018-11-05T00:30}\n"
        "  - {from: 2018-11-04T00:45:00}\n"
    )
    (tmp_path / "content/talks/two.yaml").write_text(
        "title: {en: Two}\ncreatedAt: 2018-11-04T01:00-02:00\nat: 2018-11-04T03:00:00Z\n"
    )
    found = [one for one in check(tmp_path, tmp_path / "cache").kept if one.kind == "doubtful-time"]
    assert {one.file for one in found} == {"content/talks/one.yaml"}
    assert [(one.line, one.message.split(" ")[0]) for one in sorted(found, key=lambda one: one.line)] == [
        (2, "createdAt:"),
        (3, "updatedAt:"),
        (5, "publishStart:"),
        (6, "publishEnd:"),
        (7, "2018-11-04"),
        (10, "2018-11-04T00:45:00"),
    ]

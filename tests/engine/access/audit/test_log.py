"""The audit log: what is added is there, in the order of the changes, and a change that cannot be told is not made."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.access.audit.log import LONGEST_DOCUMENT, AuditLog, Author, Entry, Via
from engine.access.keys.keys import InvalidKeySettings
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.locations import open_objects
from snapshots.store.objects import Expected, ObjectContent, StoreUnreachable

NOW = 1_800_000_000_000  # January 2027
MONTH = "2027-01"
OLGA = Author("olga@acme.example", "owner", Via.CONSOLE)


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(open_objects(tmp_path), "acme")


def entry(sentence: str, at: int = NOW) -> Entry:
    return Entry(at, OLGA, "key_issued", sentence)


def test_an_empty_log(log: AuditLog) -> None:
    assert log.months() == []
    assert log.entries(MONTH) == []


def test_what_is_done_is_told_and_what_fails_is_told_to_have_failed(log: AuditLog, tmp_path: Path) -> None:
    with log.recorded(entry("one")):
        assert log.entries(MONTH) == [entry("one")]  # before the change
    with pytest.raises(InvalidKeySettings), log.recorded(entry("two\nlines ☃")):
        raise InvalidKeySettings("no such day")
    with pytest.raises(ZeroDivisionError), log.recorded(entry("three")):
        raise ZeroDivisionError
    assert [(one.sentence, one.failure) for one in reversed(log.entries(MONTH))] == [
        ("one", None),
        ("two\nlines ☃", "no such day"),
        ("three", "ZeroDivisionError"),
    ]


def test_each_month_has_its_page_and_what_is_damaged_is_passed_over(log: AuditLog, tmp_path: Path) -> None:
    for month in range(3):
        with log.recorded(entry(str(month), NOW + month * 31 * 86_400_000)):
            pass
    assert log.months() == ["2027-03", "2027-02", MONTH]
    with (tmp_path / "acme" / "audit" / f"{MONTH}.ndjson").open("ab") as file:
        file.write(b'{"at": "2026-\n\xff\n')
    with log.recorded(entry("after")):
        pass
    assert [one.sentence for one in log.entries(MONTH)] == ["after", "0"]


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    def write(number: int) -> None:
        with AuditLog(open_objects(tmp_path), "acme").recorded(entry(str(number))):
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    found = AuditLog(open_objects(tmp_path), "acme").entries(MONTH)
    assert sorted(int(one.sentence) for one in found) == list(range(40))


def test_a_log_that_cannot_be_written_keeps_the_change_from_being_made(log: AuditLog, tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "audit").touch()
    made = []
    with pytest.raises(StoreError), log.recorded(entry("one")):
        made.append(1)
    assert made == []


def test_a_line_costs_its_document_and_not_its_month(log: AuditLog, tmp_path: Path) -> None:
    sentences = [f"{number} {'x' * 4_000}" for number in range(60)]
    for sentence in sentences:
        with log.recorded(entry(sentence)):
            pass
    documents = list((tmp_path / "acme" / "audit").glob("*.ndjson"))
    assert len(documents) >= 4
    assert max(path.stat().st_size for path in documents) < LONGEST_DOCUMENT + 5_000
    assert log.months() == [MONTH]
    assert [one.sentence for one in reversed(log.entries(MONTH))] == sentences


def test_what_takes_rights_away_is_done_and_its_line_follows(
    log: AuditLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "acme").mkdir()
    blocked = tmp_path / "acme" / "audit"
    blocked.touch()
    made = []
    for number in range(3):
        with log.recorded(entry(f"away {number}", NOW + number), takes_away=True):
            made.append(number)
    with pytest.raises(ZeroDivisionError), log.recorded(entry("not done"), takes_away=True):
        raise ZeroDivisionError
    assert made == [0, 1, 2]
    assert log.late() == 3
    assert "acme: the audit log cannot be written" in caplog.text
    assert "away 2 Its line is added as soon as" in caplog.text
    blocked.unlink()
    waiting = {path: path.read_bytes() for path in (tmp_path / "acme" / "audit-late").iterdir()}
    with log.recorded(entry("given", NOW + 10)):
        pass
    assert log.late() == 0
    for path, line in waiting.items():  # somebody else read them before they were deleted, and adds them now
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(line)
    assert log.catch_up() == 3
    assert len((blocked / f"{MONTH}.ndjson").read_bytes().splitlines()) == 4
    assert [one.sentence for one in reversed(log.entries(MONTH))] == ["away 0", "away 1", "away 2", "given"]


class Silent(DirectoryObjects):
    """A store that loses its answers for a while, and is away once it has carried out what it was asked."""

    loses_answers = True
    is_silent = False

    def replace(self, key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        tag = super().replace(key, data, expected, private=private)
        if self.is_silent:
            raise StoreUnreachable("no answer")
        return tag

    def read(self, key: str) -> ObjectContent | None:
        found = super().read(key)
        if self.is_silent and found is not None and b"away" in found.data:
            raise StoreUnreachable("no answer")
        return found


def test_a_line_whose_answer_was_lost_does_not_follow_once_more(tmp_path: Path) -> None:
    store = Silent(tmp_path)
    log = AuditLog(store, "acme")
    with log.recorded(entry("before")):
        pass
    store.is_silent = True
    with log.recorded(entry("away"), takes_away=True):
        pass
    store.is_silent = False
    assert log.late() == 1
    with log.recorded(entry("after")):
        pass
    assert log.late() == 0
    assert [one.sentence for one in reversed(log.entries(MONTH))] == ["before", "away", "after"]
    assert (tmp_path / "acme" / "audit" / f"{MONTH}.ndjson").read_bytes().count(b"away") == 1

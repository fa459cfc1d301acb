"""Links and sessions over time, among many, and in a file that is damaged or cannot be written."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.access.sign_in.people import Person, member
from engine.access.sign_in.sign_ins import (
    COMPLETED_MS,
    DOCUMENT,
    LINK_MS,
    MAIL_PAUSE_MS,
    MOST_FOR_STRANGERS,
    MOST_LINKS,
    MOST_SESSIONS,
    SESSION_MS,
    AlreadyCompleted,
    LinkUnusable,
    SignIns,
)
from snapshots.store.document import DamagedDocument
from snapshots.store.locations import open_objects

NOW = 1_800_000_000_000
OLGA = member("Olga@acme.example ")


@pytest.fixture
def sign_ins(tmp_path: Path) -> SignIns:
    return SignIns(open_objects(tmp_path))


def test_a_link_and_its_session_last_as_long_as_they_should(sign_ins: SignIns) -> None:
    token = sign_ins.new_link(OLGA, NOW)
    assert sign_ins.link(token, NOW + LINK_MS - 1) is not None
    assert sign_ins.link(token, NOW + LINK_MS) is None
    with pytest.raises(LinkUnusable):
        sign_ins.use(token, None, NOW + LINK_MS)
    session, person = sign_ins.use(sign_ins.new_link(OLGA, NOW), None, NOW)
    assert person == Person("olga@acme.example")
    assert sign_ins.session(session, NOW + SESSION_MS - 1) is not None
    assert sign_ins.session(session, NOW + SESSION_MS) is None
    assert sign_ins.session(session, NOW - MAIL_PAUSE_MS - 1) is None


def test_a_mailed_link_belongs_to_the_browser_that_asked(sign_ins: SignIns) -> None:
    token = sign_ins.new_mailed_link(OLGA, "mine", NOW)
    assert token is not None
    for other in (None, "", "theirs"):
        with pytest.raises(LinkUnusable, match="only in the browser"):
            sign_ins.use(token, other, NOW)
    assert sign_ins.use(token, "mine", NOW)[1] == OLGA


def test_a_minute_between_two_mails_for_the_same_browser(sign_ins: SignIns) -> None:
    assert sign_ins.new_mailed_link(OLGA, "mine", NOW) is not None
    assert sign_ins.new_mailed_link(OLGA, "mine", NOW + MAIL_PAUSE_MS - 1) is None
    assert sign_ins.new_mailed_link(OLGA, "theirs", NOW + MAIL_PAUSE_MS - 1) is not None
    assert sign_ins.new_mailed_link(member("ed@acme.example"), "mine", NOW) is not None
    assert sign_ins.new_link(OLGA, NOW) is not None
    assert sign_ins.new_mailed_link(OLGA, "mine", NOW + MAIL_PAUSE_MS) is not None


def test_strangers_use_up_no_link_of_the_person(sign_ins: SignIns) -> None:
    asked = [sign_ins.new_mailed_link(OLGA, f"stranger {number}", NOW) for number in range(100)]
    assert len([one for one in asked if one is not None]) == MOST_FOR_STRANGERS
    mine = [sign_ins.new_mailed_link(OLGA, f"mine {number}", NOW, is_known=True) for number in range(100)]
    there = [one for one in mine if one is not None]
    assert len(there) == MOST_LINKS - MOST_FOR_STRANGERS
    assert sign_ins.new_mailed_link(OLGA, "another", NOW) is None
    assert sign_ins.use(there[0], "mine 0", NOW)[1] == OLGA
    assert sign_ins.new_mailed_link(OLGA, "stranger", NOW + LINK_MS) is not None


def test_the_file_stays_small(sign_ins: SignIns, tmp_path: Path) -> None:
    tokens = [sign_ins.new_link(OLGA, NOW) for _ in range(MOST_LINKS + 5)]
    assert [sign_ins.link(token, NOW) is not None for token in tokens] == [False] * 5 + [True] * MOST_LINKS
    sessions = [sign_ins.use(sign_ins.new_link(OLGA, NOW), None, NOW)[0] for _ in range(MOST_SESSIONS + 1)]
    assert sign_ins.session(sessions[0], NOW) is None
    assert sign_ins.session(sessions[1], NOW) is not None
    sign_ins.new_link(OLGA, NOW + SESSION_MS)
    assert len((tmp_path / DOCUMENT).read_bytes()) < 1500


def test_an_operator_is_no_member_of_the_same_name(sign_ins: SignIns) -> None:
    operator = Person("olga@acme.example", is_operator=True)
    session, _ = sign_ins.use(sign_ins.new_link(operator, NOW), None, NOW)
    other, _ = sign_ins.use(sign_ins.new_link(OLGA, NOW), None, NOW)
    assert sign_ins.end_all(OLGA, NOW) == 1
    assert sign_ins.session(other, NOW) is None
    found = sign_ins.session(session, NOW)
    assert found is not None
    assert found.person == operator


@pytest.mark.parametrize("content", ["{", '{"format": 2, "links": [], "sessions": [], "writes": []}'])
def test_a_damaged_file_lets_nobody_in_and_is_not_written_over(sign_ins: SignIns, tmp_path: Path, content: str) -> None:
    sign_ins.new_link(OLGA, NOW)
    (tmp_path / DOCUMENT).write_text(content)
    with pytest.raises(DamagedDocument):
        sign_ins.session("x", NOW)
    with pytest.raises(DamagedDocument):
        sign_ins.new_link(OLGA, NOW)
    assert (tmp_path / DOCUMENT).read_text() == content


def test_a_sign_in_at_a_provider_is_completed_once(sign_ins: SignIns, tmp_path: Path) -> None:
    before = sign_ins.complete("first", OLGA, NOW)
    session = sign_ins.complete("second", OLGA, NOW, instead_of=before)
    assert sign_ins.session(before, NOW) is None
    found = sign_ins.session(session, NOW)
    assert found is not None
    assert found.person == OLGA
    other = SignIns(open_objects(tmp_path))  # as of another machine
    for attempt in ("first", "second"):
        with pytest.raises(AlreadyCompleted):
            other.complete(attempt, OLGA, NOW)
    # It is remembered by clocks that differ, for longer than it may take.
    assert other.new_link(OLGA, NOW - 5 * 60_000)
    with pytest.raises(AlreadyCompleted):
        other.complete("first", OLGA, NOW + COMPLETED_MS - 1)
    other.new_link(OLGA, NOW + COMPLETED_MS)
    assert b"completed" not in (tmp_path / DOCUMENT).read_bytes()


def test_a_file_without_sign_ins_at_a_provider_is_as_it_was(sign_ins: SignIns, tmp_path: Path) -> None:
    """So a server that knows nothing of them reads it."""
    sign_ins.use(sign_ins.new_link(OLGA, NOW), None, NOW)
    assert set(msgspec.json.decode((tmp_path / DOCUMENT).read_bytes())) == {"format", "links", "sessions", "writes"}

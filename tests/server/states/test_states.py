"""What is wrong on a machine: noted by its processes, told by all of them together, with an age."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.backup.newest import Saved, note_saved
from engine.mail.mailer import MailLost, MailRefused, MailServerError
from server.lookout import BACKUP_MS, STORE_LOOK_MS, Lookout
from server.states import pages
from server.states.clock_watch import JUMP_MS, ClockWatch
from server.states.machine import memory_is_short
from server.states.mail_watch import MailWatch
from server.states.pages import MOST, PAGE, MachineStates, StatesPage
from server.states.states import States, Trouble
from server.states.table import AUDIT, BACKUP, CLOCK, CURRENT, KEEPER, MAIL, ROWS, STORE, TABLE, WORKER
from snapshots.store.store import Store, open_store
from tests.sites.served_site import Site


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def store_in(tmp_path: Path) -> Store:
    (tmp_path / "store").mkdir()
    return open_store(tmp_path / "store")


def test_each_row_has_a_name_and_an_alert_of_its_own() -> None:
    assert len(ROWS) == len(TABLE) == len({row.alert for row in TABLE})
    for row in TABLE:
        assert "/" not in row.told, "no path of the machine (decision 66)"


def test_the_age_of_a_trouble_is_from_when_it_began() -> None:
    clock = Clock()
    states = States("test", clock)
    assert states.troubles() == []
    states.wrong(CURRENT, "acme")
    clock.now += 5_000
    states.wrong(CURRENT, "acme")
    [trouble] = states.troubles()
    assert (trouble.what, trouble.workspace, trouble.seconds(clock.now)) == (CURRENT, "acme", 5)
    states.well(CURRENT, "acme")
    assert states.troubles() == []
    states.wrong(CURRENT, "acme", age=7_000)
    assert states.troubles()[0].seconds(clock.now) == 7


def test_what_happened_is_told_for_a_while() -> None:
    clock = Clock()
    states = States("test", clock)
    states.wrong(WORKER)
    clock.now += 599_999
    assert [one.what for one in states.troubles()] == [WORKER]
    states.wrong(WORKER)
    clock.now += 599_999
    assert [one.what for one in states.troubles()] == [WORKER]
    clock.now += 1
    assert states.troubles() == []


def test_only_names_all_workspaces_of_which_something_is_wrong() -> None:
    states = States("test", Clock())
    states.wrong(STORE)
    states.only(AUDIT, {"a": None, "b": None})
    states.only(AUDIT, {"b": None, "c": None})
    assert {(one.what, one.workspace) for one in states.troubles()} == {(STORE, ""), (AUDIT, "b"), (AUDIT, "c")}


def test_a_failure_is_noted_and_goes_on_to_whom_it_concerns() -> None:
    states = States("test", Clock())
    with pytest.raises(ZeroDivisionError), states.trying(MAIL):
        _ = 1 / 0
    assert [one.what for one in states.troubles()] == [MAIL]
    with states.trying(MAIL):
        pass
    assert states.troubles() == []


def test_mail_is_well_again_once_what_waits_is_delivered() -> None:
    states = States("test", Clock())
    watch = MailWatch(None, states)

    def is_wrong() -> bool:
        return [one.what for one in states.troubles()] == [MAIL]

    watch.failed(MailServerError("away"), "acme")
    assert is_wrong()
    watch.delivered("acme")
    assert not is_wrong()
    watch.failed(MailServerError("away"))  # a letter that is not tried again
    assert is_wrong()
    watch.delivered()
    assert not is_wrong()
    watch.failed(MailRefused("no such person"), "acme")
    watch.delivered()
    watch.delivered("beta")
    assert is_wrong(), "that of acme waits"
    watch.nothing_left("acme")
    assert not is_wrong()
    watch.failed(MailRefused("no such person"), "acme")
    watch.only(["beta"])
    assert not is_wrong(), "acme's letters are another machine's by now"
    watch.failed(MailRefused("no such person"), "a webhook", "webhooks")
    watch.only([])
    assert is_wrong(), "of another subject"
    watch.only([], "webhooks")
    assert not is_wrong()


def test_a_mail_server_that_is_lost_over_a_letter_is_away_until_it_can_be_reached() -> None:
    states = States("test", Clock())
    watch = MailWatch(None, states)
    watch.failed(MailLost("lost"))  # a letter that is not tried again
    assert [one.what for one in states.troubles()] == [MAIL]
    before = watch.returns
    watch.delivered()
    assert states.troubles() == []
    assert watch.returns == before + 1, "what waits is worth a try"
    watch.delivered()
    assert watch.returns == before + 1


def test_processes_of_another_version_may_tell_more(tmp_path: Path) -> None:
    clock, store = Clock(), store_in(tmp_path)
    one, machine = States("one", clock), MachineStates(store, States("two", clock), clock)
    one.wrong(MAIL)
    StatesPage(store, one, clock).write()
    [file] = (store.cache / pages.FOLDER).iterdir()
    file.write_bytes(file.read_bytes().replace(b'"mail"', b'"moon"'))
    assert machine.troubles() == []


def test_processes_tell_each_other(tmp_path: Path) -> None:
    clock, store = Clock(), store_in(tmp_path)
    one, two = States("one", clock), States("two", clock)
    page, machine = StatesPage(store, one, clock), MachineStates(store, two, clock)
    one.wrong(MAIL)
    page.write()
    clock.now += 1_000
    two.wrong(MAIL)
    two.wrong(STORE)
    assert machine.troubles() == [Trouble(MAIL, "", 1_000_000), Trouble(STORE, "", 1_001_000)], "the older one"
    one.well(MAIL)
    two.well(MAIL)
    page.write()
    assert machine.troubles() == [Trouble(STORE, "", 1_001_000)]
    one.wrong(MAIL)
    page.write()
    clock.now += pages.LOST_MS
    assert machine.troubles() == [Trouble(STORE, "", 1_001_000)], "it says nothing any more"
    one.wrong(AUDIT, "acme")
    page.write()
    assert len(machine.troubles()) == 3
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    path = store.cache / pages.FOLDER / f"{one.name}.json"
    path.rename(path.with_name(f"one-{ended.pid}.json"))
    assert machine.troubles() == [Trouble(STORE, "", 1_001_000)], "it was killed"
    path.with_name(f"one-{ended.pid}.json").rename(path)
    page.take_back()
    assert list((store.cache / pages.FOLDER).iterdir()) == []


def test_a_page_has_its_size_however_much_is_wrong(tmp_path: Path) -> None:
    clock, store = Clock(), store_in(tmp_path)
    states = States("one", clock)
    for number in range(3 * MOST):
        states.wrong(CURRENT, f"{number:063}")
    StatesPage(store, states, clock).write()
    [file] = (store.cache / pages.FOLDER).iterdir()
    assert file.stat().st_size == PAGE
    assert len(MachineStates(store, States("two", clock), clock).troubles()) == MOST


def test_pages_that_are_torn_are_passed_over(tmp_path: Path) -> None:
    clock, store = Clock(), store_in(tmp_path)
    (store.cache / pages.FOLDER).mkdir(parents=True)
    for number, content in enumerate((b"", b"{", b"\xff", b'{"written_at": 1000000, "troubles": [{}]}', bytes(PAGE))):
        (store.cache / pages.FOLDER / f"x-{number}.json").write_bytes(content)
    assert MachineStates(store, States("two", clock), clock).troubles() == []


@pytest.mark.parametrize("by", [JUMP_MS + 1, -JUMP_MS - 1, 3_600_000])
def test_a_clock_that_is_set_is_noticed_once(by: int) -> None:
    wall, steady = Clock(), Clock()
    watch = ClockWatch(wall, steady)
    assert watch.jump() is None
    for passing in (1_000, 3_600_000):  # a machine that slept has not set its clock
        wall.now += passing
        steady.now += passing
        assert watch.jump() is None
    wall.now += by
    assert watch.jump() == by
    assert watch.jump() is None
    wall.now -= JUMP_MS
    assert watch.jump() is None, "as a time service corrects it"


def test_memory_is_short_in_a_machine_or_in_a_control_group(tmp_path: Path) -> None:
    machine, groups, own = tmp_path / "meminfo", tmp_path / "groups", tmp_path / "own"
    unit = groups / "system.slice" / "cms.service"
    unit.mkdir(parents=True)
    own.write_text("4:memory:/elsewhere\n0::/system.slice/cms.service\n")

    def is_short() -> bool:
        return memory_is_short(machine, groups, own)

    assert not is_short()
    machine.write_text("MemTotal:       1000000 kB\nMemFree:  1 kB\nMemAvailable:  60000 kB\n")
    assert not is_short()
    for group in (unit, groups):
        (group / "memory.max").write_text("max\n")
        (group / "memory.current").write_text("990000\n")
        (group / "memory.stat").write_text("anon 1\ninactive_file 300000\n")
        assert not is_short()
        (group / "memory.max").write_text("1000000\n")
        assert not is_short()
        (group / "memory.stat").write_text("anon 1\ninactive_file 30000\n")
        assert is_short()
        (group / "memory.max").write_text("2000000\n")
        assert not is_short()
    machine.write_text("MemTotal:       1000000 kB\nMemAvailable:  40000 kB\n")
    assert is_short()


def test_the_log_says_when_people_are_needed_and_when_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="parquetry")
    wall, steady = Clock(), Clock()
    site = Site(tmp_path)
    site.publish("one")
    wall.now = site.place.current().activated_at  # type: ignore[union-attr]  # it was just published
    states = States("test", steady)
    lookout = Lookout(site.store, None, states, clock=wall, steady=steady)

    def passed(milliseconds: int) -> list[str]:
        caplog.clear()
        wall.now += milliseconds
        steady.now += milliseconds
        lookout.look()
        return [message for message in caplog.messages if "disk" not in message]

    assert passed(0) == []
    states.wrong(CURRENT, "acme")
    assert passed(ROWS[CURRENT].after * 1000) == []
    [current, keeper] = passed(1_000)
    assert keeper == f"NoKeeper: {ROWS[KEEPER].wrong} (for 61 s)"
    assert current == f"acme: CurrentUnreadable: {ROWS[CURRENT].wrong} (for 61 s)"
    assert passed(1_000) == []
    states.well(CURRENT, "acme")
    assert passed(1_000) == ["acme: CurrentUnreadable is over"]

    # A clock that was set, and one that is behind that of the machine that published.
    wall.now -= 3_600_000
    steady.now += pages.LOST_MS
    told = passed(0)
    assert "set back by 3630 s" in told[0]
    assert any(message.startswith("the current snapshot version was activated in the future") for message in told)
    assert {one.what for one in states.troubles()} >= {CLOCK, KEEPER}
    passed(1_000_000)
    assert CLOCK in {one.what for one in states.troubles()}, "it is still behind, not for a while only"
    wall.now += 3_600_000
    passed(10_000)
    passed(600_000)
    assert {one.what for one in states.troubles()} & {CLOCK, WORKER} == set()
    lookout.end()
    assert not list((site.store.cache / pages.FOLDER).glob(f"*{os.getpid()}*"))


def test_a_store_that_has_keys_only_is_not_away(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    site.key()
    states = States("test", steady := Clock())
    lookout = Lookout(site.store, None, states, steady=steady)
    for gone in ("snapshots", "access.json"):  # as a prune leaves it where no version was ever complete
        lookout.look()
        assert [one.what for one in states.troubles() if one.what == STORE] == []
        kept = site.place.directory / gone
        kept.rename(kept.with_name(f".{gone}"))
        (site.place.directory / "current").unlink(missing_ok=True)
        steady.now += STORE_LOOK_MS
    lookout.look()
    assert [one.what for one in states.troubles() if one.what == STORE] == [STORE]


def test_an_old_backup_is_told_until_there_is_another(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    states, now = States("test", steady := Clock()), [1_900_000_000_000]
    lookout = Lookout(site.store, None, states, clock=lambda: now[0], steady=steady)

    def told() -> list[float]:
        steady.now += STORE_LOOK_MS
        lookout.look()
        return [one.seconds(steady.now) for one in states.troubles() if one.what == BACKUP]

    assert told() == [], "it was never saved"
    note_saved(site.store.objects, Saved("one", "elsewhere", now[0], 0))
    now[0] += BACKUP_MS
    assert told() == []
    now[0] += 60_000
    assert told() == [60]
    note_saved(site.store.objects, Saved("two", "elsewhere", now[0], 0))
    assert told() == []

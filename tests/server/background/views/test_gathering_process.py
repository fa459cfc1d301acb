"""The steps of a machine's process for page views in a bucket: who writes, what it costs, and the end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from engine.views.collecting.spool import SpoolWriter, View
from engine.views.collecting.targets import Kind
from engine.views.counting import count_files
from engine.views.counting.count_files import CountState
from engine.views.counting.count_rows import CountsDamaged
from engine.views.gathering import gathering
from engine.views.gathering.layout import LEASE, SPOOL, today_key
from engine.views.gathering.pulling import LOOK_SECONDS, CountsPulling
from engine.views.gathering.sending import SEND_SECONDS
from server.background.election import LEASE_MS, RENEW_MS, Election
from server.background.views import gathering_process
from server.background.views.gathering_process import PULL_SECONDS, ROUND_SECONDS, MachineViews
from server.mirror.behind import COUNTS, VIEWS
from server.mirror.contact import VIEWS_CONTACT, Contact, ContactPage
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.objects import ABSENT, ANY, Expected, StoreUnreachable
from snapshots.store.store import Store
from tests.engine.views.gathering.machines import counts_in

NOW = 1_763_700_000_000


class Counted(DirectoryObjects):
    """A bucket that counts what is asked of it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: Counter[str] = Counter()

    def read(self, key):  # type: ignore[no-untyped-def]
        self.asked["GET"] += 1
        return super().read(key)

    def replace(self, key, data, expected, *, private=False):  # type: ignore[no-untyped-def]
        self.asked["PUT"] += 1
        self.asked["GET"] -= 1  # a directory reads what it replaces
        return super().replace(key, data, expected, private=private)

    def names(self, prefix):  # type: ignore[no-untyped-def]
        self.asked["LIST"] += 1
        return super().names(prefix)


@pytest.fixture
def bucket(tmp_path: Path) -> Counted:
    return Counted(tmp_path / "bucket")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The instant in its only place, which a test sets on."""
    now = [NOW]
    monkeypatch.setattr(gathering_process, "now_ms", lambda: now[0])
    return now


class Machine(MachineViews):
    """One machine, with its part in the election of the one that writes."""

    def __init__(self, root: Path, bucket: DirectoryObjects) -> None:
        for folder in ("acme/snapshots", ".cache"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        self.election = Election(bucket, root / ".cache", gathering_process.now_ms)
        super().__init__(bucket, Store(root, root / ".cache"), None, self.election.holds)

    def elect(self) -> bool:
        self.election.renew()
        return self.election.holds()


def collect(root: Path, path: str, workspace: str = "acme") -> None:
    spool = SpoolWriter(root / workspace / "views", NOW)
    spool.append(View(NOW, Kind.PATH, path, "acme.example"))
    spool.close()


def test_one_machine_writes_until_it_ends_or_is_gone(tmp_path: Path, bucket: Counted, clock: list[int]) -> None:
    machines = [Machine(tmp_path / name, bucket) for name in ("one", "two", "three")]
    one, two, three = machines

    def writers() -> list[bool]:
        return [each.elect() for each in machines]

    for _ in range(90):
        assert writers() == [True, False, False]
        clock[0] += int(ROUND_SECONDS * 1000)
    one.end()
    one.election.leave()
    machines.remove(one)
    ended = clock[0]
    while not any(writers()):
        clock[0] += int(ROUND_SECONDS * 1000)
    assert clock[0] - ended <= LEASE_MS
    assert (two.election.holds(), three.election.holds()) == (True, False)
    clock[0] += LEASE_MS + 1  # two was stopped for so long
    assert three.elect()
    assert not two.elect()


def test_another_machine_writes_once_the_lease_of_one_that_was_killed_has_ended(
    tmp_path: Path, bucket: Counted, clock: list[int]
) -> None:
    one, two = (Machine(tmp_path / name, bucket) for name in ("one", "two"))
    for each in (one, two):
        each.elect()
    clock[0] += RENEW_MS
    one.elect()  # at the last moment before it is killed
    killed = clock[0]
    while not two.elect():
        clock[0] += int(ROUND_SECONDS * 1000)
    assert clock[0] - killed <= LEASE_MS + ROUND_SECONDS * 1000


def test_counts_that_a_killed_machine_told_nobody_of_are_pulled_once_another_writes(
    tmp_path: Path, bucket: Counted, clock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (Machine(tmp_path / name, bucket) for name in ("one", "two"))
    collect(tmp_path / "one", "/a")
    one.send(flush=True)
    two.pull()
    with monkeypatch.context() as patch:
        patch.setattr(gathering, "announce", lambda *_, **__: pytest.fail("killed here"))
        one.elect()
        with pytest.raises(pytest.fail.Exception):
            one.write()
    two.pull()
    assert not (tmp_path / "two" / "acme" / "views" / "counts").exists()
    clock[0] += LEASE_MS
    two.elect()
    two.write()
    two.pull()
    assert counts_in(tmp_path / "two" / "acme" / "views").total() == 1


def test_one_workspace_that_cannot_be_written_holds_up_no_other(
    tmp_path: Path, bucket: Counted, clock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Machine(tmp_path / "one", bucket)
    names = [f"w{number}" for number in range(10)]
    for name in names:
        (tmp_path / "one" / name / "snapshots").mkdir(parents=True)
        collect(tmp_path / "one", "/a", name)
    one.send(flush=True)
    one.elect()
    replace = bucket.replace

    def fails(key: str, data: bytes, expected: str | Expected, *, private: bool = False) -> str:
        if key == today_key("w0"):
            raise StoreUnreachable("no answer in time.")
        return replace(key, data, expected, private=private)

    monkeypatch.setattr(bucket, "replace", fails)
    with pytest.raises(StoreUnreachable):
        one.write()
    one.pull()
    assert {name for name in names if (tmp_path / "one" / name / "views" / "counts").exists()} == set(names[1:])


def test_what_cannot_be_pulled_or_sent_for_two_polls_is_told(
    tmp_path: Path, bucket: Counted, clock: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    one, two = (Machine(tmp_path / name, bucket) for name in ("one", "two"))
    collect(tmp_path / "one", "/a")
    one.send(flush=True)
    one.elect()
    one.write()

    def told(of: MachineViews) -> Contact:
        of.tell()
        return ContactPage(tmp_path / "two", VIEWS_CONTACT).read()

    def passing(seconds: float, since: int) -> int:
        clock[0] = since + int(seconds * 1000)
        return since

    (tmp_path / "two" / "acme" / "views" / "counts").parent.mkdir()
    (tmp_path / "two" / "acme" / "views" / "counts").write_text("in the way")
    collect(tmp_path / "two", "/b")
    with monkeypatch.context() as patch:
        patch.setattr(bucket, "create", refused)
        for step in (two.pull, lambda: two.send(flush=True)):
            with pytest.raises(StoreError):
                step()
        assert told(two) == Contact(written_at=clock[0])
        began = passing(2 * SEND_SECONDS, clock[0])
        assert told(two).behind == {"acme": {VIEWS: began}}
        passing(2 * PULL_SECONDS, began)
        assert told(two).behind == {"acme": {COUNTS: began, VIEWS: began}}
        assert told(two).unable == ("acme",), "its own disk keeps it from following"
    two.send()
    assert VIEWS in told(two).behind["acme"], "nothing was tried again so soon"
    two.send(flush=True)
    assert told(two).behind == {"acme": {COUNTS: began}}
    (tmp_path / "two" / "acme" / "views" / "counts").unlink()
    two.pull()
    assert told(two) == Contact(written_at=clock[0])
    assert [record.getMessage() for record in caplog.records] == [
        "acme: views wait on this machine: they cannot be sent to the store",
        "acme: counts on this machine has been older than in the store for two polls",
        "acme: views are sent to the store again",
        "acme: counts on this machine is as in the store again",
    ]
    bucket.replace(today_key("acme"), b"damaged", ANY)
    with monkeypatch.context() as patch:
        patch.setattr("engine.views.gathering.pulling.LOOK_SECONDS", 0)
        with pytest.raises(CountsDamaged):
            two.pull()
    assert told(two) == Contact(written_at=clock[0])
    began = passing(2 * PULL_SECONDS, clock[0])
    with pytest.raises(CountsDamaged):
        two.pull()
    assert (told(two).behind, told(two).unable) == ({"acme": {COUNTS: began}}, ()), "it is the store's fault"


def refused(*_: object) -> None:
    raise StoreUnreachable("no answer in time.")


def test_counts_that_nobody_told_of_are_pulled_when_the_turn_of_their_workspace_comes(
    tmp_path: Path, bucket: Counted
) -> None:
    names = ["a", "b", "c"]
    for name in names:
        (tmp_path / "one" / name / "snapshots").mkdir(parents=True)
    pulling = CountsPulling(bucket, Store(tmp_path / "one", tmp_path / "cache"))
    moment = 1000.0
    pulling.round(moment)
    for name in names:
        count_files.add(tmp_path / name, CountState(), {(Kind.PATH, "/a", 20_000): 1}, {})
        bucket.replace(today_key(name), (tmp_path / name / "counts" / "today.parquet").read_bytes(), ABSENT)
    found = []
    for _ in range(4):
        found.append([name for name in names if (tmp_path / "one" / name / "views" / "counts").exists()])
        moment += LOOK_SECONDS
        pulling.round(moment)
    assert found == [[], ["a"], ["a", "b"], names]


def test_little_is_asked_while_nothing_comes_in(tmp_path: Path, bucket: Counted, clock: list[int]) -> None:
    buckets = bucket, Counted(bucket.root)
    machines = [Machine(tmp_path / str(number), each) for number, each in enumerate(buckets)]
    collect(tmp_path / "0", "/a")
    machines[0].send(flush=True)

    def pass_seconds(seconds: int) -> None:
        for second in range(seconds):
            for each in machines:
                each.send()
                each.elect()
                each.write()
                if second % int(PULL_SECONDS) == 0:
                    each.pull()
            clock[0] += 1000

    clock[0] += 700_000  # or the rows of the first view would wait for ten minutes
    pass_seconds(60)
    for each in buckets:
        each.asked.clear()
    pass_seconds(7 * 60)
    assert +buckets[0].asked == {"GET": 30, "PUT": 20, "LIST": 20}
    assert +buckets[1].asked == {"GET": 30 + 20}


def test_at_its_end_a_machine_sends_everything_and_lets_another_write(
    tmp_path: Path, bucket: Counted, clock: list[int]
) -> None:
    one = Machine(tmp_path / "one", bucket)
    one.elect()
    one.write()
    collect(tmp_path / "one", "/a")
    one.send_last()
    assert [key.key.rpartition("/")[2] for key in bucket.names(SPOOL)] == ["000000001.ndjson"]
    one.end()
    one.election.leave()
    assert bucket.read(today_key("acme")) is not None
    lease = bucket.read(LEASE)
    assert lease is not None
    assert b'"until":0' in lease.data
    assert not any((tmp_path / "one" / "acme" / "views" / "spool").iterdir())

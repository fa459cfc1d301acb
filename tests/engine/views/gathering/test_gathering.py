"""Segments of several machines → counts and rows in one bucket, once each, whatever fails and whoever else writes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from engine.views.collecting.spool import Segment, SpoolWriter, View
from engine.views.collecting.targets import OTHERS, Kind, jst_day
from engine.views.counting import folding
from engine.views.counting.count_rows import CountsDamaged
from engine.views.gathering import spooled, stored_views
from engine.views.gathering.analysts_file import FILE
from engine.views.gathering.layout import HINT, SPOOL, closed_key, rows_key, segment_key, today_key
from engine.views.gathering.pulled_counts import PulledCounts
from engine.views.gathering.repair import ViewFiles, complaints, rebuild_file
from engine.views.gathering.stored_views import FiledViews
from engine.views.gathering.writer import ViewWriter
from snapshots.store.changes import changes_document
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import ANY, Objects, StoreUnreachable
from tests.engine.views.gathering.machines import (
    DAY,
    NOW,
    WORKSPACE,
    Local,
    Machine,
    check_file,
    counts_in,
    expected,
    random_views,
    rows_in,
)


@pytest.fixture
def bucket(tmp_path: Path) -> DirectoryObjects:
    return DirectoryObjects(tmp_path / "bucket")


@pytest.fixture(params=["bucket", "directory"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., list[Machine | Local]]:
    """A function that makes two machines over a new bucket, or the one of a store in a directory twice."""

    def made(name: str = "store", retention_days: int | None = None) -> list[Machine | Local]:
        objects = DirectoryObjects(tmp_path / name)
        if request.param == "directory":
            return [Local(objects.root, objects, retention_days)] * 2
        roots = [tmp_path / f"{name}-of-{number}" for number in range(2)]
        for root in roots:
            (root / WORKSPACE / "snapshots").mkdir(parents=True)
        return [Machine(root, objects, retention_days) for root in roots]

    return made


def waiting(machine: Machine | Local) -> list[str]:
    """What is still in the spools of a machine and of its store."""
    return [*(one.key for one in machine.objects.names(SPOOL)), *map(str, machine.views.glob("spool/*/sealed-*"))]


def machines(tmp_path: Path, objects: Objects, count: int = 2) -> list[Machine]:
    return [Machine(tmp_path / f"machine-{number}", objects) for number in range(count)]


def test_views_of_all_machines_add_up_everywhere(stored: Callable[..., list[Machine | Local]]) -> None:
    one, two = stored()
    written: list[View] = []
    for step in range(5):
        written += one.collect(random_views(30, step)) + two.collect(random_views(20, -step))
        one.send()
        two.send()
        assert [one, two][step % 2].gathering.round(NOW + step, flush=step == 3).counted == 50
        assert one.counts() == two.counts() == expected(written)
    two.gathering.round(NOW + 10, flush=True)
    assert rows_in(one.objects) == sorted(written)
    assert waiting(one) == waiting(two) == []
    assert one.gathering.round(NOW + 20, flush=True) == FiledViews()
    if isinstance(one, Machine):
        assert list(changes_document(one.objects, HINT).read()) == [WORKSPACE]


def test_nothing_is_written_while_nothing_comes_in(tmp_path: Path, bucket: DirectoryObjects) -> None:
    one, two = machines(tmp_path, bucket)
    one.collect(random_views(10, 1))
    one.send()
    one.gathering.round(NOW, flush=True)
    before = bucket.names("")
    for machine in (one, two):
        machine.send()
        machine.gathering.round(NOW + 5)
        machine.pulled.refresh()
    assert not one.pulled.refresh()
    assert bucket.names("") == before


def test_rows_are_filed_every_ten_minutes(tmp_path: Path, bucket: DirectoryObjects) -> None:
    [one] = machines(tmp_path, bucket, 1)
    filed = []
    for minute in range(0, 25, 2):
        one.collect([View(NOW + minute * 60_000, Kind.PATH, "/a", "acme.example")])
        one.send()
        filed.append(one.gathering.round(NOW + minute * 60_000).filed)
    assert filed == [1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 5, 0, 0]
    assert one.counts().total() == 13


def test_the_day_changes_at_midnight_in_japan(stored: Callable[..., list[Machine | Local]]) -> None:
    [one, _] = stored()
    midnight = (NOW // DAY) * DAY + 15 * 3_600_000
    written = []
    for minute in (-2, -1, 0, 1):
        at = midnight + minute * 60_000
        written += one.collect([View(at, Kind.ENTRY, "e", "acme.example"), View(at - 40_000, Kind.ENTRY, "e", "h")])
        one.send()
        one.gathering.round(at, flush=True)
    assert one.counts() == expected(written)
    assert len(one.counts()) == 2
    assert rows_in(one.objects) == sorted(written)
    bases = [found.key for found in one.objects.names(f"{WORKSPACE}/views/counts") if "/base-" in found.key]
    assert len(bases) == 1


def test_old_segments_of_a_machine_that_was_off_still_count(tmp_path: Path, bucket: DirectoryObjects) -> None:
    one, two = machines(tmp_path, bucket)
    late = one.collect(random_views(20, 1))
    written = []
    for day in range(5):
        written += two.collect(random_views(10, day, now=NOW + day * DAY))
        two.send(NOW + day * DAY)
        two.gathering.round(NOW + day * DAY, flush=True)
    assert two.counts() == expected(written)
    one.send(NOW + 5 * DAY)
    one.gathering.round(NOW + 5 * DAY, flush=True)
    assert two.counts() == expected(written + late)
    assert rows_in(bucket) == sorted(written + late)


def test_clocks_that_differ_lose_and_double_nothing(tmp_path: Path, bucket: DirectoryObjects) -> None:
    several = machines(tmp_path, bucket, 3)
    skews = (0, 3 * DAY, -2 * DAY)
    written: list[View] = []
    for step in range(9):
        for machine, skew in zip(several, skews, strict=True):
            written += machine.collect(random_views(7, step + skew, now=NOW + skew), NOW + skew)
            machine.send(NOW + skew)
        several[step % 3].gathering.round(NOW + skews[step % 3] + step * 60_000, flush=step % 4 == 0)
        assert several[(step + 1) % 3].counts() == expected(written)
    several[0].gathering.round(NOW + DAY, flush=True)
    assert rows_in(bucket) == sorted(written)


def test_an_object_that_is_sent_again_counts_once(tmp_path: Path, bucket: DirectoryObjects) -> None:
    [one] = machines(tmp_path, bucket, 1)
    written = one.collect(random_views(20, 1))
    one.send()
    [segment] = [listed.key for listed in bucket.names(SPOOL)]
    content = bucket.read(segment)
    assert content is not None
    for flush in (False, True, True):
        one.gathering.round(NOW, flush=flush)
        bucket.create(segment, content.data)
    one.gathering.round(NOW + 1, flush=True)
    assert one.counts() == expected(written)
    assert rows_in(bucket) == sorted(written)
    assert bucket.names(SPOOL) == []


def test_a_closed_sender_is_forgotten_after_days_and_one_that_may_come_back_after_a_year(
    tmp_path: Path, bucket: DirectoryObjects
) -> None:
    one, two = machines(tmp_path, bucket)
    for machine in (one, two):
        machine.collect(random_views(5, 1))
        machine.send()
    one.sending.close()
    one.gathering.round(NOW, flush=True)
    one.gathering.round(NOW, flush=True)
    assert bucket.names(SPOOL) == []

    def remembered(days: int) -> int:
        machine = Machine(tmp_path / f"later-{days}", bucket)
        machine.collect(random_views(1, days))
        machine.send(NOW + days * DAY)
        machine.gathering.round(NOW + days * DAY, flush=True)
        machine.pulled.refresh()
        assert set(machine.pulled.state.filing.through) == set(machine.pulled.state.through)
        return len(machine.pulled.state.through)

    assert [remembered(days) for days in (0, 2, 3, 399, 400, 401, 405)] == [3, 4, 4, 5, 6, 5, 4]


class Failing(DirectoryObjects):
    """A bucket whose answers are lost, and whose requests fail, at random."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root)
        self.chance = random.Random(seed)
        self.share = 0.0

    def _fail(self) -> None:
        if self.chance.random() < self.share:
            raise StoreUnreachable("the connection was lost")

    def read(self, key):  # type: ignore[no-untyped-def]
        self._fail()
        return super().read(key)

    def replace(self, key, data, expected, *, private=False):  # type: ignore[no-untyped-def]
        self._fail()
        tag = super().replace(key, data, expected, private=private)
        self._fail()
        return tag

    def create(self, key, source) -> None:  # type: ignore[no-untyped-def]
        self._fail()
        super().create(key, source)
        self._fail()

    def delete(self, keys) -> None:  # type: ignore[no-untyped-def]
        asked = list(keys)
        self._fail()
        super().delete(asked[: self.chance.randrange(len(asked) + 1)] if self.share else asked)
        self._fail()


def test_lost_answers_and_failures_lose_and_double_nothing(tmp_path: Path) -> None:
    bucket = Failing(tmp_path / "bucket", 0)
    several = machines(tmp_path, bucket, 3)
    chance = random.Random(0)
    written: list[View] = []
    failures = 0
    for step in range(60):
        bucket.share = 0.1
        machine = chance.choice(several)
        now = NOW + step * 900_000
        written += machine.collect(random_views(chance.randrange(12), step, now=now), now)
        for action in (machine.send, machine.gathering.round, chance.choice(several).gathering.round):
            try:
                action(now)
            except StoreUnreachable:
                failures += 1
        if chance.random() < 0.2:  # a new process on the same disk
            several[several.index(machine)] = Machine(machine.views.parents[1], bucket)
        bucket.share = 0.0
        if bucket.read(today_key(WORKSPACE)) is not None:
            counted = several[0].counts()
            assert all(counted[key] <= count for key, count in expected(written).items())
    for machine in several:
        machine.send(NOW)
        machine.gathering.round(NOW + 10 * DAY, flush=True)
    assert failures > 20
    assert several[0].counts() == expected(written)
    assert rows_in(bucket) == sorted(written)
    assert [one.key for one in bucket.names(SPOOL) if one.key.endswith("ndjson")] == []


class Overtaken(DirectoryObjects):
    """A bucket in which another machine does all its work just before each change of this one."""

    other: Machine | None = None

    def replace(self, key, data, expected, *, private=False):  # type: ignore[no-untyped-def]
        other, self.other = self.other, None
        if other is not None:
            other.gathering.round(NOW, flush=True)
            other.gathering.round(NOW + DAY, flush=True)
        return super().replace(key, data, expected, private=private)


def test_a_writer_that_is_overtaken_gives_way(tmp_path: Path) -> None:
    slow, bucket = Overtaken(tmp_path / "bucket"), DirectoryObjects(tmp_path / "bucket")
    one, two = Machine(tmp_path / "one", slow), Machine(tmp_path / "two", bucket)
    written: list[View] = []
    for step in range(4):
        written += one.collect(random_views(20, step))
        one.send()
        slow.other = two
        assert one.gathering.round(NOW, flush=step % 2 == 0) == FiledViews()
        assert two.counts() == expected(written)
        assert rows_in(bucket) == sorted(written)
    written += two.collect(random_views(5, 9))
    two.send()
    assert one.gathering.round(NOW, flush=True).counted == 5
    assert one.counts() == expected(written)
    bases = [one.key for one in bucket.names(f"{WORKSPACE}/views/counts") if "/base-" in one.key]
    assert len(bases) == 1


class Killed(Exception):
    """The end of a process."""


@contextmanager
def dying_after(changes: int) -> Iterator[None]:
    """Stores in which the process that makes changes dies after some of them."""
    left = changes

    def step(change: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **more: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return change(*arguments, **more)

        return made

    delete = step(DirectoryObjects.delete)

    def one_by_one(objects: DirectoryObjects, keys: Iterable[str]) -> int:
        return sum(delete(objects, [key]) for key in keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DirectoryObjects, "replace", step(DirectoryObjects.replace))
        patch.setattr(DirectoryObjects, "create", step(DirectoryObjects.create))
        patch.setattr(DirectoryObjects, "delete", one_by_one)
        patch.setattr(Segment, "replace", step(Segment.replace))
        patch.setattr(spooled, "remove_through", step(spooled.remove_through))
        patch.setattr(spooled, "remove_worker", step(spooled.remove_worker))
        yield


@pytest.mark.slow
def test_a_writer_that_dies_between_any_two_changes_leaves_nothing_wrong(
    stored: Callable[..., list[Machine | Local]],
) -> None:
    left = 0
    while True:
        one, two = stored(f"store-{left}")
        written = one.collect(random_views(20, 1))
        one.send()
        one.gathering.round(NOW)
        written += one.collect(random_views(20, 2, now=NOW + DAY))
        one.send()
        try:
            with dying_after(left):
                one.gathering.round(NOW + DAY, flush=True)
            died = False
        except Killed:
            died = True
        # What engines see at once: no row twice, and counts that were either changed or not.
        found = rows_in(one.objects)
        assert len(found) == len(set(found)) or sorted(found) == sorted(written)[: len(found)]
        two.gathering.round(NOW + DAY)
        assert two.counts() == expected(written), left
        two.gathering.round(NOW + DAY, flush=True)
        assert rows_in(one.objects) == sorted(written), left
        assert waiting(one) == []
        if isinstance(two, Local):
            check_file(two.views / FILE, written, written)
            assert not list(two.views.glob("spool/*"))
        if not died:
            break
        left += 1
    assert left > 8


def test_keys_beyond_the_limit_count_together_over_all_machines(
    stored: Callable[..., list[Machine | Local]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding.Counting, "_max_keys", lambda _: 5)
    one, two = stored()
    for machine, names in ((one, "abc"), (two, "cdefg"), (one, "gh"), (two, "ah")):
        machine.collect([View(NOW, Kind.PATH, f"/{name}", "acme.example") for name in names])
        machine.send()
        machine.gathering.round(NOW)
    one.gathering.round(NOW, flush=True)
    found = one.counts()
    day = jst_day(NOW)
    assert found[Kind.OTHER.value, OTHERS, day] == 5
    assert {key for kind, key, _ in found if kind == "path"} == {"/a", "/b", "/c", "/d", "/e"}
    assert expected(rows_in(one.objects)) == found


def test_rows_that_are_not_kept_are_dropped_by_day_and_counts_stay(
    stored: Callable[..., list[Machine | Local]], tmp_path: Path
) -> None:
    [one, _] = stored(retention_days=2)
    written = one.collect(random_views(60, 1, days=5))
    one.send()
    one.gathering.round(NOW, flush=True)
    kept = [view for view in written if jst_day(view.at) >= jst_day(NOW) - 1]
    assert rows_in(one.objects) == sorted(kept)
    assert one.counts() == expected(written)
    pulled = PulledCounts(one.objects, WORKSPACE, tmp_path / "pulled")
    pulled.refresh()
    assert pulled.state.filing.kept_from == jst_day(NOW) - 1
    if isinstance(one, Local):
        check_file(one.views / FILE, kept, written)


def test_damaged_counts_of_one_workspace_keep_no_old_rows_of_another(tmp_path: Path, bucket: DirectoryObjects) -> None:
    one = Machine(tmp_path / "one", bucket, retention_days=2)
    for workspace in ("abc", WORKSPACE):
        (tmp_path / "one" / workspace / "snapshots").mkdir(parents=True)
    bucket.replace(today_key("abc"), b"not a table", ANY)
    bucket.create(rows_key("abc", jst_day(NOW) - 9, 1), b"rows")
    written = one.collect(random_views(60, 1, days=5))
    one.send()
    one.gathering.round(NOW, flush=True)
    assert rows_in(bucket) == sorted(view for view in written if jst_day(view.at) >= jst_day(NOW) - 1)
    bucket.delete([today_key("abc")])
    one.gathering.round(NOW, flush=True)
    assert bucket.read(rows_key("abc", jst_day(NOW) - 9, 1)) is None, "it is tried again on the same day"


def test_a_damaged_object_is_never_taken_over(tmp_path: Path, bucket: DirectoryObjects) -> None:
    one, two = machines(tmp_path, bucket)
    written = one.collect(random_views(400, 1, days=1))
    one.send()
    one.gathering.round(NOW)
    assert two.counts() == expected(written)
    file = tmp_path / "bucket" / WORKSPACE / "views" / "counts" / "today.parquet"
    data = file.read_bytes()
    for at in range(4, len(data), max(1, len(data) // 40)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with suppress(CountsDamaged):  # a byte that nothing depends on changes nothing
            two.pulled.refresh()
        assert counts_in(two.views) == expected(written), at


def test_segments_that_somebody_removed_hold_up_nothing(
    tmp_path: Path, bucket: DirectoryObjects, caplog: pytest.LogCaptureFixture
) -> None:
    [one] = machines(tmp_path, bucket, 1)
    written = one.collect(random_views(10, 1))
    one.send()
    one.gathering.round(NOW)
    one.pulled.refresh()
    state = one.pulled.state
    more = one.collect(random_views(5, 2))
    one.send()
    [*_, last] = [listed.key for listed in bucket.names(SPOOL)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_views, "row_files", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            one.gathering.round(NOW + 1, flush=True)
    bucket.delete([last])
    more += one.collect(random_views(7, 3))
    one.send()
    one.gathering.round(NOW + 2, flush=True)
    assert "their rows are lost" in caplog.text
    assert one.counts() == expected(written + more)
    assert state.filing.number < one.pulled.state.filing.number


def test_a_sender_that_ends_says_so_and_the_next_has_another_name(tmp_path: Path, bucket: DirectoryObjects) -> None:
    root = tmp_path / "one"
    names = []
    for number in range(2):
        machine = Machine(root, bucket)
        machine.collect(random_views(3, 1))
        machine.send(NOW + number)
        names.append(bucket.names(SPOOL)[-1].key.split("/")[-2])
        machine.sending.close()
        assert closed_key(WORKSPACE, names[-1]) in {one.key for one in bucket.names(SPOOL)}
    assert names[0] != names[1]
    assert segment_key(WORKSPACE, names[0], 1) in {one.key for one in bucket.names(SPOOL)}


@pytest.mark.slow
def test_counts_move_from_a_directory_to_a_bucket_and_back(tmp_path: Path, bucket: DirectoryObjects) -> None:
    [one] = machines(tmp_path, bucket, 1)
    local = tmp_path / "local" / WORKSPACE / "views"
    written: list[View] = []

    def count_locally(seed: int, now: int) -> None:
        spool = SpoolWriter(local, now)
        spool.append(*random_views(20, seed, now=now))
        spool.close()
        written.extend(random_views(20, seed, now=now))
        ViewWriter(local).round(now, seed, flush=True)

    for step in range(2):
        count_locally(step, NOW + step * DAY)
        for path in (local / "counts").glob("*.parquet"):
            bucket.replace(f"{WORKSPACE}/views/counts/{path.name}", path.read_bytes(), ANY)
        now = NOW + step * DAY + 1
        written += one.collect(random_views(10, 5 + step, now=now), now)
        one.send(now)
        one.gathering.round(now, flush=True)
        assert one.counts() == expected(written)
        written += one.collect(random_views(5, 7 + step, now=now + 2 * DAY), now + 2 * DAY)
        one.send(now + 2 * DAY)
        one.gathering.round(now + 2 * DAY, flush=True)
        assert one.counts() == expected(written)
        assert complaints(ViewFiles(bucket, WORKSPACE, None), NOW) == []
        shutil.rmtree(local / "counts")
        (local / "counts").mkdir()
        for listed in bucket.names(f"{WORKSPACE}/views/counts"):
            content = bucket.read(listed.key)
            assert content is not None
            (local / "counts" / listed.key.rpartition("/")[2]).write_bytes(content.data)
        (local / FILE).unlink()
        rebuild_file(ViewFiles(DirectoryObjects(tmp_path / "local"), WORKSPACE, local), now)
        assert counts_in(local) == expected(written)

"""From the spool into both sinks: once, whatever is killed, locked, torn or damaged on the way."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from engine.views.collecting.spool import SpoolFull, SpoolWriter, View
from engine.views.collecting.targets import Kind, jst_day
from engine.views.counting.count_rows import CountsDamaged
from engine.views.counting.counts import Counts, CountsFile
from engine.views.gathering.analysts_file import FILE, FileBusy, FileDamaged
from engine.views.gathering.spooled import writer_lock
from engine.views.gathering.writer import ViewWriter
from snapshots.store.durable import StoreError

NOW = 1_763_700_000_000
DAY = 86_400_000
ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("PARQUETRY_KILLS", "12"))
"""How often the writer is killed; more on demand."""


def random_views(count: int, seed: int, *, days: int = 5) -> list[View]:
    chance = random.Random(seed)
    return [
        View(
            NOW - chance.randrange(days) * DAY,
            (kind := chance.choice(list(Kind))),
            f"/p{chance.randrange(9)}" if kind is Kind.PATH else f"あe{chance.randrange(9)}",
            "acme.example",
        )
        for _ in range(count)
    ]


def expected(views: list[View]) -> Counter[tuple[str, str, int]]:
    return Counter((view.kind.value, view.key, jst_day(view.at)) for view in views)


def counts_in(views: Path) -> Counts:
    file = CountsFile(views)
    file.refresh()
    return file.counts


def check_counts(views: Path, written: list[View]) -> None:
    counts = counts_in(views)
    days = expected(written)
    for kind, key in {(view.kind, view.key) for view in written}:
        of_key = {day: n for (k, name, day), n in days.items() if (k, name) == (kind, key)}
        assert counts.total(kind, key) == sum(of_key.values())
        for since in range(jst_day(NOW) - 6, jst_day(NOW) + 2):
            recent = sum(n for day, n in of_key.items() if day >= since)
            assert counts.total_and_recent(kind, key, since) == (sum(of_key.values()), recent)
    assert counts.total(Kind.PATH, "/nothing") == counts.total(Kind.ENTRY, "") == 0
    entries = Counter(view.key for view in written if view.kind is Kind.ENTRY)
    table = counts.entry_totals.table().to_pydict()
    assert dict(zip(table["id"], table["total"], strict=True)) == entries


def check_file(views: Path, written: list[View]) -> None:
    with duckdb.connect(views / FILE, read_only=True) as connection:
        daily = "SELECT kind, key, day - DATE '1970-01-01', views FROM daily_counts"
        rows = connection.execute(daily).fetchall()
        assert len(rows) == len(expected(written))
        assert {row[:3]: row[3] for row in rows} == expected(written)
        raw = "SELECT epoch_ms(viewed_at), kind, key, origin FROM page_views"
        assert sorted(connection.execute(raw).fetchall()) == sorted(tuple(view) for view in written)
        assert connection.execute("SELECT count(*) FROM page_views WHERE day <> "
                                  "CAST(viewed_at + INTERVAL 9 HOUR AS DATE)").fetchone() == (0,)  # fmt: skip


def append(spool: SpoolWriter, views: list[View]) -> list[View]:
    for view in views:
        spool.append(view)
    return views


@pytest.fixture
def views(tmp_path: Path) -> Path:
    """The directory of a workspace's views, which is not made yet."""
    return tmp_path / "acme" / "views"


def test_a_place_that_cannot_be_taken_leaves_no_file_open(views: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def refused(descriptor: int, _: int) -> None:
        opened.append(descriptor)
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(StoreError):
        SpoolWriter(views, NOW)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_views_go_into_both_sinks_once_and_leave_the_spool(views: Path) -> None:
    writer = ViewWriter(views)
    one, two = SpoolWriter(views, NOW), SpoolWriter(views, NOW)
    written: list[View] = []
    for step in range(6):
        written += append(one, random_views(40, step)) + append(two, random_views(30, -step))
        one.seal()
        done = writer.round(NOW + step, step, flush=step % 2 == 1)
        assert done is not None
        two.seal()
        if step % 3 == 2:
            assert writer.round(NOW, step + 0.5) is not None
    writer.round(NOW, 6, flush=True)
    check_counts(views, written)
    check_file(views, written)
    assert not list(views.glob("spool/*/sealed-*"))
    one.close()
    two.close()
    writer.round(NOW, 7, flush=True)
    assert not list((views / "spool").iterdir())
    check_counts(views, written)
    check_file(views, written)


def test_days_are_folded_into_a_base_once(views: Path) -> None:
    spool, writer = SpoolWriter(views, NOW), ViewWriter(views)
    written: list[View] = []
    bases = set()
    for step in range(4):
        written += append(spool, [view._replace(at=view.at + step * DAY) for view in random_views(50, step)])
        spool.seal()
        writer.round(NOW + step * DAY, step, flush=True)
        writer.round(NOW + step * DAY, step, flush=True)
        [base] = (views / "counts").glob("base-*.parquet")
        bases.add(base.name)
        counts = counts_in(views)
        for (kind, key), total in Counter((view.kind, view.key) for view in written).items():
            assert counts.total(kind, key) == total
    assert len(bases) == 4
    writer.round(NOW - 30 * DAY, 5)  # a clock that is set back folds nothing
    assert [path.name for path in (views / "counts").glob("base-*.parquet")] == [base.name]
    check_file(views, written)
    spool.close()


def test_a_clock_that_is_set_on_and_back_loses_and_doubles_nothing(views: Path) -> None:
    writer = ViewWriter(views)
    written: list[View] = []
    for step, days in enumerate((0, 2, -1, 1, -3, 0)):
        now = NOW + days * DAY
        spool = SpoolWriter(views, now)  # a restart under a clock that says otherwise
        written += append(spool, [view._replace(at=now) for view in random_views(30, step)])
        spool.seal()
        writer.round(now, step, flush=step % 2 == 0)
        written += append(spool, [view._replace(at=now) for view in random_views(10, -step)])
        spool.close()
        writer.round(now, step + 0.5)
    writer.round(NOW, 10, flush=True)
    check_file(views, written)
    check_counts(views, written)
    assert not list((views / "spool").iterdir())


def test_old_days_are_in_the_totals_only(views: Path) -> None:
    spool = SpoolWriter(views, NOW)
    append(spool, [View(NOW - age * DAY, Kind.ENTRY, "one", "h") for age in (0, 1, 364, 365, 366, 400, 3000)])
    spool.seal()
    ViewWriter(views).round(NOW, 0)
    counts = counts_in(views)
    assert counts.total_and_recent(Kind.ENTRY, "one", jst_day(NOW) - 364) == (7, 3)
    spool.close()


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
def test_counts_are_read_part_by_part(views: Path, rows: int) -> None:
    spool = SpoolWriter(views, NOW)
    written = append(spool, random_views(300, rows, days=9))
    written += append(spool, [View(NOW - 400 * DAY, Kind.PATH, f"/p{n}", "acme.example") for n in range(0, 12, 2)])
    spool.close()
    ViewWriter(views).round(NOW - 500 * DAY, 0)  # before the days in it are over: all stay in one file
    file = views / "counts" / "today.parquet"
    pq.write_table(pq.read_table(file), file, row_group_size=rows)
    assert pq.ParquetFile(file).num_row_groups == -(-len(expected(written)) // rows)
    check_counts(views, written)


def test_a_worker_that_died_is_adopted_and_a_torn_line_dropped(views: Path) -> None:
    spool = SpoolWriter(views, NOW)
    written = append(spool, random_views(25, 1))
    [file] = views.glob("spool/*/open-1.ndjson")
    with file.open("ab") as torn:
        torn.write(b'[1763700000000,"path","/torn","acme.exam')
    writer = ViewWriter(views)
    writer.round(NOW, 0, flush=True)
    assert counts_in_or_nothing(views).total(Kind.PATH, "/p1") == 0  # the worker lives, and has not sealed
    os.close(spool._lock)  # what the end of its process does
    writer.round(NOW, 1, flush=True)
    check_counts(views, written)
    check_file(views, written)
    assert not list((views / "spool").iterdir())


@pytest.mark.parametrize(
    "line",
    [
        '[1763700000000,"entry","あ'.encode()[:-1],  # cut off by a full disk, in the middle of a letter
        b'[1763700000000,"path","/\xff","acme.example"]',
        bytes(40),
    ],
    ids=["cut off", "other bytes", "zeros"],
)
def test_a_line_that_is_no_text_keeps_no_other_from_counting(views: Path, line: bytes) -> None:
    spool = SpoolWriter(views, NOW)
    written = append(spool, random_views(5, 1))
    [file] = views.glob("spool/*/open-1.ndjson")
    with file.open("ab") as torn:
        torn.write(line + b"\n")
    written += append(spool, random_views(5, 2))
    spool.close()
    ViewWriter(views).round(NOW, 0, flush=True)
    check_counts(views, written)
    check_file(views, written)


def counts_in_or_nothing(views: Path) -> Counts:
    return counts_in(views) if (views / "counts").exists() else Counts()


@contextmanager
def held_open(file: Path) -> Iterator[None]:
    """Another program that has the analysts' file open."""
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield
        process.kill()


def test_counting_goes_on_while_an_analyst_holds_the_file(views: Path) -> None:
    spool, writer = SpoolWriter(views, NOW), ViewWriter(views)
    written = append(spool, random_views(50, 1))
    spool.seal()
    writer.round(NOW, 0, flush=True)
    with held_open(views / FILE):
        for step in range(3):
            written += append(spool, random_views(50, step))
            spool.seal()
            writer.round(NOW, 1200.0 * (step + 1))  # an hour in all
            check_counts(views, written)
        with pytest.raises(FileBusy, match="open in another program"):
            writer.round(NOW, 3610, flush=True)
        assert not list(views.glob("spool/*/sealed-*")), "the rows are in files, which the analysts' file lacks"
    writer.round(NOW, 3620)
    check_file(views, written)
    check_counts(views, written)
    assert not list(views.glob("spool/*/sealed-*"))
    spool.close()


def test_counting_goes_on_when_the_file_is_damaged(views: Path) -> None:
    spool, writer = SpoolWriter(views, NOW), ViewWriter(views)
    (views / FILE).write_bytes(random.Random(1).randbytes(30_000))
    written = append(spool, random_views(50, 1))
    spool.seal()
    writer.round(NOW, 0)
    check_counts(views, written)
    assert writer.complaint is not None
    with pytest.raises(FileDamaged, match="cms views rebuild file"):
        writer.round(NOW, 1, flush=True)
    (views / FILE).unlink()
    writer.round(NOW, 100)
    assert writer.complaint is None
    check_file(views, written)
    spool.close()


def test_damaged_counts_are_an_error_that_says_what_to_do(views: Path) -> None:
    spool, writer = SpoolWriter(views, NOW), ViewWriter(views)
    append(spool, random_views(5, 1))
    spool.seal()
    writer.round(NOW, 0)
    reader = CountsFile(views)
    reader.refresh()
    before = reader.counts
    (views / "counts" / "today.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(CountsDamaged, match="cms views rebuild counts"):
        writer.round(NOW, 1)
    with pytest.raises(CountsDamaged):
        reader.refresh()
    assert reader.counts is before
    spool.close()


def test_one_process_writes_at_a_time(views: Path) -> None:
    with writer_lock(views) as ours:
        assert ours
        assert ViewWriter(views).round(NOW, 0) is None
    assert ViewWriter(views).round(NOW, 0) is not None


def test_raw_rows_are_dropped_by_day_and_daily_counts_stay(views: Path) -> None:
    spool = SpoolWriter(views, NOW)
    written = append(spool, random_views(200, 1, days=10))
    spool.seal()
    ViewWriter(views, retention_days=3).round(NOW, 0, flush=True)
    kept = [view for view in written if jst_day(view.at) > jst_day(NOW) - 3]
    with duckdb.connect(views / FILE, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM page_views").fetchone() == (len(kept),)
        assert connection.execute("SELECT sum(views) FROM daily_counts").fetchone() == (len(written),)
    check_counts(views, written)
    spool.close()


def test_a_disk_that_refuses_is_an_error_and_the_next_view_stands_alone(views: Path) -> None:
    # A limit on the size of files is the full disk that every system has: the write comes back short.
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from engine.views.collecting.spool import *
from engine.views.collecting.targets import Kind
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
spool = SpoolWriter(Path(sys.argv[1]), {NOW})
view = View({NOW}, Kind.PATH, "/a", "acme.example")
spool.append(view)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
kept = 1
for _ in range(5):
    try:
        spool.append(view)
        kept += 1
    except SpoolFull as full:
        assert full.kept == 0
spool.seal()
try:
    spool.append(*[view] * 5)  # into a segment of its own, which has room for two
except SpoolFull as full:
    kept += full.kept
    assert full.kept == 2
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
spool.append(view)
spool.close()
print(kept + 1)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(views)], capture_output=True, text=True, check=True, timeout=60
    )
    assert 5 <= int(done.stdout) <= 6
    ViewWriter(views).round(NOW, 0)
    assert counts_in(views).total(Kind.PATH, "/a") == int(done.stdout)
    assert issubclass(SpoolFull, Exception)


KILLED = f"""
import json, os, signal, sys, traceback
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from engine.views.gathering.writer import ViewWriter
import duckdb, pyarrow.parquet, pyarrow.compute
left = 0
def count(event, arguments):
    global left
    if event in {{"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "fcntl.flock", "shutil.rmtree"}}:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
for line in sys.stdin:
    views, place, now = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    status = 1
    try:
        signal.alarm(60)
        left = place
        sys.addaudithook(count)
        ViewWriter(Path(views)).round(now, 0.0, flush=True)
        status = 0
    except BaseException:
        traceback.print_exc()
    os._exit(status)
"""
"""For each line, a process that is killed at a place of its round, or else ends it. What they need is imported once."""


@contextmanager
def killed_writers(views: Path) -> Iterator[Callable[[int, int], int]]:
    """A function that lets a process write at an instant and kills it at a call: how the process ended."""
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        orders, ends = process.stdin, process.stdout

        def write(place: int, now: int) -> int:
            orders.write(json.dumps([str(views), place, now]) + "\n")
            orders.flush()
            return int(ends.readline())

        yield write


def test_a_writer_that_is_killed_anywhere_counts_nothing_twice(views: Path) -> None:
    chance = random.Random(time.time_ns())
    spool = SpoolWriter(views, NOW)
    written: list[View] = []
    kills = 0
    with killed_writers(views) as write:
        for step in range(KILLS):
            now = NOW + step * DAY // 3
            written += append(spool, [view._replace(at=view.at + step * DAY // 3) for view in random_views(20, step)])
            spool.seal()
            died = SpoolWriter(views, now)
            written += append(died, random_views(10, step))
            os.close(died._lock)
            status = write(chance.randint(1, 45), now)
            kills += status == -signal.SIGKILL
            assert status in (0, -signal.SIGKILL)
    assert kills >= KILLS // 3
    ViewWriter(views).round(NOW + KILLS * DAY // 3, 0.0, flush=True)
    check_file(views, written)
    counts = counts_in(views)
    for (kind, key), total in Counter((view.kind, view.key) for view in written).items():
        assert counts.total(kind, key) == total
    spool.close()

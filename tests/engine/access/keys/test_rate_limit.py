"""The sliding window, in memory and in the shared file: the same answers as a list of instants would give."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.access.keys import rate_limit_local
from engine.access.keys.rate_limit import Allowance, MemoryWindows, window_name
from engine.access.keys.rate_limit_local import LocalWindows, WindowsUnavailable
from tests.generated.budget import RANDOM, TIMES
from tests.programs.copied_process import ROOT
from tests.stores.small_disk import small_disk

NOW = 1_800_000_000_000
KEY = window_name("acme", "key_1")
Windows = MemoryWindows | LocalWindows
Opened = Callable[[], Windows]


@pytest.fixture(params=["memory", "file"])
def windows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Windows]:
    if request.param == "memory":
        yield MemoryWindows()
        return
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        yield windows


class Model:
    """The window as contract 8 has it, one list of instants, nothing ever forgotten."""

    def __init__(self) -> None:
        self.granted: list[int] = []

    def take(self, limit: int, now: int) -> tuple[bool, int, int]:
        live = [instant for instant in self.granted if instant > now - 60_000]
        allowed = len(live) < limit
        if allowed:
            self.granted.append(now)
            live.append(now)
        missing = max(0, len(live) - limit)
        return allowed, max(0, limit - len(live)), live[missing] + 60_000 - now


def told(allowance: Allowance) -> tuple[bool, int, int]:
    return allowance.allowed, allowance.remaining, allowance.reset


def test_three_hundred_in_any_sixty_seconds(windows: Windows) -> None:
    first = windows.take(KEY, 300, NOW)
    assert told(first) == (True, 299, 60_000)
    assert first.reset_seconds == 60
    for number in range(1, 300):
        assert told(windows.take(KEY, 300, NOW + number * 100)) == (True, 299 - number, 60_000 - number * 100)
    refused = windows.take(KEY, 300, NOW + 30_000)
    assert told(refused) == (False, 0, 30_000)
    assert refused.retry_after == 30
    last = windows.take(KEY, 300, NOW + 59_999)
    assert told(last) == (False, 0, 1)
    assert last.retry_after == 1
    assert told(windows.take(KEY, 300, NOW + 60_000)) == (True, 0, 100)
    assert told(windows.take(KEY, 300, NOW + 60_000)) == (False, 0, 100)
    assert told(windows.take(window_name("acme", "key_2"), 300, NOW + 60_000)) == (True, 299, 60_000)


def test_what_is_refused_is_not_counted(windows: Windows) -> None:
    """A client that never stops asking gets its limit in every window all the same."""
    granted = [windows.take(KEY, 5, NOW + step).allowed for step in range(0, 300_000, 100)]
    assert sum(granted) == 5 * 5


def test_a_limit_that_changes_is_in_force_at_once(windows: Windows) -> None:
    for number in range(10):
        assert windows.take(KEY, 10, NOW + number * 1000).allowed
    assert told(windows.take(KEY, 4, NOW + 20_000)) == (False, 0, 46_000)  # the seventh of ten has to leave
    assert told(windows.take(KEY, 4, NOW + 66_000)) == (True, 0, 1000)
    assert told(windows.take(KEY, 6, NOW + 66_000)) == (True, 1, 1000)


def test_what_is_given_back_can_be_had_again(windows: Windows) -> None:
    windows.give_back(KEY)
    for number in range(300):
        windows.take(KEY, 300, NOW + number)
    for number in range(300):
        windows.give_back(KEY)
        assert windows.take(KEY, 300, NOW + 300 + number).allowed
        assert not windows.take(KEY, 300, NOW + 300 + number).allowed
    for _ in range(301):
        windows.give_back(KEY)
    assert told(windows.take(KEY, 300, NOW + 700)) == (True, 299, 60_000)


def test_a_clock_set_back_neither_opens_nor_locks_for_long(windows: Windows) -> None:
    for _ in range(3):
        assert windows.take(KEY, 3, NOW).allowed
    back = windows.take(KEY, 3, NOW - 50_000)
    assert told(back) == (False, 0, 60_000)
    assert not windows.take(KEY, 3, NOW + 59_999).allowed
    assert windows.take(KEY, 3, NOW - 3_600_000).allowed
    assert windows.take(KEY, 3, NOW - 3_600_000).remaining == 1


@settings(RANDOM, max_examples=30 * TIMES)
@given(data=st.data())
def test_the_same_as_the_model(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    limits = data.draw(st.lists(st.sampled_from([1, 2, 3, 127, 128, 129, 300, 1000]), min_size=1, max_size=3))
    busiest = data.draw(st.sampled_from([0, 1, 150, 400, 20_000]))
    directory = tmp_path_factory.mktemp("windows")
    now = NOW
    keys = [window_name("acme", str(number)) for number in range(2)]
    models = {key: (Model(), MemoryWindows()) for key in keys}
    with closing(LocalWindows(directory, now=now)) as local:
        for step in range(700):
            now += chance.randint(0, busiest) if step % 200 else chance.randint(0, 90_000)
            key, limit = chance.choice(keys), chance.choice(limits)
            model, memory = models[key]
            expected = model.take(limit, now)
            assert told(local.take(key, limit, now)) == expected
            assert told(memory.take(key, limit, now)) == expected
    for file in directory.iterdir():
        file.unlink()


def test_what_was_counted_is_there_after_a_restart(tmp_path: Path) -> None:
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        for _ in range(200):
            windows.take(KEY, 300, NOW)
    with closing(LocalWindows(tmp_path, now=NOW + 1000)) as windows:
        assert windows.take(KEY, 300, NOW + 1000).remaining == 99
    with closing(LocalWindows(tmp_path, now=NOW + 70_000)) as windows:
        assert windows.take(KEY, 300, NOW + 70_000).remaining == 299


def test_a_start_of_the_machine_begins_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not written to disk before a power cut may be torn: nothing of it is read."""
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        windows.take(KEY, 300, NOW)
    old = sorted(tmp_path.iterdir())
    monkeypatch.setattr(rate_limit_local, "_boot_id", lambda: "another")
    now = old[0].stat().st_mtime_ns // 1_000_000
    with closing(LocalWindows(tmp_path, now=now)) as windows:
        assert windows.take(KEY, 300, now).remaining == 299
    assert set(old) < set(tmp_path.iterdir()), "another machine that shares the directory may be using them"
    monkeypatch.setattr(rate_limit_local, "_boot_id", lambda: "third")
    now += 2 * 86_400_000
    LocalWindows(tmp_path, now=now).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["windows-third.lock", "windows-third.mdb"]


@pytest.mark.parametrize("damage", [b"", b"not a database" * 1000, b"\x00" * 100_000])
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    LocalWindows(tmp_path, now=NOW).close()
    (file,) = tmp_path.glob("*.mdb")
    file.write_bytes(damage)
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        assert windows.take(KEY, 300, NOW).remaining == 299


def test_a_busy_file_lets_go_of_what_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit_local, "MAP_BYTES", 1 << 20)
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        for number in range(20_000):  # some 1,500 keys in every window, far more in all
            name = window_name("acme", str(number))
            assert windows.take(name, 2, NOW + number * 40).remaining == 1
            assert windows.take(name, 2, NOW + number * 40).remaining == 0
            assert not windows.take(name, 2, NOW + number * 40).allowed


def test_a_full_file_is_replaced_when_it_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit_local, "MAP_BYTES", 1 << 20)
    with closing(LocalWindows(tmp_path, now=NOW)) as windows, pytest.raises(WindowsUnavailable, match="MDB_MAP_FULL"):
        _fill(windows)
    with closing(LocalWindows(tmp_path, now=NOW + 60_000)) as windows:
        assert windows.take(KEY, 300, NOW).remaining == 299


def _fill(windows: LocalWindows) -> None:
    for number in range(20_000):
        windows.take(window_name("acme", str(number)), 300, NOW)


def test_a_file_that_was_taken_away_is_noticed(tmp_path: Path) -> None:
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        (file,) = tmp_path.glob("*.mdb")
        other = tmp_path / "other"
        other.write_bytes(file.read_bytes())
        other.replace(file)
        with pytest.raises(WindowsUnavailable, match="was replaced"):
            _fill(windows)


def test_the_room_is_reserved_for_good(tmp_path: Path) -> None:
    """A map over a file with holes would end the process when the disk is full."""
    LocalWindows(tmp_path, now=NOW).close()
    (file,) = tmp_path.glob("*.mdb")
    assert file.stat().st_size == rate_limit_local.MAP_BYTES
    assert file.stat().st_blocks * 512 >= rate_limit_local.MAP_BYTES - 65536
    assert file.stat().st_mode & 0o077 == 0


def test_room_for_three_thousand_busy_keys(tmp_path: Path) -> None:
    chance = random.Random(1)
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        keys = [window_name("acme", str(number)) for number in range(300)]
        for step in range(300 * 300):
            assert windows.take(chance.choice(keys), 400, NOW + step // 100).allowed or step > 80_000
        used = windows._environment.info()["last_pgno"] * 4096
    assert used * 10 < rate_limit_local.MAP_BYTES


def test_a_folder_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WindowsUnavailable, match=r"cannot be used: .*File exists"):
        LocalWindows(tmp_path / "file", now=NOW)


STOPPED = """
import os, signal, sys
from pathlib import Path
from engine.access.keys.rate_limit_local import LocalWindows
windows = LocalWindows(Path(sys.argv[1]), now=0)
with windows._guard:
    print("locked", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_worker_that_was_stopped_does_not_stop_the_others(tmp_path: Path) -> None:
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        stopped = subprocess.Popen(
            [sys.executable, "-c", STOPPED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert stopped.stdout is not None
            assert stopped.stdout.readline() == "locked\n"
            os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
            with pytest.raises(WindowsUnavailable, match=r"was not free for 1\.0 s"):
                windows.take(KEY, 300, NOW)
        finally:
            stopped.kill()
            stopped.communicate()
        assert windows.take(KEY, 300, NOW).allowed, "a killed one holds nothing"


TAKE_ON_A_FULL_DISK = """
import sys
from contextlib import closing
from pathlib import Path
from engine.access.keys.rate_limit import window_name
from engine.access.keys.rate_limit_local import LocalWindows, WindowsUnavailable
from tests.stores.small_disk import fill
disk, first_step = Path(sys.argv[1]), sys.argv[2]
if first_step == "fill first":
    fill(disk)
try:
    with closing(LocalWindows(disk / "limits", now=0)) as windows:
        if first_step == "open first":
            fill(disk)
        for number in range(5_000):
            windows.take(window_name("acme", str(number % 50)), 300, number)
except WindowsUnavailable as error:
    sys.exit(f"unavailable: {error}")
"""
"""In a process of its own, which writing to a byte without a place would end."""


def _on_a_full_disk(disk: Path, first_step: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", TAKE_ON_A_FULL_DISK]
    return subprocess.run([*command, str(disk), first_step], capture_output=True, text=True, check=False, cwd=ROOT)


def test_counting_goes_on_when_the_disk_becomes_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 20 << 20) as disk:
        ended = _on_a_full_disk(disk, "open first")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_disk_that_is_full_from_the_start_is_an_error(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 20 << 20) as disk:
        ended = _on_a_full_disk(disk, "fill first")
        assert not list(disk.glob("limits/*.new")), "what could not be completed is left"
    assert ended.returncode == 1
    assert ended.stderr.startswith("unavailable: ")


@pytest.mark.parametrize("room", [True, False])
def test_a_file_with_holes_is_filled_or_not_used(tmp_path: Path, room: bool) -> None:
    """As earlier versions left one, behind the first two pages."""
    with small_disk(tmp_path / "disk", 40 << 20) as disk:
        LocalWindows(disk / "limits", now=0).close()
        (file,) = (disk / "limits").glob("*.mdb")
        held = file.read_bytes()
        file.unlink()
        with file.open("wb") as sparse:
            sparse.write(held[:8192])
            sparse.seek(len(held) - 1)
            sparse.write(held[-1:])
        ended = _on_a_full_disk(disk, "open first" if room else "fill first")
    assert ended.returncode == (0 if room else 1)
    assert ended.stderr == "" if room else ended.stderr.startswith("unavailable: ")


def test_a_file_that_is_cut_off_is_not_read_and_made_anew(tmp_path: Path) -> None:
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        windows.take(KEY, 300, NOW)
        (file,) = tmp_path.glob("*.mdb")
        os.truncate(file, 8192)
        with pytest.raises(WindowsUnavailable, match="was cut off"):
            windows.take(KEY, 300, NOW)
        with pytest.raises(WindowsUnavailable, match="was cut off"):
            windows.give_back(KEY)
    with closing(LocalWindows(tmp_path, now=NOW)) as windows:
        assert windows.take(KEY, 300, NOW).remaining == 299

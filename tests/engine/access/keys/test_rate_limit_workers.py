"""Several processes asking for one key: exactly the limit in any window, also while processes are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from bisect import bisect_left
from contextlib import closing
from pathlib import Path

import pytest

from engine.access.keys.rate_limit import window_name
from engine.access.keys.rate_limit_local import LocalWindows
from snapshots.times import now_ms
from tests.programs.copied_process import ROOT

LIMIT = 40
WINDOW = 250
"""Milliseconds, so that a short test sees many of them."""
KILLS = 8
MANY = 10_000_000
KEY = window_name("acme", "key_1")
ASK = f"""
import sys, time
from pathlib import Path
from engine.access.keys.rate_limit_local import LocalWindows
from snapshots.times import now_ms
directory, limit, window, lasting = Path(sys.argv[1]), *map(int, sys.argv[3:])
windows = LocalWindows(directory, now=now_ms(), window=window)
longest = 0
with open(sys.argv[2], "w", buffering=1) as granted:
    print("ready", flush=True)
    sys.stdin.readline()
    until = now_ms() + lasting
    while (now := now_ms()) < until:
        allowed = windows.take(bytes.fromhex("{KEY.hex()}"), limit, now).allowed
        longest = max(longest, now_ms() - now)
        if allowed:
            granted.write(f"{{now}} {{now_ms()}}\\n")
        else:
            time.sleep(0.0005)
print(longest)
"""
"""Prints how long one request took at most, in milliseconds."""


def asking(
    directory: Path, log: Path, lasting: int, *, limit: int = LIMIT, window: int = WINDOW
) -> subprocess.Popen[str]:
    """A process that asks for so many milliseconds and notes when it was let through: before, after.

    It pauses for half a millisecond after each refusal only, and begins when it is told to.
    """
    arguments = [str(directory), str(log), str(limit), str(window), str(lasting)]
    return subprocess.Popen(
        [sys.executable, "-c", ASK, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def started(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("begin\n")


def granted(logs: list[Path]) -> list[tuple[int, int]]:
    lines = [line for log in logs for line in log.read_text().split("\n")[:-1]]
    return sorted((int(before), int(after)) for before, after in (line.split(" ") for line in lines))


def most_in_a_window(requests: list[tuple[int, int]]) -> int:
    """The most requests that were let through within one window, whatever the order of the processes' notes."""
    ends = sorted(after for _, after in requests)
    return max(bisect_left(ends, before + WINDOW) - index for index, (before, _) in enumerate(requests))


@pytest.mark.slow
def test_any_window_holds_exactly_the_limit(tmp_path: Path) -> None:
    for attempt in range(5):
        logs = [tmp_path / f"log-{attempt}-{number}" for number in range(3)]
        processes = [asking(tmp_path / f"windows-{attempt}", log, 1750) for log in logs]
        started(processes)
        longest = max(int(process.communicate()[0]) for process in processes)
        assert {process.returncode for process in processes} == {0}
        # A request that the machine held up for a whole window comes as if the clock had been set back, which begins a
        # new one. No request is held up for the 60 s of a real one.
        if longest < WINDOW:
            break
    requests = granted(logs)
    assert most_in_a_window(requests) <= LIMIT
    # Asked again at once, each window is used up to the last request.
    spans = (requests[-1][1] - requests[0][0]) // WINDOW
    assert spans >= 4, "each window opens again"
    assert len(requests) >= spans * LIMIT
    assert sum(1 for log in logs if granted([log])) >= 2


@pytest.mark.slow
def test_killing_processes_at_any_instant_loses_and_invents_nothing(tmp_path: Path) -> None:
    chance = random.Random(1)
    directory = tmp_path / "windows"
    logs = [tmp_path / "steady"]
    steady = asking(directory, logs[0], 60_000, limit=MANY, window=60_000)
    try:
        started([steady])
        for _ in range(KILLS):
            logs.append(tmp_path / f"log-{len(logs)}")
            process = asking(directory, logs[-1], 60_000, limit=MANY, window=60_000)
            started([process])
            time.sleep(chance.uniform(0.002, 0.02))
            process.kill()
            process.communicate()
        assert steady.poll() is None, "the others go on"
    finally:
        steady.kill()
        steady.communicate()
    with closing(LocalWindows(directory, now=now_ms())) as windows:
        counted = MANY - windows.take(KEY, MANY, now_ms()).remaining - 1
    noted = len(granted(logs))
    assert noted > 1000
    # A kill may fall between a request's being counted and its being noted: one at most for each process.
    assert noted <= counted <= noted + len(logs)

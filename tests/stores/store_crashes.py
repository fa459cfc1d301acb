"""Processes that work on one store and die.

``python -m tests.stores.store_crashes DIRECTORY MODE...`` prints each mode that it tries, and exits 0 when all hold.
A program of its own because it forks: its children import nothing and start nothing, so hundreds of them
cost seconds. They are ended by real SIGKILLs.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NoReturn

import pyarrow.parquet  # noqa: F401 - before the forks, as it takes locks of its own to load

from snapshots.columns import FileKind
from snapshots.store.current import ActivationConflict, Current
from snapshots.store.manifest import DataFile
from snapshots.store.staging import VersionExists
from snapshots.store.store import WorkspaceStore, open_store
from tests.stores.store_content import BLOG, ONE_ENTRY, Row, manifest_of, publish, version_at, write_rows

RANDOM_KILLS = 40
RACES = 10
ACTIVATIONS = 10


def main() -> None:
    directory, *modes = sys.argv[1:]
    for mode in modes:
        print(mode, flush=True)  # before the forks, which would print it again
        MODES[mode](open_store(f"{directory}/{mode}").workspace("acme"))


def killed_at_every_step(target: WorkspaceStore) -> None:
    """Kill a build right before each of its steps that the interpreter reports, one after the other."""
    first = publish_first(target)
    step = 0
    finished = False
    while not finished:
        step += 1
        before = target.current()
        status = forked(partial(build, target, first, 10 + step, die_at=step))
        finished = status == 0
        assert finished or os.WTERMSIG(status) == signal.SIGKILL, status
        check_whole(target, before)
        target.prune(2)  # else every killed build would leave the next one more steps than it lives for
    print(step - 1, "steps")
    assert step > 40, "the build reported no steps to be killed at"
    check_clean_after_next_build(target, first)


def killed_at_random(target: WorkspaceStore) -> None:
    """Kill processes that build without a pause."""
    first = publish_first(target)
    generator = random.Random(20261101)
    moved, unmoved, patience = 0, 0, 1
    for turn in range(RANDOM_KILLS):
        before = target.current()
        child = os.fork()
        if child == 0:
            for number in range(1000):
                build(target, first, 10 + turn * 1000 + number)
            os._exit(9)
        time.sleep(generator.uniform(0.001, 0.04) * patience)
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        check_whole(target, before)
        has_moved = target.current() != before
        moved, unmoved = moved + has_moved, 0 if has_moved else unmoved + 1
        if unmoved == 5:  # the machine is busy
            unmoved, patience = 0, min(2 * patience, 64)
    print(moved, "of", RANDOM_KILLS, "moved current")
    assert moved, "no child lived to activate a version"
    check_clean_after_next_build(target, first)


def activating_at_once(target: WorkspaceStore) -> None:
    """Two processes that expect the same current version: one moves it, the other is told."""
    publish_first(target)
    for turn in range(RACES):
        numbers = (2 + 2 * turn, 3 + 2 * turn)
        for number in numbers:
            publish(target, number)
        before = target.current()
        assert before is not None
        start = time.monotonic() + 0.02

        def attempt(number: int, *, expected: str = before.version, start: float = start) -> None:
            while time.monotonic() < start:
                pass
            try:
                target.activate(version_at(number), expected=expected, by="racer", now=number)
            except ActivationConflict as conflict:
                os._exit(3 if conflict.expected == expected != conflict.found else 4)

        codes = [os.waitstatus_to_exitcode(status) for status in together(attempt, numbers)]
        assert sorted(codes) == [0, 3], codes
        after = target.current()
        assert after is not None
        assert after.version == version_at(numbers[codes.index(0)])
        assert after.previous[0] == before.version
        target.prune(2)


def no_activation_lost(target: WorkspaceStore) -> None:
    """Four processes that move ``current`` again and again: every move is in the history, once."""
    publish_first(target)
    for number in range(100, 104):
        for turn in range(2):
            publish(target, number * 10 + turn)

    def move(number: int) -> None:
        done = 0
        while done < ACTIVATIONS:
            found = target.current()
            assert found is not None
            with contextlib.suppress(ActivationConflict):
                version = version_at(number * 10 + done % 2)
                target.activate(version, expected=found.version, by="racer", now=done)
                done += 1

    assert together(move, range(100, 104)) == [0] * 4
    current = target.current()
    assert current is not None
    history = (current.version, *current.previous)
    assert len(history) == 4 * ACTIVATIONS + 1, len(history)
    for number in range(100, 104):
        mine = {version_at(number * 10), version_at(number * 10 + 1)}
        own = [version for version in reversed(history) if version in mine]
        assert own == [version_at(number * 10 + turn % 2) for turn in range(ACTIVATIONS)], own


def publishing_at_once(target: WorkspaceStore) -> None:
    """Two processes that publish one version: one does, the other is told, and nothing is mixed."""
    publish_first(target)
    for turn in range(RACES):
        start = time.monotonic() + 0.02

        def attempt(rows: int, *, number: int = 2 + turn, start: float = start) -> None:
            try:
                with target.stage(version_at(number)) as staging:
                    files = [write_rows(staging.directory, *ONE_LANGUAGE, [Row(f"r{n}") for n in range(rows)])]
                    while time.monotonic() < start:
                        pass
                    target.publish(staging, manifest_of(version_at(number), files))
            except VersionExists:
                os._exit(3)

        codes = [os.waitstatus_to_exitcode(status) for status in together(attempt, (1, 2))]
        assert sorted(codes) == [0, 3], codes
        assert target.manifest(version_at(2 + turn)).entries == 1 + codes.index(0)
        assert target.verify(version_at(2 + turn)) == []
        assert hidden(target) == []


def staging_while_others_sweep(target: WorkspaceStore) -> None:
    """A build at work is left alone by prunes and builds; once it is killed, the next one clears up."""
    first = publish_first(target)
    ready, tell = os.pipe()
    go, begin = os.pipe()

    def wait_inside(number: int) -> None:
        with target.stage(version_at(number)) as staging:
            files = [write_rows(staging.directory, *where, rows) for where, rows in ONE_ENTRY.items()]
            os.write(tell, b"x")
            os.read(go, 1)
            target.publish(staging, manifest_of(version_at(number), files))

    for number, sweeper in enumerate((None, "prune", "stage"), start=50):
        child = os.fork()
        if child == 0:
            _run(partial(wait_inside, number))
        os.read(ready, 1)
        build(target, first, 10 + number)
        target.prune(2)
        assert len(hidden(target)) == 2, hidden(target)
        if sweeper is None:
            os.write(begin, b"x")
            assert os.waitpid(child, 0)[1] == 0
            assert target.verify(version_at(number)) == []
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            assert len(hidden(target)) == 2, hidden(target)
        if sweeper == "prune":
            target.prune(2)
        elif sweeper == "stage":
            with target.stage(version_at(99)) as staging:
                assert hidden(target) == [staging.directory.name, f"{staging.directory.name}.lock"]
        assert hidden(target) == []


def build(target: WorkspaceStore, first: DataFile, number: int, *, die_at: int | None = None) -> None:
    """What a build does to a store: link an old file, write a new one, publish, activate, drop old versions."""
    if die_at is not None:
        die_before(die_at)
    before = target.current()
    assert before is not None
    with target.stage(version_at(number)) as staging:
        linked = staging.directory / first.path
        linked.parent.mkdir(parents=True)
        linked.hardlink_to(target.path(before.version, first.path))
        copied = staging.directory / "en/blog/all.parquet"
        copied.parent.mkdir(parents=True)
        copied.write_bytes(target.path(before.version, "en/blog/all.parquet").read_bytes())
        other = next(file for file in target.manifest(before.version).files if file.lang == "en")
        target.publish(staging, manifest_of(version_at(number), [first, other]))
    target.activate(version_at(number), expected=before.version, by="builder", now=number)
    target.prune(2)


def die_before(step: int) -> None:
    """SIGKILL this process right before the ``step``-th call that opens, creates, renames, links or removes."""
    seen = 0

    def count(event: str, _arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event == "open" or event.startswith(("os.", "fcntl.", "shutil.")):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


ONE_LANGUAGE = (BLOG, "ja", FileKind.PUBLISHED)


def publish_first(target: WorkspaceStore) -> DataFile:
    """A current version with two files; returns the one that later versions link."""
    content = {ONE_LANGUAGE: [Row("hello")], (BLOG, "en", FileKind.PUBLISHED): [Row("hello"), Row("again")]}
    manifest = publish(target, 1, content)
    target.activate(version_at(1), expected=None, by="tester", now=1)
    return manifest.files[0]


def check_whole(target: WorkspaceStore, before: Current | None) -> None:
    """Every listed version is whole, and ``current`` is what it was or what a build made it, history included."""
    assert before is not None
    for version in target.versions():
        assert target.verify(version) == [], (version, target.verify(version))
    after = target.current()
    assert after is not None
    assert target.has(after.version)
    if after == before:
        return
    history = (after.version, *after.previous)
    assert before.version in history or len(history) > 50, (before, after)
    assert len(set(history)) == len(history)
    assert list(history) == sorted(history, reverse=True)
    assert after.activated_by == "builder"


def check_clean_after_next_build(target: WorkspaceStore, first: DataFile) -> None:
    """The next build removes what the killed ones left."""
    build(target, first, 900_000)
    check_whole(target, target.current())
    assert hidden(target) == [], hidden(target)


def hidden(target: WorkspaceStore) -> list[str]:
    return sorted(path.name for path in target.directory.rglob(".*") if path.name != ".lock")


def forked(work: Callable[[], None]) -> int:
    """Run ``work`` in a child; return its wait status, 0 when it came to its end."""
    child = os.fork()
    if child == 0:
        _run(work)
    return os.waitpid(child, 0)[1]


def together(work: Callable[[int], None], numbers: range | tuple[int, ...]) -> list[int]:
    """Run ``work`` for each number in a child of its own, at once; return the wait statuses in order."""
    children = []
    for number in numbers:
        child = os.fork()
        if child == 0:
            _run(partial(work, number))
        children.append(child)
    return [os.waitpid(child, 0)[1] for child in children]


def _run(work: Callable[[], None]) -> NoReturn:
    try:
        work()
    except BaseException as error:
        print("child:", repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


MODES: dict[str, Callable[[WorkspaceStore], None]] = {
    function.__name__: function
    for function in (
        killed_at_every_step,
        killed_at_random,
        activating_at_once,
        no_activation_lost,
        publishing_at_once,
        staging_while_others_sweep,
    )
}

if __name__ == "__main__":
    main()

"""Jobs for a build's processes: done in order, one after another where they say so, and all over when one fails."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest

from snapshots.build.workers import BuildWorkers, Job, JobProgress

SECONDS = 0.1
MANY = 60
"""Jobs that take seconds together, so that one that fails is noticed before all are done."""
FREED_BYTES = 48 << 20
"""More than the C library keeps by itself."""
PAGE_BYTES = 4096


def nothing() -> None:
    """What the processes begin with."""


def append(to: tuple[Path, str]) -> str:
    path, text = to
    with path.open("a") as file:
        file.write(text)
    return text


def slowly(path: Path) -> None:
    time.sleep(SECONDS)
    path.touch()


def fail(path: Path) -> None:
    raise ValueError(path.name)


def test_a_job_begins_when_the_one_it_waits_for_is_done(tmp_path: Path) -> None:
    place = tmp_path / "text"
    first = Job("first", append, (place, "a"), 1)
    second = Job("second", append, (place, "b"), 2, first)
    third = Job("third", append, (place, "c"), 3, second)
    told: list[tuple[str, int, int]] = []
    jobs = [third, second, first]
    counted = JobProgress([first, second, third], lambda *progress: told.append(progress))
    with BuildWorkers(nothing, ()) as workers:
        workers.run_jobs(jobs, counted.add)
    assert place.read_text() == "abc"
    assert [job.result for job in jobs] == ["c", "b", "a"]
    assert told[0] == ("first", 0, 1)
    assert told[-1] == ("third", 3, 3)
    assert [step for step, _, _ in told] == sorted(step for step, _, _ in told)


def test_nothing_is_at_work_any_more_when_a_job_has_failed(tmp_path: Path) -> None:
    jobs = [Job("", fail, tmp_path / "why", 1), *(Job("", slowly, tmp_path / str(n), 1) for n in range(MANY))]
    with BuildWorkers(nothing, ()) as workers:
        with pytest.raises(ValueError, match="why"):
            workers.run_jobs(jobs, lambda _: None)
        done = sorted(tmp_path.iterdir())
        time.sleep(2 * SECONDS)
        assert sorted(tmp_path.iterdir()) == done
        assert len(done) < MANY
        assert workers.run(append, [(tmp_path / "text", "a")], lambda _: 1, lambda _done, _total: None) == ["a"]


def begun_with(_: None) -> tuple[str, str | None, int]:
    """Arrow's pool and the C library's settings here, and how many pages it takes to have freed memory again."""
    import pyarrow as pa

    faults = 0
    for _again in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        bytearray(FREED_BYTES)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return pa.default_memory_pool().backend_name, os.environ.get("GLIBC_TUNABLES"), faults


@pytest.fixture
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "confstr_names") or "CS_GNU_LIBC_VERSION" not in os.confstr_names:
        pytest.skip("needs the GNU C library")
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)


def begin() -> tuple[str, str | None, int]:
    with BuildWorkers(nothing, ()) as workers:
        [found] = workers.run(begun_with, [None], lambda _: 1, lambda _done, _total: None)
    return found


@pytest.mark.usefixtures("nothing_set")
def test_the_processes_keep_the_memory_they_free() -> None:
    before = dict(os.environ)
    pool, settings, faults = begin()
    assert pool == "system"
    assert settings is not None
    assert faults < FREED_BYTES // PAGE_BYTES // 10
    assert dict(os.environ) == before


@pytest.mark.usefixtures("nothing_set")
@pytest.mark.parametrize(
    ("name", "value"), [("GLIBC_TUNABLES", "glibc.malloc.arena_max=2"), ("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")]
)
def test_what_the_user_says_of_memory_holds(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, _, _ = begun_with(None)
    monkeypatch.setenv(name, value)
    pool, settings, _ = begin()
    assert pool == ("jemalloc" if name == "ARROW_DEFAULT_MEMORY_POOL" else usual)
    assert settings == (value if name == "GLIBC_TUNABLES" else None)
    assert os.environ[name] == value

"""A store's caches made ahead of the server: by another process, of the current versions, and never in its way."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.read.files.paths import cache_paths
from engine.read.materialise.prewarm import make
from engine.read.reader.reader import open_reader
from snapshots.store.durable import locked
from tests.sites.served_site import DEADLINE, Site

WAIT = """
import sys
from engine.read.materialise.prewarm import making_ahead
from snapshots.store.store import open_store
with making_ahead(open_store(sys.argv[1])):
    print("begun", flush=True)
    sys.stdin.read()
print("over", flush=True)
"""


@contextmanager
def made_ahead(site: Site) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a block of ``making_ahead``, which ends when its standard input does."""
    command = [sys.executable, "-c", WAIT, str(site.store.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        yield process


def caches(site: Site) -> list[str]:
    """The versions whose parts are all made."""
    return sorted(path.name for path in cache_paths(site.store.cache, site.workspace).versions.glob("*"))


def inodes(site: Site) -> dict[str, int]:
    """The files of parts, all three of each."""
    made = cache_paths(site.store.cache, site.workspace).parts.glob("*/*")
    return {str(path): path.stat().st_ino for path in made}


def wait_for(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def making(parent: int) -> list[int]:
    """The processes at work ahead of one; those that ended and were not waited for are none of them."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listed.splitlines())
    return [int(pid) for pid, began, state in rows if int(began) == parent and not state.startswith("Z")]


def alive(process: int) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is made ahead but on Linux")


def test_the_current_version_is_made_by_another_process(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("old")
    version = site.publish("new")
    with made_ahead(site) as process:
        wait_for(lambda: caches(site))
        wait_for(lambda: not making(process.pid))
        ended = subprocess.run(["ps", "--ppid", str(process.pid)], capture_output=True, text=True, check=False).stdout
        assert "defunct" not in ended
    assert caches(site) == [version]
    made = inodes(site)
    assert made
    reader = open_reader(site.place.snapshots / version, site.place.manifest(version), site.store.cache)
    reader.close()
    assert inodes(site) == made


def test_no_process_is_started_where_nothing_is_to_be_made(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with made_ahead(site) as process:  # nothing is current yet
        assert making(process.pid) == []
    site.publish("new")
    make(site.store)
    with made_ahead(site) as process:
        assert making(process.pid) == []


def test_a_server_starts_all_the_same_where_no_process_can(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("new")
    refused = "os.fork = lambda: os.read(os.eventfd(0, os.EFD_NONBLOCK), 8)\nwith making"  # EAGAIN, as from fork
    program = WAIT.replace("import sys", "import os, sys").replace("with making", refused)
    command = [sys.executable, "-c", program, str(site.store.root)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("begun\nover\n", "", 0)


def test_it_is_over_with_the_block_and_with_whoever_began_it(tmp_path: Path) -> None:
    site = Site(tmp_path)
    version = site.publish("new")
    (site.store.cache / "acme").mkdir(parents=True)
    with locked(site.store.cache / "acme" / "making.lock"):  # so that it has to wait
        with made_ahead(site) as process:
            [waiting] = making(process.pid)
            assert process.stdin is not None
            process.stdin.close()
            assert process.stdout is not None
            assert process.stdout.readline() == b"over\n"
            assert not alive(waiting)
        assert process.returncode == 0
        with made_ahead(site) as process:
            [waiting] = making(process.pid)
            process.kill()
            process.wait()
        wait_for(lambda: not alive(waiting))
    assert caches(site) == []
    make(site.store)
    assert caches(site) == [version]


def test_what_cannot_be_made_is_left_to_the_server(tmp_path: Path) -> None:
    broken, sound = Site(tmp_path, "broken"), Site(tmp_path, "sound")
    version = broken.publish("new")
    [data] = (broken.place.snapshots / version / "en").glob("posts/*.parquet")
    data.chmod(0o644)
    data.write_bytes(b"X" + data.read_bytes()[1:])
    sound.publish("new")
    make(sound.store)
    assert caches(broken) == []
    assert len(caches(sound)) == 1
    (sound.place.directory / "current").write_text("{")
    (broken.place.snapshots / version / "manifest.json").unlink()
    make(sound.store)

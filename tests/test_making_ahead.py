"""A store's caches made ahead of the server: by another process, of the current versions, and never in its way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from engine.making_ahead import make, making_ahead
from engine.reader import open_reader
from tests.served_site import DEADLINE, Site

WAIT = """
import sys
from engine.making_ahead import making_ahead
from snapshots.store import open_store
with making_ahead(open_store(sys.argv[1])):
    print("begun", flush=True)
    sys.stdin.read()
"""


def caches(site: Site) -> list[str]:
    return sorted(path.name for path in (site.store.cache / site.workspace).glob("[!.]*.duckdb"))


def inodes(site: Site) -> dict[str, int]:
    """The files of versions, all three of each."""
    return {path.name: path.stat().st_ino for path in (site.store.cache / site.workspace).glob("[!.]*T*.*")}


def wait_for(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def making(parent: int) -> list[int]:
    """The processes at work ahead of one; those that ended and were not waited for are none of them."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return [int(pid) for pid, began, command in rows if int(began) == parent and "engine.making_ahead" in command]


def alive(process: int) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")


def test_the_current_version_is_made_by_another_process(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("old")
    version = site.publish("new")
    with making_ahead(site.store):
        wait_for(lambda: caches(site))
    assert caches(site) == [f"{version}.duckdb"]
    made = inodes(site)
    reader = open_reader(site.place.snapshots / version, site.place.manifest(version), site.store.cache)
    reader.close()
    assert inodes(site) == made


def test_no_process_is_started_where_nothing_is_to_be_made(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with making_ahead(site.store):  # nothing is current yet
        assert making(os.getpid()) == []
    site.publish("new")
    make(site.store)
    with making_ahead(site.store):
        assert making(os.getpid()) == []


def test_it_is_over_with_the_block_and_with_whoever_began_it(tmp_path: Path) -> None:
    site = Site(tmp_path)
    version = site.publish("new")
    (site.store.cache / "acme").mkdir(parents=True)
    with FileLock(site.store.cache / "acme" / "making.lock"):  # so that it has to wait
        with making_ahead(site.store):
            [waiting] = making(os.getpid())
        assert not alive(waiting)
        command = [sys.executable, "-c", WAIT, str(site.store.root)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            [waiting] = making(process.pid)
            process.send_signal(signal.SIGKILL)
            process.wait()
        wait_for(lambda: not alive(waiting))
    assert caches(site) == []
    make(site.store)
    assert caches(site) == [f"{version}.duckdb"]


def test_what_cannot_be_made_is_left_to_the_server(tmp_path: Path) -> None:
    broken, sound = Site(tmp_path, "broken"), Site(tmp_path, "sound")
    version = broken.publish("new")
    [data] = (broken.place.snapshots / version / "en").glob("posts.parquet")
    data.chmod(0o644)
    data.write_bytes(b"X" + data.read_bytes()[1:])
    sound.publish("new")
    make(sound.store)
    assert caches(broken) == []
    assert len(caches(sound)) == 1
    (sound.place.directory / "current").write_text("{")
    (broken.place.snapshots / version / "manifest.json").unlink()
    make(sound.store)

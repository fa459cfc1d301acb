"""Builds that are killed, that meet, and that find no room: the store stays usable and the current version whole."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from pathlib import Path

import pytest

from snapshots.build import data_files
from snapshots.build.build import build
from snapshots.build.reuse import RecordedFile, SoundFiles
from snapshots.build.settings import LIGHT
from snapshots.columns import FileKind
from snapshots.search.reuse import OlderIndex
from snapshots.store.durable import StoreError
from snapshots.store.manifest import DataFile
from snapshots.store.objects import ANY
from snapshots.store.store import open_store
from tests.programs.copied_process import Copy, kill_group, started
from tests.sites.halting import has_ended
from tests.sites.served_site import eventually
from tests.stores.small_disk import small_disk

BUILD = """
import sys
from pathlib import Path
from snapshots.build.build import build
from snapshots.store.store import open_store
result = build(Path(sys.argv[1]), open_store(sys.argv[2]), now=int(sys.argv[3]))
print(result.version, result.changed)
"""
SESSION = """
import sys
from pathlib import Path
from snapshots.build.build import build
from snapshots.build.settings import LIGHT
from snapshots.store.store import open_store
root = Path(sys.argv[1])
for now in range(int(sys.argv[3]), int(sys.argv[3]) + 1000):
    page = root / f"content/pages/page-{now % 7}.md"
    page.write_text(page.read_text() + "More. ")
    build(root, open_store(sys.argv[2]), now=now, settings=LIGHT)
    open_store(sys.argv[2]).workspace("acme").prune(2)
"""
PAGES = """uid: api_Pages0000001
name: Pages
endpoint: pages
kind: list
multilingual: true
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: body, name: Body, type: richtext}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "apis").mkdir(parents=True)
    (root / "workspace.yaml").write_text("id: acme\nlanguages: [en, ja]\n")
    (root / "apis/pages.yaml").write_text(PAGES)
    write_pages(root, "first")
    return root


def write_pages(root: Path, title: str, count: int = 40) -> None:
    folder = root / "content/pages"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        for suffix in ("", ".ja"):
            (folder / f"page-{number}{suffix}.md").write_text(
                f"---\ntitle: {title}\ncreatedAt: 2026-01-01\n---\n" + f"Some text about {title}. " * 60
            )


def start(root: Path, store: Path, now: int, program: str = BUILD) -> Copy | subprocess.Popen[str]:
    with (store.parent / "errors").open("a") as errors:
        return started(program, [str(root), str(store), str(now)], os.environ, errors, new_group=True)


def titles(store: Path) -> set[str]:
    import pyarrow.parquet as pq

    workspace = open_store(store).workspace("acme")
    current = workspace.current()
    assert current is not None
    found: set[str] = set()
    for file in workspace.manifest(current.version).files:
        table = pq.read_table(workspace.path(current.version, file.path))
        assert len(table) == file.rows
        if file.kind is FileKind.PUBLISHED:
            found.update(table["title"].to_pylist())
    return found


@pytest.mark.slow
def test_a_build_killed_at_any_instant_leaves_the_store_usable(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(root, open_store(store), now=1_000)
    write_pages(root, "warm-up")
    began = time.monotonic()
    process = start(root, store, 2_000)
    process.communicate()
    usual = time.monotonic() - began
    rng = random.Random(7)
    expected = "warm-up"
    killed = 0
    for number in range(14):
        title = f"round {number}"
        write_pages(root, title)
        began = time.monotonic()
        process = start(root, store, 10_000 + number)
        try:
            process.wait(timeout=rng.uniform(0.05, 1.1) * usual)
        except subprocess.TimeoutExpired:
            kill_group(process)
            killed += 1
        else:
            usual = time.monotonic() - began  # the machine is less busy by now
        process.communicate()
        found = titles(store)
        assert found in ({expected}, {title}), "a killed build must leave the old version or the new one, whole"
        expected = found.pop()
    assert killed >= 5
    write_pages(root, "after all")
    result = build(root, open_store(store), now=99_000)
    assert result.activated
    assert titles(store) == {"after all"}
    workspace = open_store(store).workspace("acme")
    assert workspace.verify(result.version) == []
    leftovers = [path.name for path in (store / "acme/snapshots").iterdir() if path.name.startswith(".")]
    assert leftovers == []


@pytest.mark.slow
def test_a_session_killed_at_any_instant_leaves_the_store_usable(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    workspace = open_store(store).workspace("acme")
    rng = random.Random(9)
    light = build(root, open_store(store), now=1_000, settings=LIGHT)
    for number in range(4):
        process = start(root, store, 10_000 * (number + 1), SESSION)
        while (current := workspace.current()) is None or current.version == light.version:
            time.sleep(0.01)
            assert process.poll() is None
        time.sleep(rng.uniform(0.0, 0.6))
        kill_group(process)
        process.communicate()
        current = workspace.current()
        assert current is not None
        assert workspace.verify(current.version) == []
        light = build(root, open_store(store), now=10_000 * (number + 1) + 5_000, settings=LIGHT)
        assert workspace.verify(light.version) == []
    full = build(root, open_store(store), now=99_000)
    fresh = tmp_path / "fresh"
    build(root, open_store(fresh), now=99_000)
    expected = open_store(fresh).workspace("acme").manifest(full.version)
    assert workspace.manifest(full.version).files == expected.files


def test_two_builds_at_once_both_succeed_with_one_version(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    processes = [start(root, store, 1_000 + number) for number in range(3)]
    outcomes = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], (tmp_path / "errors").read_text()
    versions = {out.split()[0] for out in outcomes}
    assert len(versions) == 1
    assert sorted(out.split()[1] for out in outcomes) == ["False", "False", "True"]
    assert titles(store) == {"first"}


def test_the_pool_s_processes_end_with_a_killed_build(root: Path, tmp_path: Path) -> None:
    write_pages(root, "many", count=700)
    process = start(root, tmp_path / "store", 1_000)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.parent.exists():
        pytest.skip("needs /proc to see a process's children")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one core, so no pool is started")
    pids: list[int] = []
    while process.poll() is None and len(pids) < 2:
        try:
            pids = [int(pid) for pid in children.read_text().split()]
        except OSError:
            break
        time.sleep(0.01)
    assert len(pids) >= 2, "the build has ended without a pool"
    time.sleep(0.5)
    process.kill()  # the parent alone
    process.communicate()
    eventually(lambda: all(map(has_ended, pids)))


def test_a_full_disk_is_a_clear_error_and_loses_nothing(root: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        store = open_store(disk)
        write_pages(root, "small", count=4)
        build(root, store, now=1_000)
        before = titles(disk)
        rng = random.Random(3)
        folder = root / "content/pages"
        for number in range(400):
            text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=6_000))
            (folder / f"big-{number}.md").write_text(f"---\ntitle: big\ncreatedAt: 2026-01-01\n---\n{text}\n")
        with pytest.raises(StoreError, match="disk is full"):
            build(root, store, now=2_000)
        assert titles(disk) == before
        for path in folder.glob("big-*.md"):
            path.unlink()
        write_pages(root, "small again", count=4)
        build(root, store, now=3_000)
        assert titles(disk) == before - {"small"} | {"small again"}


@pytest.mark.parametrize("looked_at", ["file", "index"])
def test_a_version_that_is_dropped_while_a_build_links_its_files(
    root: Path, tmp_path: Path, looked_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there when the build looked for what is unchanged: this is written again."""
    store = open_store(tmp_path / "store")
    place = store.workspace("acme")
    first, second, third = (
        build(change(root, title), store, now=now).version for now, title in enumerate(["one", "two", "three"])
    )
    dropped: list[str] = []
    once = threading.Lock()

    def drop() -> None:
        if not once.acquire(blocking=False):
            return
        if looked_at == "file":
            dropped.extend(place.prune(1)[0])
        else:
            for now, version in enumerate((second, first)):
                place.activate(version, expected=ANY, by="somebody", now=10 + now)
            dropped.extend(place.withdraw(third)[0])

    has, sound_index = SoundFiles.has, data_files.sound_index

    def then_dropped(self: SoundFiles, path: Path, file: DataFile) -> bool:
        found = has(self, path, file)
        if found and looked_at == "file" and first in str(path):
            drop()
        return found

    def found_then_dropped(older: list[tuple[RecordedFile, RecordedFile]]) -> OlderIndex | None:
        found = sound_index(older)
        if found is not None and looked_at == "index" and third in str(found.data):
            drop()
        return found

    monkeypatch.setattr(SoundFiles, "has", then_dropped)
    monkeypatch.setattr(data_files, "sound_index", found_then_dropped)
    version = build(change(root, "four"), store, now=4, activate=False).version
    assert dropped == [first if looked_at == "file" else third]
    assert place.verify(version) == []
    fresh = open_store(tmp_path / "fresh")
    same = fresh.workspace("acme").manifest(build(root, fresh, now=5).version)
    assert place.manifest(version).files == same.files


def change(root: Path, title: str) -> Path:
    """Give one page, in one language, a title."""
    (root / "content/pages/page-3.md").write_text(f"---\ntitle: {title}\ncreatedAt: 2026-01-01\n---\nText.\n")
    return root

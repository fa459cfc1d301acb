"""Keys' last use: noted without a write, written by each process on its own, merged, folded, never in the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.access.keys.last_use import IDLE_MS, LastUse, last_uses
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError

ROOT = Path(__file__).resolve().parents[4]
NOW = 1_795_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "acme").mkdir()
    (tmp_path / "other").mkdir()
    return tmp_path


def files(store: Path, workspace: str = "acme") -> list[Path]:
    return sorted((store / workspace / "last_use").iterdir())


def written(store: Path, uses: dict[str, int]) -> LastUse:
    """A process that has written these uses."""
    process = LastUse(store)
    for key, moment in uses.items():
        process.note("acme", key, moment)
    process.write()
    return process


def age(store: Path, ms: int = IDLE_MS + 1000) -> None:
    """Make every file look as if it was written so long before ``NOW``."""
    for path in files(store):
        os.utime(path, ns=((NOW - ms) * 1_000_000,) * 2)


def test_noting_writes_nothing(store: Path) -> None:
    uses = LastUse(store)
    for n in range(1000):
        uses.note("acme", f"key_{n % 3}", NOW + n)
    assert list((store / "acme").iterdir()) == []
    assert last_uses(DirectoryObjects(store), "acme") == {}
    uses.note("other", "key_9", NOW)
    uses.write()
    assert last_uses(DirectoryObjects(store), "acme") == {"key_0": NOW + 999, "key_1": NOW + 997, "key_2": NOW + 998}
    assert last_uses(DirectoryObjects(store), "other") == {"key_9": NOW}


def test_nothing_new_is_not_written_again(store: Path) -> None:
    uses = written(store, {"key_1": NOW})
    (path,) = files(store)
    before = path.stat()
    uses.write()
    assert path.stat().st_ino == before.st_ino
    uses.note("acme", "key_1", NOW + 1)
    uses.write()
    (path,) = files(store)
    assert path.stat().st_ino != before.st_ino
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW + 1}


def test_processes_do_not_overwrite_each_other(store: Path) -> None:
    written(store, {"key_1": NOW, "key_2": NOW + 5})
    written(store, {"key_1": NOW + 3, "key_2": NOW + 4})
    assert len(files(store)) == 2
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW + 3, "key_2": NOW + 5}


def test_files_that_are_written_no_more_are_folded(store: Path) -> None:
    live = written(store, {"key_1": NOW})
    written(store, {"key_1": NOW + 1, "gone": NOW})
    written(store, {"key_2": NOW + 2})
    LastUse(store).fold("acme", {"key_1", "key_2"}, NOW)
    assert len(files(store)) == 3, "none is idle"
    age(store)
    live.fold("acme", {"key_1", "key_2"}, NOW)
    assert len(files(store)) == 2, "its own file and the folded one"
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW + 1, "key_2": NOW + 2}
    folded = json.loads((store / "acme/last_use/folded.json").read_text())
    assert sorted(folded) == ["key_1", "key_2"], "a deleted key is forgotten"


def test_a_process_whose_file_was_folded_writes_another(store: Path) -> None:
    uses = written(store, {"key_1": NOW})
    age(store)
    LastUse(store).fold("acme", None, NOW)
    assert [path.name for path in files(store)] == ["folded.json"]
    uses.write()
    uses.note("acme", "key_1", NOW + 7)
    uses.write()
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW + 7}


def test_what_a_killed_fold_left_is_folded(store: Path) -> None:
    written(store, {"key_1": NOW})
    (path,) = files(store)
    path.rename(path.with_suffix(".folding"))
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW}
    LastUse(store).fold("acme", None, NOW)
    assert [path.name for path in files(store)] == ["folded.json"]
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW}


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"key_1": 5}', b'{"key_1": "soon"}', b"\xff\x00", b"{"])
def test_damage_costs_only_the_damaged_file(store: Path, damage: bytes) -> None:
    written(store, {"key_1": NOW})
    (path,) = files(store)
    path.with_name("1-dead.json").write_bytes(damage)
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW}
    age(store)
    LastUse(store).fold("acme", None, NOW)
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW}


def test_one_workspace_that_cannot_be_written_does_not_keep_the_others(store: Path) -> None:
    (store / "acme" / "last_use").write_text("in the way")
    uses = LastUse(store)
    uses.note("acme", "key_1", NOW)
    uses.note("gone", "key_2", NOW)
    uses.note("other", "key_3", NOW)
    with pytest.raises(StoreError):
        uses.write()
    assert last_uses(DirectoryObjects(store), "other") == {"key_3": NOW}
    assert not (store / "gone").exists()
    (store / "acme" / "last_use").unlink()
    uses.write()
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW}


WRITER = """
import sys
from pathlib import Path
from engine.access.keys.last_use import LastUse
from snapshots.store.durable import StoreError
uses = LastUse(Path(sys.argv[1]))
for n in range(10**9):
    uses.note("acme", "key_" + sys.argv[2], n)
    try:
        uses.write()
    except StoreError:  # to the others, its half-written file is an old one
        continue
    uses.fold("acme", None, 4 * 10**12)
    print(n, flush=True)
"""


def test_writers_and_folders_killed_at_any_instant_lose_nothing_written(store: Path) -> None:
    """Every process takes every other's file for idle and folds it, all the time, until it is killed."""
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store), str(n)], cwd=ROOT, stdout=subprocess.PIPE)
        for n in range(3)
    ]
    lines: list[list[bytes]] = [[] for _ in processes]
    for process, read in zip(processes, lines, strict=True):
        assert process.stdout is not None
        for _ in range(40):
            read.append(process.stdout.readline())
            last_uses(DirectoryObjects(store), "acme")
    said = {}
    for n, process in enumerate(processes):
        process.send_signal(signal.SIGKILL)
        read = [*lines[n], *process.communicate()[0].splitlines()]  # nothing more, where it was killed at once
        said[f"key_{n}"] = int(read[-1])
    found = last_uses(DirectoryObjects(store), "acme")
    assert {key: found[key] >= moment for key, moment in said.items()} == dict.fromkeys(said, True)
    LastUse(store).fold("acme", None, 4 * 10**12)
    assert last_uses(DirectoryObjects(store), "acme") == found
    assert [path.name for path in files(store)] == ["folded.json"]


def test_what_a_killed_writer_left_goes_where_there_is_nothing_else_to_fold(store: Path) -> None:
    uses = LastUse(store)
    uses.note("acme", "key_1", NOW)
    uses.write()
    LastUse(store).fold("acme", None, 4 * 10**12)
    left = store / "acme" / "last_use" / ".1234-abcd.json.0011.tmp"
    left.write_text("{")
    uses.fold("acme", None, NOW)
    assert left.exists(), "it may be somebody's who is writing it now"
    uses.fold("acme", None, 4 * 10**12)
    assert [path.name for path in files(store)] == ["folded.json"]
    assert last_uses(DirectoryObjects(store), "acme") == {"key_1": NOW}

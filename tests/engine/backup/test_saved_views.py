"""Page views in backups made while views come in, are counted and filed: each from before a backup is in it once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from engine.backup.layout import names
from engine.views.collecting.spool import SpoolWriter, View
from engine.views.collecting.targets import Kind
from engine.views.gathering.repair import ViewFiles, complaints, rebuild_counts
from engine.views.gathering.writer import ViewWriter
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms
from tests.engine.backup.saved_site import bring_back, save
from tests.engine.views.gathering.machines import WORKSPACE, Local, Machine, counts_in, random_views, rows_in
from tests.sites.served_site import eventually


class Visited:
    """A store whose views come in all the time; each is of a path of its own."""

    def __init__(self, directory: Path, kind: str) -> None:
        self.acknowledged: list[View] = []
        self._machine: Machine | None = None
        if kind == "bucket":
            bucket = DirectoryObjects(directory / "bucket")
            self._machine = Machine(directory / "machine", bucket)
            (directory / "machine" / WORKSPACE / "snapshots").mkdir(parents=True)
            self.store = Store(directory / "here", directory / "here/.cache", bucket)
            self.views = self._machine.views
        else:
            self.store = open_store(directory / "store")
            self.views = self.store.root / WORKSPACE / "views"
        self._stopping = threading.Event()

    def _come(self) -> None:
        spool = SpoolWriter(self.views, now_ms())
        number = 0
        while not self._stopping.is_set():
            views = [View(now_ms(), Kind.PATH, f"/{number + n}", "acme.example") for n in range(7)]
            spool.append(*views)
            if self._machine is None:  # in a bucket, what was sent is safe
                self.acknowledged += views
            number += len(views)
            self._stopping.wait(0.005)  # the rate of 1,400 views a second
            if number % 3 == 0:
                spool.seal()
            if self._machine is not None:
                spool.seal()
                self._machine.send(now_ms())
                self.acknowledged += views
        spool.close()

    def _count(self) -> None:
        turn = 0
        while not self._stopping.is_set():
            turn += 1
            if self._machine is not None:
                self._machine.gathering.round(now_ms(), flush=turn % 3 == 0)
            else:
                ViewWriter(self.views).round(now_ms(), 0.0, flush=turn % 3 == 0)
            self._stopping.wait(0.05)  # a server waits for a second

    @contextmanager
    def busy(self) -> Iterator[None]:
        threads = [threading.Thread(target=work) for work in (self._come, self._count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            for thread in threads:
                thread.join()


@pytest.mark.parametrize("kind", ["directory", pytest.param("bucket", marks=pytest.mark.slow)])
def test_each_view_before_a_backup_is_in_it_once(tmp_path: Path, kind: str) -> None:
    visited = Visited(tmp_path, kind)
    before: dict[str, list[View]] = {}
    with visited.busy():
        eventually(lambda: len(visited.acknowledged) > 100)
        for _ in range(3):
            known = list(visited.acknowledged)
            before[save(visited.store, tmp_path / "place").named.name] = known
    assert len(before) == 3
    for name in names(DirectoryObjects(tmp_path / "place")):
        known = before[name]
        bucket = DirectoryObjects(tmp_path / name / "bucket")
        alike = Store(tmp_path / name / "work", tmp_path / name / "cache", bucket if kind == "bucket" else None)
        if kind == "bucket":
            bring_back(tmp_path / "place", alike, name)
            machine = Machine(tmp_path / name / "machine", bucket)
            (tmp_path / name / "machine" / WORKSPACE / "snapshots").mkdir(parents=True)
            machine.gathering.round(now_ms(), flush=True)
            found, counted = rows_in(bucket), machine.counts()
        else:
            bring_back(tmp_path / "place", alike.root, name)
            local = Local(alike.root, DirectoryObjects(alike.root))
            local.round(now_ms(), flush=True)
            found, counted = rows_in(local.objects), local.counts()
        assert max(Counter(found).values()) == 1
        assert set(found) >= set(known)
        assert sum(counted.values()) == len(found)
        assert complaints(ViewFiles.of(alike.workspace(WORKSPACE)), now_ms()) == []
        other = bring_other(tmp_path, name, kind)
        assert max(other.values()) == 1
        assert set(other) == set(counted)


def bring_other(directory: Path, name: str, kind: str) -> Counter[tuple[str, str, int]]:
    """The counts after a backup was restored into the other kind of store."""
    root = directory / name / "other"
    if kind == "bucket":
        bring_back(directory / "place", root, name)
        local = Local(root, DirectoryObjects(root))
        local.round(now_ms(), flush=True)
        return counts_in(local.views)
    bucket = DirectoryObjects(root)
    bring_back(directory / "place", Store(root / ".work", root / ".cache", bucket), name)
    machine = Machine(directory / name / "another", bucket)
    (directory / name / "another" / WORKSPACE / "snapshots").mkdir(parents=True)
    machine.gathering.round(now_ms(), flush=True)
    return machine.counts()


def counted_site(directory: Path) -> Local:
    store = open_store(directory / "store")
    local = Local(store.root, store.objects)
    local.collect(random_views(40, 1, now=now_ms()), now_ms())
    local.round(now_ms(), flush=True)
    return local


def analysts_rows(file: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(file, read_only=True) as connection:
        return sorted(connection.execute("SELECT * FROM page_views").fetchall())


def test_rows_that_an_older_program_wrote_are_saved(tmp_path: Path) -> None:
    """It filed none, so that the analysts' file alone has them; and its counts say nothing of files that there are."""
    local = counted_site(tmp_path)
    today = local.views / "counts" / "today.parquet"
    data = today.read_bytes()
    at = data.rindex(b'"sha256":"') + len(b'"sha256":"')
    today.write_bytes(data[:at] + b"0" * 64 + data[at + 64 :])
    rows = analysts_rows(local.views / "views.duckdb")
    assert len(rows) == 40
    store = open_store(tmp_path / "store")
    save(store, tmp_path / "place")
    restored = bring_back(tmp_path / "place", tmp_path / "restored").root / WORKSPACE / "views"
    assert analysts_rows(restored / "views.duckdb") == rows
    assert rows_in(DirectoryObjects(tmp_path / "restored")) == rows_in(local.objects) != []
    assert counts_in(restored) == counts_in(local.views)
    Local(tmp_path / "restored", DirectoryObjects(tmp_path / "restored")).round(now_ms(), flush=True)
    assert analysts_rows(restored / "views.duckdb") == rows, "it goes on with the file as it found it"


@pytest.mark.parametrize("how", ["today", "base"])
def test_counts_that_are_damaged_keep_nothing_else_from_being_saved(tmp_path: Path, how: str) -> None:
    local = counted_site(tmp_path)
    local.collect(random_views(10, 2, now=now_ms()), now_ms())
    folder = local.views / "counts"
    damaged = folder / "today.parquet" if how == "today" else next(folder.glob("base-*"))
    if how == "today":
        damaged.write_bytes(damaged.read_bytes()[:-20])
    else:
        damaged.unlink()
    store = open_store(tmp_path / "store")
    made = save(store, tmp_path / "place")
    assert len(made.complaints) == 1
    assert "cms views rebuild counts" in made.complaints[0]
    restored = bring_back(tmp_path / "place", tmp_path / "restored")
    files = ViewFiles.of(restored.workspace(WORKSPACE))
    rebuild_counts(files, now_ms())
    other = Local(restored.root, restored.objects)
    other.round(now_ms(), flush=True)
    assert sum(other.counts().values()) == 50
    assert complaints(files, now_ms()) == []

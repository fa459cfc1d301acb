"""The rows in a bucket → an analysts' file that grows, is what the bucket says, and survives being cut off."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from engine.views.collecting.spool import View
from engine.views.gathering import followed_file
from engine.views.gathering.analysts_file import FILE
from engine.views.gathering.followed_file import NotPulled, pull_views
from engine.views.gathering.layout import today_key
from engine.views.gathering.repair import ViewFiles, complaints, rebuild_counts
from engine.views.gathering.writer import ViewWriter
from snapshots.build.build import build
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import ANY
from snapshots.store.store import Store, WorkspaceStore, open_store
from tests.engine.views.gathering.machines import DAY, NOW, WORKSPACE, Machine, check_file, expected, random_views

API = "uid: api_posts0000001\nname: Posts\nendpoint: posts\nkind: list\nfields:\n  - {id: title, type: text}\n"


@pytest.fixture
def bucket(tmp_path: Path) -> DirectoryObjects:
    return DirectoryObjects(tmp_path / "bucket")


@pytest.fixture
def machine(tmp_path: Path, bucket: DirectoryObjects) -> Machine:
    return Machine(tmp_path / "machine", bucket)


def of(objects: DirectoryObjects) -> WorkspaceStore:
    """The workspace in a bucket, as an analyst's machine has it."""
    work = objects.root.parent / "work"
    return Store(work, work / ".cache", objects).workspace(WORKSPACE)


def gather(machine: Machine, views: list[View], now: int = NOW, *, flush: bool = True) -> list[View]:
    machine.collect(views, now)
    machine.send(now)
    machine.gathering.round(now, flush=flush)
    return views


def test_every_pull_adds_what_is_new(tmp_path: Path, bucket: DirectoryObjects, machine: Machine) -> None:
    file = tmp_path / "mine.duckdb"
    written: list[View] = []
    for step in range(4):
        written += gather(machine, random_views(30, step))
        assert pull_views(of(bucket), file, NOW).rows == 30
        check_file(file, written, written)
        pulled = pull_views(of(bucket), file, NOW)
        assert (pulled.rows, pulled.total) == (0, len(written))
    late = gather(machine, random_views(10, 9), flush=False)
    assert pull_views(of(bucket), file, NOW).rows == 0
    check_file(file, written, written + late)
    gather(machine, [], NOW + 1)
    machine.gathering.round(NOW + 1, flush=True)
    assert pull_views(of(bucket), file, NOW).rows == 10
    check_file(file, written + late, written + late)


def test_a_pull_that_was_cut_off_goes_on(
    tmp_path: Path, bucket: DirectoryObjects, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[View] = []
    for step in range(6):
        written += gather(machine, random_views(20, step))
    monkeypatch.setattr(followed_file, "_ROWS_AT_ONCE", 30)
    add_rows, added = followed_file.analysts_file.add_rows, 0

    def cut_off(*arguments: object) -> None:
        nonlocal added
        added += 1
        if added == 3:
            raise KeyboardInterrupt
        add_rows(*arguments)  # type: ignore[arg-type]

    file = tmp_path / FILE
    with monkeypatch.context() as patch:
        patch.setattr(followed_file.analysts_file, "add_rows", cut_off)
        with pytest.raises(KeyboardInterrupt):
            pull_views(of(bucket), file, NOW)
    pulled = pull_views(of(bucket), file, NOW)
    assert 0 < pulled.rows < pulled.total
    check_file(file, written, written)


def test_rows_of_a_claim_that_is_not_written_are_left_to_the_next_pull(
    tmp_path: Path, bucket: DirectoryObjects, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.views.gathering import stored_views

    written = gather(machine, random_views(20, 1))
    with monkeypatch.context() as patch:
        patch.setattr(stored_views, "row_files", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            gather(machine, late := random_views(5, 2))
    file = tmp_path / FILE
    pull_views(of(bucket), file, NOW)
    check_file(file, written, written + late)
    machine.gathering.round(NOW + 1)
    pull_views(of(bucket), file, NOW)
    check_file(file, written + late, written + late)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path, bucket: DirectoryObjects, machine: Machine) -> None:
    gather(machine, random_views(5, 1))
    local = tmp_path / "local"
    Machine(local, bucket).collect(random_views(5, 2))
    views = local / WORKSPACE / "views"
    ViewWriter(views).round(NOW, 0, flush=True)
    with duckdb.connect(views / FILE) as connection:
        connection.execute("INSERT INTO segments VALUES ('a worker', 1)")
    with pytest.raises(NotPulled, match="is the file of a server"):
        pull_views(of(bucket), views / FILE, NOW)
    pull_views(of(bucket), tmp_path / FILE, NOW)
    with pytest.raises(NotPulled, match="was pulled from"):
        pull_views(of(DirectoryObjects(tmp_path / "other")), tmp_path / FILE, NOW)


def test_the_titles_of_the_content_come_along(tmp_path: Path, bucket: DirectoryObjects, machine: Machine) -> None:
    source = tmp_path / "source"
    (source / "apis").mkdir(parents=True)
    (source / "content").mkdir()
    (source / "workspace.yaml").write_text(f"id: {WORKSPACE}\nlanguages: [en]\n")
    (source / "apis" / "posts.yaml").write_text(API)
    (source / "content" / "posts.jsonl").write_text(
        json.dumps({"id": "e1", "createdAt": "2025-01-01", "title": "The first"}) + "\n"
    )
    build(source, open_store(bucket.root), now=NOW)
    gather(machine, random_views(50, 1))
    pull_views(of(bucket), tmp_path / FILE, NOW)
    with duckdb.connect(tmp_path / FILE, read_only=True) as connection:
        titles = connection.execute("SELECT DISTINCT title FROM entry_views WHERE id = 'e1'").fetchall()
        assert titles == [("The first",)]


def test_counts_and_rows_are_compared_and_the_counts_made_anew(
    tmp_path: Path, bucket: DirectoryObjects, machine: Machine
) -> None:
    written = gather(machine, random_views(60, 1)) + gather(machine, random_views(10, 2, now=NOW + DAY), NOW + DAY)
    written += gather(machine, random_views(7, 3, now=NOW + DAY), NOW + DAY, flush=False)
    assert complaints(ViewFiles(bucket, WORKSPACE, None), NOW) == []
    [first, *_] = [one.key for one in bucket.names(f"{WORKSPACE}/views") if "day=" in one.key]
    content = bucket.read(first)
    assert content is not None
    bucket.delete([first])
    found = complaints(ViewFiles(bucket, WORKSPACE, None), NOW)
    assert found
    assert all("the counts say" in one for one in found)
    bucket.create(first, content.data)
    rebuild_counts(ViewFiles(bucket, WORKSPACE, None), NOW)
    assert complaints(ViewFiles(bucket, WORKSPACE, None), NOW) == []
    assert machine.counts() == expected(written)
    machine.gathering.round(NOW + DAY, flush=True)
    bucket.replace(today_key(WORKSPACE), b"PAR1 nothing", ANY)
    rebuild_counts(ViewFiles(bucket, WORKSPACE, None), NOW)
    assert machine.counts() == expected(written)
    written += gather(machine, random_views(9, 4, now=NOW + DAY), NOW + DAY)
    assert machine.counts() == expected(written)
    assert complaints(ViewFiles(bucket, WORKSPACE, None), NOW) == []

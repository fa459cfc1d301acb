"""The reserve of a store: on a full disk, rights can still be taken away, and nothing else can be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.objects import ANY
from snapshots.store.reserve import RESERVE, RESERVE_BYTES, fill_reserve
from tests.stores.small_disk import fill, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", 32 << 20) as mounted:
        yield mounted


def test_a_store_has_a_reserve_from_its_first_document_on(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path)
    objects.replace("acme/access.json", b"{}", ANY)
    found = (tmp_path / RESERVE).stat()
    assert (found.st_size, found.st_mode & 0o777) == (RESERVE_BYTES, 0o600)
    assert found.st_blocks * 512 >= RESERVE_BYTES, "it takes its room, and is no hole"
    assert [one.key for one in objects.names("")] == ["acme/access.json"]


def test_on_a_full_disk_only_what_takes_rights_away_is_written(disk: Path) -> None:
    objects = DirectoryObjects(disk / "store")
    document = b"x" * 20_000
    objects.replace("acme/access.json", document, ANY)
    fill(disk)
    with pytest.raises(StoreError, match="the disk is full"):
        objects.replace("acme/access.json", document + b"1", ANY)
    for number in range(100):  # what is replaced makes room for the next
        objects.with_reserve().replace("acme/access.json", document + b"%d" % number, ANY)
    content = objects.read("acme/access.json")
    assert content is not None
    assert content.data == document + b"99"
    with pytest.raises(StoreError, match="the disk is full"):
        objects.replace("acme/other.json", document, ANY)


def test_documents_that_add_up_are_written_until_the_reserve_is_used_up(disk: Path) -> None:
    objects = DirectoryObjects(disk / "store")
    objects.replace("acme/access.json", b"{}", ANY)
    filler = fill(disk)

    def write_all() -> None:
        for number in range(100):
            objects.with_reserve().replace(f"acme/{number}.json", os.urandom(30_000), ANY)

    with pytest.raises(StoreError, match="the disk is full"):
        write_all()
    assert 20 <= len(objects.names("acme")) <= 37
    assert (disk / "store" / RESERVE).stat().st_size < RESERVE_BYTES
    filler.unlink()
    objects.replace("acme/access.json", b"{ }", ANY)
    assert (disk / "store" / RESERVE).stat().st_size == RESERVE_BYTES


def test_a_small_disk_gives_a_small_part(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        fill_reserve(disk)
        assert 0 < (disk / RESERVE).stat().st_size <= (1 << 20) // 16

"""Archives that somebody may have prepared: nothing is written outside, and no small file fills a disk."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from snapshots.importers.losses import Unreadable
from snapshots.importers.reading import archive
from snapshots.importers.reading.archive import opened


def member(
    name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data) if kind == tarfile.REGTYPE else 0
    return info, data


def written(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as made:  # type: ignore[call-overload]
        for info, data in members:
            made.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_the_wanted_members_are_extracted(tmp_path: Path, mode: str) -> None:
    path = written(tmp_path / "a.tar", member("./data/a.jsonl", b"{}"), member("data/b.png"), mode=mode)
    work = opened(path, tmp_path / "work", lambda name: name.endswith(".jsonl"))
    assert [one.relative_to(work).as_posix() for one in work.rglob("*") if one.is_file()] == ["data/a.jsonl"]
    assert opened(work, tmp_path / "none", lambda _: True) == work


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        (member("../outside.txt"), "leads out of the archive"),
        (member("a/../../outside.txt"), "leads out of the archive"),
        (member("/tmp/outside.txt"), "leads out of the archive"),
        (member("a\\..\\b"), "leads out of the archive"),
        (member("link", kind=tarfile.SYMTYPE, link="/etc/passwd"), "is a link or a device"),
        (member("hard", kind=tarfile.LNKTYPE, link="data.jsonl"), "is a link or a device"),
        (member("pipe", kind=tarfile.FIFOTYPE), "is a link or a device"),
        (member("device", kind=tarfile.CHRTYPE), "is a link or a device"),
    ],
)
def test_hostile_members_are_refused(tmp_path: Path, hostile: tuple[tarfile.TarInfo, bytes], message: str) -> None:
    path = written(tmp_path / "a.tar.gz", member("data.jsonl"), hostile)
    with pytest.raises(Unreadable, match=message):
        opened(path, tmp_path / "work", lambda _: True)
    assert not (tmp_path / "outside.txt").exists()
    assert {one.name for one in (tmp_path / "work").rglob("*")} <= {"data.jsonl"}


def test_a_bomb_is_refused_before_it_is_extracted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LEAST_LIMIT", 1 << 20)
    path = written(tmp_path / "a.tar.gz", member("data.jsonl", bytes(50 << 20)))
    assert path.stat().st_size < 100_000
    with pytest.raises(Unreadable, match="far beyond its own size"):
        opened(path, tmp_path / "work", lambda _: True)
    assert sum(one.stat().st_size for one in (tmp_path / "work").rglob("*")) <= 200 * path.stat().st_size + (1 << 21)
    with pytest.raises(Unreadable, match="far beyond its own size"):
        opened(path, tmp_path / "unwanted", lambda _: False)


def test_a_header_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(10_000)))
    with pytest.raises(Unreadable, match="claims to have 8,589,934,592 bytes"):
        opened(path, tmp_path / "work", lambda _: True)


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"\x1f\x8bxxxx", b"no archive at all" * 100])
def test_what_is_no_archive_says_so(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(data)
    with pytest.raises(Unreadable, match=r"a\.tar\.gz: the archive cannot be read"):
        opened(tmp_path / "a.tar.gz", tmp_path / "work", lambda _: True)


def test_an_archive_that_is_cut_off_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tar.gz", member("a", bytes(range(256)) * 1000))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(Unreadable, match="cannot be read"):
        opened(path, tmp_path / "work", lambda _: True)

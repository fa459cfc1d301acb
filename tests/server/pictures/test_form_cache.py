"""The forms that are kept: never more bytes than allowed, and nothing lost but time where the disk refuses."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.pictures import form_cache
from server.pictures.form_cache import FormCache
from tests.server.pictures.picture_site import PictureSite, drawn, encoded, picture_site

DIGESTS = [f"{number:032x}" for number in range(1 << 20, (1 << 20) + 40)]


def kept_bytes(cache: Path) -> int:
    """The bytes of all files, temporary ones too."""
    total = 0
    for path in (cache / ".pictures").rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() and path.name != "total" else 0
        except OSError:  # just dropped
            continue
    return total


def content(cache: FormCache, digest: str, form: str) -> bytes | None:
    descriptor = cache.opened(digest, form)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read()


def test_the_least_recently_used_go(tmp_path: Path) -> None:
    cache = FormCache(tmp_path, 1000)
    for number in range(9):
        cache.keep(DIGESTS[number], "64x64-75.webp", bytes([number]) * 100)
        path = next((tmp_path / ".pictures").rglob(f"{DIGESTS[number]}-*"))
        os.utime(path, (time.time() - 100_000 + number, time.time() - 100_000 + number))
    assert content(cache, DIGESTS[0], "64x64-75.webp") == bytes(100)  # used again
    cache.keep(DIGESTS[20], "64x64-75.webp", b"x" * 150)
    there = [number for number in range(9) if content(cache, DIGESTS[number], "64x64-75.webp") is not None]
    assert 0 in there
    assert 1 not in there
    assert there[1:] == list(range(9 - len(there) + 1, 9))
    assert kept_bytes(tmp_path) <= 1000


def test_nothing_is_kept_that_is_larger_than_the_bound(tmp_path: Path) -> None:
    for most in (0, 99):
        cache = FormCache(tmp_path, most)
        cache.keep(DIGESTS[0], "x", b"x" * 100)
        assert content(cache, DIGESTS[0], "x") is None
    FormCache(tmp_path, 100).keep(DIGESTS[0], "x", b"x" * 100)
    assert content(cache, DIGESTS[0], "x") == b"x" * 100


def test_a_smaller_bound_holds_from_the_next_form_on(tmp_path: Path) -> None:
    cache = FormCache(tmp_path, 10_000)
    for digest in DIGESTS:
        cache.keep(digest, "x", b"x" * 200)
    FormCache(tmp_path, 1_000).keep(DIGESTS[0], "y", b"y" * 100)
    assert kept_bytes(tmp_path) <= 1_000


def test_what_was_deleted_or_written_by_others_is_counted_again(tmp_path: Path) -> None:
    cache = FormCache(tmp_path, 1_000)
    cache.keep(DIGESTS[0], "x", b"x" * 400)
    (tmp_path / ".pictures" / "total").write_text("nonsense")
    cache.keep(DIGESTS[1], "x", b"x" * 400)
    for digest in DIGESTS[:2]:
        assert content(cache, digest, "x") is not None
    for path in (tmp_path / ".pictures").rglob("*-x"):
        path.unlink()
    cache.keep(DIGESTS[2], "x", b"x" * 400)
    cache.keep(DIGESTS[3], "x", b"x" * 400)
    assert all(content(cache, digest, "x") is not None for digest in DIGESTS[2:4])


def _fill(cache: Path, seed: int, times: int) -> None:
    chance, forms = random.Random(seed), FormCache(cache, 50_000)
    for _ in range(times):
        digest, size = chance.choice(DIGESTS), chance.randrange(1, 9_000)
        if content(forms, digest, str(size)) not in (None, digest.encode() * (size // 32) or b""):
            os._exit(1)
        forms.keep(digest, str(size), digest.encode() * (size // 32))


@pytest.mark.slow
def test_many_processes_never_keep_more_together_even_when_some_are_killed(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    started = [spawn.Process(target=_fill, args=(tmp_path, seed, 120)) for seed in range(3)]
    for process in started:
        process.start()
    most = 0
    while any(process.is_alive() for process in started):
        most = max(most, kept_bytes(tmp_path))
        if most > 30_000:
            started[0].kill()
    for process in started:
        process.join()
    assert [process.exitcode for process in started[1:]] == [0, 0]
    # A form that is renamed while it is looked for may be seen twice.
    assert 30_000 < most <= 50_000 + 9_000
    FormCache(tmp_path, 50_000).keep(DIGESTS[0], "last", b"x" * 49_999)
    assert kept_bytes(tmp_path) <= 50_000
    assert not list((tmp_path / ".pictures").rglob("*.tmp"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PictureSite]:
    with picture_site(tmp_path, {"photo.jpg": encoded(drawn(1000, 600), "JPEG")}) as running:
        yield running


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_refuses_costs_only_time(site: PictureSite, monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(kind, os.strerror(kind))

    monkeypatch.setattr(form_cache, "sync_file", refuse)
    for _ in range(2):
        assert site.picture("photo.jpg", "w=64").size == (64, 38)
        assert site.get("photo.jpg", "w=64", "HEAD").status_code == 200
    assert site.kept == []
    assert kept_bytes(site.store.cache) == 0
    monkeypatch.undo()
    assert site.picture("photo.jpg", "w=64").size == (64, 38)
    assert len(site.kept) == 1


def test_without_a_folder_to_keep_them_in_pictures_are_made(tmp_path: Path) -> None:
    with picture_site(tmp_path, {"photo.jpg": encoded(drawn(1000, 600), "JPEG")}) as site:
        site.store.cache.mkdir(exist_ok=True)
        (site.store.cache / ".pictures").write_text("in the way")
        assert site.picture("photo.jpg", "w=64").size == (64, 38)
        assert site.picture("photo.jpg", "w=64").size == (64, 38)


@pytest.mark.parametrize(("most", "kept"), [(0, 0), (40_000, None)])
def test_the_setting_bounds_what_is_kept(tmp_path: Path, most: int, kept: int | None) -> None:
    pictures = {f"{number}.jpg": encoded(drawn(400 + number, 300), "JPEG") for number in range(4)}
    with picture_site(tmp_path, pictures, picture_cache=most) as site:
        for name in pictures:
            for width in (64, 128, 256, 384):
                assert site.picture(name, f"w={width}&fm=png").width == width
        assert kept_bytes(site.store.cache) <= most
        assert bool(site.kept) == (kept is None)

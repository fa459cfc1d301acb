"""Making pictures when much is asked, and when the processes that make them end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server.pictures import maker, workshop
from server.pictures.workshop import processors
from snapshots.locks import FileLock
from tests.server.pictures.makers import makers
from tests.server.pictures.picture_site import PictureSite, drawn, encoded, opened, picture_site
from tests.sites.served_site import eventually, serving

PHOTO = encoded(drawn(1000, 600), "JPEG")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PictureSite]:
    with picture_site(tmp_path, {"photo.jpg": PHOTO}) as running:
        yield running


@pytest.fixture
def taken(site: PictureSite) -> Iterator[list[FileLock]]:
    """Others of this machine make as many pictures as may be made at once."""
    site.get("photo.jpg", "w=16")
    locks = [
        FileLock(site.store.cache / ".pictures" / f"making-{number}.lock") for number in range(max(1, processors() - 1))
    ]
    assert all(lock.take(10) for lock in locks)
    yield locks
    for lock in locks:
        lock.leave()


def test_beyond_a_short_wait_a_client_is_told_when_to_come_again(
    site: PictureSite, taken: list[FileLock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workshop, "WAIT_SECONDS", 0.05)
    found = site.get("photo.jpg", "w=64")
    assert (found.status_code, list(found.json())) == (503, ["message"])
    assert 1 <= int(found.headers["retry-after"]) <= 30
    assert "immutable" not in found.headers.get("cache-control", "")
    assert site.get("photo.jpg", "w=16").status_code == 200, "a kept one needs nobody"
    assert site.get("photo.jpg").status_code == 200
    for lock in taken:
        lock.leave()
    assert site.picture("photo.jpg", "w=64").size == (64, 38)


def test_the_queue_is_short(site: PictureSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workshop, "MOST_WAITING", -100)
    assert site.get("photo.jpg", "w=64").status_code == 503
    monkeypatch.undo()
    assert site.get("photo.jpg", "w=64").status_code == 200


def test_a_process_that_was_ended_is_replaced(site: PictureSite) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        site.forget()
        assert site.picture("photo.jpg", "w=64").size == (64, 38)
        [running] = makers()
        os.kill(running, number)
        eventually(lambda: makers() == [])
        assert site.picture("photo.jpg", "w=128").size == (128, 77)


def test_a_process_that_ends_whenever_it_makes_a_picture_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file takes more memory than the process may have."""
    big = encoded(drawn(6000, 4000), "JPEG", progressive=True)
    monkeypatch.setattr(workshop, "LIMITS", {**workshop.LIMITS, maker.MEMORY_SETTING: str(100 << 20)})
    with picture_site(tmp_path, {"big.jpg": big, "photo.jpg": PHOTO}) as site:
        for query in ("w=64", "w=128&fm=webp", "w=64"):
            found = site.get("big.jpg", query)
            assert (found.status_code, found.content) == (200, big)
        assert site.picture("photo.jpg", "w=64").size == (64, 38)


def test_the_processes_have_nothing_of_the_servers_settings(site: PictureSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMS_SMTP_URL", "smtp://user:secret@mail.example")
    site.get("photo.jpg", "w=64")
    [running] = makers()
    environment = Path(f"/proc/{running}/environ").read_bytes()
    assert b"CMS_" not in environment
    assert b"secret" not in environment
    limits = Path(f"/proc/{running}/limits").read_text()
    assert f"Max data size             {maker.MEMORY_BYTES}" in limits
    assert "Max file size             0 " in limits
    assert "Max core file size        0 " in limits


def test_they_end_with_the_server(tmp_path: Path) -> None:
    with picture_site(tmp_path, {"photo.jpg": PHOTO}) as site:
        site.get("photo.jpg", "w=64")
        assert len(makers()) == 1
    eventually(lambda: makers() == [])


def test_a_form_that_many_workers_are_asked_for_at_once(tmp_path: Path) -> None:
    with picture_site(tmp_path, {"photo.jpg": PHOTO}) as site:
        path, store = site.paths["photo.jpg"], site.store
    with serving(store, tmp_path / "log", CMS_WORKERS="2") as running:
        eventually(lambda: running.get("/healthz").status == 200)
        targets = [f"{path}?w={width}&fm=webp" for width in (64, 96, 128, 256)] * 10
        with ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(running.get, targets))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 4
    assert {opened(answer.body).width for answer in answers} == {64, 96, 128, 256}
    kept = [path for path in (store.cache / ".pictures").rglob("*.webp") if path.is_file()]
    assert len(kept) == 4

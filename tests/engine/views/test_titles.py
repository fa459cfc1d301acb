"""Titles in the file for analysts: of what is live, and of nothing else (decision 22)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from engine.views.collecting.spool import VIEWS, SpoolWriter, View
from engine.views.collecting.targets import Kind
from engine.views.gathering.analysts_file import FILE
from engine.views.gathering.followed_file import STEP_SECONDS
from engine.views.gathering.writer import ViewWriter
from snapshots.build.build import build
from tests.sites.served_site import Site

BEGIN, END = 1_772_323_200_000, 1_775_001_600_000
ENTRY = "id: {}\ntitle: {}\ncreatedAt: 2025-01-01\n"
WINDOW = "status: {}\npublishStart: 2026-03-01T00:00:00Z\npublishEnd: 2026-04-01T00:00:00Z\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Site]:
    site = Site(tmp_path)

    def written(**entries: str) -> Site:
        posts = site.source / "content" / "posts"
        posts.mkdir(exist_ok=True)
        for name, more in entries.items():
            (posts / f"{name}.yaml").write_text(ENTRY.format(name, name.title()) + more)
        build(site.source, site.store, now=BEGIN - 10_000, allow_breaking=True)
        return site

    return written


def test_the_file_has_titles_of_what_is_live_only(write: Callable[..., Site]) -> None:
    site = write(always="", later=WINDOW.format("scheduled"), ends=WINDOW.format("published"), never="status: draft\n")
    views = site.place.directory / VIEWS
    spool = SpoolWriter(views, BEGIN)
    spool.append(*(View(BEGIN, Kind.ENTRY, name, "a.example") for name in ("always", "later", "never", "gone")))
    spool.seal()
    writer = ViewWriter(views)
    moment = 0.0

    def titles(now: int) -> list[str]:
        nonlocal moment
        moment += STEP_SECONDS
        assert writer.round(now, moment) is not None
        with duckdb.connect(views / FILE, read_only=True) as connection:
            assert connection.execute("SELECT count(*) FROM entry_views").fetchall() == [(4,)]
            return [title for (title,) in connection.execute("SELECT title FROM entries ORDER BY title").fetchall()]

    assert titles(BEGIN - 1) == ["Always"]
    assert titles(BEGIN) == ["Always", "Ends", "Later"]
    assert titles(END - 1) == ["Always", "Ends", "Later"]
    assert titles(END) == ["Always"]
    write(always="status: draft\n", new="")
    assert titles(END + 1) == ["New"]
    spool.close()


def test_a_writer_that_begins_looks_at_the_titles_it_finds(write: Callable[..., Site]) -> None:
    site = write(later=WINDOW.format("scheduled"))
    views = site.place.directory / VIEWS
    spool = SpoolWriter(views, BEGIN)
    spool.append(View(BEGIN, Kind.ENTRY, "later", "a.example"))
    spool.seal()
    assert ViewWriter(views).round(BEGIN, 0.0) is not None
    assert ViewWriter(views).round(END, 0.0) is not None
    with duckdb.connect(views / FILE, read_only=True) as connection:
        assert connection.execute("FROM entries").fetchall() == []
    spool.close()

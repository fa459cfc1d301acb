"""The tab *Readers*: the servers of a store, each with the version that it serves and how long that took."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.administration.heartbeats import (
    READERS,
    ReaderProcess,
    ReadingServer,
    ServedVersion,
    encode_reader,
    reader_key,
)
from snapshots.store.objects import ANY
from tests.server.console.browsing import EDITOR, Browser, console, site_with_members
from tests.sites.served_site import Running, Site, eventually

PAGE = "/console/acme/readers"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with console(site, tmp_path_factory.mktemp("log") / "log", workers=2) as running:
        yield running


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, EDITOR)
    return browser


def rows(browser: Browser) -> list[str]:
    return [" ".join(row.text(separator=" ").split()) for row in browser.get(PAGE).page.css("tbody tr")]


def documents(site: Site) -> list[Path]:
    return list((site.store.root / READERS).glob("*.json"))


def put(site: Site, name: str, *processes: ReaderProcess, host: str = "other") -> Path:
    site.store.objects.replace(reader_key(name), encode_reader(ReadingServer(host, "parquetry 1", processes)), ANY)
    return site.store.root / reader_key(name)


def process(
    version: str | None, since: int, *, noted: int, started: int = 0, refused: str | None = None
) -> ReaderProcess:
    return ReaderProcess(7, started, noted, {"acme": ServedVersion(version, since, refused)})


@pytest.mark.slow
def test_a_server_with_workers_says_what_each_serves(site: Site, browser: Browser) -> None:
    # One that has just begun tells that it is there before it serves anything.
    eventually(lambda: ["current" in row for row in rows(browser)] == [True, True])
    assert os.uname().nodename in rows(browser)[0]
    assert "Readers" in browser.get("/console/acme").text
    [document] = documents(site)
    assert {one["workspaces"]["acme"]["version"] for one in json.loads(document.read_bytes())["processes"]} == {
        site.place.versions()[0]
    }


def test_how_each_stands(site: Site, browser: Browser) -> None:
    old = site.place.versions()[0]
    new = site.publish("newer")
    current = site.place.current()
    assert current is not None
    at = current.activated_at
    cases = {
        "swift": (process(new, at + 400, noted=at + 2_000, started=at - 9_000), "current", "0.4 s"),
        "begun-later": (process(new, at + 90_000, noted=at + 91_000, started=at + 80_000), "current", "–"),
        "behind": (process(old, at - 9_000, noted=at + 60_000), f"behind {old}", "60 s"),
        "unheard": (process(old, at - 9_000, noted=at - 1_000), f"not known yet {old}", "–"),
        "refusing": (process(old, at - 9_000, noted=at + 60_000, refused=new), f"refused {old}", "60 s"),
        "empty": (process(None, 0, noted=at + 1_000), "serves nothing", "–"),
        "elsewhere": (ReaderProcess(7, 0, at, {}), "serves nothing", "–"),
    }
    paths = [put(site, name, one, host=name) for name, (one, _, _) in cases.items()]
    try:
        found = {row.split()[0]: row for row in rows(browser)}
        for name, (_, standing, lag) in cases.items():
            assert standing in found[name], name
            assert f" {lag} " in found[name], name
    finally:
        for path in paths:
            path.unlink()


def test_one_that_is_silent_and_ones_that_nobody_understands(site: Site, browser: Browser) -> None:
    version = site.place.versions()[0]
    silent = put(site, "silent", process(version, 0, noted=0), host="<b>silent</b>")
    hour_ago = time.time() - 3700
    os.utime(silent, (hour_ago, hour_ago))
    strange = silent.with_name("strange.json")
    strange.write_bytes(b'{"host": 1, "\xff')
    try:
        page = browser.get(PAGE)
        found = [row for row in rows(browser) if "silent" in row]
        assert "61 min ago silent" in found[0]
        assert "<b>silent</b>" in page.text
        assert not page.page.css("main b")
        assert any(row.startswith("strange") and "cannot be read" in row for row in rows(browser))
    finally:
        silent.unlink()
        strange.unlink()


@pytest.mark.slow
def test_a_server_that_ends_takes_back_what_it_said(site: Site, browser: Browser, tmp_path: Path) -> None:
    eventually(lambda: rows(browser))
    before = {path.name for path in documents(site)}
    with console(site, tmp_path / "log", cache=str(tmp_path / "cache")) as second:
        eventually(lambda: len(documents(site)) == len(before) + 1)
        assert second.stop() == 0
    assert {path.name for path in documents(site)} == before


@pytest.mark.slow
def test_a_store_that_cannot_be_written_is_served_all_the_same(tmp_path: Path) -> None:
    site = site_with_members(tmp_path)
    (site.store.root / READERS).write_text("in the way")
    with console(site, tmp_path / "log") as running:
        eventually(lambda: "page of readers" in running.log())
        browser = Browser(running)
        browser.sign_in(site.store.root, EDITOR)
        assert browser.get(PAGE).status == 503
        assert browser.get("/console/acme").status == 200

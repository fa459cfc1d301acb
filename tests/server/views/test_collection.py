"""Collecting page views in one worker: its event loop and its threads share each workspace's part."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.views.collecting.addresses import TrustedProxies
from engine.views.collecting.spool import SPOOL, VIEWS, View
from engine.views.collecting.targets import Kind
from engine.views.collecting.visitors import Visitors
from server.logs import LOGGER
from server.views import collection as collecting
from server.views.collection import ViewCollection
from server.views.workspace_views import WorkspaceViews
from snapshots.store.store import open_store


def collection(store: Path, *workspaces: str) -> ViewCollection:
    for name in workspaces:
        (store / name).mkdir()
    small = Visitors(seen=16, addresses=16)
    served: Any = SimpleNamespace(all=lambda: [SimpleNamespace(id=name) for name in workspaces])
    return ViewCollection(open_store(store), served, small, TrustedProxies(()), lambda: 0)


def test_a_workspace_has_one_part_whoever_asks_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slowly(WorkspaceViews):
        def __init__(self, workspace: str, views: Path) -> None:
            time.sleep(0.05)
            super().__init__(workspace, views)

    monkeypatch.setattr(collecting, "WorkspaceViews", Slowly)
    views = collection(tmp_path)
    start = threading.Barrier(8)
    found: list[tuple[str, WorkspaceViews]] = []

    def ask(workspace: str) -> None:
        start.wait()
        found.append((workspace, views.of_workspace(workspace)))

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("acme", "other") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(part is views.of_workspace(workspace) for workspace, part in found)


def test_a_step_that_fails_is_told_once_until_it_succeeds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(LOGGER), "propagate", True)
    views = collection(tmp_path, "acme")
    spool, aside = tmp_path / "acme" / VIEWS / SPOOL, tmp_path / "aside"
    for failures in (1, 2):
        views.of_workspace("acme").keep([View(0, Kind.PATH, "/", "acme.example")], 0)
        [segment] = spool.glob("*/open-*")
        segment.rename(aside)
        for _ in range(3):
            views._step()
        aside.rename(segment)
        views._step()
        assert len(caplog.records) == failures, caplog.text
        assert len(list(spool.glob("*/sealed-*"))) == failures


def test_views_go_on_when_their_place_is_taken_away(tmp_path: Path) -> None:
    views = collection(tmp_path, "acme")
    spool = tmp_path / "acme" / VIEWS / SPOOL
    for _ in range(3):
        for _ in range(2):  # so that one segment waits for being sealed, and one is open
            views.of_workspace("acme").keep([View(0, Kind.PATH, "/", "acme.example")] * 10_000, 0)
        views.of_workspace("acme").keep([View(0, Kind.PATH, "/", "acme.example")], 0)
        assert len(open_files(spool)) == 4, "three segments and the lock"
        shutil.rmtree(spool.parent)
        views._step()
        assert open_files(spool) == []
    views.of_workspace("acme").keep([View(0, Kind.PATH, "/", "acme.example")], 0)
    views._step()
    assert len(list(spool.glob("*/sealed-*"))) == 1


def open_files(directory: Path) -> list[str]:
    """The files below a directory that this process has open, removed ones too."""
    links = []
    for file in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # what listed them
            links.append(str(file.readlink()))
    return [link for link in links if link.startswith(f"{directory.resolve()}/")]

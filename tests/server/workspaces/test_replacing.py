"""What a process waits for that is to replace another one: all that is served, and that the store still has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.administration.heartbeats import ReaderProcess, ServedVersion, encode_process
from engine.read.reader.reader import Reader, open_reader
from server.workspaces.served_note import FOLDER
from server.workspaces.workspaces import CannotReplace, Workspaces
from snapshots.store.current import CURRENT
from snapshots.store.store import Store, WorkspaceStore
from snapshots.times import now_ms
from tests.sites.served_site import Site

OTHER = 1
"""A process ID that is not that of the test."""


def note(store: Store, *names: str) -> None:
    """Have another process say that it serves workspaces."""
    served = ServedVersion("v1", now_ms(), None, ())
    (store.cache / FOLDER).mkdir(parents=True, exist_ok=True)
    process = ReaderProcess(OTHER, now_ms(), now_ms(), dict.fromkeys(names, served))
    (store.cache / FOLDER / f"{OTHER}.json").write_bytes(encode_process(process))


@contextmanager
def replacing(store: Store) -> Iterator[Workspaces]:
    def opened(place: WorkspaceStore, version: str) -> Reader:
        return open_reader(place.snapshots / version, place.manifest(version), store.cache)

    workspaces = Workspaces(store, opened, now_ms)
    try:
        workspaces.start(replaces=True)
        yield workspaces
    finally:
        workspaces.stop()


def test_a_workspace_that_was_deleted_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    site = Site(tmp_path)
    site.publish("one")
    site.key()
    note(site.store, "acme", "deleted")
    with replacing(site.store) as workspaces:
        assert workspaces.served("acme") is not None
        assert not workspaces.has("deleted")
    assert "the store does not have deleted any more, which other processes still serve" in caplog.text


def test_a_workspace_that_is_there_and_cannot_be_served_is_needed(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    (site.place.directory / CURRENT).write_bytes(b"{")
    note(site.store, "acme", "deleted")
    with pytest.raises(CannotReplace, match="cannot serve acme"), replacing(site.store):
        pass


def test_a_store_without_any_workspace_may_be_in_another_place(tmp_path: Path) -> None:
    site = Site(tmp_path)
    note(site.store, "acme")
    with pytest.raises(CannotReplace, match="the store does not have it"), replacing(site.store):
        pass

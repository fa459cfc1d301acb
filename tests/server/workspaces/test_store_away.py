"""A store that holds none of its workspaces any more was moved, unless nothing of them was ever used."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from engine.access.keys.access import AccessFile, issue_key
from server.workspaces.workspaces import Workspaces
from snapshots.store.durable import StoreError
from snapshots.store.store import Store, WorkspaceStore
from snapshots.times import now_ms
from tests.sites.served_site import eventually


def never(_place: WorkspaceStore, _version: str) -> None:
    raise StoreError("nothing was built")


@pytest.mark.parametrize("has_keys", [False, True])
def test_a_workspace_whose_first_build_was_cut_off_may_vanish(
    has_keys: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    names = Store.workspaces

    def counted(store: Store) -> list[str]:
        found = names(store)
        if store.root == tmp_path / "store":  # not that of another test, whose server looks beside
            looks.append(len(found))
        return found

    monkeypatch.setattr(Store, "workspaces", counted)
    store = Store(tmp_path / "store", tmp_path / "cache")
    place = store.workspace("acme")
    place.snapshots.mkdir(parents=True)
    if has_keys:
        issue_key(AccessFile(place.directory), name="App", scope=None, now=now_ms(), zone=UTC, validity="none")
    workspaces = Workspaces(store, never, now_ms)  # type: ignore[arg-type]  # it is not called
    workspaces.start()
    try:
        assert workspaces.has("acme")
        store.root.rename(tmp_path / "elsewhere")
        eventually(lambda: looks[-2:] == [0, 0])
        assert (workspaces.complaint is not None) is has_keys
        (tmp_path / "elsewhere").rename(store.root)
        eventually(lambda: looks[-2:] == [1, 1])
        assert workspaces.complaint is None
    finally:
        workspaces.stop()

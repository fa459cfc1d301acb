"""Which of several senders sends: one of a machine, and one machine of all."""

from __future__ import annotations

from pathlib import Path

from server.background.webhooks.election import HOLDER, LEASE_MS, RENEW_MS, Election
from snapshots.store.directory_objects import DirectoryObjects

NOW = 1_800_000_000_000


def test_one_process_of_a_machine_is_elected_and_another_follows_at_once(tmp_path: Path) -> None:
    store, cache = DirectoryObjects(tmp_path / "store"), tmp_path / "cache"
    first, second = Election(store, cache), Election(store, cache)
    assert first.holds(NOW)
    assert not second.holds(NOW)
    first.leave()  # as the end of its process does
    assert second.holds(NOW)
    second.leave()


def test_machines_of_the_same_name_with_the_same_path_are_two(tmp_path: Path) -> None:
    """As containers of one image have, each with a file system of its own."""
    store, path = DirectoryObjects(tmp_path / "store"), tmp_path / "cache"
    here = Election(store, path)
    assert here.holds(NOW)
    path.rename(tmp_path / "elsewhere")
    there = Election(store, path)
    assert not there.holds(NOW + 1)
    assert here.holds(NOW + RENEW_MS)
    here.leave()
    there.leave()


def test_a_machine_that_starts_again_goes_on_at_once(tmp_path: Path) -> None:
    store, cache = DirectoryObjects(tmp_path / "store"), tmp_path / "cache"
    first = Election(store, cache)
    assert first.holds(NOW)
    first.leave()
    (cache / HOLDER).write_text("")  # by a process that was killed while it wrote
    other = Election(store, cache)
    assert not other.holds(NOW + 1)
    other.leave()
    again = Election(store, cache)
    assert again.holds(NOW + LEASE_MS + 1)
    again.leave()


def test_one_machine_is_elected_until_its_lease_ends(tmp_path: Path) -> None:
    store = DirectoryObjects(tmp_path / "store")
    here, there = Election(store, tmp_path / "here"), Election(store, tmp_path / "there")
    assert here.holds(NOW)
    assert not there.holds(NOW + 1)
    renewed = NOW + RENEW_MS
    assert here.holds(renewed)
    assert not there.holds(NOW + LEASE_MS + 1)
    # It is paused or cut off, and finds out when it looks again.
    taken = renewed + LEASE_MS + 1
    assert there.holds(taken)
    assert not here.holds(taken + 1)
    here.leave()
    there.leave()

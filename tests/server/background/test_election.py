"""Which of several machines does what is done once for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.background.election import HOLDER, LEASE, LEASE_MS, RENEW_MS, RETRY_MS, Election
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError

NOW = 1_800_000_000_000


class Machines:
    """Machines that share a bucket, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.now = NOW
        self.bucket = DirectoryObjects(folder / "bucket")

    def keeper(self, cache: Path) -> Election:
        """The part of a keeper that has just been started."""
        cache.mkdir(exist_ok=True)
        return Election(self.bucket, cache, lambda: self.now)

    def held(self, election: Election, later: int = 0) -> bool:
        """Whether a machine is the one after so many milliseconds, when it has asked."""
        self.now += later
        election.renew()
        return election.holds()


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path)


def test_machines_of_the_same_name_with_the_same_path_are_two(machines: Machines, tmp_path: Path) -> None:
    """As containers of one image have, each with a file system of its own."""
    path = tmp_path / "cache"
    here = machines.keeper(path)
    assert machines.held(here)
    path.rename(tmp_path / "elsewhere")
    there = machines.keeper(path)
    assert not machines.held(there, 1)
    assert machines.held(here, RENEW_MS)


def test_a_keeper_that_starts_again_goes_on_at_once(machines: Machines, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert machines.held(machines.keeper(cache))
    again = machines.keeper(cache)
    assert machines.held(again, 1)
    (cache / HOLDER).write_text("")  # by one that was killed while it wrote
    other = machines.keeper(cache)
    assert not machines.held(other, 1)
    assert machines.held(machines.keeper(cache), LEASE_MS)


def test_one_machine_is_elected_until_its_lease_ends(machines: Machines, tmp_path: Path) -> None:
    here, there = machines.keeper(tmp_path / "here"), machines.keeper(tmp_path / "there")
    assert not here.holds(), "nobody knows before it has asked"
    assert machines.held(here)
    assert not machines.held(there, 1)
    assert machines.held(here, RENEW_MS)
    assert not machines.held(there, LEASE_MS - RENEW_MS + 1)
    machines.now += LEASE_MS  # it is paused or cut off
    assert not here.holds()
    assert machines.held(there)
    assert not machines.held(here, 1)


def test_one_that_ends_lets_another_take_over_at_once(machines: Machines, tmp_path: Path) -> None:
    here, there = machines.keeper(tmp_path / "here"), machines.keeper(tmp_path / "there")
    assert machines.held(here)
    here.leave()
    assert not here.holds()
    assert machines.held(there, 1)
    here.leave()
    assert machines.held(there, RENEW_MS), "what is another's cannot be given back"


@pytest.mark.undisturbed
def test_a_lease_that_cannot_be_written_is_said_to_whoever_asks_and_is_tried_again(
    machines: Machines, tmp_path: Path
) -> None:
    here = machines.keeper(tmp_path / "cache")
    assert machines.held(here)
    lease = tmp_path / "bucket" / LEASE
    lease.unlink()
    lease.mkdir()
    machines.now += RENEW_MS
    with pytest.raises(StoreError) as refused:
        here.renew()
    with pytest.raises(StoreError, match="writer") as told:
        here.holds()
    assert str(told.value) == str(refused.value)
    lease.rmdir()
    here.renew()
    with pytest.raises(StoreError):
        here.holds()  # it is not asked so soon
    assert machines.held(here, max(RETRY_MS, LEASE_MS))

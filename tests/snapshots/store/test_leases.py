"""A lease whose holders have other clocks, are gone or cut off, and what it asks of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.leases import Lease
from snapshots.store.objects import ANY, StoreUnreachable
from tests.stores.mirrored_machine import Bucket
from tests.stores.quicker import quicker

KEY = "acme/lease"
TTL = 1000
NOW = 1_800_000_000_000
YEAR = 365 * 24 * 3_600_000


def lease(root: Path, holder: str) -> Lease:
    return Lease(DirectoryObjects(root), KEY, holder, TTL)


def test_whoever_does_not_get_a_lease_is_told_when_to_ask_again(tmp_path: Path) -> None:
    one, two = lease(tmp_path, "one"), lease(tmp_path, "two")
    assert one.take(NOW)
    assert not two.take(NOW + 500)
    assert two.ask_at == NOW + TTL
    assert one.take(NOW + 600)
    assert not two.take(two.ask_at)
    assert two.ask_at == NOW + 600 + TTL


def test_of_two_who_take_a_lease_at_once_the_slower_is_told_whose_it_is(tmp_path: Path) -> None:
    one, two = lease(tmp_path, "one"), lease(tmp_path, "two")
    with quicker("lease", lambda: one.take(NOW)):
        assert not two.take(NOW + 1)
    assert two.ask_at == NOW + TTL
    assert one.take(NOW + 2)


def test_a_lease_that_nobody_can_read_is_nobodys(tmp_path: Path) -> None:
    assert lease(tmp_path, "one").take(NOW)
    DirectoryObjects(tmp_path).replace(KEY, b"nothing of use", ANY)
    assert lease(tmp_path, "two").take(NOW + 1)


def test_a_holder_that_is_gone_and_whose_clock_was_ahead_is_waited_for_as_long_as_a_lease_holds(tmp_path: Path) -> None:
    ahead, two, three = (lease(tmp_path, name) for name in ("ahead", "two", "three"))
    assert ahead.take(NOW + YEAR)
    assert not two.take(NOW)
    assert two.ask_at == NOW + TTL
    assert not two.take(NOW + TTL - 1)
    assert not three.take(NOW + TTL - 1), "who has just come has not seen that it is not renewed"
    assert two.take(NOW + TTL)
    assert not three.take(NOW + TTL)


def test_a_holder_whose_clock_is_ahead_keeps_what_it_renews(tmp_path: Path) -> None:
    ahead, two = lease(tmp_path, "ahead"), lease(tmp_path, "two")
    now = NOW
    assert ahead.take(now + YEAR)
    assert not two.take(now)
    for _ in range(5):
        assert ahead.take(now + YEAR + TTL // 2)
        now = two.ask_at
        assert not two.take(now)
    ahead.give_back(now + YEAR)
    assert two.take(now + 1)


def test_a_clock_that_is_set_back_begins_to_wait_anew(tmp_path: Path) -> None:
    ahead, two = lease(tmp_path, "ahead"), lease(tmp_path, "two")
    assert ahead.take(NOW + YEAR)
    assert not two.take(NOW)
    assert not two.take(NOW - 10 * TTL)
    assert not two.take(NOW - 9 * TTL - 1)
    assert two.take(NOW - 9 * TTL)


def test_renewing_is_one_request(tmp_path: Path) -> None:
    bucket = Bucket(tmp_path)
    held = Lease(bucket, KEY, "one", TTL)
    assert held.take(NOW)
    bucket.asked.clear()
    for number in range(1, 6):
        assert held.take(NOW + number)
    assert bucket.asked["read"] == 5, "a directory reads what it replaces, which a bucket does in the same request"


def test_a_holder_finds_out_that_it_was_cut_off_for_too_long(tmp_path: Path) -> None:
    bucket = Bucket(tmp_path)
    one, two = Lease(bucket, KEY, "one", TTL), lease(tmp_path, "two")
    assert one.take(NOW)
    bucket.reachable = False
    with pytest.raises(StoreUnreachable):
        one.take(NOW + 600)
    bucket.reachable = True
    assert two.take(NOW + TTL)
    assert not one.take(NOW + TTL)
    two.give_back(NOW + TTL + 1)
    assert one.take(NOW + TTL + 1)

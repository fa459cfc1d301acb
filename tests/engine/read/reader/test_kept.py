"""What is kept of lists: bounded, forgotten with its reader, and made once however many ask at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import msgspec
import pytest

from engine.read.reader.kept import Kept


class Block(msgspec.Struct, frozen=True):
    nbytes: int


def name(number: int, reader: int = 1) -> tuple[int, int]:
    return (reader, number)


def test_the_longest_unused_goes_first() -> None:
    kept = Kept(10 * 11_000)
    for number in range(10):
        kept.put(name(number), Block(10_000))
    assert all(name(number) in kept for number in range(10))
    kept.get(name(0))
    kept.put(name(10), Block(10_000))
    assert name(0) in kept
    assert name(1) not in kept
    kept.put(name(11), Block(50_000))
    assert [number for number in range(12) if name(number) in kept] == [0, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("capacity", [0, 5_000])
def test_nothing_larger_than_the_bound_is_kept(capacity: int) -> None:
    kept = Kept(capacity)
    assert kept.obtain(name(1), lambda: Block(5_000), 1) == Block(5_000)
    assert name(1) not in kept
    assert kept.size == 0


def test_the_bound_holds_whatever_is_put_and_forgotten() -> None:
    random, kept = Random(0), Kept(100_000)
    for step in range(5_000):
        kept.put(name(random.randrange(50), random.randrange(3)), Block(random.randrange(30_000)))
        if step % 100 == 0:
            kept.forget(random.randrange(3))
        assert kept.size <= 100_000
    for reader in range(3):
        kept.forget(reader)
    assert kept.size == 0


def test_of_many_that_ask_at_once_one_makes_it() -> None:
    kept, made, all_wait = Kept(), [], threading.Event()

    def make() -> Block:
        made.append(1)
        all_wait.wait(60)
        return Block(1)

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(kept.obtain, name(1), make, 10.0) for _ in range(8)]
        all_wait.set()
        assert {one.result() for one in asked} == {Block(1)}
    assert len(made) == 1


def test_who_waits_for_one_that_fails_makes_its_own() -> None:
    kept, begun, go_on = Kept(), threading.Event(), threading.Event()

    def fail() -> Block:
        begun.set()
        go_on.wait(60)
        raise ValueError("interrupted")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.obtain, name(1), fail, 10.0)
        begun.wait(60)
        second = pool.submit(kept.obtain, name(1), lambda: Block(2), 10.0)
        go_on.set()
        assert second.result(10) == Block(2)
        with pytest.raises(ValueError, match="interrupted"):
            first.result(10)
    assert kept.obtain(name(1), lambda: Block(3), 1) == Block(2)


def test_who_waits_too_long_makes_its_own() -> None:
    kept, begun, go_on = Kept(), threading.Event(), threading.Event()

    def make_slowly() -> Block:
        begun.set()
        go_on.wait(60)
        return Block(1)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(kept.obtain, name(1), make_slowly, 10.0)
        begun.wait(60)
        assert kept.obtain(name(1), lambda: Block(2), 0.01) == Block(2)
        go_on.set()
        assert first.result(10) == Block(1)

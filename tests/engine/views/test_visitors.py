"""Duplicates and the limit per address, alone and in several processes that share the memory."""

from __future__ import annotations

import multiprocessing
import random
from multiprocessing.queues import Queue

from engine.views.collecting.visitors import Limits, Verdict, Visitors

NOW = 1_763_700_000_000
DAY = 86_400_000
NEW, DUPLICATE, LIMITED = Verdict.NEW, Verdict.DUPLICATE, Verdict.LIMITED
LIMITS = Limits(1800, 60)


def admit(
    visitors: Visitors,
    address: str = "a",
    agent: str = "u",
    target: str = "t",
    *,
    at: float = 0.0,
    limits: Limits = LIMITS,
    workspace: str = "w",
    now: int | None = None,
) -> Verdict:
    when = NOW + int(at * 1000) if now is None else now
    return visitors.admit(workspace, address.encode(), agent.encode(), target.encode(), limits, when, 1000 + at)


def test_a_duplicate_is_the_same_visitor_and_target_within_the_window() -> None:
    visitors = Visitors(seen=1024, addresses=1024)
    assert admit(visitors) is NEW
    assert admit(visitors, at=1) is DUPLICATE
    assert admit(visitors, target="other", at=1) is NEW
    assert admit(visitors, address="b", at=1) is NEW
    assert admit(visitors, agent="v", at=1) is NEW
    assert admit(visitors, workspace="x", at=1) is NEW
    assert admit(visitors, at=1799) is DUPLICATE
    assert admit(visitors, at=1800) is NEW
    assert admit(visitors, at=1900) is DUPLICATE
    assert admit(visitors, at=1900, limits=Limits(0, 60)) is NEW


def test_parts_of_a_visitor_do_not_run_together() -> None:
    visitors = Visitors(seen=1024, addresses=1024)
    assert admit(visitors, "ab", "c") is NEW
    assert admit(visitors, "a", "bc") is NEW


def test_a_view_that_was_not_kept_counts_when_it_comes_again() -> None:
    visitors = Visitors(seen=1024, addresses=1024)
    assert admit(visitors) is NEW
    visitors.forget("w", b"a", b"u", b"t", NOW)
    assert admit(visitors, at=1) is NEW
    visitors.forget("w", b"nobody", b"u", b"t", NOW)
    assert admit(visitors, at=2) is DUPLICATE


def test_midnight_ends_no_visit_and_the_key_of_yesterday_is_gone_the_day_after() -> None:
    visitors = Visitors(seen=1024, addresses=1024)
    midnight = NOW // DAY * DAY + DAY
    assert admit(visitors, now=midnight - 1, at=0) is NEW
    keys = bytes(visitors.memory.bytes[8:40])
    assert admit(visitors, now=midnight + 1, at=1) is DUPLICATE
    assert keys in visitors.memory.bytes[:128]
    assert admit(visitors, now=midnight + DAY, at=2) is NEW
    assert keys not in visitors.memory.bytes[:128]


def test_no_minute_holds_more_than_the_limit() -> None:
    visitors = Visitors(seen=1024, addresses=1024)
    limits = Limits(0, 10)
    chance = random.Random(1)
    taken: list[float] = []
    refused = 0
    at = 0.0
    for _ in range(2000):
        at += chance.expovariate(0.5)
        if admit(visitors, at=at, limits=limits) is NEW:
            taken.append(at)
        else:
            refused += 1
            # never refused when the minute before, and a second more, has room
            assert sum(at - 61 < one for one in taken) >= 10
    assert refused > 100
    assert all(later - earlier > 60 for earlier, later in zip(taken, taken[10:], strict=False))


def test_duplicates_use_up_the_limit_and_refused_views_do_not() -> None:
    visitors = Visitors(seen=1024, addresses=1024)
    limits = Limits(1800, 3)
    assert [admit(visitors, limits=limits) for _ in range(5)] == [NEW, DUPLICATE, DUPLICATE, LIMITED, LIMITED]
    assert admit(visitors, target="other", at=1, limits=limits) is LIMITED
    assert admit(visitors, address="b", target="other", at=1, limits=limits) is NEW
    assert admit(visitors, target="other", at=62, limits=limits) is NEW


def test_memory_is_bounded_and_the_longest_gone_are_forgotten() -> None:
    visitors = Visitors(seen=1024, addresses=256)
    for n in range(5000):
        assert admit(visitors, address=f"v{n}", at=n / 100) is NEW
    assert admit(visitors, address="v4999", at=50) is DUPLICATE
    remembered = sum(admit(visitors, address=f"v{n}", at=51) is DUPLICATE for n in range(4900, 5000))
    assert remembered > 90
    assert len(visitors.memory.bytes) < 100_000


def test_addresses_and_agents_are_nowhere_in_the_memory() -> None:
    visitors = Visitors(seen=1024, addresses=256)
    admit(visitors, address="203.0.113.77", agent="Mozilla/5.0 Secret")
    data = bytes(visitors.memory.bytes)
    assert b"203.0.113.77" not in data
    assert b"Secret" not in data


def _work(visitors: Visitors, results: Queue[list[str]], seed: int) -> None:
    chance = random.Random(seed)
    targets = [f"t{n}" for n in range(500)]
    chance.shuffle(targets)
    results.put([t for t in targets if admit(visitors, target=t, limits=Limits(1800, 1_000_000)) is NEW])


def test_a_duplicate_in_another_process_is_a_duplicate() -> None:
    visitors = Visitors(2, seen=1 << 14, addresses=1024)
    context = multiprocessing.get_context("spawn")
    results: Queue[list[str]] = context.Queue()
    processes = [context.Process(target=_work, args=(visitors, results, seed)) for seed in range(2)]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(found[0] + found[1]) == sorted(f"t{n}" for n in range(500))
    assert visitors.count_dropped(NOW) == 1
    assert visitors.dropped() == (1, NOW)

"""The window that several machines share, on a real Redis or Valkey: exact, and never in the way when it is gone."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis import Redis

from engine.access.keys import rate_limit_redis
from engine.access.keys.rate_limit import Allowance, window_name
from engine.access.keys.rate_limit_redis import SharedWindows
from tests.servers.redis_server import DEADLINE, RedisServer, needs_redis, redis_server

pytestmark = needs_redis
KEY = window_name("acme", "key_1")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path, password="geheim") as running:
        yield running


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a busy machine holds up does not count as down, and one that is back is noticed soon."""
    monkeypatch.setattr(rate_limit_redis, "ANSWER_SECONDS", DEADLINE)
    monkeypatch.setattr(rate_limit_redis, "PROBE_SECONDS", 0.05)


@asynccontextmanager
async def shared(server: RedisServer, changes: list[str | None], window: int = 60_000) -> AsyncIterator[SharedWindows]:
    windows = SharedWindows(server.url, changes.append, window=window)
    await windows.start()
    try:
        yield windows
    finally:
        await windows.stop()


async def until(windows: SharedWindows, *, down: bool) -> None:
    deadline = time.monotonic() + DEADLINE
    while windows.down is not down:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def test_exactly_the_limit_over_two_machines(server: RedisServer) -> None:
    async def ask() -> tuple[list[Allowance | None], list[str | None]]:
        changes: list[str | None] = []
        async with shared(server, changes) as one, shared(server, changes) as two:
            both = [windows.take(KEY, 300) for _ in range(600) for windows in (one, two)]
            return list(await asyncio.gather(*both)), changes

    answers, changes = asyncio.run(ask())
    assert changes == []
    told = [answer for answer in answers if answer is not None]
    assert len(told) == 1200
    assert sum(answer.allowed for answer in told) == 300
    assert sorted(answer.remaining for answer in told if answer.allowed) == list(range(300))
    assert all(answer.remaining == 0 and 50_000 < answer.reset <= 60_000 for answer in told if not answer.allowed)


def test_the_window_slides(server: RedisServer) -> None:
    """A client that never stops asking is let through its limit in any window, and what is refused is not counted."""

    async def ask() -> None:
        granted: list[tuple[float, float]] = []
        async with shared(server, [], window=200) as windows:
            while len(granted) < 5 * 5:
                await asyncio.sleep(0.002)
                before = time.monotonic()
                answer = await windows.take(KEY, 5)
                assert answer is not None
                if answer.allowed:
                    granted.append((before, time.monotonic()))
        starts = [before for before, _ in granted]
        ends = [after for _, after in granted]
        for index, start in enumerate(starts):
            assert sum(end < start + 0.2 for end in ends[index:]) <= 5

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_a_limit_that_changes_is_in_force_at_once(server: RedisServer) -> None:
    async def ask() -> None:
        async with shared(server, []) as windows:
            taken = [time.monotonic()]
            first = await windows.take(KEY, 2)
            assert first is not None
            assert (first.allowed, first.limit, first.remaining, first.reset_seconds) == (True, 2, 1, 60)
            await asyncio.sleep(0.3)
            taken.append(time.monotonic())
            for limit, allowed, remaining in ((2, True, 0), (2, False, 0), (1, False, 0), (4, True, 1)):
                answer = await windows.take(KEY, limit)
                assert answer is not None
                assert (answer.allowed, answer.remaining) == (allowed, remaining)
                # With a limit of one both have to leave, and the second came later: how long it may take is measured.
                waits_for = taken[1 if limit == 1 else 0]
                assert answer.reset > 60_000 - (time.monotonic() - waits_for) * 1000 - 10
                assert limit == 1 or answer.reset <= 59_700

    asyncio.run(ask())


def test_what_is_stored_goes_away_by_itself_and_holds_no_key(server: RedisServer) -> None:
    async def ask() -> None:
        async with shared(server, []) as windows:
            await windows.take(KEY, 300)

    asyncio.run(ask())
    with Redis(port=server.port, password="geheim") as client:
        names = client.keys()
        assert isinstance(names, list)
        assert b"parquetry:rate:" + KEY.hex().encode() in names
        assert all(0 < client.pttl(name) <= 61_000 for name in names)  # type: ignore[operator]  # sync client: int


def test_a_clock_ahead_is_forgotten(server: RedisServer) -> None:
    name = b"parquetry:rate:" + KEY.hex().encode()

    async def ask() -> Allowance | None:
        async with shared(server, []) as windows:
            return await windows.take(KEY, 1)

    with Redis(port=server.port, password="geheim") as client:
        ahead = int(time.time() * 1_000_000) + 3_600_000_000
        client.zadd(name, {str(ahead): ahead})
        answer = asyncio.run(ask())
        assert answer is not None
        assert answer.allowed
        ahead = int(time.time() * 1_000_000) + 5_000_000
        client.zadd(name, {str(ahead): ahead})
        answer = asyncio.run(ask())
        assert answer is not None
        assert not answer.allowed


def test_it_goes_down_and_comes_back(server: RedisServer) -> None:
    async def ask() -> list[str | None]:
        changes: list[str | None] = []
        async with shared(server, changes) as windows:
            assert await windows.take(KEY, 300) is not None
            server.stop()
            assert await asyncio.gather(*(windows.take(KEY, 300) for _ in range(100))) == [None] * 100
            for _ in range(100):
                assert await windows.take(KEY, 300) is None, "known to be down: nobody waits"
            server.start()
            await until(windows, down=False)
            assert await windows.take(KEY, 300) is not None
        return changes

    changes = asyncio.run(ask())
    assert len(changes) == 2, changes
    assert changes[0] is not None
    assert "geheim" not in changes[0]
    assert changes[1] is None


def test_one_that_hangs_is_noticed_without_a_request_and_holds_nobody_up(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit_redis, "ANSWER_SECONDS", 0.5)

    async def ask() -> None:
        async with shared(server, []) as windows:
            server.send(signal.SIGSTOP)
            turns = 0
            asking = [asyncio.create_task(windows.take(KEY, 300)) for _ in range(1000)]
            while not windows.down:
                await asyncio.sleep(0.001)
                turns += 1
            assert turns > 5, "the event loop went on"
            await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)
            assert [one.result() for one in asking if one.done()] == [None] * 1000, "they waited together"
            server.send(signal.SIGCONT)
            await until(windows, down=False)
            server.send(signal.SIGSTOP)
            await until(windows, down=True)
            server.send(signal.SIGCONT)

    asyncio.run(ask())


def calls(client: Redis) -> int:
    """How often a script was run on the server, or was to be."""
    counted = client.info("commandstats")["cmdstat_eval"]  # type: ignore[index]  # sync client: a dictionary
    return int(counted["calls"]) + int(counted["rejected_calls"])


@pytest.mark.parametrize(
    ("command", "reason"),
    [("CONFIG SET min-replicas-to-write 1", "NOREPLICAS"), ("REPLICAOF 127.0.0.1 1", "read only replica")],
)
def test_one_that_answers_but_cannot_count_is_down_for_good(server: RedisServer, command: str, reason: str) -> None:
    async def ask(client: Redis) -> list[str | None]:
        changes: list[str | None] = []
        async with shared(server, changes) as windows:
            client.execute_command(*command.split(" "))
            assert await windows.take(KEY, 300) is None
            asked = calls(client)
            while calls(client) < asked + 3:
                await asyncio.sleep(0.02)
            assert windows.down, "its probe must not take it for healthy"
        return changes

    with Redis(port=server.port, password="geheim") as client:
        (change,) = asyncio.run(ask(client))
    assert change is not None
    assert reason in change


def test_one_that_is_down_at_the_start(server: RedisServer) -> None:
    server.stop()

    async def ask() -> list[str | None]:
        changes: list[str | None] = []
        async with shared(server, changes) as windows:
            assert await windows.take(KEY, 300) is None
            server.start()
            await until(windows, down=False)
        return changes

    assert len(asyncio.run(ask())) == 2


def test_a_wrong_password_is_told_without_it(server: RedisServer) -> None:
    changes: list[str | None] = []
    with_wrong = RedisServer(Path(), password="falsch")
    with_wrong.port = server.port

    async def ask() -> None:
        async with shared(with_wrong, changes) as windows:
            assert windows.down

    asyncio.run(ask())
    (reason,) = changes
    assert reason is not None
    assert "invalid username-password pair" in reason
    assert "falsch" not in reason


def test_it_stops_whatever_it_is_doing(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit_redis, "PROBE_SECONDS", 0.001)

    async def stop_often() -> None:
        for number in range(60):
            windows = SharedWindows(server.url, lambda _: None)
            await windows.start()
            await asyncio.sleep(number / 10_000)
            stopping = asyncio.create_task(windows.stop())
            done, _ = await asyncio.wait({stopping}, timeout=DEADLINE)
            assert done

    asyncio.run(stop_often())

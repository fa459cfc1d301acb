"""Duplicates and the address limit over machines, by a real Redis: one salt a day, which nothing keeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from engine.views.collecting import visitors_shared
from engine.views.collecting.visitors import Limits, Verdict
from engine.views.collecting.visitors_shared import Seen, SharedVisitors
from tests.servers.redis_server import DEADLINE, RedisServer, needs_redis, redis_server

pytestmark = needs_redis
ROOT = Path(__file__).parents[3]
NEW, DUPLICATE, LIMITED = Verdict.NEW, Verdict.DUPLICATE, Verdict.LIMITED


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a busy machine holds up does not count as down, nor a member as gone that tells a salt late."""
    monkeypatch.setattr(visitors_shared, "ANSWER_SECONDS", DEADLINE)
    monkeypatch.setattr(visitors_shared, "ASK_SECONDS", DEADLINE)
    monkeypatch.setattr(visitors_shared, "RETRY_SECONDS", 0.05)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as running:
        yield running


@pytest.fixture
def join(server: RedisServer) -> Iterator[Callable[[], SharedVisitors]]:
    """A function that has one more process take part."""
    members: list[SharedVisitors] = []

    def joined() -> SharedVisitors:
        member = SharedVisitors(server.url, lambda _: None)
        member.start()
        members.append(member)
        return member

    yield joined
    for member in members:
        member.stop()


def seen(number: int = 1, *, limits: Limits | None = None, target: bytes = b"path:/a") -> Seen:
    return "acme", bytes([10, 0, 0, number]), b"Firefox", target, limits or Limits()


def test_a_view_is_new_once_over_all_machines(join: Callable[[], SharedVisitors]) -> None:
    several = [join() for _ in range(3)]
    assert several[0].judge([seen(), seen(2), seen()]) == [NEW, NEW, DUPLICATE]
    for other in several[1:]:
        assert other.judge([seen(), seen(2), seen(target=b"path:/b")])[:2] == [DUPLICATE, DUPLICATE]
    late = join()
    assert late.judge([seen(), seen(3)]) == [DUPLICATE, NEW]
    assert several[1].judge([seen(3)]) == [DUPLICATE]


def test_the_limit_of_an_address_holds_over_all_machines(join: Callable[[], SharedVisitors]) -> None:
    one, two = join(), join()
    limits = Limits(per_address_per_minute=5)
    verdicts = [
        (one, two)[number % 2].judge([seen(limits=limits, target=b"path:/%d" % number)])[0] for number in range(8)
    ]
    assert verdicts == [NEW] * 5 + [LIMITED] * 3
    assert two.judge([seen(2, limits=limits)]) == [NEW]


def test_duplicates_use_up_the_limit_and_none_are_told_where_that_is_off(join: Callable[[], SharedVisitors]) -> None:
    one = join()
    limits = Limits(per_address_per_minute=3)
    assert one.judge([seen(limits=limits)] * 4) == [NEW, DUPLICATE, DUPLICATE, LIMITED]
    assert one.judge([seen(2, limits=Limits(dedupe_seconds=0))] * 3) == [NEW] * 3


def test_a_view_that_could_not_be_kept_is_forgotten(join: Callable[[], SharedVisitors]) -> None:
    one, two = join(), join()
    assert one.judge([seen()]) == [NEW]
    one.forget(*seen()[:4])
    assert two.judge([seen()]) == [NEW]


def test_no_salt_is_in_the_server_and_what_is_there_goes(
    join: Callable[[], SharedVisitors], server: RedisServer
) -> None:
    one, two = join(), join()
    one.judge([seen()])
    two.judge([seen(2)])
    [(name, salt)] = one._salts.items()
    assert two._salts == {name: salt}
    client = Redis.from_url(server.url)
    keys = client.keys("*")
    assert len(keys) == 5
    for key in keys:
        found = client.dump(key) + key
        assert salt not in found
        assert salt.hex().encode() not in found
        assert 0 < client.ttl(key) <= 2 * 86_400
    client.save()
    [dump] = server._directory.glob("*.rdb")
    assert salt not in dump.read_bytes()
    client.close()


@pytest.mark.slow
def test_a_salt_that_nobody_knows_any_more_is_replaced(
    join: Callable[[], SharedVisitors], server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visitors_shared, "ASK_SECONDS", 2.0)
    first = join()
    first.judge([seen()])
    gone = set(first._salts)
    first.stop()
    second, third = join(), join()
    assert second.judge([seen(), seen()]) == [NEW, DUPLICATE]
    assert third.judge([seen()]) == [DUPLICATE]
    assert not gone & set(second._salts)
    server.stop()
    server.start()  # without a memory of any name
    deadline = time.monotonic() + 60
    while (verdicts := third.judge([seen(9)])) == [None]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert verdicts == [NEW]
    while (verdicts := second.judge([seen(9)])) == [None]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert verdicts == [DUPLICATE]


def test_a_visit_around_midnight_is_one_visit_and_old_salts_go(join: Callable[[], SharedVisitors]) -> None:
    one, two = join(), join()
    assert one.judge([seen()]) == [NEW]
    assert two.judge([seen()]) == [DUPLICATE]
    today = one._today
    assert today is not None

    class Tomorrow:
        """The server's clock, days later."""

        def __init__(self, client: Redis, days: int) -> None:
            self._client = client
            self._days = days

        def __getattr__(self, name: str) -> object:
            return getattr(self._client, name)

        def time(self) -> tuple[int, int]:
            seconds, micros = self._client.time()
            return seconds + 86_400 * self._days, micros

    real = [one._client, two._client]
    for days, verdict in ((1, DUPLICATE), (2, NEW)):
        for member, client in zip((one, two), real, strict=True):
            member._client = Tomorrow(client, days)
            member._today = None
        assert one.judge([seen()]) == [verdict]
        assert two.judge([seen()]) == [DUPLICATE]
    assert today[1] not in one._salts
    assert len(one._salts) == 2


def test_while_the_server_is_down_nobody_waits_for_it(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors_shared, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(visitors_shared, "RETRY_SECONDS", 600.0)
    told: list[str | None] = []
    member = SharedVisitors(server.url, told.append)
    member.start()
    assert member.judge([seen()]) == [NEW]
    server.send(signal.SIGSTOP)
    assert member.judge([seen(), seen(2)]) == [None, None]
    client, member._client = member._client, None  # whoever asked the server would fail
    assert [member.judge([seen()]) for _ in range(50)] == [[None]] * 50
    member._client, member._down_until = client, 0.0
    monkeypatch.setattr(visitors_shared, "RETRY_SECONDS", 0.05)
    server.send(signal.SIGCONT)
    deadline = time.monotonic() + 60
    while member.judge([seen()]) == [None]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [reason is None for reason in told] == [False, True]
    member.stop()


MEMBER = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from engine.views.collecting.visitors import Limits
from engine.views.collecting import visitors_shared
from engine.views.collecting.visitors_shared import SharedVisitors
visitors_shared.ANSWER_SECONDS = visitors_shared.ASK_SECONDS = {DEADLINE}
member = SharedVisitors(sys.argv[1], lambda reason: print(reason, file=sys.stderr))
member.start()
print("ready", flush=True)
sys.stdin.readline()
views = [("acme", bytes([10, 0, n // 250, n % 250]), b"Firefox", b"path:/", Limits()) for n in range(400)]
found = []
for first in range(0, 400, 8):
    found += member.judge(views[first : first + 8])
print(sum(verdict is not None and verdict.name == "NEW" for verdict in found), found.count(None), flush=True)
sys.stdin.readline()
"""


def test_processes_that_begin_at_once_agree(server: RedisServer) -> None:
    command = [sys.executable, "-c", MEMBER, server.url]
    members = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ})
        for _ in range(4)
    ]
    try:
        for word in ("ready\n", ""):
            lines = []
            for member in members:
                assert member.stdout is not None
                lines.append(member.stdout.readline())
            if word:
                assert lines == [word] * 4
                for member in members:
                    assert member.stdin is not None
                    member.stdin.write("go\n")
                    member.stdin.flush()
        assert sum(int(line.split()[0]) for line in lines) == 400
        assert sum(int(line.split()[1]) for line in lines) == 0
    finally:
        for member in members:
            member.kill()
            member.communicate()

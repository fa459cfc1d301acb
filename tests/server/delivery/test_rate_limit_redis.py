"""The rate limit of several machines that share a Redis or Valkey, and what becomes of it when that is gone."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.servers.limited_requests import POSTS, flood, limited_key, rate_limit_problems
from tests.servers.redis_server import needs_redis, redis_server
from tests.sites import served_site
from tests.sites.served_site import Answer, Running, Site, eventually, serving

pytestmark = needs_redis


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.publish("one")
    return site


PATIENT = """
from engine.access.keys import rate_limit_redis
rate_limit_redis.ANSWER_SECONDS = 60.0  # a Redis that a busy machine holds up is not down
"""


@contextmanager
def two_machines(site: Site, tmp_path: Path, url: str) -> Iterator[list[Running]]:
    """Two servers of one store that share nothing but the store and ``url``."""
    with (
        pytest.MonkeyPatch.context() as patch,
        ExitStack() as running,
    ):
        patch.setattr(served_site, "SCRIPT", ["-c", PATIENT + served_site.SERVE])
        one, two = (
            running.enter_context(
                serving(
                    site.store,
                    tmp_path / f"log{number}",
                    cache=str(tmp_path / f"cache{number}"),
                    CMS_RATE_LIMIT_URL=url,
                )
            )
            for number in (1, 2)
        )
        eventually(lambda: one.get("/readyz").status == 200 == two.get("/readyz").status)
        yield [one, two]


@pytest.mark.slow
def test_two_machines_share_a_limit_and_go_on_alone(site: Site, tmp_path: Path) -> None:
    headers, later, third = limited_key(site, 300), limited_key(site, 20), limited_key(site, 20)
    with redis_server(tmp_path, password="geheim") as redis, two_machines(site, tmp_path, redis.url) as servers:
        assert flood(servers, headers, 800) == {200: 300, 429: 500}
        assert rate_limit_problems(servers) == [[], []]
        redis.stop()
        eventually(lambda: all(rate_limit_problems(servers)))
        assert rate_limit_problems(servers)[0] == [
            "The rate limit is not shared: every machine counts requests for itself."
        ]
        assert all(server.get("/readyz").status == 200 for server in servers)
        began = time.monotonic()
        assert flood(servers, later, 160) == {200: 40, 429: 120}, "each machine counts for itself"
        redis.start()
        eventually(lambda: not any(rate_limit_problems(servers)))
        assert flood(servers, third, 160) == {200: 20, 429: 140}
        status = servers[0].get(POSTS, headers=later).status
        if time.monotonic() - began < 60:
            assert status == 429, "a machine remembers what it granted alone"
        for server in servers:
            assert server.stop() == 0
            log = server.log()
            assert log.count("the server of CMS_RATE_LIMIT_URL is down") == 1
            assert log.count("the server of CMS_RATE_LIMIT_URL is back") == 1
            assert "geheim" not in log
            assert "rate_limit_url=redis://:***@127.0.0.1" in log


def test_a_hanging_server_delays_one_moment_and_no_other_work(site: Site, tmp_path: Path) -> None:
    headers = limited_key(site, 1000)
    with redis_server(tmp_path) as redis, serving(site.store, tmp_path / "log", CMS_RATE_LIMIT_URL=redis.url) as server:
        assert server.get(POSTS, headers=headers).status == 200
        redis.send(signal.SIGSTOP)
        answers: list[Answer] = []
        asking = Thread(target=lambda: answers.append(server.get(POSTS, headers=headers)))
        began = time.monotonic()
        asking.start()
        waits = []
        while asking.is_alive():
            before = time.monotonic()
            assert server.get("/healthz").status == 200
            waits.append(time.monotonic() - before)
        took = time.monotonic() - began
        assert answers[0].status == 200
        # Where all of it is over before the first of the others could ask, there is nothing to compare.
        assert not waits or min(waits) < took / 2, "others waited for the hanging server too"
        redis.send(signal.SIGCONT)

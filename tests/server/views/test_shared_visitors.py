"""Two machines with one Redis: a view that was sent to both counts once, and goes on counting without Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.redis_server import RedisServer, needs_redis, redis_server
from tests.sites.served_site import eventually, serving
from tests.sites.viewed_site import post, site_with_domains, total

pytestmark = needs_redis


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as running:
        yield running


@pytest.mark.slow
def test_duplicates_are_told_over_machines_and_by_each_alone_without(tmp_path: Path, redis: RedisServer) -> None:
    settings = {"CMS_TRUSTED_PROXIES": "127.0.0.1", "CMS_RATE_LIMIT_URL": redis.url}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first, second = (site_with_domains(tmp_path / name) for name in ("one", "two"))
    with (
        serving(first.store, tmp_path / "log-1", **settings) as one,
        serving(second.store, tmp_path / "log-2", **settings) as two,
    ):
        for server in (one, two):
            eventually(lambda server=server: server.get("/readyz").status == 200)
        for server, path in ((one, "/a"), (two, "/a"), (two, "/b")):
            assert post(server, {"path": path}).status == 204
        eventually(lambda: (total(one, "paths", "/a"), total(two, "paths", "/b")) == (1, 1))
        assert total(two, "paths", "/a") == 0
        redis.stop()
        for server in (one, two):
            assert post(server, {"path": "/c"}).status == 204
        eventually(lambda: (total(one, "paths", "/c"), total(two, "paths", "/c")) == (1, 1))
        eventually(lambda: "page views are not shared" in str(two.get("/readyz").json["workspaces"][0]["problems"]))

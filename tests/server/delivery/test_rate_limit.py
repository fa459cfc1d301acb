"""The rate limit over HTTP: what counts, what every answer says of it, and whose limit is in force."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.access.keys import access
from tests.servers.limited_requests import POSTS, flood, limited_key, rate_limit_problems
from tests.sites.served_site import Running, Site, eventually, serving
from tests.stores.small_disk import fill, small_disk


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.publish("one")
    return site


def test_the_headers_of_every_answer_to_a_key(site: Site, tmp_path: Path) -> None:
    headers = limited_key(site, 9)
    missing = {"X-API-KEY": "pq_AAAAAAAA_" + "A" * 24 + "_AAAAAA"}
    disabled, text = site.key(rate_limit=9)
    access.disable_key(site.access, disabled.prefix)
    other = Site(tmp_path, "other")
    other.publish("one")
    foreign = limited_key(other, 9)
    with serving(site.store, tmp_path / "log") as server:
        eventually(lambda: len(server.get("/readyz").json["workspaces"]) == 2)
        counted = [
            (POSTS, "GET", 200),
            (POSTS, "HEAD", 200),
            (f"{POSTS}?limit=0", "GET", 400),
            (f"{POSTS}/post-1", "GET", 200),
            (f"{POSTS}/nothing", "GET", 404),
            ("/v1/acme/nothing", "GET", 404),
            ("/v1/acme/site", "GET", 200),
            ("/v1/acme/_schema", "GET", 200),
            (f"{POSTS}?q=a", "GET", 200),
        ]
        uncounted = [
            (POSTS, "GET", {}, 401),
            (POSTS, "GET", missing, 401),
            (POSTS, "GET", {"X-API-KEY": text}, 401),
            (POSTS, "GET", foreign, 403),
            ("/v1/nowhere/posts", "GET", headers, 403),
            (f"{POSTS}/", "GET", headers, 404),
            ("/v1/acme", "GET", headers, 404),
            (POSTS, "POST", headers, 405),
            (POSTS, "OPTIONS", headers, 204),
            ("/healthz", "GET", headers, 200),
        ]
        for number, (target, method, status) in enumerate(counted):
            answer = server.get(target, method, headers)
            assert answer.status == status
            assert answer.headers["ratelimit-policy"] == '"key";q=9;w=60'
            found = re.fullmatch(rf'"key";r={8 - number};t=([0-9]+)', answer.headers["ratelimit"])
            assert found, (target, answer.headers)
            assert 40 < int(found[1]) <= 60
            assert "retry-after" not in answer.headers
            assert "x-snapshot" in answer.headers
            assert answer.headers["access-control-expose-headers"] == "*"
            _asked_without_being_counted(server, *uncounted[number])
        refused = server.get(POSTS, headers=headers)
        assert refused.status == 429
        wait = int(refused.headers["retry-after"])
        assert 40 < wait <= 60
        assert refused.message == f"This API key may make 9 requests in 60 seconds. Try again in {wait} seconds."
        assert refused.headers["ratelimit"] == f'"key";r=0;t={wait}'
        assert refused.headers["ratelimit-policy"] == '"key";q=9;w=60'
        assert refused.headers["cache-control"] == "private, no-store"
        assert refused.headers["access-control-allow-origin"] == "*"
        assert "x-snapshot" in refused.headers
        # The limit stands before the API and the parameters (decision 1), and after the key.
        assert server.get("/v1/acme/nothing", headers=headers).status == 429
        assert server.get(f"{POSTS}?limit=0", headers=headers).status == 429
        assert server.get(POSTS, "HEAD", headers).status == 429
        assert server.get(f"{POSTS}/", headers=headers).status == 404
        assert server.get("/v1/other/posts", headers=headers).status == 403
        assert server.get(POSTS, headers=key_again(site, server)).status == 200, "the limit is each key's own"


def _asked_without_being_counted(
    server: Running, target: str, method: str, headers: dict[str, str], status: int
) -> None:
    answer = server.get(target, method, headers)
    assert answer.status == status
    assert not {"ratelimit", "ratelimit-policy", "retry-after"} & set(answer.headers), (target, method)


def key_again(site: Site, server: Running) -> dict[str, str]:
    headers = limited_key(site, 5)
    eventually(lambda: server.get(POSTS, headers=headers).status != 401)
    return headers


def test_the_limits_of_keys_and_workspaces_and_their_edits(site: Site, tmp_path: Path) -> None:
    def policy(headers: dict[str, str]) -> str:
        return server.get(POSTS, headers=headers).headers["ratelimit-policy"]

    plain, (own, text) = limited_key(site, None), site.key(rate_limit=7)
    with serving(site.store, tmp_path / "log") as server:
        assert policy(plain) == '"key";q=300;w=60'
        assert policy({"X-API-KEY": text}) == '"key";q=7;w=60'
        access.edit_key(site.access, own.prefix, access.KeyChange(rate_limit=1), now=own.created_at, zone=access.UTC)
        eventually(lambda: policy({"X-API-KEY": text}) == '"key";q=1;w=60')
        assert server.get(POSTS, headers={"X-API-KEY": text}).status == 429
        access.edit_key(site.access, own.prefix, access.KeyChange(rate_limit=None), now=own.created_at, zone=access.UTC)
        with (site.source / "workspace.yaml").open("a") as file:
            file.write("rate_limit: 123\n")
        site.publish("two")
        for headers in (plain, {"X-API-KEY": text}):
            eventually(lambda sent=headers: policy(sent) == '"key";q=123;w=60')


@pytest.mark.slow
def test_counts_that_cannot_be_kept_do_not_stop_the_service(site: Site, tmp_path: Path) -> None:
    headers = limited_key(site, 20)
    (tmp_path / "cache").mkdir()
    blocked = tmp_path / "cache" / "_rate-limit"
    blocked.write_text("a file where a directory should be")
    with serving(site.store, tmp_path / "log", cache=str(tmp_path / "cache")) as server:
        assert flood([server], headers, 48) == {200: 20, 429: 28}
        assert rate_limit_problems([server]) == [
            ["The rate limit is not shared: every worker counts requests for itself."]
        ]
        assert str(tmp_path) not in server.get("/readyz").body.decode()
        blocked.unlink()

        def mended() -> bool:
            server.get(POSTS, headers=headers)
            return not rate_limit_problems([server])[0]

        eventually(mended)
        eventually(lambda: server.log().count("cannot be used") == 1)
        eventually(lambda: "the rate limit is shared by all workers again" in server.log())


def test_a_disk_that_becomes_full_under_the_cache_does_not_stop_the_service(site: Site, tmp_path: Path) -> None:
    headers = limited_key(site, 20)
    with small_disk(tmp_path / "disk", 48 << 20) as disk:
        with serving(site.store, tmp_path / "log", cache=str(disk / "cache"), workers=2) as server:
            eventually(lambda: server.log().count("serving snapshot version") == 2)  # the cache's files are open
            fill(disk)
            assert flood([server], headers, 48) == {200: 20, 429: 28}
            assert rate_limit_problems([server]) == [[]]
        with serving(site.store, tmp_path / "log", cache=str(disk / "cache")) as server:
            eventually(lambda: server.get("/readyz").status == 200)
            assert server.get(POSTS, headers=headers).status == 429

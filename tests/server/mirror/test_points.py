"""Reads pinned by ``X-Snapshot``, and ``_changes``, on readers of a bucket: from the versions in the mirror of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.store.locations import open_objects
from tests.servers.tcp_proxy import State, tcp_proxy
from tests.sites.bucket_site import BucketSite, serving_bucket
from tests.sites.served_site import Answer, Running, eventually
from tests.stores.object_stores import ObjectStore, object_store

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")


@pytest.fixture(scope="module")
def moto() -> Iterator[ObjectStore]:
    with object_store("moto") as store, pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        yield store


def point_of(answer: Answer) -> str:
    return f"{answer.headers['x-snapshot']}@{answer.headers['x-snapshot-at']}"


def pinned(reader: Running, point: str) -> Answer:
    return reader.get("/v1/acme/posts", headers={"X-Snapshot": point})


def titles(answer: Answer) -> set[str]:
    assert answer.status == 200, answer.body
    return {one["title"] for one in answer.json["contents"]}


def changed(answer: Answer) -> set[tuple[str, str]]:
    assert answer.status == 200, answer.body
    return {(one["change"], one["id"]) for one in answer.json["changes"] if one["api"] == "posts"}


@pytest.mark.slow
def test_points_are_answered_from_the_mirror_also_in_an_outage(moto: ObjectStore, tmp_path: Path) -> None:
    url = moto.place()
    site = BucketSite(tmp_path, open_objects(url))
    site.release("one")
    _, key = site.released_key()
    updated = {("updated", f"post-{number}") for number in range(site.entries)}
    with tcp_proxy(moto.port) as proxy:
        through = url.replace(f":{moto.port}/", f":{proxy.port}/")
        with serving_bucket(through, tmp_path / "reader", key=key) as reader:
            eventually(lambda: site.titles(reader) == {"one"})
            before = point_of(reader.get("/v1/acme/posts"))
            site.release("two")
            eventually(lambda: site.titles(reader) == {"two"})
            assert titles(pinned(reader, before)) == {"one"}
            feed = reader.get(f"/v1/acme/_changes?since={before}")
            assert changed(feed) == updated
            assert changed(reader.get(f"/v1/acme/_changes?since={feed.json['next']}")) == set()
        proxy.become(State.REFUSES)
        with serving_bucket(through, tmp_path / "reader", key=key, workers=2) as reader:
            eventually(lambda: reader.log().count("serving snapshot version") == 2)
            assert titles(pinned(reader, before)) == {"one"}
            assert changed(reader.get(f"/v1/acme/_changes?since={before}")) == updated


@pytest.mark.slow
def test_a_reader_without_the_version_of_a_point_says_that_it_is_gone(moto: ObjectStore, tmp_path: Path) -> None:
    url = moto.place()
    site = BucketSite(tmp_path, open_objects(url))
    site.release("one")
    _, key = site.released_key()
    with serving_bucket(url, tmp_path / "old", key=key) as old:
        eventually(lambda: site.titles(old) == {"one"})
        before = point_of(old.get("/v1/acme/posts"))
        site.release("two")
        eventually(lambda: site.titles(old) == {"two"})
        with serving_bucket(url, tmp_path / "new", key=key) as new:
            eventually(lambda: site.titles(new) == {"two"})
            for answer in (pinned(new, before), new.get(f"/v1/acme/_changes?since={before}")):
                assert answer.status == 410
                assert before.partition("@")[0] in answer.message
            now = point_of(old.get("/v1/acme/posts"))
            assert titles(pinned(new, now)) == {"two"}
            assert changed(new.get(f"/v1/acme/_changes?since={now}")) == set()

"""Stores that do not keep to conditional writes, and answers that are lost on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")

from snapshots.store.buckets.bucket_objects import BucketObjects
from snapshots.store.durable import StoreError
from snapshots.store.locations import open_objects
from snapshots.store.objects import ABSENT, Conflict, StoreUnreachable
from tests.stores.object_stores import BUCKET, ObjectStore, object_store
from tests.stores.store_proxy import Proxy, store_proxy

WRITERS = 4
DROPPED = 0.3


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    with object_store(getattr(request, "param", "any")) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture
def proxy(server: ObjectStore) -> Iterator[Proxy]:
    with store_proxy(server.port) as between:
        yield between


@pytest.fixture
def objects(server: ObjectStore, proxy: Proxy) -> BucketObjects:
    place = server.place().replace(f":{server.port}/", f":{proxy.port}/")
    opened = open_objects(place)
    assert isinstance(opened, BucketObjects)
    return opened


@pytest.mark.parametrize(
    ("ignored", "fault"),
    [
        (("if-none-match",), "creates an object although it is there already"),
        (("if-match",), "replaces an object although it has been changed"),
        (("if-match", "if-none-match"), "creates an object although it is there already"),
    ],
)
def test_a_store_that_ignores_conditions_is_refused_before_anything_is_written(
    objects: BucketObjects, proxy: Proxy, ignored: tuple[str, ...], fault: str
) -> None:
    proxy.headers = lambda headers: {name: value for name, value in headers.items() if name not in ignored}
    changes = (
        lambda: objects.replace("acme/current", b"one", ABSENT),
        lambda: objects.create("acme/file", b"one"),
        lambda: objects.copy("acme/file", "acme/other"),
        lambda: objects.edit("acme/list", lambda _, write: (write.encode(), None)),
    )
    for change in changes:
        with pytest.raises(StoreError, match=fault):
            change()
    assert objects.names("") == []
    assert not objects.conditions().kept


def test_a_store_that_knows_tags_without_quotes_only_is_spoken_to_so(objects: BucketObjects, proxy: Proxy) -> None:
    def as_ceph(headers: dict[str, str]) -> dict[str, str]:
        tag = headers.get("if-match")
        if tag is not None:
            headers["if-match"] = '"never"' if tag.startswith('"') else f'"{tag}"'
        return headers

    proxy.headers = as_ceph
    first = objects.replace("acme/current", b"one", ABSENT)
    second = objects.replace("acme/current", b"two", first)
    with pytest.raises(Conflict):
        objects.replace("acme/current", b"three", first)
    found = objects.read("acme/current")
    assert found is not None
    assert (found.data, found.tag) == (b"two", second)
    assert objects.conditions().quoted is False


@pytest.mark.parametrize(
    "edits",
    [60, pytest.param(600, marks=pytest.mark.slow)],
)
def test_edits_whose_answers_are_lost_happen_once(objects: BucketObjects, proxy: Proxy, edits: int) -> None:
    proxy.drop = DROPPED

    def change(data: bytes | None, write: str) -> tuple[bytes, int]:
        count, *writes = (data or b"0").split()
        number = int(count) + 1
        return b" ".join([b"%d" % number, write.encode(), *writes[:50]]), number

    def work(first: int) -> list[int]:
        mine = open_objects(objects.location)
        return [mine.edit("acme/count", change).result for _ in range(first, edits, WRITERS)]

    with ThreadPoolExecutor(WRITERS) as pool:
        told = [number for numbers in pool.map(work, range(WRITERS)) for number in numbers]
    assert proxy.dropped > edits * DROPPED * 0.5
    found = objects.read("acme/count")
    assert found is not None
    assert int(found.data.split()[0]) == edits
    assert sorted(told) == list(range(1, edits + 1))  # each of the try that was stored, and of no other
    print(f"\n{edits} edits, {proxy.dropped} answers to PUT lost")


@pytest.mark.parametrize("server", ["moto"], indirect=True)  # SeaweedFS has another word for a bucket that is not there
def test_what_goes_wrong_is_said_without_secrets(
    server: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    missing = open_objects(server.url.replace(BUCKET, "no-such-bucket"))
    for ask in (lambda: missing.read("a"), lambda: missing.names(""), lambda: missing.create("a", b"")):
        with pytest.raises(StoreError, match='there is no bucket "no-such-bucket"'):
            ask()
    nobody = open_objects("s3+http://127.0.0.1:1/bucket/prefix")
    with pytest.raises(StoreUnreachable, match=re.escape("cannot read s3+http://127.0.0.1:1/bucket/prefix/acme/a: ")):
        nobody.read("acme/a")
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreError, match=r"cannot be used: .*AccessKeyId"):
        open_objects(f"s3://{BUCKET}/prefix")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1/169.254.169.254")
    with pytest.raises(StoreError, match=r"no credentials were found.*AWS_ACCESS_KEY_ID"):
        open_objects(f"s3://{BUCKET}/prefix").read("acme/a")

"""Locations of stores, as people write them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from snapshots.store.buckets.bucket_url import kind_of, masked, parse_bucket
from snapshots.store.buckets.costs import costs
from snapshots.store.buckets.services import SERVICES, Prices, Reached, Service
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.locations import open_objects
from snapshots.store.objects import ABSENT


def test_a_path_is_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    opened = open_objects("~/store")
    assert isinstance(opened, DirectoryObjects)
    assert opened.root == tmp_path / "store"
    assert not opened.root.exists()


@pytest.mark.parametrize(
    ("location", "kind", "name", "prefix", "shown"),
    [
        ("s3://bucket", "s3", "bucket", "", "s3://bucket"),
        ("s3://bucket/a/b/", "s3", "bucket", "a/b", "s3://bucket/a/b"),
        ("s3+http://127.0.0.1:8333/bucket/a", "s3", "bucket", "a", "s3+http://127.0.0.1:8333/bucket/a"),
        ("s3+https://host/bucket", "s3", "bucket", "", "s3+https://host/bucket"),
        ("gs://bucket/a", "gs", "bucket", "a", "gs://bucket/a"),
        ("az://container/a", "az", "container", "a", "az://container/a"),
    ],
)
def test_a_url_is_a_place_in_a_bucket(location: str, kind: str, name: str, prefix: str, shown: str) -> None:
    found = parse_bucket(location, {})
    assert (found.kind, found.name, found.prefix, found.location) == (kind, name, prefix, shown)


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://bucket/a", "no store is at such a URL"),
        ("ftp://bucket", "no store is at such a URL"),
        ("s3://", "^s3://: names no bucket"),
        ("s3:/bucket/a", "^s3:/bucket/a: names no bucket"),
        ("gs:bucket/a", "names no bucket"),
        ("S3:bucket", "names no bucket"),
        ("s3+http:/host:1/bucket/a", "names no bucket"),
        ("s3+http://host:1", "names no bucket"),
        ("s3+http:///bucket", "names no bucket"),
        ("az:///prefix", "names no container"),
        ("s3://bucket:80/a", "names no bucket"),
        ("s3+http://host:port/bucket", "Port could not be cast"),
        ("s3://bucket/a/../b", "not the key"),
        ("s3://bucket/.hidden", "not the key"),
        ("s3://key:secret@bucket/a", "credentials and options"),
        ("az://container/a?sig=secret", "credentials and options"),
    ],
)
def test_other_urls_are_refused_without_telling_secrets(location: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as refused:
        open_objects(location)
    assert "secret" not in str(refused.value)
    assert "secret" not in masked(location)


def test_settings_come_from_the_environment() -> None:
    assert parse_bucket("s3://bucket", {}).allow_http is False
    assert parse_bucket("s3://bucket", {"AWS_ALLOW_HTTP": "true"}).allow_http is True
    azure = parse_bucket(
        "az://container",
        {
            "AZURE_STORAGE_ACCOUNT": "account",
            "AZURE_STORAGE_CONNECTION_STRING": "AccountName=other;AccountKey=a==;BlobEndpoint=http://127.0.0.1:10000/x",
        },
    )
    assert azure.config == {"account_name": "account", "account_key": "a==", "endpoint": "http://127.0.0.1:10000/x"}
    assert azure.allow_http
    google = parse_bucket("gs://bucket", {"STORAGE_EMULATOR_HOST": "127.0.0.1:4443"})
    assert google.config == {"base_url": "http://127.0.0.1:4443"}
    assert google.allow_http


def test_a_new_row_is_a_service_that_is_reached_named_and_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    obstore = pytest.importorskip("obstore.store")
    monkeypatch.setattr(obstore, "VaultStore", lambda _name, **_: obstore.MemoryStore(), raising=False)
    vault = Service(
        ("vault://cellar/prefix",),
        "cellar",
        lambda _parts, environment: Reached({"door": environment["DOOR"]}, allow_http=True),
        "VaultStore",
        "the key under the mat",
        Prices("Vault", 1, 1, 1),
    )
    monkeypatch.setitem(SERVICES, "vault", vault)
    assert parse_bucket("vault://cellar/a", {"DOOR": "left"}).config == {"door": "left"}
    bucket = open_objects("vault://cellar/a", {"DOOR": "left"})
    bucket.replace("document", b"{}", ABSENT)
    found = bucket.read("document")
    assert found is not None
    assert found.data == b"{}"
    kind = kind_of(bucket.location)
    assert kind is not None
    assert costs(kind, 1, 1, 0, webhooks=False).service == "Vault"
    for refused in ("vault:///a", "vault+http://host/cellar"):
        with pytest.raises(StoreError, match="or vault://cellar/prefix"):
            open_objects(refused)


def test_every_service_is_in_the_docs() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "several-machines.md").read_text(encoding="utf-8")
    assert [one for service in SERVICES.values() for one in service.spellings if f"`{one}`" not in docs] == []


def test_without_the_extra_a_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "snapshots.store.buckets.bucket_objects", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(StoreError, match=r"pip install 'parquetry\[objects\]'"):
        open_objects("s3://bucket/prefix")

"""Webhooks of a store in a bucket: kept there, and sent by one machine of all that serve it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.webhooks.editing import add_endpoint, disable_endpoint, enable_endpoint
from engine.webhooks.webhooks_file import WebhooksFile
from snapshots.store.changes import announce, changes_document
from snapshots.store.locations import open_objects
from snapshots.store.objects import ANY, Objects
from snapshots.times import now_ms
from tests.servers.webhook_receiver import Reply, receiver
from tests.sites.bucket_site import BucketSite, readiness, serving_bucket
from tests.sites.served_site import eventually
from tests.stores.object_stores import ObjectStore, object_store


@pytest.fixture(scope="module")
def moto() -> Iterator[ObjectStore]:
    with object_store("moto") as store:
        yield store


def site_in(
    store: ObjectStore, directory: Path, monkeypatch: pytest.MonkeyPatch, entries: int = 3
) -> tuple[str, BucketSite]:
    """Return the location of a new workspace in a bucket, and the workspace."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    url = store.place()
    return url, BucketSite(directory, open_objects(url), entries=entries)


def announced_webhooks(objects: Objects) -> WebhooksFile:
    """Return the webhooks of the site as people change them."""
    return WebhooksFile(objects, "acme", partial(announce, objects, "acme"))


@pytest.mark.slow
def test_one_of_two_machines_tells_what_changed(
    moto: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, site = site_in(moto, tmp_path, monkeypatch)
    _, key = site.released_key()
    version = site.release("one")
    file = announced_webhooks(site.objects)
    with receiver(tmp_path) as hooked:
        add_endpoint(
            file, hooked.url(), form="standard", token=None, apis=None, langs=None, reasons=None,
            current=version, allow_loopback=True, now=now_ms(),
        )  # fmt: skip
        monkeypatch.setenv("SSL_CERT_FILE", str(hooked.ca))
        monkeypatch.setenv("CMS_WEBHOOK_ALLOW_LOOPBACK", "1")
        with (
            serving_bucket(url, tmp_path / "here", key=key) as here,
            serving_bucket(url, tmp_path / "there", key=key) as there,
        ):
            eventually(lambda: site.titles(here) == site.titles(there) == {"one"})
            second = site.release("two")
            (event,) = hooked.wait_for(1)
            eventually(lambda: str(file.read()[0].cursor)[:28] == second and file.read()[0].pending is None)
            # Both serve the version by then.
            assert site.titles(here) == site.titles(there) == {"two"}
        assert len(hooked.received) == 1
    data = event.json["data"]
    assert data["snapshot"][:28] == second
    assert {one["change"] for one in data["changes"]} == {"updated"}
    assert "truncated" not in data


@pytest.mark.slow
def test_a_receiver_that_was_gone_for_longer_than_the_mirror_keeps_versions_hears_exactly_what_changed(
    moto: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, site = site_in(moto, tmp_path, monkeypatch, entries=2)
    _, key = site.released_key()
    version = site.release("one")
    file = announced_webhooks(site.objects)
    with receiver(tmp_path) as hooked:
        endpoint, _ = add_endpoint(
            file, hooked.url(), form="standard", token=None, apis=None, langs=None, reasons=None,
            current=version, allow_loopback=True, now=now_ms(),
        )  # fmt: skip
        monkeypatch.setenv("SSL_CERT_FILE", str(hooked.ca))
        monkeypatch.setenv("CMS_WEBHOOK_ALLOW_LOOPBACK", "1")
        with serving_bucket(url, tmp_path / "reader", key=key, CMS_KEPT_SECONDS="1") as reader:
            eventually(lambda: site.titles(reader) == {"one"})
            hooked.reply = lambda _: Reply(410)
            site.entries = 3
            site.release("one")
            hooked.wait_for(1)
            eventually(lambda: file.read()[0].stopped is not None)
            site.entries = 4
            for number in range(6):
                site.release(f"{number}")
                eventually(lambda number=number: site.titles(reader) == {str(number)})
            site.entries = 5
            site.release("one")
            eventually(lambda: site.titles(reader) == {"one"})
            hooked.reply = lambda _: Reply()
            enable_endpoint(file, endpoint.id, now_ms())
            _, first, second = hooked.wait_for(3)
    assert [one["id"] for one in first.json["data"]["changes"]] == ["post-2"]
    assert [one["id"] for one in second.json["data"]["changes"]] == ["post-3", "post-4"]


def test_people_s_changes_are_announced_and_the_sender_s_own_notes_are_not(
    moto: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    objects = open_objects(moto.place())
    file = announced_webhooks(objects)

    def announced() -> str | None:
        return changes_document(objects).read().get("acme")

    endpoint, _ = add_endpoint(
        file, "https://receiver.example/", form="standard", token=None, apis=None, langs=None, reasons=None,
        current=None, allow_loopback=False, now=now_ms(),
    )  # fmt: skip
    added = announced()
    disable_endpoint(file, endpoint.id, now_ms())
    disabled = announced()
    WebhooksFile(objects, "acme").edit(lambda endpoints: (tuple(replace(one, stopped=None) for one in endpoints), None))
    assert len({None, added, disabled}) == 3
    assert announced() == disabled


@pytest.mark.slow
def test_damaged_webhooks_are_told_where_they_are_sent(
    moto: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, site = site_in(moto, tmp_path, monkeypatch)
    _, key = site.released_key()
    version = site.release("one")
    add_endpoint(
        WebhooksFile(site.objects, "acme"), "https://receiver.example/", form="standard", token=None, apis=None,
        langs=None, reasons=None, current=version, allow_loopback=False, now=now_ms(),
    )  # fmt: skip
    document = "acme/webhooks.json"
    whole = site.objects.read(document)
    assert whole is not None
    with serving_bucket(url, tmp_path / "here", key=key, workers=2) as server:
        eventually(lambda: site.titles(server) == {"one"})

        def behind() -> list[str]:
            return [one["what"] for one in readiness(server)["workspaces"][0]["behind"]]

        site.objects.replace(document, b"{", ANY)
        announce(site.objects, "acme")
        eventually(lambda: behind() == ["webhooks"])
        assert server.get("/readyz").status == 200
        site.objects.replace(document, whole.data, ANY)
        announce(site.objects, "acme")
        eventually(lambda: behind() == [])
        eventually(lambda: server.log().count("acme: webhooks wait: what the store has of them") == 1)

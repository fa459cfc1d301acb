"""The console of one reader changes the store that all readers have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.access.keys.access import ACCESS, ACCESS_CODEC
from snapshots.store.current import CURRENT, CURRENT_CODEC
from snapshots.store.locations import open_objects
from tests.programs.command_line import in_process
from tests.server.console.browsing import KEYS, MEMBERS, OWNER, Browser
from tests.sites.bucket_site import BucketSite, serving_bucket
from tests.sites.served_site import eventually
from tests.sites.viewed_site import DOMAINS, post
from tests.stores.object_stores import ObjectStore, object_store

VIEWS = "/console/acme/views"
READERS = "/console/acme/readers"
EVERYWHERE = 60.0
"""Seconds within which a count is on every machine (decision 62)."""


@pytest.fixture(scope="module")
def moto() -> Iterator[ObjectStore]:
    with object_store("moto") as store:
        yield store


@pytest.mark.slow
def test_what_is_done_on_one_machine_holds_on_the_other(
    moto: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = moto.place()
    objects = open_objects(url)
    site = BucketSite(tmp_path, objects)
    with (site.source / "workspace.yaml").open("a") as definition:
        definition.write(MEMBERS)
    first = site.release("one")
    site.release("two")
    with (
        serving_bucket(url, tmp_path / "one", CMS_CONSOLE="1") as one,
        serving_bucket(url, tmp_path / "two", CMS_CONSOLE="1") as two,
    ):
        eventually(lambda: one.get("/readyz").status == 200 == two.get("/readyz").status)
        browser = Browser(one)
        printed = in_process(monkeypatch, capsys)("console", "--as", OWNER, "--store", url, "--json").json["url"]
        assert browser.post("/console/-/link", {"token": printed.partition("token=")[2]}).status == 303
        elsewhere = Browser(two, browser.cookies)
        assert elsewhere.get("/console/acme").status == 200  # the session is one for all machines
        form = browser.get(f"{KEYS}/new").page
        number = form.css_first("input[name=id]").attributes["value"]
        fields = {"id": number, "name": "Web", "scope": "all", "validity": "90d"}
        issued = browser.post(f"{KEYS}/issue", fields).page.css_first("#key").attributes["value"]
        found = objects.read(f"acme/{ACCESS}")
        assert found is not None
        assert [key.name for key in ACCESS_CODEC.decode(found.data, "").keys] == ["Web"]
        for reader in (one, two):
            eventually(lambda reader=reader: site_titles(reader, str(issued)) == {"two"})
        assert "Web" in browser.get(KEYS).text

        versions = browser.get("/console/acme/versions")
        assert first in versions.text
        current = CURRENT_CODEC.decode(objects.read(f"acme/{CURRENT}").data, "")  # type: ignore[union-attr]
        assert current.version != first
        for page in ("/console/acme", "/console/acme/schedule"):
            assert browser.get(page).status == 200, page
        assert "Issued the key “Web”" in elsewhere.get("/console/acme/settings/audit-log").text
        browser.post("/console/-/sign-out", {"everywhere": "1"})
        assert elsewhere.get("/console/acme").status == 303


@pytest.mark.slow
def test_views_and_readers_are_those_of_all_machines(
    moto: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    url = moto.place()
    site = BucketSite(tmp_path, open_objects(url))
    with (site.source / "workspace.yaml").open("a") as definition:
        definition.write(MEMBERS + DOMAINS)
    site.release("one")
    proxied = {"CMS_TRUSTED_PROXIES": "127.0.0.1"}
    with (
        serving_bucket(url, tmp_path / "one", CMS_CONSOLE="1", **proxied) as one,
        serving_bucket(url, tmp_path / "two", **proxied) as two,
    ):
        eventually(lambda: one.get("/readyz").status == 200 == two.get("/readyz").status)
        browser = Browser(one)
        browser.sign_in(url, OWNER)  # type: ignore[arg-type]  # a location
        assert "No page views yet" in browser.get(VIEWS).text
        for number, machine in enumerate((one, two)):
            for visitor in range(3):
                body = {"path": "/a", "entryId": "post-1"}
                assert post(machine, body, visitor=f"10.0.{number}.{visitor}").status == 204
        eventually(lambda: "6 entry views" in browser.get(VIEWS).text, within=EVERYWHERE)
        page = browser.get(VIEWS)
        assert "one post-1 6 6" in page.text  # with the entry's title
        assert "hosts are not counted" in page.text
        assert "post-1,one,6,6" in browser.get(f"{VIEWS}/entries.csv").body.decode()
        assert browser.get(f"{VIEWS}/paths.csv").status == 200
        hosts = browser.get(f"{VIEWS}/origins.csv")
        assert hosts.status == 404
        assert "cms views pull" in hosts.text

        eventually(lambda: readers(browser).count("current") == 2, within=EVERYWHERE)
        assert two.stop() == 0
        eventually(lambda: len(readers(browser)) == 1)
        second = site.release("two")
        eventually(lambda: second in browser.get(READERS).text, within=EVERYWHERE)
        eventually(lambda: readers(browser) == ["current"], within=EVERYWHERE)


def readers(browser: Browser) -> list[str]:
    """The standing of each process of each machine."""
    return [badge.text() for badge in browser.get(READERS).page.css("tbody .badge")]


def site_titles(reader: object, key: str) -> set[str] | int:
    answer = reader.get("/v1/acme/posts", headers={"X-API-KEY": key})  # type: ignore[attr-defined]
    return {one["title"] for one in answer.json["contents"]} if answer.status == 200 else answer.status

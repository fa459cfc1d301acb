"""``cms review --live``: a workspace and what is live, in a store or behind a server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest

from engine.access.keys.access import AccessFile, issue_key
from snapshots.build.build import build
from snapshots.times import now_ms
from tests.programs.command_line import Cms, in_process
from tests.sites.example_server import EXAMPLE, ExampleServer, example_server
from tests.sites.served_site import eventually
from tests.stores.object_stores import object_store


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    with example_server(tmp_path_factory.mktemp("live")) as server:
        yield server


@pytest.fixture
def proposed(server: ExampleServer, tmp_path: Path) -> Path:
    """The workspace as it is live."""
    return shutil.copytree(EXAMPLE, tmp_path / "proposed")


@pytest.fixture
def cms(server: ExampleServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.setenv("CMS_KEY", server.key)
    return in_process(monkeypatch, capsys)


def store(server: ExampleServer) -> str:
    return str(server.store.root)


def url(server: ExampleServer) -> str:
    return f"{server.url}/v1/komugi"


Place = Callable[[ExampleServer], str]
places = pytest.mark.parametrize("place", [store, url])


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_pictures_are_compared_at_the_addresses_that_are_live(cms: Cms, proposed: Path, tmp_path: Path) -> None:
    live = str(tmp_path / "store")
    assert (
        cms("snapshot", "build", str(proposed), "--store", live, "--public-url", "https://content.example").status == 0
    )
    edit(proposed / "content/breads/milk-roll.md", "name: Milk roll", "name: Milk rolls")
    ran = cms("review", str(proposed), "--live", live, "--json")
    assert (ran.status, ran.json["entries"]) == (0, {"added": 0, "changed": 1, "removed": 0})
    elsewhere = cms("review", str(proposed), "--live", live, "--public-url", "https://other.example", "--json")
    assert elsewhere.json["entries"]["changed"] > 5


@places
def test_nothing_changed(cms: Cms, server: ExampleServer, proposed: Path, place: Place) -> None:
    ran = cms("review", str(proposed), "--live", place(server))
    assert ran.status == 0, ran.err
    version = server.running.get("/v1/komugi/_schema").headers["x-snapshot"]
    assert "Publishing this changes nothing." in ran.out
    assert f"snapshot version {version}" in ran.out


@places
def test_entries(cms: Cms, server: ExampleServer, proposed: Path, place: Place) -> None:
    breads = proposed / "content/breads"
    edit(breads / "milk-roll.md", "price: 180", "price: 190")
    edit(breads / "milk-roll.ja.md", "name: ", "name: 新")
    edit(proposed / "content/shop.yaml", "seats: 8", "seats: 9")
    shutil.copy(breads / "milk-roll.md", breads / "new-roll.md")
    (breads / "sesame-ring.md").unlink()
    ran = cms("review", str(proposed), "--live", place(server), "--json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert found["entries"] == {"added": 1, "changed": 3, "removed": 1}
    assert found["breaking"] == 0
    for line in (
        ": <code>180</code> → <code>190</code>",
        "(en): Seats: <code>8</code> → <code>9</code>",
        "added <code>new-roll</code>",
        "<code>breads/sesame-ring</code>",
    ):
        assert line in found["comment"]


@places
def test_changes_that_break_clients(cms: Cms, server: ExampleServer, proposed: Path, place: Place) -> None:
    definition = proposed / "apis/breads.yaml"
    lines = definition.read_text(encoding="utf-8").splitlines(keepends=True)
    definition.write_text("".join(line for line in lines if "id: vegan" not in line), encoding="utf-8")
    (proposed / "apis/stockists.yaml").unlink()
    edit(proposed / "workspace.yaml", "languages: [en, ja]", "languages: [en]")
    for file in proposed.rglob("*.ja.*"):
        file.unlink()
    edit(proposed / "content/bakers.yaml", "lang: ja", "draft: true")
    ran = cms("review", str(proposed), "--live", place(server), "--fail-on-breaking", "--json")
    assert ran.status == 1, ran.err
    comment = json.loads(ran.out)["comment"]
    assert 'the field "vegan" is gone' in comment
    assert "stockists: the API is gone" in comment
    assert 'the language "ja" is gone' in comment


@places
def test_a_renamed_entry_is_no_removed_one(cms: Cms, server: ExampleServer, proposed: Path, place: Place) -> None:
    breads = proposed / "content/breads"
    for old in breads.glob("milk-roll.*md"):
        old.rename(breads / old.name.replace("milk-roll", "soft-roll"))
    (breads / "sesame-ring.md").unlink()
    found = cms("review", str(proposed), "--live", place(server), "--json").json
    [renamed] = found["renamed"]
    assert (renamed["from"], renamed["to"], renamed["languages"]) == ("milk-roll", "soft-roll", ["en", "ja"])
    assert [one["id"] for one in found["removed"]] == ["sesame-ring"]
    assert (found["entries"]["added"], found["entries"]["removed"]) == (2, 3)
    assert "0 added, 0 changed, 2 renamed, 1 removed." in found["comment"]


def test_a_store_in_a_bucket(cms: Cms, server: ExampleServer, proposed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(proposed / "content/shop.yaml", "seats: 8", "seats: 9")
    with object_store("any") as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        bucket = running.place()
        assert cms("snapshot", "push", bucket, "--store", store(server), "--activate").status == 0
        ran = cms("review", str(proposed), "--live", bucket)
        assert ran.status == 0, ran.err
        assert "0 added, 1 changed, 0 removed" in ran.out


def test_drafts_and_schedules_are_compared_in_a_store_only(cms: Cms, server: ExampleServer, proposed: Path) -> None:
    edit(proposed / "content/journal/the-night-oven.draft.md", "title: ", "title: Another ")
    assert "1 changed" in cms("review", str(proposed), "--live", store(server)).out
    assert "Publishing this changes nothing." in cms("review", str(proposed), "--live", url(server)).out


def test_a_server_is_read_page_by_page_and_waits_for_its_rate_limit(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apis").mkdir()
    (tmp_path / "content").mkdir()
    (tmp_path / "workspace.yaml").write_text("id: komugi\nlanguages: [en]\n", encoding="utf-8")
    (tmp_path / "apis/many.yaml").write_text("uid: api_m\nendpoint: many\nkind: list\nfields: []\n", encoding="utf-8")
    rows = [json.dumps({"id": f"e{number}", "createdAt": "2026-01-01"}) for number in range(205)]
    (tmp_path / "content/many.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "served").mkdir()
    with example_server(tmp_path / "served") as server:
        place = server.store.workspace("komugi")
        build(tmp_path, server.store, now=now_ms(), allow_breaking=True)
        slow = issue_key(
            AccessFile(place.directory), name="slow", now=now_ms(), zone=UTC, scope=None, validity="none", rate_limit=3
        )[1]
        monkeypatch.setenv("CMS_KEY", slow)
        eventually(lambda: b'"many"' in server.running.get("/v1/komugi/_schema").body)
        (tmp_path / "content/many.jsonl").write_text("\n".join(rows[1:]), encoding="utf-8")
        waits: list[float] = []
        with monkeypatch.context() as patch:
            patch.setattr("cli.remote.server.time.sleep", waits.append)
            ran = cms("review", str(tmp_path), "--live", url(server))
        # Three requests are allowed, and a fourth is needed; a clock that stands still lets patience run out.
        assert ran.status == 1
        assert "may make 3 requests" in ran.err
        assert 540 < sum(waits) <= 600
        monkeypatch.setenv("CMS_KEY", server.key)
        ran = cms("review", str(tmp_path), "--live", url(server))
        assert "0 added, 0 changed, 1 removed" in ran.out, ran.err


def test_what_cannot_be_compared(
    cms: Cms, server: ExampleServer, proposed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = cms("review", str(proposed), "--live", store(server), "--base", str(proposed))
    assert both.status == 2
    empty = cms("review", str(proposed), "--live", str(tmp_path / "nothing"))
    assert empty.status == 0, empty.err
    assert "Nothing of komugi is live in" in empty.out
    other = cms("review", str(proposed), "--live", f"{server.url}/v1/other")
    assert other.status == 1
    assert "the one under review is komugi" in " ".join(other.err.split())
    assert cms("review", str(proposed), "--live", "https://x.example").status == 1
    monkeypatch.setenv("CMS_KEY", "wrong")
    assert "not valid" in cms("review", str(proposed), "--live", url(server)).err
    monkeypatch.delenv("CMS_KEY")
    assert "Set CMS_KEY to an API key" in cms("review", str(proposed), "--live", url(server)).err

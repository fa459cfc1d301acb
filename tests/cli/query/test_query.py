"""``cms query`` and ``cms draft``: requests answered here, and the keys to unpublished changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.views.collecting.spool import VIEWS, SpoolWriter, View
from engine.views.collecting.targets import Kind
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.programs.command_line import Cms, entry
from tests.server.dev.session import running
from tests.sites.served_site import eventually, serving


@pytest.fixture
def cms(cms_in_copy: Cms, monkeypatch: pytest.MonkeyPatch) -> Cms:
    monkeypatch.delenv("CMS_PUBLIC_URL", raising=False)
    return cms_in_copy


def test_a_list_an_entry_and_the_schema(cms: Cms) -> None:
    listed = cms("query", "blog?fields=title")
    assert (listed.status, listed.err) == (0, "")
    assert listed.json == {"contents": [{"id": "one", "title": "One"}], "totalCount": 1, "offset": 0, "limit": 10}
    assert cms("query", "/blog/one?lang=de").json["title"] == "Eins"
    assert [api["endpoint"] for api in cms("query", "_schema").json["apis"]] == ["authors", "blog"]


def test_views_are_those_the_server_answers_from(cms: Cms, tmp_path: Path) -> None:
    assert cms("query", "_views/blog?ids=one").json == {"days": 30, "views": {"one": {"total": 0, "recent": 0}}}
    (tmp_path / "content" / "authors" / "jun.yaml").write_text("name: Jun\ncreatedAt: 2025-01-01\n")
    assert cms("snapshot", "build").status == 0
    assert [row["id"] for row in cms("query", "authors?orders=-views").json["contents"]] == ["mika", "jun"]
    spool = SpoolWriter(tmp_path / ".cms" / "site" / VIEWS, now_ms())
    for key in ("one", "one", "jun", "jun", "jun", "mika"):
        spool.append(View(now_ms(), Kind.ENTRY, key, "acme.example"))
    spool.close()
    cms("views", "flush")
    for orders, ids in (("-views", ["jun", "mika"]), ("views", ["mika", "jun"]), ("%76iews", ["mika", "jun"])):
        assert [row["id"] for row in cms("query", f"authors?orders={orders}").json["contents"]] == ids
    assert cms("query", "_views/authors?ids=jun,one&days=1").json["views"] == {
        "jun": {"total": 3, "recent": 3},
        "one": {"total": 0, "recent": 0},
    }
    key = cms("key", "create", "Blog only", "--api", "blog", "--json").json["prefix"]
    assert cms("query", "_views/authors?ids=jun", "--key", key).status == 1
    assert cms("query", "_views?ids=one").status == cms("query", "_views/blog/one?ids=one").status == 1


def test_people_get_lines_and_programs_the_bytes(cms: Cms) -> None:
    people, programs = cms("query", "blog?fields=title"), cms("query", "blog?fields=title", "--json")
    assert people.out.startswith('{\n  "contents": [\n')
    assert programs.out == '{"contents":[{"id":"one","title":"One"}],"totalCount":1,"offset":0,"limit":10}\n'
    assert people.json == programs.json


def test_another_instant(cms: Cms) -> None:
    def titles(at: str) -> list[str]:
        return [row["title"] for row in cms("query", "blog?orders=title", "--at", at).json["contents"]]

    assert titles("2126-01-01T00:00:00Z") == ["One", "Two"]
    assert titles("2125-12-31T23:59:59.999Z") == ["One"]
    # Nine in the morning in Tokyo, where the workspace is, is midnight UTC.
    assert titles("2126-01-01T09:00") == ["One", "Two"]
    assert titles("2126-01-01T08:59") == ["One"]


def test_unknown_parameters_are_warned_of(cms: Cms) -> None:
    asked = cms("query", "blog?limit=1&limt=2&sort=title")
    assert (asked.status, "limt, sort" in asked.err) == (0, True)
    assert cms("query", "blog?limit=1").err == ""


def test_strict_reading_refuses_what_otherwise_has_no_effect(cms: Cms) -> None:
    for target, said in (
        ("blog?limti=3", 'There is no parameter "limti". Did you mean "limit"?'),
        ("blog?fields=titel", 'has no field "titel". Did you mean "title"?'),
        ("_types/python?clint=false", 'Did you mean "client"?'),
    ):
        assert cms("query", target).status == 0
        strict = cms("query", target, "--strict")
        assert (strict.status, strict.out) == (1, "")
        assert said in " ".join(strict.err.split())
    assert cms("query", "blog?fields=title", "--strict").json == cms("query", "blog?fields=title").json


def test_descriptions_are_those_of_the_server(cms: Cms) -> None:
    assert "/v1/site/blog" in cms("query", "_openapi").json["paths"]
    types = cms("query", "_types/python?client=false")
    key = cms("key", "create", "All", "--json").json["prefix"]
    assert types.out == cms("types", "python", "--key", key).out
    assert cms("query", "_types/python?client=false", "--json").json == types.out
    unknown = cms("query", "_types/ruby")
    assert (unknown.status, unknown.out) == (1, "")
    assert "There are: typescript, python." in " ".join(unknown.err.split())


def test_a_key_lends_its_scope(cms: Cms) -> None:
    key = cms("key", "create", "Blog only", "--api", "blog", "--json").json
    for name in (key["prefix"], key["prefix"][:6], key["key"]):
        assert cms("query", "blog", "--key", name).status == 0
        assert cms("query", "authors", "--key", name).status == 1
        assert [api["endpoint"] for api in cms("query", "_schema", "--key", name).json["apis"]] == ["blog"]
    current = cms("snapshot", "list", "--json").json[0]["version"]
    for at, message in (("2100-01-01", "is in the future, which no key can read"), ("2020-01-01", "is no longer kept")):
        for asked in (["--at", at], ["--version", f"{current}@{at}"]):
            assert cms("query", "blog", *asked).status == 0, "the owner may"
            refused = cms("query", "blog", *asked, "--key", key["prefix"])
            assert (refused.status, message in refused.err) == (1, True)
    never = cms("snapshot", "build", "--no-activate", "--json").json["version"]
    assert never == current or cms("query", "blog", "--version", never, "--key", key["prefix"]).status == 1
    cms("key", "disable", key["prefix"])
    for name in (key["prefix"], key["prefix"][:6], "Blog only", key["key"]):
        refused = cms("query", "blog", "--key", name)
        assert (refused.status, refused.err) == (1, "error: This API key is disabled.\n")


def test_explaining_shows_every_part_of_a_list_with_its_statement_and_plan(cms: Cms) -> None:
    target = "blog?filters=id[equals]one[and]createdAt[greater_than]2020-01-01[and]title[contains]on&orders=title"
    document = cms("query", target, "--explain", "--json").json
    assert document["answer"]["totalCount"] == 1
    statements = {one["sql"]: one for one in document["statements"]}
    parts = {part["part"]: part for part in document["parts"]}
    assert [*parts] == [
        "order and visibility",
        "the values of createdAt in en",
        "createdAt[greater_than]1577836800000: compared with those values",
        "title[contains]on: looked up in the search index",
        "id[equals]one",
    ]
    for name in ("order and visibility", "the values of createdAt in en", "id[equals]one"):
        assert "row" in statements[parts[name]["sql"]]["plan"]
    assert "one" in statements[parts["id[equals]one"]["sql"]]["parameters"].values()
    assert not any(part["kept"] for part in parts.values())
    again = {part["part"]: part["kept"] for part in document["partsAgain"]}
    assert again == {
        "order and visibility": True,
        "id[equals]one": True,
        "the values of createdAt in en": True,
        "createdAt[greater_than]1577836800000: compared with those values": False,
        "title[contains]on": True,
    }
    text = cms("query", target, "--explain").out
    assert all(sql in text for sql in statements)
    assert " = 'one'" in text
    assert "id[equals]one (kept)" in text


@pytest.mark.parametrize(
    ("target", "stages"),
    [
        ("blog?filters=id[equals]one&orders=title", ["parse", "bind", "select", "read", "expand", "shape"]),
        ("blog?limit=1", ["parse", "bind", "select", "read", "expand", "shape"]),
        ("blog/one", ["parse", "bind", "read", "expand", "shape"]),
    ],
)
def test_explaining_tells_how_long_each_stage_takes(cms: Cms, target: str, stages: list[str]) -> None:
    told = cms("query", target, "--explain", "--json").json["stages"]
    assert list(told) == stages
    assert all(milliseconds >= 0 for milliseconds in told.values())
    lines = cms("query", target, "--explain").out.splitlines()
    assert [line.split()[0] for line in lines[-len(stages) :]] == stages


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8787", "HTTPS://content.example", "localhost:8787", "content.example", ""]
)
def test_the_url_of_a_request_is_taken_as_the_request(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    asked = cms("query", f"{address}/v1/site/blog?fields=title&limit=1#top")
    assert (asked.status, asked.json["contents"]) == (0, [{"id": "one", "title": "One"}])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    named = cms("query", f"{address}/v1/site/blog/one?fields=title", "--store", tmp_path / ".cms")
    assert named.json == {"id": "one", "title": "One"}


def test_a_key_is_named_by_its_name_too(cms: Cms) -> None:
    assert cms("key", "create", "Authors only", "--api", "authors").status == 0
    assert cms("query", "authors", "--key", "Authors only").json["totalCount"] == 1
    refused = cms("query", "blog", "--key", "Authors only")
    assert (refused.status, "or the key may not read it. There are: authors." in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nothing"], 1, 'has no API "nothing". There are: authors, blog.'),
        (["blgo?limit=1"], 1, 'has no API "blgo". Did you mean "blog"?'),
        (["https://content.example/"], 2, "…/v1/WORKSPACE/ENDPOINT"),
        (["https://content.example/v1/site"], 2, "…/v1/WORKSPACE/ENDPOINT"),
        (["https://content.example/pv/site/counts"], 2, "…/v1/WORKSPACE/ENDPOINT"),
        (["https://content.example/v1/other/blog"], 1, 'has no workspace "other"'),
        (["/v1/other/blog", "-w", "site"], 2, 'is about workspace "other", and -w names "site"'),
        (["blog/nothing"], 1, "nothing"),
        (["blog/one/more"], 1, 'There is no "blog/one/more"'),
        (["blog?limit=0"], 1, "limit"),
        (["blog?filters=titel[equals]x"], 1, "titel"),
        (["blog", "--key", "pq_zzzzzzzz"], 1, "No key begins with"),
        (["blog", "--at", "soon"], 2, "--at: expected a date-time"),
    ],
)
def test_what_is_refused(cms: Cms, arguments: list[str], status: int, message: str) -> None:
    ran = cms("query", *arguments)
    assert (ran.status, ran.out) == (status, "")
    assert message in ran.err


def test_control_characters_stay_escaped_in_json(cms: Cms, tmp_path: Path) -> None:
    title = "next\u0085line\u2028[31m\u009b31m"
    (tmp_path / "content/blog/odd.yaml").write_text(
        f"title: {json.dumps(title)}\ncreatedAt: 2026-01-01\n", encoding="utf-8"
    )
    assert cms("snapshot", "build").status == 0
    ran = cms("query", "blog/odd?fields=title", "--json")
    assert ran.out.isascii()
    assert ran.json["title"] == title


def test_drafts_are_listed_with_what_previews_them(cms: Cms, tmp_path: Path) -> None:
    [before] = cms("draft", "list", "--json").json
    assert (before["draftKey"], before["url"]) == (None, None)
    assert "come with the first API key" in cms("draft", "list").err

    cms("key", "create", "Preview")
    (tmp_path / "content/blog/one.de.draft.md").write_text(entry("Eins, neu", "draftKey: mine-1\n"), encoding="utf-8")
    cms("snapshot", "build")
    given, derived = sorted(cms("draft", "list", "--json").json, key=lambda draft: draft["id"])
    assert {name: given[name] for name in ("api", "id", "lang", "draftKey", "derived")} == {
        "api": "blog",
        "id": "one",
        "lang": "de",
        "draftKey": "mine-1",
        "derived": False,
    }
    assert given["url"] == "http://127.0.0.1:8787/v1/site/blog/one?lang=de&draftKey=mine-1"
    assert (derived["id"], derived["lang"], derived["derived"]) == ("two", "en", True)
    assert derived["url"] in cms("draft", "list").out
    assert cms("draft", "list", "--public-url", "https://api.example/").out.count("'https://api.example/v1/site/") == 2

    for draft, title in ((given, "Eins, neu"), (derived, "Two, rewritten")):
        target = draft["url"].partition("/v1/site/")[2]
        assert cms("query", target).json["title"] == title


def test_drafts_are_listed_with_the_page_that_shows_them(cms: Cms, tmp_path: Path) -> None:
    definition = tmp_path / "apis/blog.yaml"
    template = "https://site.example/preview?id={id}&lang={lang}&draftKey={draftKey}&again={id}"
    definition.write_text(f"{definition.read_text()}preview_url: {template}\n")
    cms("snapshot", "build")
    [before] = cms("draft", "list", "--json").json
    assert before["previewUrl"] is None
    cms("key", "create", "Preview")
    [draft] = cms("draft", "list", "--json").json
    page = f"https://site.example/preview?id=two&lang=en&draftKey={draft['draftKey']}&again=two"
    assert draft["previewUrl"] == page
    request = f"curl -gs -H \"X-API-KEY: $KEY\" '{draft['url']}'"
    assert cms("draft", "list").out.splitlines() == ["blog / two (en)", f"  {page}", f"  {request}"]


def test_drafts_are_listed_at_the_address_of_the_server_that_runs(cms: Cms, tmp_path: Path) -> None:
    cms("key", "create", "Preview")
    with running(tmp_path, tmp_path / "output") as session:
        [draft] = cms("draft", "list", "--json").json
        assert draft["url"].startswith(f"http://{session.host}/v1/site/blog/two?draftKey=")
        shown = cms("draft", "list").out.splitlines()
        assert shown[0] == "blog / two (en)"
        place, _, target = shown[1].strip().removeprefix("http://").partition("/")
        assert place == session.host
        assert session.get(f"/{target}").json["title"] == "Two, rewritten"  # without a key, as a browser asks
        assert session.get("/" + draft["url"].split("/", 3)[3], **{"X-API-KEY": session.key()}).status == 200

        store = open_store(tmp_path / ".cms")
        key = cms("key", "create", "Reader", "--json").json["key"]
        with serving(store, tmp_path / "log", key=key) as server:
            [draft] = cms("draft", "list", "--json").json
            place, _, target = draft["url"].removeprefix("http://").partition("/")
            assert place == server.host
            eventually(lambda: server.get(f"/{target}").status == 200)
        assert session.host in cms("draft", "list").out
    assert "http://127.0.0.1:8787/v1/site/" in cms("draft", "list").out


def test_rotating_ends_derived_draft_keys_and_spares_given_ones(cms: Cms, tmp_path: Path) -> None:
    cms("key", "create", "Preview")
    (tmp_path / "content/blog/one.draft.md").write_text(entry("One, new", "draftKey: mine-1\n"), encoding="utf-8")
    cms("snapshot", "build")
    before = {draft["id"]: draft["draftKey"] for draft in cms("draft", "list", "--json").json}
    assert cms("draft", "rotate").status == 0
    after = {draft["id"]: draft["draftKey"] for draft in cms("draft", "list", "--json").json}
    assert after["one"] == before["one"] == "mine-1"
    assert after["two"] != before["two"]
    assert cms("query", f"blog/two?draftKey={before['two']}").status == 1
    assert cms("query", f"blog/two?draftKey={after['two']}").status == 0
    assert len(cms("key", "list", "--json").json) == 1


def test_another_version(cms: Cms, tmp_path: Path) -> None:
    first = cms("snapshot", "list", "--json").json[0]["version"]
    (tmp_path / "content" / "blog" / "three.md").write_text(entry("Three"))
    assert cms("snapshot", "build").status == 0

    def titles(*more: str) -> list[str]:
        return [row["title"] for row in cms("query", "blog?orders=title", *more).json["contents"]]

    assert titles() == ["One", "Three"]
    assert titles("--version", first) == titles("--version", first[:20]) == ["One"]
    assert titles("--version", f"{first}@2126-01-01T00:00:00.000Z") == ["One", "Two"]
    assert titles("--version", first, "--at", "2126-01-01T00:00:00.000Z") == ["One", "Two"]
    both = cms("query", "blog", "--version", f"{first}@2026-01-01", "--at", "2026-01-01")
    assert (both.status, "Two instants" in both.err) == (2, True)
    assert cms("query", "blog", "--version", "20200101").status == 1
    assert cms("query", "blog", "--version", f"{first}@soon").status != 0


def test_changes_since_a_version(cms: Cms, tmp_path: Path) -> None:
    first = cms("query", "_changes").json
    assert first["changes"] == []
    assert first["nextChange"] == "2126-01-01T00:00:00.000Z"
    (tmp_path / "content" / "blog" / "three.md").write_text(entry("Three"))
    assert cms("snapshot", "build").status == 0
    since = f"_changes?since={first['next']}"
    assert cms("query", since).json["changes"] == [{"api": "blog", "id": "three", "lang": "en", "change": "published"}]
    later = cms("query", since, "--at", "2126-01-01T00:00:00Z").json["changes"]
    assert {change["id"] for change in later} == {"two", "three"}
    assert cms("query", "_changes?since=now").status == 1

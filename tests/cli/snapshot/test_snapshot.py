"""``cms check`` and ``cms snapshot``: what they print, where, and how they end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from engine.read.files.unusable import CacheUnfit
from engine.read.materialise import opening
from snapshots.store.store import open_store
from snapshots.whoami import whoami
from tests.programs.command_line import Cms, Ran, entry, in_process, write_workspace

VERSION = "[0-9]{8}T[0-9]{9}Z-[0-9a-f]{8}"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, which is the current directory."""
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(write_workspace(tmp_path))
    return tmp_path


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


def break_entries(site: Path) -> None:
    """Two errors and a warning in two files."""
    (site / "content/blog/one.md").write_text(
        "---\ncreatedAt: 2026-01-01\nrating: many\nstars: 5\n---\n", encoding="utf-8"
    )


def test_check_prints_problems_as_its_answer(cms: Cms, site: Path) -> None:
    assert (cms("check").status, cms("check").out) == (0, "de: 1 not translated\nNo problems\n")
    break_entries(site)
    ran = cms("check")
    assert (ran.status, ran.err) == (1, "")
    *lines, languages, count = ran.out.splitlines()
    assert languages == "de: 1 not translated"
    assert all(re.match(r"content/blog/one\.md:[0-9]+: (error|warning): \S", line) for line in lines)
    assert [line.split(": ")[1] for line in lines] == ["warning", "error", "error"]
    assert count == "2 errors, 1 warning"


def test_check_as_json(cms: Cms, site: Path) -> None:
    break_entries(site)
    ran = cms("check", site, "--json")
    assert (ran.status, ran.err) == (1, "")
    assert (ran.json["errors"], ran.json["warnings"]) == (2, 1)
    [rating] = [problem for problem in ran.json["problems"] if "rating" in problem["message"]]
    assert (rating["file"], rating["line"], rating["severity"]) == ("content/blog/one.md", 3, "error")


def test_warnings_are_errors_for_strict_eyes(cms: Cms, site: Path) -> None:
    (site / "content/blog/one.md").write_text(entry("One", "stars: 5\n"), encoding="utf-8")
    assert cms("check").status == 0
    strict = cms("check", "--strict")
    assert strict.status == 1
    assert strict.out.endswith("1 error, 0 warnings\n")
    assert cms("snapshot", "build", "--strict").status == 1
    assert cms("snapshot", "build").status == 0


def test_many_problems_are_counted_and_not_all_shown(cms: Cms, site: Path) -> None:
    for number in range(310):
        (site / f"content/blog/{number}.md").write_text(entry("Title", "rating: many\n"), encoding="utf-8")
    ran = cms("check")
    assert ran.out.count("content/blog/") == 300
    assert "… and 10 more errors like these" in ran.out
    assert ran.out.endswith("310 errors, 0 warnings\n")


def test_check_fix_writes_a_missing_uid(cms: Cms, site: Path) -> None:
    definition = site / "apis/authors.yaml"
    definition.write_text(
        definition.read_text(encoding="utf-8").replace("uid: api_Authors00001\n", ""), encoding="utf-8"
    )
    assert cms("check").status == 1
    fixed = cms("check", "--fix")
    assert (fixed.status, fixed.err) == (0, "apis/authors.yaml: uid written\n")
    assert re.search(r"(?m)^uid: api_[A-Za-z0-9]{12}$", definition.read_text(encoding="utf-8"))


def test_a_build_of_a_broken_workspace_leaves_the_current_version(cms: Cms, site: Path) -> None:
    version = cms("snapshot", "build", "--json").json["version"]
    break_entries(site)
    ran = cms("snapshot", "build")
    assert (ran.status, ran.out) == (1, "")
    assert "content/blog/one.md:3: error: " in ran.err
    assert "2 errors, 1 warning" in ran.err
    refused = cms("snapshot", "build", "--json")
    assert (refused.status, refused.err) == (1, "")
    assert (refused.json["workspace"], refused.json["version"]) == ("site", None)
    assert len(refused.json["problems"]) == 3
    assert [(one["version"], one["current"]) for one in cms("snapshot", "list", "--json").json] == [(version, True)]


def test_a_lenient_build_leaves_out_what_is_wrong(cms: Cms, site: Path) -> None:
    everything = cms("snapshot", "build", "--json").json["entries"]
    break_entries(site)
    ran = cms("snapshot", "build", "--lenient", "--json")
    assert (ran.status, ran.json["entries"]) == (0, everything - 1)
    assert {problem["severity"] for problem in ran.json["problems"]} == {"warning"}


def test_building_activating_and_rolling_back(cms: Cms, site: Path) -> None:
    first = cms("snapshot", "build", "--json").json
    assert (first["workspace"], first["changed"], first["activated"], first["entries"]) == ("site", True, True, 5)
    again = cms("snapshot", "build", "--json").json
    assert (again["version"], again["changed"], again["activated"]) == (first["version"], False, False)
    assert f"Nothing changed since {first['version']}" in cms("snapshot", "build").out

    (site / "content/blog/three.md").write_text(entry("Three"), encoding="utf-8")
    second = cms("snapshot", "build", "--no-activate", "--json").json
    assert (second["changed"], second["activated"], second["entries"]) == (True, False, 6)
    listed = cms("snapshot", "list", "--json").json
    assert [(one["version"], one["current"], one["entries"]) for one in listed] == [
        (second["version"], False, 6),
        (first["version"], True, 5),
    ]
    assert (
        f"Snapshot version {second['version']} is now current"
        in cms("snapshot", "activate", second["version"][:18]).out
    )
    assert "is current already" in cms("snapshot", "activate", second["version"]).out
    rolled = cms("snapshot", "rollback", "--json").json
    assert (rolled["version"], rolled["previous"]) == (first["version"], [])
    nothing = cms("snapshot", "rollback")
    assert (nothing.status, nothing.out) == (1, "")
    assert "no snapshot version was current before" in nothing.err

    held = cms("snapshot", "build")
    assert (held.status, f"There is already {second['version']}, not made current" in held.out) == (0, True)
    [warning] = held.err.splitlines()
    assert warning.startswith(
        f"warning: {second['version']} was not made current: its content was rolled back from on "
    )
    assert f"by {whoami()}" in warning
    again = cms("snapshot", "build", "--json").json
    assert (again["activated"], again["held"]["by"], again["held"]["version"]) == (False, whoami(), second["version"])
    listed = cms("snapshot", "list", "--json").json
    assert [(one["version"], one["held"]) for one in listed] == [
        (second["version"], again["held"]),
        (first["version"], None),
    ]
    told = cms("snapshot", "list")
    assert told.out.splitlines()[1].startswith(f"held  {second['version']}")
    assert f"{second['version']} is held since {again['held']['at'][:10]}" in told.err
    back = cms("snapshot", "build", "--again")
    assert f"{second['version']} has this content already and is now current" in back.out
    assert cms("snapshot", "list", "--json").json[0]["held"] is None


def test_a_list_for_people(cms: Cms, site: Path) -> None:
    assert 'Workspace "site" has no snapshot versions yet.' in cms("snapshot", "list").err
    cms("snapshot", "build")
    header, row = cms("snapshot", "list").out.splitlines()
    assert header.split() == ["VERSION", "BUILT", "(UTC)", "ENTRIES", "SIZE", "BY"]
    assert re.fullmatch(rf"\*  {VERSION}  .*@.*", row)


def test_show_counts_by_api_and_language(cms: Cms, site: Path) -> None:
    assert cms("snapshot", "show").status == 1
    version = cms("snapshot", "build", "--json").json["version"]
    document = cms("snapshot", "show", "--json").json
    assert (document["version"], document["entries"]) == (version, 5)
    counts = {(one["api"], one["lang"]): (one["live"], one["scheduled"], one["drafts"]) for one in document["counts"]}
    assert counts == {
        ("authors", "en"): (1, 0, 0),
        ("blog", "en"): (1, 1, 1),
        ("blog", "de"): (1, 0, 0),
    }
    [flip] = document["nextFlips"]
    assert flip == {"at": "2126-01-01T00:00:00.000Z", "api": "blog", "lang": "en", "id": "two", "live": True}
    text = cms("snapshot", "show", version[:20]).out
    assert re.search(r"^blog +en +1 +1 +0 +1$", text, re.MULTILINE)
    assert "NEXT (Asia/Tokyo)" in text
    assert re.search(r"^1 Jan 2126, 09:00 +goes live +en +blog/two$", text, re.MULTILINE)
    assert "Left out" not in text
    assert document["flipsLeftOut"] == 0


def test_show_lists_what_comes_next_by_instant_and_says_what_it_leaves_out(cms: Cms, site: Path) -> None:
    def scheduled(name: str, at: str, more: str = "") -> None:
        (site / f"content/blog/{name}.md").write_text(
            f"---\ntitle: {name}\ncreatedAt: 2026-01-01\nstatus: scheduled\npublishStart: {at}\n{more}---\n",
            encoding="utf-8",
        )

    for number in range(20):
        for suffix in ("", ".de"):
            scheduled(f"launched-{number:02}{suffix}", "2125-03-01T09:00")
    scheduled("english", "2125-03-01T09:00", "publishEnd: 2125-04-01\n")
    for number in range(1, 12):
        scheduled(f"later-{number:02}", f"2127-01-{number:02}T08:00:00Z")
    cms("snapshot", "build")
    lines = cms("snapshot", "show").out.splitlines()
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("NEXT")) + 1 :]
    assert len(table) == 11
    first = " ".join(table[0].split())
    assert first.startswith(
        "1 Mar 2125, 09:00 21 entries go live en, de blog/english (en), blog/launched-00, blog/launched-01, "
    )
    assert first.endswith("blog/launched-13 and 6 more")
    assert table[1].split() == ["1", "Apr", "2125,", "00:00", "ends", "en", "blog/english"]
    assert table[2].startswith("1 Jan 2126, 09:00")
    assert table[9].startswith("7 Jan 2127, 17:00")
    assert table[10] == (
        "Left out: 4 later times with 4 language versions, the last on 11 Jan 2127, 17:00. --next 100 shows more."
    )
    all_of_it = cms("snapshot", "show", "--next", "14").out
    assert "Left out" not in all_of_it
    assert "11 Jan 2127, 17:00" in all_of_it
    document = cms("snapshot", "show", "--next", "1", "--json").json
    assert len(document["nextFlips"]) == 41
    assert {flip["at"] for flip in document["nextFlips"]} == {"2125-03-01T00:00:00.000Z"}
    assert document["flipsLeftOut"] == 13
    assert cms("snapshot", "show", "--next", "0").status == 2


def test_a_build_says_what_is_renamed_and_gone_and_what_ends_with_it(cms: Cms, site: Path) -> None:
    definition = site / "apis/blog.yaml"
    more = "page_url: /{lang}/blog/{id}/\nfields:\n  - {id: author, type: reference, api: authors}\n"
    definition.write_text(definition.read_text(encoding="utf-8").replace("fields:\n", more), encoding="utf-8")
    one = site / "content/blog/one.md"
    one.write_text(one.read_text(encoding="utf-8").replace("title: One", "title: One\nauthor: mika"), encoding="utf-8")
    first = cms("snapshot", "build").out
    assert "Renamed" not in first
    for suffix in ("", ".de"):
        (site / f"content/blog/one{suffix}.md").rename(site / f"content/blog/first{suffix}.md")
    (site / "content/authors/mika.yaml").unlink()
    (site / "content/authors/ken.yaml").write_text("name: Ken\ncreatedAt: 2026-01-01\n", encoding="utf-8")
    assert [line.strip() for line in cms("snapshot", "build", "--no-activate").out.splitlines()[2:]] == [
        "Renamed",
        "blog/one is now blog/first, with the same content in en and de",
        "these addresses end: /en/blog/one/, /de/blog/one/",
        "with aliases: [one] in first, references and links to the old ID lead to the new one",
        "Removed",
        "authors/mika, Mika (en)",
        "1 entry still refers to it: blog/first (author; en)",
    ]
    document = cms("snapshot", "build", "--json").json
    assert document["renamed"] == [
        {
            "api": "blog", "from": "one", "to": "first", "languages": ["en", "de"], "drafts": [], "exact": True,
            "addresses": ["/en/blog/one/", "/de/blog/one/"], "references": [],
        }
    ]  # fmt: skip
    assert document["removed"] == [
        {
            "api": "authors", "id": "mika", "languages": ["en"], "drafts": [], "addresses": [],
            "references": [{"api": "blog", "id": "first", "lang": "en", "draft": False, "field": "author"}],
        }
    ]  # fmt: skip
    again = cms("snapshot", "build", "--json").json
    assert (again["renamed"], again["removed"]) == ([], [])


def test_verify_tells_what_is_not_covered_until_it_is_activated(cms: Cms, site: Path) -> None:
    version = cms("snapshot", "build", "--json").json["version"]
    current = open_store(site / ".cms").workspace("site").directory / "current"
    document = json.loads(current.read_bytes())
    del document["manifests"], document["checksum"]
    current.write_text(json.dumps(document))  # as the release before leaves it
    ran = cms("snapshot", "verify")
    assert (ran.status, "is intact" in ran.out) == (0, True)
    assert "Not covered: manifest.json" in ran.err
    assert "is recorded now" in cms("snapshot", "activate", version).out
    assert "Not covered" not in cms("snapshot", "verify").err
    assert "is current already." in cms("snapshot", "activate", version).out


def test_verify_names_what_is_damaged(cms: Cms, site: Path) -> None:
    version = cms("snapshot", "build", "--json").json["version"]
    assert cms("snapshot", "verify", "--json").json == {
        "workspace": "site",
        "version": version,
        "ok": True,
        "complaints": [],
        "notCovered": [],
    }
    assert "is intact: 7 files" in cms("snapshot", "verify").out
    data = site / f".cms/site/snapshots/{version}/en/blog/all.parquet"
    damaged = bytearray(data.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    data.chmod(0o644)
    data.write_bytes(damaged)
    ran = cms("snapshot", "verify", version)
    assert ran.status == 1
    assert "en/blog/all.parquet" in ran.out
    assert "is damaged: 1 complaint." in ran.err
    assert cms("snapshot", "verify", "--json").json["ok"] is False


def test_prune_keeps_what_it_is_told_to(cms: Cms, site: Path) -> None:
    versions = []
    for title in ("One", "Two", "Three", "Four"):
        (site / "content/blog/one.md").write_text(entry(title), encoding="utf-8")
        versions.append(cms("snapshot", "build", "--json").json["version"])
    ran = cms("snapshot", "prune", "--keep", "1", "--json").json
    assert ran["removed"] == [versions[1], versions[0]]
    assert ran["bytes"] > 0
    assert cms("snapshot", "prune").out == "0 snapshot versions removed, 0 bytes freed.\n"
    assert [one["version"] for one in cms("snapshot", "list", "--json").json] == [versions[3], versions[2]]


def publish(cms: Cms, site: Path, title: str, *arguments: str) -> Ran:
    (site / "content/blog/one.md").write_text(entry(title), encoding="utf-8")
    return cms("snapshot", "build", *arguments)


def test_a_build_deletes_old_versions_where_it_is_told_how_many_to_keep(
    cms: Cms, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = [publish(cms, site, title, "--json").json["version"] for title in ("One", "Two", "Three")]
    ran = publish(cms, site, "Four", "--keep", "3")
    assert "Of the old ones, 1 snapshot version removed, " in ran.out
    monkeypatch.setenv("CMS_KEEP_VERSIONS", "2")
    told = publish(cms, site, "Five", "--json").json
    monkeypatch.delenv("CMS_KEEP_VERSIONS")
    assert told["pruned"] == [versions[2], versions[1]]
    listed = [one["version"] for one in cms("snapshot", "list", "--json").json]
    assert (listed[0], len(listed)) == (told["version"], 2)
    assert publish(cms, site, "Six", "--keep", "0").status == 2
    assert "pruned" not in publish(cms, site, "Seven", "--json").json


def test_a_build_whose_old_versions_cannot_be_deleted_is_one(cms: Cms, site: Path) -> None:
    for title in ("One", "Two"):
        publish(cms, site, title)
    (site / ".cms/_readers").write_text("in the way")
    ran = publish(cms, site, "Three", "--keep", "1")
    assert ran.status == 0
    assert "now current" in ran.out
    assert "Old snapshot versions were not deleted: cannot read " in ran.err
    assert len(cms("snapshot", "list", "--json").json) == 3


def test_prune_goes_through_all_workspaces(cms: Cms, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMS_KEEP_VERSIONS", "2")
    for title in ("One", "Two", "Three"):
        publish(cms, site, title, "--keep", "9")
        other = site / "workspace.yaml"
        other.write_text(other.read_text().replace("id: site", "id: other"))
        publish(cms, site, title, "--keep", "9")
        other.write_text(other.read_text().replace("id: other", "id: site"))
    ran = cms("snapshot", "prune", "--all-workspaces")
    assert [line.partition(", ")[0] for line in ran.out.splitlines()] == [
        "other: 1 snapshot version removed",
        "site: 1 snapshot version removed",
    ]
    told = cms("snapshot", "prune", "--all-workspaces", "--keep", "2", "--json").json
    assert told == [
        {"workspace": name, "removed": [], "bytes": 0, "inUse": [], "carried": []} for name in ("other", "site")
    ]
    assert cms("snapshot", "prune", "--all-workspaces", "-w", "other").status == 2
    assert cms("snapshot", "prune", "2026", "--keep", "2").status == 2
    version = cms("snapshot", "list", "--json").json[1]["version"]
    assert cms("snapshot", "prune", version).status == 0


def test_prune_frees_the_cache_of_what_it_removes(cms: Cms, site: Path) -> None:
    def parts() -> int:
        return len(list((site / ".cms/.cache/site").glob("layout-*/parts/*")))

    for title in ("One", "Two", "Three", "Four"):
        (site / "content/blog/one.md").write_text(entry(title), encoding="utf-8")
        cms("snapshot", "build")
        assert title in cms("query", "blog").out
    before = parts()
    freed = cms("snapshot", "prune", "--keep", "2", "--json").json["bytes"]
    assert before - parts() == 2
    assert freed > 100_000  # more than the versions themselves have
    assert "Four" in cms("query", "blog").out


def test_a_damaged_pointer_is_mended_by_activating(cms: Cms, site: Path) -> None:
    version = cms("snapshot", "build", "--json").json["version"]
    (site / ".cms/site/current").write_text("{", encoding="utf-8")
    listed = cms("snapshot", "list")
    assert listed.status == 0
    assert version in listed.out
    assert "is damaged" in listed.err
    assert cms("snapshot", "activate", version).status == 0
    assert cms("snapshot", "list", "--json").json[0]["current"] is True


def test_a_version_that_cannot_be_read_does_not_hide_the_others(cms: Cms, site: Path) -> None:
    first = cms("snapshot", "build", "--json").json["version"]
    (site / "content/blog/one.md").write_text(entry("Uno"), encoding="utf-8")
    second = cms("snapshot", "build", "--json").json["version"]
    manifest = site / f".cms/site/snapshots/{first}/manifest.json"
    manifest.chmod(0o644)
    manifest.write_text("{}", encoding="utf-8")
    listed = cms("snapshot", "list", "--json").json
    assert [(one["version"], bool(one["problem"])) for one in listed] == [(second, False), (first, True)]
    people = cms("snapshot", "list")
    assert re.search(rf"^   {first}  cannot be read$", people.out, re.MULTILINE)
    assert "manifest.json" in people.err


@pytest.mark.parametrize("arguments", [["show", "2020"], ["verify", "2020"], ["activate", "2020"]])
def test_an_unknown_version_is_status_1(cms: Cms, site: Path, arguments: list[str]) -> None:
    cms("snapshot", "build")
    ran = cms("snapshot", *arguments)
    assert (ran.status, ran.out) == (1, "")
    assert 'has no snapshot version "2020"' in ran.err


def test_a_store_of_several_workspaces_asks_which(cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMS_STORE", str(tmp_path / "store"))
    for name in ("acme", "beta"):
        workspace = write_workspace(tmp_path / name)
        text = (workspace / "workspace.yaml").read_text(encoding="utf-8")
        (workspace / "workspace.yaml").write_text(text.replace("id: site", f"id: {name}"), encoding="utf-8")
        assert cms("snapshot", "build", workspace).status == 0
    monkeypatch.chdir(tmp_path)
    unclear = cms("snapshot", "list")
    assert unclear.status == 1
    assert "holds several workspaces: acme, beta. Choose one with --workspace-id." in unclear.err
    assert cms("snapshot", "show", "-w", "beta", "--json").json["workspace"] == "beta"
    monkeypatch.chdir(tmp_path / "acme" / "content")
    assert cms("snapshot", "show", "--json").json["workspace"] == "acme"
    assert cms("snapshot", "show", "--json", "--workspace-id", "beta").json["workspace"] == "beta"


def test_check_needs_no_store_it_could_write_to(cms: Cms, site: Path) -> None:
    ran = cms("check", "--store", site / "workspace.yaml" / "store")
    assert (ran.status, ran.out, ran.err) == (0, "de: 1 not translated\nNo problems\n", "")
    assert cms("snapshot", "build", "--store", site / "workspace.yaml" / "store").status == 1


def test_a_build_that_makes_the_cache_opens_it_and_makes_again_what_it_cannot_open(cms: Cms, site: Path) -> None:
    assert cms("snapshot", "build", "--with-cache").status == 0
    bodies = sorted((site / ".cms").rglob("layout-*/parts/*/bodies"))
    for file in bodies:
        file.write_bytes(file.read_bytes()[:-1])
    damaged = {file: file.stat().st_ino for file in bodies}
    # Other facts of the workspace give another version, whose parts are the same ones.
    facts = site / "workspace.yaml"
    facts.write_text(facts.read_text(encoding="utf-8") + "rate_limit: 7\n", encoding="utf-8")
    built = cms("snapshot", "build", "--with-cache")
    assert (built.status, "now current" in built.out) == (0, True)
    assert bodies
    assert [file for file in bodies if file.stat().st_ino == damaged[file]] == []


def test_a_version_that_cannot_be_opened_is_not_made_current(
    cms: Cms, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cms("snapshot", "build", "--with-cache", "--json").json["version"]
    (site / "content/blog/two.md").write_text(entry("Two", ""), encoding="utf-8")

    def unfit(*_: object) -> None:
        raise CacheUnfit("it cannot be read: it is another one's.", [])

    with monkeypatch.context() as patched:
        patched.setattr(opening, "open_version", unfit)
        refused = cms("snapshot", "build", "--with-cache")
    assert (refused.status, "it cannot be read" in refused.err) == (1, True)
    assert "now current" not in refused.out
    current = open_store(site / ".cms").workspace("site").current()
    assert current is not None
    assert current.version == before
    built = cms("snapshot", "build", "--with-cache", "--json").json
    assert (built["activated"], built["version"] == before) == (True, False)


def test_where_versions_were_copied_and_none_is_current_it_is_said_how_to_make_one_so(
    cms_in_copy: Cms, tmp_path: Path
) -> None:
    assert cms_in_copy("snapshot", "pull", ".cms", "--store", "mine").status == 0
    ran = cms_in_copy("snapshot", "verify", "--store", "mine")
    assert ran.status == 1
    command = re.search(r"`cms (snapshot activate \S+)` makes its newest one current", ran.err)
    assert command is not None, ran.err
    assert cms_in_copy(*command[1].split(), "--store", "mine").status == 0
    assert cms_in_copy("snapshot", "verify", "--store", "mine").status == 0

"""``cms snapshot diff``: two versions → what changed between them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import snapshots.build.parquet
from snapshots.build.build import build
from snapshots.compare.diff import SnapshotDiff, diff
from snapshots.store.durable import StoreError
from snapshots.store.store import Store, open_store
from tests.programs.command_line import AUTHORS, BLOG, Cms, entry, in_process, write_workspace
from tests.sites.field_types import write_field_types
from tests.sites.site_folders import write_folder

NOW = 1_780_000_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "site")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


@pytest.fixture
def cms(root: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.setenv("CMS_STORE", str(store.root))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(root)
    return in_process(monkeypatch, capsys)


def write(root: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        if text is None:
            (root / name).unlink()
        else:
            (root / name).write_text(text, encoding="utf-8")


def after(root: Path, store: Store, files: dict[str, str | None]) -> SnapshotDiff:
    """What the diff says of a build, these edits, and a build after them."""
    first = build(root, store, now=NOW)
    write(root, files)
    second = build(root, store, now=NOW + 1, allow_breaking=True)
    return diff(store.workspace("site"), first.version, second.version)


def entries(found: SnapshotDiff) -> dict[tuple[str, str, bool], dict[str, Any]]:
    return {
        (file.api, file.lang, file.draft): {
            "added": file.added.to_pylist(),
            "removed": file.removed.to_pylist(),
            "changed": {
                change.id: {value.field: (value.before, value.after) for value in change.values}
                for change in file.changes()
            },
        }
        for file in found.files
    }


def test_added_changed_and_removed_by_api_and_language_drafts_apart(root: Path, store: Store) -> None:
    found = after(
        root,
        store,
        {
            "content/blog/one.md": entry("One!", "rating: 5\npublishEnd: 2027-01-01\nupdatedAt: 2026-02-01\n"),
            "content/blog/one.de.md": None,
            "content/blog/three.md": entry("Three"),
            "content/blog/three.draft.md": entry("Three, rewritten"),
            "content/blog/two.draft.md": entry("Two, rewritten", "draftKey: secret-key\n"),
            "content/authors/mika.yaml": None,
        },
    )
    assert entries(found) == {
        ("authors", "en", False): {"added": [], "removed": ["mika"], "changed": {}},
        ("blog", "en", False): {
            "added": ["three"],
            "removed": [],
            "changed": {
                "one": {
                    "title": ("One", "One!"),
                    "rating": (None, 5),
                    "updatedAt": ("2025-12-31T15:00:00.000Z", "2026-01-31T15:00:00.000Z"),
                    "_liveUntil": (None, "2026-12-31T15:00:00.000Z"),
                }
            },
        },
        ("blog", "en", True): {
            "added": ["three"],
            "removed": [],
            "changed": {"two": {"_draftKey": (None, "***")}},
        },
        ("blog", "de", False): {"added": [], "removed": ["one"], "changed": {}},
    }
    assert (found.added, found.changed, found.removed, found.breaking, found.same) == (2, 2, 2, 0, False)


def test_changes_inside_values_are_told_by_their_path(tmp_path: Path, store: Store) -> None:
    root = write_field_types(tmp_path / "types")
    first = build(root, store, now=NOW)
    page = root / "content/pages/home.yaml"
    changed = page.read_text()
    for before, now in (
        ("name: Nobody", "name: Somebody"), ("height: 2, alt: B", "height: 3, alt: B"), ("{deep: no}", "{deep: yes}"),
        ("<p>Two</p>", "<p>2</p>"), ("{api: pages, id: home}", "{api: people, id: home}"), ("fileSize: 12345", ""),
        ("  - {fieldId: rule}\n", "  - {fieldId: hero}\n"), ("about, mika,", "about, ken,"),
    ):  # fmt: skip
        assert before in changed
        changed = changed.replace(before, now)
    page.write_text(changed)
    second = build(root, store, now=NOW + 1)
    [file] = diff(store.workspace("types"), first.version, second.version).files
    [change] = file.changes()
    assert {value.field: (value.before, value.after) for value in change.values} == {
        "gallery[1].height": (2, 3),
        "menu.fileSize": (12345, None),
        "settings.target": ([1, 2.5, {"deep": "no"}], [1, 2.5, {"deep": "yes"}]),
        "authors[1].name": ("Nobody", "Somebody"),
        "blocks[0].target": (
            ["mika", {"api": "pages", "id": "home"}, {"api": "people", "id": "late"}],
            ["mika", {"api": "people", "id": "home"}, {"api": "people", "id": "late"}],
        ),
        "blocks[1]": ({"fieldId": "rule"}, {"fieldId": "hero", "text": None, "target": []}),
        "blocks[2].columns[1].body": ("<p>Two</p>", "<p>2</p>"),
        "links": (["about", "mika", {"api": "people", "id": "ken"}, "late"],
                  ["about", "ken", {"api": "people", "id": "ken"}, "late"]),
    }  # fmt: skip


def test_a_translation_that_goes_changes_no_other_language(root: Path, store: Store) -> None:
    """Although the main language's file is another: its rows carry the windows of the translations."""
    found = after(root, store, {"content/blog/one.de.md": None})
    assert entries(found) == {("blog", "de", False): {"added": [], "removed": ["one"], "changed": {}}}


def test_a_field_that_comes_or_goes_changes_only_entries_with_a_value(root: Path, store: Store) -> None:
    new = BLOG.replace("{id: rating, name: Rating, type: number}", "{id: mood, name: Mood, type: text}")
    write(root, {"content/blog/one.md": entry("One", "rating: 5\n")})
    found = after(root, store, {"apis/blog.yaml": new, "content/blog/two.md": entry("Two", "mood: glad\n")})
    assert entries(found)["blog", "en", False]["changed"] == {
        "one": {"rating": (5, None)},
        "two": {
            "mood": (None, "glad"),
            "_liveFrom": ("2126-01-01T00:00:00.000Z", None),
            "publishedAt": ("2126-01-01T00:00:00.000Z", "2025-12-31T15:00:00.000Z"),
        },
    }
    assert [change.change for change in found.schema] == ["field_added", "field_removed"]


def test_a_renamed_endpoint_changes_no_entry(root: Path, store: Store) -> None:
    authors = f"{AUTHORS}source: content/authors/{{id}}.yaml\n"
    people = authors.replace("endpoint: authors", "endpoint: people")
    write(root, {"apis/authors.yaml": authors})
    found = after(root, store, {"apis/authors.yaml": people})
    assert entries(found) == {}
    assert [change.change for change in found.schema] == ["endpoint_changed"]


def test_many_row_groups_and_entries_that_move_between_them(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots.build.parquet, "GROUP_ROWS", 7)

    def lines(edit: dict[int, tuple[str, int]], gone: set[int]) -> str:
        rows = []
        for number in range(100):
            if number not in gone:
                title, day = edit.get(number, (f"Title {number}", number % 28))
                date = f"2026-01-{day + 1:02}T00:00:00Z"
                rows.append(
                    json.dumps({"id": f"e{number}", "title": title, "createdAt": "2026-01-01", "publishedAt": date})
                )
        return "\n".join(rows)

    write(root, {"content/blog.jsonl": lines({}, {77})})
    edits = {3: ("Three", 3), 50: ("Fifty", 0), 99: ("Title 99", 1)}
    found = entries(after(root, store, {"content/blog.jsonl": lines(edits, {12})}))["blog", "en", False]
    assert (found["added"], found["removed"]) == (["e77"], ["e12"])
    assert {name: set(values) for name, values in found["changed"].items()} == {
        "e3": {"title"},
        "e50": {"title", "publishedAt"},
        "e99": {"publishedAt"},
    }
    assert found["changed"]["e50"]["title"] == ("Title 50", "Fifty")


def test_a_damaged_file_is_named(root: Path, store: Store) -> None:
    first = build(root, store, now=NOW)
    write(root, {"content/blog/one.md": entry("One!")})
    second = build(root, store, now=NOW + 1)
    path = store.workspace("site").path(second.version, "en/blog/all.parquet")
    path.chmod(0o644)
    path.write_bytes(b"nothing")
    with pytest.raises(StoreError, match=r"en/blog/all\.parquet cannot be read"):
        diff(store.workspace("site"), first.version, second.version)


def test_text_for_people(cms: Cms, root: Path) -> None:
    cms("snapshot", "build")
    long = "The very same long beginning of a sentence, and then "
    write(root, {"content/blog/one.md": entry(long + "one end")})
    cms("snapshot", "build")
    write(root, {"content/blog/one.md": entry(long + "another end"), "content/blog/new.md": entry("New")})
    cms("snapshot", "build")
    shown = cms("snapshot", "diff")
    assert shown.status == 0
    assert "\x1b" not in shown.out
    assert "  + new\n  ~ one\n" in shown.out
    assert "      Title: The very same long beginning of a sentence, and then [-one] [+another] end\n" in shown.out
    assert shown.out.endswith("1 added, 1 changed, 0 removed.\n")
    assert "1 more; --limit 0 shows all" in cms("snapshot", "diff", "--limit", "1").out


def test_json_for_machines(cms: Cms, root: Path) -> None:
    first = cms("snapshot", "build", "--json").json["version"]
    write(
        root,
        {
            "content/blog/one.md": entry("One!"),
            "content/blog/one.de.md": None,
            "content/blog/new.md": entry("New"),
            "apis/blog.yaml": BLOG.replace("type: number", "type: boolean"),
        },
    )
    second = cms("snapshot", "build", "--allow-breaking", "--json").json["version"]
    where = {"api": "blog", "lang": "en", "draft": False}
    document = cms("snapshot", "diff", "--json").json
    assert document["schema"][0]["message"].startswith('blog: the field "rating" was number and is boolean')
    assert document == {
        "from": first,
        "to": second,
        "fromCommit": None,
        "toCommit": None,
        "entries": {
            "added": [{**where, "id": "new"}],
            "changed": [{**where, "id": "one", "fields": [{"field": "title", "from": "One", "to": "One!"}]}],
            "removed": [{**where, "lang": "de", "id": "one"}],
            "renamed": [],
        },
        "schema": [
            {
                "change": "type_changed",
                "breaking": True,
                "api": "blog",
                "field": "rating",
                "from": "number",
                "to": "boolean",
                "message": document["schema"][0]["message"],
            }
        ],
    }


def test_which_versions_and_the_exit_status(cms: Cms, root: Path) -> None:
    first = cms("snapshot", "build", "--json").json["version"]
    alone = cms("snapshot", "diff")
    assert (alone.status, "No snapshot version was current before" in alone.err) == (1, True)
    write(root, {"content/blog/one.md": entry("One!")})
    second = cms("snapshot", "build", "--json").json["version"]

    def heads(*arguments: str) -> tuple[int, str]:
        ran = cms("snapshot", "diff", *arguments)
        return ran.status, ran.out.splitlines()[0]

    assert heads() == (0, f"{first} → {second}")
    assert heads(first, "--exit-code") == (1, f"{first} → {second}")
    assert heads(second, first, "--exit-code-breaking") == (0, f"{second} → {first}")
    assert heads(second, "--exit-code") == (0, f"{second} → {second}")
    write(root, {"apis/blog.yaml": BLOG.replace("endpoint: blog", "endpoint: blog2")})
    cms("snapshot", "build", "--allow-breaking")
    assert heads("--exit-code-breaking")[0] == 1
    assert cms("snapshot", "diff", "20991231").status == 1


def test_changes_are_listed_as_the_api_lists_entries_however_they_are_divided(tmp_path: Path, store: Store) -> None:
    """The last published first, of several segments."""
    root, ids = tmp_path / "dated", [f"e{number}" for number in range(9)]
    for now, title in enumerate(("before", "after")):
        lines = [
            json.dumps(
                {"id": one, "createdAt": f"2026-01-{1 + number * 7 % 10:02}", "title": title if number else "same"}
            )
            for number, one in enumerate(ids)
        ]
        write_folder(root, {**DATED, "content/posts.jsonl": "\n".join(lines)})
        build(root, store, now=now, segment_entries=2)
    place = store.workspace("dated")
    new, old = place.versions()
    assert len(place.manifest(new).files) > 8
    [found] = diff(place, old, new).files
    wanted = sorted(range(1, 9), key=lambda number: -(number * 7 % 10))
    assert [one.id for one in found.changes()] == [ids[number] for number in wanted]


DATED = {
    "workspace.yaml": "id: dated\nlanguages: [en]\n",
    "apis/posts.yaml": "uid: api_posts0000000\nendpoint: posts\nkind: list\nfields:\n  - {id: title, type: text}\n",
}

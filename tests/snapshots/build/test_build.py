"""A workspace directory → a snapshot: what lands in the files, and what a second build does."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.build.build import BuildResult, build, check
from snapshots.build.cached.chunks import read_arrow, write_arrow
from snapshots.build.workers import BuildWorkers, Job
from snapshots.columns import FileKind, indexed_fields
from snapshots.model import ALWAYS, NEVER
from snapshots.problems import WorkspaceRefused
from snapshots.search.index import write_search_index
from snapshots.store.store import open_store
from tests.stores.data_files import stored_rows

NOW = 1_780_000_000_000

WORKSPACE = "id: acme\nlanguages: [en, ja, de]\ntimezone: Asia/Tokyo\n"
BLOG = """uid: api_Blog00000001
name: Blog
endpoint: blog
kind: list
multilingual: true
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: body, name: Body, type: richtext}
  - {id: rating, name: Rating, type: number}
  - {id: tags, name: Tags, type: multiple_select}
  - {id: author, name: Author, type: reference, api: authors}
  - {id: cover, name: Cover, type: image}
"""
AUTHORS = """uid: api_Authors00001
name: Authors
endpoint: authors
kind: list
fields:
  - {id: name, name: Name, type: text, required: true}
"""
SITE = """uid: api_Site00000001
name: Site
endpoint: site
kind: object
fields:
  - {id: title, name: Title, type: text}
"""
FILES = {
    "workspace.yaml": WORKSPACE,
    "apis/blog.yaml": BLOG,
    "apis/authors.yaml": AUTHORS,
    "apis/site.yaml": SITE,
    "content/authors/mika.yaml": "name: Mika\ncreatedAt: 2026-01-01\n",
    "content/site.yaml": "title: Acme\ncreatedAt: 2026-01-01\n",
    "content/blog/one.md": (
        "---\ntitle: One\nrating: 5.0\ntags: [a, b]\nauthor: mika\ncreatedAt: 2026-01-02\n"
        "publishedAt: 2026-01-05T09:00:00+09:00\ndraftKey: shared-key\n---\n# Hello\n\nWorld & *all*\n"
    ),
    "content/blog/one.ja.md": "---\ntitle: 一\ncreatedAt: 2026-01-03\npublishEnd: 2027-01-01\n---\nこんにちは\n",
    "content/blog/one.draft.md": "---\ntitle: One, changed\ncreatedAt: 2026-01-02\n---\nNew\n",
    "content/blog/two.md": (
        "---\ntitle: Two\nstatus: scheduled\npublishStart: 2030-01-01T00:00:00Z\ncreatedAt: 2026-01-04\n---\n"
    ),
    "content/blog/three.de.md": "---\ntitle: Drei\nstatus: draft\ncreatedAt: 2026-01-04\n---\n",
    "content/blog/three.de.draft.md": "---\ncreatedAt: 2026-01-04\n---\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "workspace", FILES)


def write_files(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def built(root: Path, store: Path, now: int = NOW, **options: bool) -> BuildResult:
    return build(root, open_store(store), now=now, **options)


def rows(store: Path, result: BuildResult, path: str) -> list[dict[str, object]]:
    return stored_rows(store / result.workspace / "snapshots" / result.version / path)


def files_of(store: Path, result: BuildResult) -> dict[str, tuple[str, int]]:
    """Path → (SHA-256, inode) of a version's files."""
    workspace = open_store(store).workspace(result.workspace)
    return {
        file.path: (file.sha256, workspace.path(result.version, file.path).stat().st_ino)
        for file in workspace.manifest(result.version).files
    }


def milliseconds(value: object) -> int:
    from datetime import UTC, datetime

    assert isinstance(value, datetime)
    return round(value.replace(tzinfo=UTC).timestamp() * 1000)


def test_published_and_scheduled_versions_land_in_the_language_s_file(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = built(root, store)
    assert (result.workspace, result.changed, result.activated, result.entries) == ("acme", True, True, 7)
    assert sorted(files_of(store, result)) == [
        "_drafts/de/blog/all.parquet",
        "_drafts/en/blog/all.parquet",
        "_search/en/authors/all.parquet",
        "_search/en/blog/all.parquet",
        "_search/en/site/all.parquet",
        "_search/ja/blog/all.parquet",
        "en/authors/all.parquet",
        "en/blog/all.parquet",
        "en/site/all.parquet",
        "ja/blog/all.parquet",
    ]
    two, one = rows(store, result, "en/blog/all.parquet")
    assert (two["id"], one["id"]) == ("two", "one")  # newest publishedAt first
    assert one["rating"] == 5.0
    assert one["tags"] == ["a", "b"]
    assert two["tags"] == []
    assert one["author"] == "mika"
    assert one["title__search"] == "one"
    assert one["body__search"] == "hello world & all"
    body = json.loads(str(one["json"]))
    assert body["rating"] == 5
    assert '"rating":5,' in str(one["json"])
    assert list(body) == ["title", "body", "rating", "tags", "author", "cover"]
    assert body["cover"] is None


def test_live_windows_and_those_of_the_other_languages(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = built(root, store)
    two, one = rows(store, result, "en/blog/all.parquet")
    assert (milliseconds(one["live_from"]), milliseconds(one["live_until"])) == (ALWAYS, NEVER)
    assert milliseconds(two["live_from"]) == 1_893_456_000_000
    assert milliseconds(one["ja_from"]) == ALWAYS
    assert milliseconds(one["ja_until"]) == 1_798_729_200_000  # midnight of 1 January in Tokyo
    assert (one["de_from"], two["ja_from"], two["ja_until"]) == (None, None, None)
    (japanese,) = rows(store, result, "ja/blog/all.parquet")
    assert "en_from" not in japanese  # nobody falls back to it


def test_drafts_stand_apart_and_take_the_key_of_either_file(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = built(root, store)
    (draft,) = rows(store, result, "_drafts/en/blog/all.parquet")
    assert (draft["id"], draft["title"], draft["draft_key"]) == ("one", "One, changed", "shared-key")
    (german,) = rows(store, result, "_drafts/de/blog/all.parquet")
    assert (german["id"], german["title"], german["draft_key"]) == ("three", None, None)  # the draft file wins


def test_dates_default_to_the_earliest_the_file_gives(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = built(root, store)
    two, one = rows(store, result, "en/blog/all.parquet")
    assert milliseconds(one["createdAt"]) == 1_767_279_600_000  # 2 January, midnight in Tokyo
    assert milliseconds(one["updatedAt"]) == 1_767_279_600_000
    assert milliseconds(one["publishedAt"]) == 1_767_571_200_000
    assert milliseconds(two["publishedAt"]) == milliseconds(two["live_from"])


def test_a_version_without_any_date_is_a_warning_and_1970(tmp_path: Path) -> None:
    root = write_files(tmp_path / "workspace", {**FILES, "content/authors/noor.yaml": "name: Noor\n"})
    store = tmp_path / "store"
    result = built(root, store)
    assert [(p.file, p.line, p.kind) for p in result.problems.kept] == [("content/authors/noor.yaml", 1, "no-date")]
    noor = rows(store, result, "en/authors/all.parquet")[-1]
    assert (noor["id"], milliseconds(noor["createdAt"]), milliseconds(noor["publishedAt"])) == ("noor", 0, 0)


def test_the_same_content_gives_the_same_bytes_whenever_and_however_it_is_built(root: Path, tmp_path: Path) -> None:
    first = built(root, tmp_path / "a")
    second = built(root, tmp_path / "b", now=NOW + 86_400_000)
    copied = shutil.copytree(root, tmp_path / "elsewhere" / "workspace")
    third = built(copied, tmp_path / "c")
    names = [result.version.rpartition("-")[2] for result in (first, second, third)]
    assert len(set(names)) == 1
    assert first.version != second.version
    shas = [
        {path: sha for path, (sha, _) in files_of(tmp_path / store, result).items()}
        for store, result in (("a", first), ("b", second), ("c", third))
    ]
    assert shas[0] == shas[1] == shas[2]


def test_indexes_are_what_the_written_files_give(root: Path, tmp_path: Path) -> None:
    # Those of a small build are made of the same rows, beside the files.
    long = "\n\n".join(f"word{number} 言葉{number % 7} wörd" for number in range(3000))
    for number in range(40):
        text = f"---\ntitle: T {number}\ncreatedAt: 2026-01-02\n---\n{long if number % 9 == 0 else 'short'}\n"
        (root / f"content/blog/more{number}.md").write_text(text, encoding="utf-8")
    store = tmp_path / "store"
    result = built(root, store)
    workspace = open_store(store).workspace(result.workspace)
    manifest = workspace.manifest(result.version)
    for api in manifest.workspace.apis:
        for lang in manifest.workspace.languages_of(api):
            for data, index in zip(
                manifest.files_of(api, lang), manifest.files_of(api, lang, FileKind.SEARCH), strict=True
            ):
                again = tmp_path / "again.parquet"
                place = workspace.path(result.version, data.path)
                assert write_search_index(place, indexed_fields(api), again) == index.rows
                assert again.read_bytes() == workspace.path(result.version, index.path).read_bytes()


def test_many_indexes_of_linked_files_are_shared_out(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As after an upgrade that raises the layout of indexes: hardly any data, and much to index.
    shared: list[str] = []

    def run_jobs(_: BuildWorkers, jobs: list[Job[object]], finished: Callable[[Job[object]], None]) -> None:
        for job in jobs:
            job.result = job.work(job.item)
            shared.append("/".join(job.item.path.parts[-4:]))
            finished(job)

    built(root, tmp_path / "store")
    (root / "content/authors/mika.yaml").write_text("name: Mika M.\ncreatedAt: 2026-01-01\n", encoding="utf-8")
    monkeypatch.setattr("snapshots.search.index.LAYOUT", 1_000)
    monkeypatch.setattr("snapshots.build.data_files.POOL_BYTES", 1)
    monkeypatch.setattr(BuildWorkers, "share", lambda _self, items, *, pays: items > 1 and pays)
    monkeypatch.setattr(BuildWorkers, "run_jobs", run_jobs)
    result = built(root, tmp_path / "store", now=NOW + 1)
    assert {"_search/en/blog/all.parquet", "_search/en/site/all.parquet"} <= set(shared)
    assert result.changed
    monkeypatch.undo()
    assert not open_store(tmp_path / "store").workspace("acme").verify(result.version)


def test_nothing_changed_makes_no_version(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = built(root, store)
    again = built(root, store, now=NOW + 1)
    assert (again.version, again.changed, again.activated, again.entries) == (first.version, False, False, 7)
    shutil.rmtree(store / ".cache")
    without_cache = built(root, store, now=NOW + 2)
    assert (without_cache.version, without_cache.changed) == (first.version, False)
    assert open_store(store).workspace("acme").versions() == [first.version]


def test_one_edit_rewrites_one_file_and_equals_a_build_from_nothing(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    before = files_of(store, built(root, store))
    (root / "content/authors/mika.yaml").write_text("name: Mika H.\ncreatedAt: 2026-01-01\n")
    result = built(root, store, now=NOW + 1)
    after = files_of(store, result)
    assert result.changed
    assert {path for path in after if after[path][1] != before[path][1]} == {
        "en/authors/all.parquet",
        "_search/en/authors/all.parquet",
    }
    cold = files_of(tmp_path / "cold", built(root, tmp_path / "cold"))
    assert {path: sha for path, (sha, _) in after.items()} == {path: sha for path, (sha, _) in cold.items()}


def test_a_description_changes_the_manifest_alone(root: Path, tmp_path: Path) -> None:
    """No data file is another one, neither linked from before nor built from nothing."""
    store = tmp_path / "store"
    before = files_of(store, built(root, store))
    definition = root / "apis" / "blog.yaml"
    text = definition.read_text()
    described = re.sub(
        r"(?m)^fields:\n  - \{", "description: News.\nfields:\n  - {description: A line., ", text, count=1
    )
    assert described != text
    definition.write_text(described)
    result = built(root, store, now=NOW + 1)
    assert result.changed
    manifest = open_store(store).workspace("acme").manifest(result.version)
    api = manifest.workspace.api("blog")
    assert api is not None
    assert (api.description, api.fields[0].description) == ("News.", "A line.")
    assert files_of(store, result) == before
    cold = files_of(tmp_path / "cold", built(root, tmp_path / "cold"))
    assert {path: sha for path, (sha, _) in cold.items()} == {path: sha for path, (sha, _) in before.items()}
    definition.write_text(text)
    assert built(root, store, now=NOW + 2).version.rpartition("-")[2] != result.version.rpartition("-")[2]


def test_removing_and_renaming_files_equals_a_build_from_nothing(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    built(root, store)
    (root / "content/blog/one.ja.md").unlink()
    (root / "content/site.yaml").unlink()  # the last one of its API
    (root / "content/blog/two.md").rename(root / "content/blog/a-two.md")
    (root / "content/blog/zero.md").write_text("---\ntitle: Zero\ncreatedAt: 2026-02-01\n---\n")
    warm = {path: sha for path, (sha, _) in files_of(store, built(root, store, now=NOW + 1)).items()}
    cold_store = tmp_path / "cold"
    cold = {path: sha for path, (sha, _) in files_of(cold_store, built(root, cold_store)).items()}
    assert warm == cold
    assert not {"ja/blog/all.parquet", "en/site/all.parquet"} & set(warm)


@pytest.mark.slow
def test_many_edits_keep_few_chunks_and_the_right_content(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number in range(60):
        (root / "content/blog/two.md").write_text(f"---\ntitle: Two {number}\ncreatedAt: 2026-01-04\n---\n")
        (root / f"content/blog/more-{number}.md").write_text("---\ntitle: More\ncreatedAt: 2026-01-04\n---\n")
        result = built(root, store, now=NOW + number)
    assert len(list((store / ".cache").rglob("*.rows"))) < 40
    cold_store = tmp_path / "cold"
    warm = {path: sha for path, (sha, _) in files_of(store, result).items()}
    assert warm == {path: sha for path, (sha, _) in files_of(cold_store, built(root, cold_store)).items()}


@pytest.mark.parametrize("damage", ["truncate", "garbage", "remove"])
def test_a_damaged_build_cache_only_costs_time(root: Path, tmp_path: Path, damage: str) -> None:
    store = tmp_path / "store"
    built(root, store)
    names = sorted(path for path in (store / ".cache" / "build").rglob("*") if path.is_file() and path.name != "lock")
    assert len(names) > 5
    for number, path in enumerate(names):
        if not path.exists():
            continue
        if damage == "truncate":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        elif damage == "garbage":
            path.write_bytes(b"\x00garbage" * 40)
        else:
            path.unlink()
        (root / "content/authors/mika.yaml").write_text(f"name: Mika {number}\ncreatedAt: 2026-01-01\n")
        result = built(root, store, now=NOW + number)
        assert rows(store, result, "en/authors/all.parquet")[0]["name"] == f"Mika {number}"
        assert len(rows(store, result, "en/blog/all.parquet")) == 2


@pytest.mark.parametrize("suffix", ["index", "refs"])
def test_an_index_of_another_program_only_costs_time(root: Path, tmp_path: Path, suffix: str) -> None:
    """One that has other columns, under the same number of the layout."""
    store = tmp_path / "store"
    built(root, store)
    for path in (store / ".cache" / "build").rglob(f"*.{suffix}"):
        table = read_arrow(path)
        write_arrow(table.remove_column(table.num_columns - 1), path)
    (root / "content/authors/mika.yaml").write_text("name: Other\ncreatedAt: 2026-01-01\n")
    assert rows(store, built(root, store, now=NOW + 1), "en/authors/all.parquet")[0]["name"] == "Other"


@pytest.mark.parametrize("lost", [8, 16, 64, 200, 600, 1000])
def test_compiled_rows_that_make_no_sense_are_compiled_again(root: Path, tmp_path: Path, lost: int) -> None:
    store = tmp_path / "store"
    built(root, store)
    for chunk in (store / ".cache").rglob("*.rows"):
        chunk.write_bytes(chunk.read_bytes()[: -lost - 10] + chunk.read_bytes()[-10:])
    (root / "content/blog/more.md").write_text("---\ntitle: More\ncreatedAt: 2026-01-04\n---\n")
    result = built(root, store, now=NOW + 1)
    assert len(rows(store, result, "en/blog/all.parquet")) == 3


def test_errors_refuse_the_build_and_leave_the_current_version(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = built(root, store)
    (root / "content/blog/bad.md").write_text("---\ntitle: Bad\nrating: high\nstatus: gone\n---\n")
    (root / "content/blog/worse.md").write_text("---\nrating: [1]\n---\n")
    with pytest.raises(WorkspaceRefused) as refused:
        built(root, store, now=NOW + 1)
    found = [(p.file, p.line, p.severity) for p in refused.value.problems.kept if p.severity == "error"]
    assert found == [
        ("content/blog/bad.md", 3, "error"),
        ("content/blog/bad.md", 4, "error"),
        ("content/blog/worse.md", 1, "error"),
        ("content/blog/worse.md", 2, "error"),
    ]
    workspace = open_store(store).workspace("acme")
    current = workspace.current()
    assert current is not None
    assert current.version == first.version
    lenient = built(root, store, now=NOW + 2, lenient=True)
    assert lenient.version == first.version  # the bad versions are left out, the rest is what it was
    assert lenient.problems.errors == 0


def test_what_was_wrong_once_is_checked_to_the_end_and_causes_no_more_errors(root: Path, tmp_path: Path) -> None:
    (root / "content/blog/bad.md").write_text(
        "---\ntitle: Bad\ntitle: Twice\nrating: high\nauthor: nobody\ncreatedAt: 2026-01-01\n---\n"
    )
    (root / "content/authors/mika.yaml").write_text("name: [Mika]\ncreatedAt: 2026-01-01\n")
    found = [(p.file, p.line, p.kind) for p in check(root, tmp_path / "cache").kept]
    assert found == [
        ("content/authors/mika.yaml", 1, "wrong-value"),  # and no word of the entries that refer to it
        ("content/blog/bad.md", 3, "duplicate-key"),
        ("content/blog/bad.md", 4, "wrong-value"),
        ("content/blog/bad.md", 5, "dangling-reference"),
    ]


def test_every_problem_is_reported_again_by_an_incremental_check(root: Path, tmp_path: Path) -> None:
    (root / "content/blog/bad.md").write_text("---\ntitle: Bad\nrating: high\nmood: fine\ncreatedAt: 2026-01-01\n---\n")
    (root / "content/blog/four.md").write_text("---\ntitle: Four\nauthor: nobody\ncreatedAt: 2026-01-01\n---\n")
    cache = tmp_path / "cache"
    first = [str(problem) for problem in check(root, cache).kept]
    assert len(first) == 3
    (root / "content/authors/mika.yaml").write_text("name: Mika H.\ncreatedAt: 2026-01-01\n")
    assert [str(problem) for problem in check(root, cache).kept] == first
    assert [str(problem) for problem in check(root, cache).kept] == first
    assert check(root, cache, strict=True).errors == 3
    assert (check(root, cache, lenient=True).errors, check(root, cache, lenient=True).warnings) == (0, 3)


def test_two_versions_for_one_id_are_an_error_that_names_both(root: Path, tmp_path: Path) -> None:
    (root / "content/blog/copy.md").write_text("---\nid: one\ntitle: Copy\ncreatedAt: 2026-01-01\n---\n")
    differs, problem = check(root, tmp_path / "cache").kept
    assert (differs.file, differs.line, differs.kind) == ("content/blog/copy.md", 2, "path-differs")
    assert (problem.file, problem.line, problem.kind) == ("content/blog/one.md", 1, "double")
    assert "content/blog/copy.md" in problem.message
    store = tmp_path / "store"
    result = built(root, store, lenient=True)
    titles = {str(row["title"]) for row in rows(store, result, "en/blog/all.parquet")}
    assert titles == {"Copy", "Two"}  # the first by path stays


def test_an_object_has_one_item(root: Path, tmp_path: Path) -> None:
    (root / "content/site").mkdir()
    (root / "content/site/second.yaml").write_text("id: second\ntitle: Other\ncreatedAt: 2026-01-01\n")
    problems = check(root, tmp_path / "cache").kept
    assert [(p.file, p.kind) for p in problems] == [("content/site/second.yaml", "second-item")]


def test_jsonl_marks_drafts_and_languages_line_by_line(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "title": "A", "createdAt": "2026-01-01"},
        {"id": "a", "lang": "ja", "title": "あ", "createdAt": "2026-01-01"},
        {"id": "a", "draft": True, "title": "A2", "createdAt": "2026-01-01"},
        {"id": "b", "title": 5, "createdAt": "2026-01-01"},
    ]
    files = {name: text for name, text in FILES.items() if not name.startswith("content/blog/")}
    files["content/blog.jsonl"] = "".join(json.dumps(line) + "\n" for line in lines)
    root = write_files(tmp_path / "workspace", files)
    problems = check(root, tmp_path / "cache")
    assert [(p.file, p.line) for p in problems.kept] == [("content/blog.jsonl", 4)]
    store = tmp_path / "store"
    result = built(root, store, lenient=True)
    assert [row["title"] for row in rows(store, result, "en/blog/all.parquet")] == ["A"]
    assert [row["title"] for row in rows(store, result, "ja/blog/all.parquet")] == ["あ"]
    assert [row["title"] for row in rows(store, result, "_drafts/en/blog/all.parquet")] == ["A2"]


def test_a_file_cut_into_ranges_gives_what_it_gives_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        json.dumps(
            {"id": f"e{at}", "title": "題" * (at * 37 % 90), "body": "<p>x</p>" * (at % 7), "createdAt": "2026-01-01"}
        )
        for at in range(1, 60)
    ]
    lines[20], lines[40] = '{"id": "e1", "more": 1', '{"id": "no id", "title": "", "createdAt": "2026-01-01"}'
    files = {name: text for name, text in FILES.items() if not name.startswith("content/blog/")}
    root = write_files(tmp_path / "workspace", files | {"content/blog.jsonl": "\n".join(lines)})
    whole = built(root, tmp_path / "whole", lenient=True)
    monkeypatch.setattr("snapshots.build.pieces.PIECE_BYTES", 700)
    monkeypatch.setattr("snapshots.build.pieces.BULK_BYTES", 100)
    monkeypatch.setattr("snapshots.documents.units.UNIT_BYTES", 300)
    cut = built(root, tmp_path / "cut", lenient=True)
    assert {(21, "syntax"), (41, "id")} <= {(p.line, p.kind) for p in cut.problems.kept}
    assert cut.problems.kept == whole.problems.kept
    shas = [
        {path: sha for path, (sha, _) in files_of(tmp_path / at, of).items()}
        for at, of in (("whole", whole), ("cut", cut))
    ]
    assert shas[0] == shas[1]


def test_no_activation_leaves_the_version_for_later(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = built(root, store, activate=False)
    workspace = open_store(store).workspace("acme")
    assert (result.changed, result.activated, workspace.current()) == (True, False, None)
    again = built(root, store, now=NOW + 5)
    assert (again.version, again.changed, again.activated) == (result.version, False, True)


def test_manifest_names_the_builder_and_counts_the_scheduled(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = built(root, store)
    manifest = open_store(store).workspace("acme").manifest(result.version)
    blog = manifest.workspace.api("blog")
    assert blog is not None
    [file] = manifest.files_of(blog, "en")
    assert file is not None
    assert (file.rows, file.scheduled) == (2, 1)
    assert manifest.builder.startswith("parquetry ")
    assert manifest.version == result.version
    assert manifest.commit is None


def test_a_version_becomes_current_when_the_build_ends_and_not_when_it_began(root: Path, tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    result = build(root, store, now=NOW, prepare=lambda _place, _version: time.sleep(0.05))
    current = store.workspace("acme").current()
    assert current is not None
    assert current.version == result.version
    assert current.activated_at >= NOW + 50

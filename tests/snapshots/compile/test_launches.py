"""Launches: entries that name one are, byte for byte, entries with its instant; stragglers and mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapshots.build.build import BuildResult, build, check
from snapshots.problems import Problem, WorkspaceRefused
from snapshots.store.store import open_store

NOW = 1_780_000_000_000
AT = "2027-03-01T09:00"
SAME = "2027-03-01T08:00:00Z"
"""The same instant, written so that nothing has to know the zone."""
WORKSPACE = "id: site\nlanguages: [en, de]\ntimezone: Europe/Berlin\n"
LAUNCHES = "launches: {spring: 2027-03-01T09:00, autumn: 2027-09-01}\n"
API = """\
uid: api_Posts00000001
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text, required: true}
"""


def workspace(root: Path, entries: dict[str, str], *, top: str = WORKSPACE + LAUNCHES, api: str = API) -> Path:
    """A workspace whose entries have these lines of front matter."""
    for name in ("apis", "content/posts"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "workspace.yaml").write_text(top, encoding="utf-8")
    (root / "apis/posts.yaml").write_text(api, encoding="utf-8")
    for name, lines in entries.items():
        text = f"---\ntitle: {name}\ncreatedAt: 2026-01-01\n{lines}\n---\n"
        (root / f"content/posts/{name}.md").write_text(text, encoding="utf-8")
    return root


def built(root: Path, store: Path) -> BuildResult:
    return build(root, open_store(store), now=NOW)


def files(store: Path, result: BuildResult) -> dict[str, bytes]:
    """The bytes of all files of a version but the manifest, whose names of builder and machine are no content."""
    folder = store / result.workspace / "snapshots" / result.version
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }


def told(root: Path) -> list[Problem]:
    return check(root, root.parent / f"{root.name}-cache").kept


LAUNCHED = {
    "plain": ("launch: spring", f"status: scheduled\npublishStart: {SAME}"),
    "plain.de": ("launch: spring", f"status: scheduled\npublishStart: {SAME}"),
    "published": ("status: published\nlaunch: spring", f"status: scheduled\npublishStart: {SAME}"),
    "scheduled": ("status: scheduled\nlaunch: spring", f"status: scheduled\npublishStart: {SAME}"),
    "ending": (
        "launch: spring\npublishEnd: 2027-04-01",
        f"status: scheduled\npublishStart: {SAME}\npublishEnd: 2027-04-01",
    ),
    "dated": (
        "launch: spring\npublishedAt: 2026-05-01",
        f"status: scheduled\npublishStart: {SAME}\npublishedAt: 2026-05-01",
    ),
    "later": ("launch: autumn", "status: scheduled\npublishStart: 2027-08-31T22:00:00Z"),
    "empty": ('launch: ""', ""),
    "nothing": ("launch: ~", ""),
    "apart": ("launch: spring\npublishStart: 2027-05-01", "publishStart: 2027-05-01"),
    "draft": ("launch: spring\nstatus: draft", "status: draft"),
    "changes.draft": ("launch: spring", ""),
}


def test_a_launch_is_its_instant_byte_for_byte_and_nothing_tells_its_name(tmp_path: Path) -> None:
    by_name = workspace(tmp_path / "name", {name: lines for name, (lines, _) in LAUNCHED.items()})
    by_time = workspace(tmp_path / "time", {name: lines for name, (_, lines) in LAUNCHED.items()}, top=WORKSPACE)
    results = [built(root, tmp_path / f"{root.name}-store") for root in (by_name, by_time)]
    assert results[0].version == results[1].version
    written = [files(tmp_path / f"{name}-store", one) for name, one in zip(("name", "time"), results, strict=True)]
    assert written[0] == written[1]
    assert len(written[0]) >= 3
    manifest = (tmp_path / "name-store/site/snapshots" / results[0].version / "manifest.json").read_bytes()
    for secret in (b"spring", b"autumn", b"launch"):
        assert not any(secret in data for data in (*written[0].values(), manifest))


def test_one_edit_moves_them_all(tmp_path: Path) -> None:
    names = [f"e{number}{lang}" for number in range(12) for lang in ("", ".de")]
    root = workspace(tmp_path / "site", dict.fromkeys(names, "launch: spring"))
    built(root, tmp_path / "store")
    moved = WORKSPACE + "launches: {spring: 2027-04-01T09:00}\n"
    (root / "workspace.yaml").write_text(moved, encoding="utf-8")
    again = built(root, tmp_path / "store")
    fresh = workspace(
        tmp_path / "fresh", dict.fromkeys(names, "status: scheduled\npublishStart: 2027-04-01T07:00:00Z"), top=WORKSPACE
    )
    assert files(tmp_path / "store", again) == files(tmp_path / "other", built(fresh, tmp_path / "other"))


def test_stragglers_are_warnings_that_say_which_time_holds(tmp_path: Path) -> None:
    entries = {
        "with": "launch: spring",
        "draft": "status: draft\nlaunch: spring",
        "marked": "draft: true\nlaunch: spring",
        "changes.draft": "launch: spring",
        "later": "publishStart: 2027-04-01T09:00\nlaunch: spring",
        "earlier": "publishStart: 2027-02-28T09:00\nlaunch: spring",
        "same": f"publishStart: {AT}\nlaunch: spring",
    }
    found = {one.file.rpartition("/")[2]: one for one in told(workspace(tmp_path / "site", entries))}
    assert {name for name, one in found.items() if one.kind == "straggler"} == {f"{name}.md" for name in entries} - {
        "with.md"
    }
    assert {one.severity for one in found.values()} == {"warning"}
    assert found["draft.md"].line == 5
    for name in ("draft.md", "marked.md", "changes.draft.md"):
        assert "a draft does not go live with the launch 'spring' (1 Mar 2027, 09:00, Europe/Berlin)" in str(
            found[name]
        )
    assert "it goes live on 1 Apr 2027, 09:00, a month later than the launch 'spring'" in str(found["later.md"])
    assert "it goes live on 28 Feb 2027, 09:00, a day earlier than the launch 'spring'" in str(found["earlier.md"])
    assert "stays where it is when the launch is moved" in str(found["same.md"])


def test_changes_to_an_entry_that_is_in_the_launch_itself_are_no_stragglers(tmp_path: Path) -> None:
    entries = {
        "both": "launch: spring",
        "both.draft": "launch: spring",
        "german": "launch: spring",
        "german.de.draft": "launch: spring",
        "alone.draft": "launch: spring",
    }
    root = workspace(tmp_path / "site", entries)

    def stragglers() -> list[str]:
        return sorted(one.file.rpartition("/")[2] for one in told(root) if one.kind == "straggler")

    assert stragglers() == ["alone.draft.md", "german.de.draft.md"]
    (root / "content/posts/both.md").unlink()
    assert stragglers() == ["alone.draft.md", "both.draft.md", "german.de.draft.md"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("sprng", "workspace.yaml has no launch 'sprng'; did you mean 'spring'? The launches are spring, autumn."),
        ("zzz", "workspace.yaml has no launch 'zzz'. The launches are spring, autumn."),
        ("[spring]", "expected the name of a launch, got a list of 1."),
        ("Spring", "did you mean 'spring'?"),
    ],
)
def test_unknown_launches_are_errors(tmp_path: Path, written: str, message: str) -> None:
    root = workspace(tmp_path / "site", {"one": f"launch: {written}"})
    [found] = told(root)
    assert (found.file, found.line, found.severity, found.kind) == ("content/posts/one.md", 4, "error", "launch")
    assert message in found.message
    assert "write 'meta: {launch: null}'" in found.message


@pytest.mark.parametrize(
    ("launches", "line", "severity", "message"),
    [
        (
            "launches:\n  a: 2027-01-01\n  spring: 1 March\n",
            6,
            "error",
            "launches.spring: expected a date-time such as",
        ),
        ("launches: {spring: 2027-03-28T02:30}\n", 4, "warning", "launches.spring: 2027-03-28T02:30 does not exist in"),
        ("launches: {spring: 2027-10-31T02:30}\n", 4, "warning", "launches.spring: 2027-10-31T02:30 comes twice in"),
        ("launches: {spring: 2027-10-31T02:30+01:00}\n", 0, "", ""),
        ("launches: [spring]\n", 4, "error", "launches: expected a mapping"),
        ("launches: {spring: {at: 2027-03-01}}\n", 4, "error", "launches.spring: expected a text, got a mapping"),
        ("launches: {a b: 2027-03-01, spring: 2027-03-01}\n", 4, "error", "'a b' is not allowed"),
    ],
)
def test_times_of_launches(tmp_path: Path, launches: str, line: int, severity: str, message: str) -> None:
    """A wrong launch is one error, and not one for each entry in it too."""
    root = workspace(tmp_path / "site", {"one": "launch: spring", "two": "launch: spring"}, top=WORKSPACE + launches)
    found = [one for one in told(root) if one.kind != "unknown-key"]
    assert [(one.file, one.line, one.severity) for one in found] == [("workspace.yaml", line, severity)] * bool(message)
    assert all(message in one.message for one in found)
    if severity == "error":
        with pytest.raises(WorkspaceRefused):
            built(root, tmp_path / "store")


def test_workspaces_that_use_the_key_otherwise_stay_as_they_are(tmp_path: Path) -> None:
    """Without launches it is an unknown key; where a field or a date reads it, it is that; and it can be moved."""
    plain = workspace(tmp_path / "plain", {"one": "launch: spring"}, top=WORKSPACE)
    assert [str(one) for one in told(plain)] == [
        "content/posts/one.md:4: warning: key 'launch' is not a field of posts"
    ]
    field = API + "  - {id: launch, type: text}\n"
    read = API + "  - {id: rocket, type: text, from: launch}\n"
    dated = API + "meta: {publishedAt: launch}\n"
    off = API + "meta: {launch: null}\n"
    for number, (api, lines) in enumerate(
        [(field, "launch: Saturn V"), (read, "launch: Saturn V"), (dated, "launch: 2026-02-02"), (off, "launch: x")]
    ):
        root = workspace(tmp_path / f"otherwise{number}", {"one": lines}, api=api)
        assert told(root) == []
        before = workspace(tmp_path / f"before{number}", {"one": lines}, api=api.replace(off, API), top=WORKSPACE)
        stores = [tmp_path / f"store{number}", tmp_path / f"stored{number}"]
        assert files(stores[0], built(root, stores[0])) == files(stores[1], built(before, stores[1]))
    moved = field + "meta: {launch: release.name}\n"
    root = workspace(tmp_path / "moved", {"one": "launch: Saturn V\nrelease: {name: sprang}"}, api=moved)
    [found] = told(root)
    assert (found.line, "did you mean 'spring'?" in found.message) == (5, True)
    without = workspace(tmp_path / "without", {"one": "release: {name: spring}"}, api=moved, top=WORKSPACE)
    assert "workspace.yaml has no launches: write 'launches: {spring: 2027-03-01T09:00}' there." in str(
        told(without)[0]
    )


def test_items_of_files_of_many_join_launches(tmp_path: Path) -> None:
    root = workspace(tmp_path / "site", {})
    lines = ['{"id": "a", "title": "A", "createdAt": "2026-01-01", "launch": "spring"}', '{"id": "b", "title": "B", ']
    lines[1] += '"createdAt": "2026-01-01", "launch": 3}'
    (root / "content/posts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    [found] = told(root)
    assert (found.file, found.line) == ("content/posts.jsonl", 2)
    assert "got the number 3" in found.message

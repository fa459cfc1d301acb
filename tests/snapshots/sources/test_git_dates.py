"""A git history to commit dates: exact on branches, merges and odd names, and never a crash."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from snapshots.sources.git_dates import GitDates, git_dates, head_commit, uncommitted

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(root: Path, *arguments: str, at: int = 0) -> str:
    date = {"GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": f"@{at} +0900"}
    command = ["git", "-C", str(root), "-c", "commit.gpgsign=false", *arguments]
    done = subprocess.run(command, env={**os.environ, **IDENTITY, **date}, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(root: Path, at: int, files: dict[str, str]) -> None:
    """Write files (``-`` deletes one) and commit them at ``at`` seconds."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == "-":
            path.unlink()
        else:
            path.write_text(content)
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "x", at=at)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


def dates(root: Path, cached: GitDates | None = None) -> dict[str, tuple[int, int]]:
    found = git_dates(root, cached)
    assert found is not None
    return {path: (first // 1000, last // 1000) for path, (first, last) in found.dates.items()}


def test_first_and_last_commit_of_every_file(root: Path) -> None:
    commit(root, 100, {"a.md": "1", "b/c.md": "1"})
    commit(root, 300, {"a.md": "2"})
    commit(root, 200, {"a.md": "3", "new.md": "1"})
    (root / "untracked.md").write_text("x")
    assert dates(root) == {"a.md": (100, 300), "b/c.md": (100, 100), "new.md": (200, 200)}
    found = git_dates(root, None)
    assert found is not None
    assert (found.head, found.shallow, found.prefix) == (git(root, "rev-parse", "HEAD"), False, "")
    assert head_commit(root) == found.head


def test_dates_are_utc_milliseconds(root: Path) -> None:
    commit(root, 1_600_000_000, {"a.md": "1"})
    found = git_dates(root, None)
    assert found is not None
    assert found.dates == {"a.md": (1_600_000_000_000, 1_600_000_000_000)}


def test_a_workspace_below_the_top_sees_its_own_paths(root: Path) -> None:
    commit(root, 100, {"top.md": "1", "sites/a/x.md": "1", "sites/ab/y.md": "1"})
    assert dates(root / "sites" / "a") == {"x.md": (100, 100)}


@pytest.mark.parametrize(
    "name", ['say "hi".md', "tab\there.md", "line\nend.md", "日本語.md", "@123", "M", "-x.md", " a .md"]
)
def test_odd_names(root: Path, name: str) -> None:
    commit(root, 100, {name: "1", "z.md": "1"})
    commit(root, 200, {name: "2"})
    assert dates(root) == {name: (100, 200), "z.md": (100, 100)}


def test_a_name_that_is_not_utf_8_is_left_out(root: Path) -> None:
    try:
        (root / os.fsdecode(b"a\xff.md")).touch()
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    commit(root, 100, {"b.md": "1"})
    assert dates(root) == {"b.md": (100, 100)}


def test_merges_and_side_branches_count(root: Path) -> None:
    commit(root, 100, {"a.md": "1"})
    git(root, "checkout", "-q", "-b", "side")
    commit(root, 150, {"a.md": "side", "side.md": "1"})
    git(root, "checkout", "-q", "main")
    commit(root, 200, {"main.md": "1"})
    git(root, "merge", "-q", "--no-commit", "--no-ff", "side", at=300)
    commit(root, 300, {"merge.md": "only here"})
    commit(root, 400, {"main.md": "-"})
    assert dates(root) == {
        "a.md": (100, 150),
        "side.md": (150, 150),
        "main.md": (200, 400),
        "merge.md": (300, 300),
    }


def test_reading_on_from_an_earlier_commit_comes_to_the_same(root: Path) -> None:
    chance = random.Random(7)
    known: list[GitDates] = []
    names = [f"{folder}{n}.md" for folder in ("", "d/") for n in range(4)]
    for step in range(12):
        if step % 4 == 3:
            git(root, "checkout", "-q", "-b", f"b{step}", f"HEAD~{chance.randint(1, 2)}")
            commit(root, 1000 + chance.randint(0, 500), {chance.choice(names): f"branch {step}"})
            git(root, "checkout", "-q", "main")
            git(root, "merge", "-q", "-X", "ours", "-m", "merge", f"b{step}", at=1000 + chance.randint(0, 500))
        else:
            commit(root, 1000 + chance.randint(0, 500), dict.fromkeys(chance.sample(names, 2), f"{step}"))
        whole = git_dates(root, None)
        assert whole is not None
        assert [git_dates(root, earlier) == whole for earlier in known] == [True] * len(known)
        known.append(whole)


def test_dates_of_a_rewritten_history_are_read_anew(root: Path) -> None:
    commit(root, 100, {"a.md": "1"})
    commit(root, 200, {"b.md": "1"})
    before = git_dates(root, None)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    commit(root, 300, {"c.md": "1"})
    assert dates(root, before) == {"a.md": (100, 100), "c.md": (300, 300)}
    gone = GitDates("0" * 40, {"ghost.md": (1, 1)}, {"ghost.md": 1}, {})
    assert dates(root, gone) == {"a.md": (100, 100), "c.md": (300, 300)}


def test_contents_change_neither_by_a_new_name_nor_at_the_end(root: Path) -> None:
    commit(root, 100, {"a.md": "one", "b.md": "two", "c.md": "three"})
    commit(root, 200, {"a.md": "-", "a.en.md": "one", "b.md": "changed", "c.md": "-"})
    commit(root, 300, {"a.en.md": "-", "d/a.en.md": "one", "a.md": "another"})
    commit(root, 400, {"b.md": "-", "b.en.md": "changed, and renamed"})
    (root / "new.md").write_text("x")
    found = git_dates(root, None)
    assert found is not None
    names = ("a.md", "a.en.md", "d/a.en.md", "b.en.md", "new.md", "no.md")
    at = {name: found.changed_at(name) for name in names}
    # a.md is another file by now, so all that is known of the one before it is that it was there at 200.
    assert at == {
        "a.md": 300_000,
        "a.en.md": 200_000,
        "d/a.en.md": 200_000,
        "b.en.md": 400_000,
        "new.md": None,
        "no.md": None,
    }


def test_renaming_back_and_forth_ends(root: Path) -> None:
    commit(root, 100, {"a.md": "one"})
    for at, old, new in ((200, "a.md", "b.md"), (300, "b.md", "a.md"), (400, "a.md", "b.md")):
        commit(root, at, {old: "-", new: "one"})
    found = git_dates(root, None)
    assert found is not None
    assert (found.changed_at("b.md"), found.dates["b.md"]) == (100_000, (200_000, 400_000))


def test_files_that_differ_from_the_commit(root: Path) -> None:
    commit(root, 100, {"w/a.md": "one", "w/b.md": "two", "w/c.md": "three", "top.md": "1"})
    git(root, "mv", "w/a.md", "w/a.en.md")
    (root / "w/b.md").write_text("2")
    (root / "w/c.md").touch()
    (root / "w/new.md").write_text("x")
    (root / "top.md").write_text("2")
    found = uncommitted(root / "w")
    assert (found.changed, found.renamed) == ({"b.md"}, {"a.en.md": "a.md"})
    (root / "w/c.md").rename(root / "w/c.en.md")
    known_as_renamed = uncommitted(root / "w", ["new.md", "c.en.md"]).renamed
    assert known_as_renamed == {"a.en.md": "a.md", "c.en.md": "c.md"}
    nothing = uncommitted(root.parent / "missing", ["new.md"])
    assert (nothing.changed, nothing.renamed) == (frozenset(), {})


def test_nothing_new_is_answered_from_what_is_known(root: Path) -> None:
    commit(root, 100, {"a.md": "1"})
    found = git_dates(root, None)
    assert git_dates(root, found) is found


def test_a_shallow_clone_says_so(root: Path, tmp_path: Path) -> None:
    commit(root, 100, {"a.md": "1"})
    commit(root, 200, {"b.md": "1"})
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", root.as_uri(), str(clone))
    found = git_dates(clone, None)
    assert found is not None
    assert found.shallow
    git(clone, "fetch", "-q", "--unshallow")
    assert dates(clone, found) == {"a.md": (100, 100), "b.md": (200, 200)}


def test_no_checkout_no_dates(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    plain = tmp_path / "plain"
    plain.mkdir()
    for nothing in (plain, root, tmp_path / "missing"):
        assert (git_dates(nothing, None), head_commit(nothing)) == (None, None)
    commit(root, 100, {"a.md": "1"})
    monkeypatch.setenv("PATH", str(plain))
    assert (git_dates(root, None), head_commit(root)) == (None, None)


def test_a_hook_s_environment_does_not_lead_astray(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(root, 100, {"a.md": "1"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    found = git_dates(root, None)
    assert found is not None
    assert list(found.dates) == ["a.md"]


def test_settings_of_the_checkout_change_nothing(root: Path, tmp_path: Path) -> None:
    commit(root, 100, {"a.md": "1", "d/b.md": "1"})
    ran = tmp_path / "ran"
    for name, value in (
        ("log.showSignature", "true"),
        ("log.showRoot", "false"),
        ("diff.relative", "true"),
        ("diff.external", f"touch {ran}"),
        ("core.fsmonitor", f"touch {ran}"),
        ("color.ui", "always"),
        ("format.pretty", "fuller"),
        ("diff.noprefix", "true"),
        ("diff.renames", "copies"),
    ):
        git(root, "config", name, value)
    assert dates(root) == {"a.md": (100, 100), "d/b.md": (100, 100)}
    assert not ran.exists()

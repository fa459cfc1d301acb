"""What versions say of the commit they were built from, and that it makes no other version of the same content."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from engine.access.audit.log import AuditLog
from engine.administration.versions import recorded_build
from snapshots.build.build import BuildResult, build
from snapshots.history.git_commit import described_commit
from snapshots.sources.git_dates import head_commit
from snapshots.store.manifest import Commit
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms
from tests.programs.command_line import entry, write_workspace

AT = 1_700_000_000


def git(root: Path, *arguments: str, author: str = "Ana", at: int = AT) -> None:
    environment = {
        **os.environ,
        "GIT_AUTHOR_DATE": "@1 +0000",
        "GIT_COMMITTER_DATE": f"@{at} +0900",
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": "ana@acme.example",
        "GIT_COMMITTER_NAME": "forge",
        "GIT_COMMITTER_EMAIL": "forge@acme.example",
    }
    subprocess.run(["git", "-C", str(root), "-c", "commit.gpgsign=false", *arguments], env=environment, check=True)


def commit(root: Path, message: str, author: str = "Ana") -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message, author=author)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_workspace(tmp_path / "site")
    git(root, "init", "-q", "-b", "main")
    return root


def described(root: Path) -> Commit:
    head = head_commit(root)
    assert head is not None
    found = described_commit(root, head)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("message", "author", "subject", "name"),
    [
        ("Open on Sundays\n\nThe owner asked for it.", "Ana Ito", "Open on Sundays", "Ana Ito"),
        ("日曜も営業", "伊藤 花", "日曜も営業", "伊藤 花"),
        ("red \x1b[31m and \u202eturned", "A\x1b[2Jb", "red [31m and turned", "A [2Jb"),
        ("x" * 500, "y" * 500, "x" * 199 + "…", "y" * 99 + "…"),
        ("first\nsecond\n\nbody", "Ana", "first second", "Ana"),
        ("%an %x00 $(id) `id`", "Ana", "%an %x00 $(id) `id`", "Ana"),
    ],
)
def test_the_first_line_and_the_name_are_as_people_may_see_them(
    message: str, author: str, subject: str, name: str, root: Path
) -> None:
    commit(root, message, author)
    assert described(root) == Commit(subject, name, AT * 1000)


def test_files_that_differ_from_the_commit_are_not_laid_at_its_author_s_door(root: Path) -> None:
    commit(root, "All")
    assert not described(root).differs
    page = root / "content/blog/one.md"
    before = page.read_text()
    for change in (lambda: page.write_text("x"), page.unlink, lambda: page.with_name("new.md").write_text("x")):
        change()
        assert described(root).differs
        page.write_text(before)
        page.with_name("new.md").unlink(missing_ok=True)
        assert not described(root).differs


def test_other_folders_of_the_repository_do_not_count(tmp_path: Path) -> None:
    top = tmp_path / "top"
    root = write_workspace(top / "content")
    git(top, "init", "-q")
    commit(top, "All")
    (top / "site.js").write_text("x")
    assert not described(root).differs


def test_no_git_no_commit(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert described_commit(tmp_path, "0" * 40) is None
    commit(root, "All")
    assert described_commit(root, "0" * 40) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert described_commit(root, "HEAD") is None


def built(root: Path, store: Store) -> BuildResult:
    now = now_ms()
    return build(root, store, now=now, record=recorded_build(now))


def test_the_same_content_of_another_author_is_the_same_version(root: Path, tmp_path: Path) -> None:
    """The version keeps the commit it was first built from; the audit log has that of each build."""
    store = open_store(tmp_path / "store")
    commit(root, "First", "Ana")
    first = built(root, store)
    place = store.workspace("site")
    # Dates of the entries stay: both are given, or the commits have the same instant.
    (root / "content/blog/one.md").write_text(entry("Uno"))
    commit(root, "Second", "Bob")
    second = built(root, store)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    commit(root, "Third", "Cho")
    third = built(root, store)
    assert (third.version, third.changed, third.activated) == (first.version, False, True)
    said = [place.manifest(version).described_commit for version in (first.version, second.version)]
    assert [(one.subject, one.author) for one in said if one] == [("First", "Ana"), ("Second", "Bob")]
    log = AuditLog(place.objects, "site")
    sentences = [one.sentence for one in log.entries(log.months()[0])]
    assert [sentence.partition(" by ")[2] for sentence in sentences] == ["Cho: Third", "Bob: Second", "Ana: First"]

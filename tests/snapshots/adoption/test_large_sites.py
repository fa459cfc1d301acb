"""A large site is read by several processes, and what its adoption compiled is not compiled again."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cli.creating.init import adopt_site
from snapshots.adoption import seen
from snapshots.adoption.generator import LeftOut, Rules
from tests.programs.command_line import Cms, in_process
from tests.sites.generator_sites import JEKYLL
from tests.sites.site_folders import write_folder

LONG_AGO = 1_700_000_000
"""Seconds. The time of a file that has just changed proves nothing."""


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


def definitions(root: Path) -> dict[str, str]:
    files = [root / "workspace.yaml", *sorted((root / "apis").iterdir())]
    return {file.name: re.sub(r"uid: \S+", "uid: x", file.read_text()) for file in files}


def test_processes_read_a_site_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts with tags and values in other orders stand in several of the pieces."""
    more = {f"more/{number}.md": f"---\nkey{number % 3}: {number}\n---\n[[a]] {{% raw %}}" for number in range(7)}
    few, many = (write_folder(tmp_path / name / "site", {**JEKYLL.files, **more}) for name in ("few", "many"))
    adopt_site(few, few)
    monkeypatch.setattr(seen, "_MANY", 1)
    monkeypatch.setattr(seen, "_PIECE", 3)
    adopt_site(many, many)
    assert definitions(many) == definitions(few)


def test_what_adoption_compiled_is_not_compiled_again(cms: Cms, tmp_path: Path) -> None:
    files = {"hugo.toml": "title = 'a'\n", "content/posts/a.md": "---\ntitle: A\n---\nfirst words\n"}
    root = write_folder(tmp_path / "site", files)
    post = root / "content/posts/a.md"
    os.utime(post, (LONG_AGO, LONG_AGO))
    assert cms("init", "--from", root, "--yes").status == 0
    # By its size, time and inode the file is the one that was compiled.
    with post.open("r+") as opened:
        opened.write(files["content/posts/a.md"].replace("first", "other"))
    os.utime(post, (LONG_AGO, LONG_AGO))
    assert cms("snapshot", "build", root).status == 0
    assert cms("query", "posts/a", "--store", root / ".cms").json["body"] == "<p>first words</p>\n"


def test_files_that_are_left_out_one_by_one_are_told_from_folders_and_exceptions() -> None:
    rules = Rules(
        [
            LeftOut("a/b.md", "named"),
            LeftOut("a/folder", "in a folder"),
            LeftOut("./c.md", "named"),
            LeftOut("a/*.txt", "matched"),
            LeftOut("a/folder/kept.md", "", but=True),
            LeftOut("a/folder/kept.md/x.md", "after all"),
        ]
    )
    found = {
        file: None if (rule := rules.rule_of(file)) is None else rule.why
        for file in ("a/b.md", "a/b.md/x", "a/b.mdx", "b.md", "c.md", "a/folder", "a/folder/x/y.md", "a/folders/x.md")
    }
    assert found == {
        "a/b.md": "named",
        "a/b.md/x": "named",
        "a/b.mdx": None,
        "b.md": None,
        "c.md": "named",
        "a/folder": "in a folder",
        "a/folder/x/y.md": "in a folder",
        "a/folders/x.md": None,
    }
    assert [rules.rule_of(file) for file in ("a/folder/kept.md", "a/folder/kept.md/y.md")] == [None, None]
    again = rules.rule_of("a/folder/kept.md/x.md")
    assert again is not None
    assert again.why == "after all"

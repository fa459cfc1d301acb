"""A file at which the process that compiles it dies is named, with the problems of the others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from snapshots.build.build import build, check
from snapshots.build.cache import AT_WORK
from snapshots.build.pieces import POOL_FILES
from snapshots.build.workers import WorkerDied
from snapshots.store.store import open_store

DYING = """
import os
import comrak

render = comrak.render_markdown

def dying(text, *more, **options):
    if "the end" in text:
        os.abort()
    return render(text, *more, **options)

comrak.render_markdown = dying
"""
"""What every process begins with: comrak ends it at certain texts, as it does where it panics."""
NEVER_STARTING = """
import os
import sys

if "--multiprocessing-fork" in sys.orig_argv:
    os.abort()
"""
"""What every process begins with where those of a build do not start."""
API = "uid: {0}\nname: {0}\nendpoint: {0}\nkind: list\nfields:\n  - {{id: body, name: Body, type: richtext}}\n"


def write_pages(root: Path, count: int) -> None:
    for api in ("first", "second"):
        (root / "content" / api).mkdir(parents=True)
        (root / "apis").mkdir(exist_ok=True)
        (root / "apis" / f"{api}.yaml").write_text(API.format(api))
        for number in range(count):
            (root / "content" / api / f"p{number}.md").write_text("---\nstatus: published\n---\nText\n")
    (root / "workspace.yaml").write_text("id: acme\nlanguages: [en]\n")


@pytest.fixture(autouse=True)
def dying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all processes that the test starts die at certain texts; this one would not."""
    added = tmp_path / "added"
    added.mkdir()
    (added / "sitecustomize.py").write_text(DYING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(added), *filter(None, [os.environ.get("PYTHONPATH")])]))


def check_in_a_process(tmp_path: Path) -> int:
    """Check the site in a process that may die, and return its exit status."""
    program = "import sys, pathlib, snapshots.build.build as b; b.check(*map(pathlib.Path, sys.argv[1:]))"
    command = [sys.executable, "-c", program, str(tmp_path / "site"), str(tmp_path / "cache")]
    return subprocess.run(command, capture_output=True, timeout=120, check=False).returncode


def errors(tmp_path: Path) -> list[tuple[str, str]]:
    """(file, message) of each error that a check of the site comes to."""
    found = check(tmp_path / "site", tmp_path / "cache").kept
    return [(str(one.file), one.message) for one in found if one.severity == "error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_small",
    [
        pytest.param(True, id="in the build's process"),
        pytest.param(False, id="in processes of their own"),
    ],
)
def test_files_at_which_processes_die_are_named_with_the_problems_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    site = tmp_path / "site"
    write_pages(site, 2 if is_small else POOL_FILES // 2 + 1)
    deadly = [site / "content/first/p1.md", site / "content/second/p1.md"]
    for file in deadly:
        file.write_text(file.read_text() + "This is the end.\n")
    (site / "content/first/p0.md").write_text("---\nstatus: none\n---\nText\n")
    if is_small:
        assert check_in_a_process(tmp_path) < 0  # nothing is left that could tell, but the next run knows
        monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0})  # one process at a time dies, none beside it
    for _again in range(2):
        found = errors(tmp_path)
        assert [name for name, message in found if "Markdown parser" in message] == [
            "content/first/p1.md",
            "content/second/p1.md",
        ]
        assert "content/first/p0.md" in {name for name, _ in found}
    for file in deadly:
        file.write_text("---\nstatus: published\n---\nMended\n")
    (site / "content/first/p0.md").write_text("---\nstatus: published\n---\nText\n")
    for _again in range(2):
        assert errors(tmp_path) == []
    assert not list((tmp_path / "site").rglob("compiling"))
    assert not list((tmp_path / "cache").rglob("compiling"))


def test_where_no_process_starts_no_file_is_blamed_and_nothing_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is just being replaced, or a machine without memory, leaves content as it is."""
    site, store = tmp_path / "site", open_store(tmp_path / "store")
    write_pages(site, 2)
    before = build(site, store, now=0).version
    (site / "content/first/p0.md").write_text("---\nstatus: published\n---\nThis is new.\n")
    (note,) = [cache / AT_WORK for cache in (store.cache / "build").iterdir()]
    note.touch()  # as a build that was killed leaves it
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0})
    (tmp_path / "added" / "sitecustomize.py").write_text(NEVER_STARTING)
    with pytest.raises(WorkerDied, match="ended unexpectedly"):
        build(site, store, now=1, lenient=True)
    current = store.workspace("acme").current()
    assert current is not None
    assert current.version == before
    (tmp_path / "added" / "sitecustomize.py").write_text(DYING)
    result = build(site, store, now=2, lenient=True)
    assert (result.entries, result.activated, result.problems.errors) == (4, True, 0)

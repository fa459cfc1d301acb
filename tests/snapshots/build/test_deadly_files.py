"""A file at which the process that compiles it dies is named, with the problems of the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from snapshots.build.pieces import POOL_FILES

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
API = "uid: {0}\nname: {0}\nendpoint: {0}\nkind: list\nfields:\n  - {{id: body, name: Body, type: richtext}}\n"


def write_pages(root: Path, count: int) -> None:
    for api in ("first", "second"):
        (root / "content" / api).mkdir(parents=True)
        (root / "apis").mkdir(exist_ok=True)
        (root / "apis" / f"{api}.yaml").write_text(API.format(api))
        for number in range(count):
            (root / "content" / api / f"p{number}.md").write_text("---\nstatus: published\n---\nText\n")
    (root / "workspace.yaml").write_text("id: acme\nlanguages: [en]\n")


def check(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    added = tmp_path / "added"
    added.mkdir(exist_ok=True)
    (added / "sitecustomize.py").write_text(DYING)
    path = os.pathsep.join((str(added), *filter(None, [os.environ.get("PYTHONPATH")])))
    return subprocess.run(
        [sys.executable, "-m", "parquetry", "check", "--json", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )


def errors(ran: subprocess.CompletedProcess[str]) -> list[tuple[str, Any]]:
    assert ran.returncode == 1, ran.stderr
    return [(one["file"], one["message"]) for one in json.loads(ran.stdout)["problems"] if one["severity"] == "error"]


@pytest.mark.parametrize(
    "is_small",
    [
        pytest.param(True, id="in the build's process"),
        pytest.param(False, id="in processes of their own", marks=pytest.mark.slow),
    ],
)
def test_files_at_which_processes_die_are_named_with_the_problems_of_the_others(tmp_path: Path, is_small: bool) -> None:
    site = tmp_path / "site"
    write_pages(site, 3 if is_small else POOL_FILES // 2 + 1)
    deadly = [site / "content/first/p1.md", site / "content/second/p2.md"]
    for file in deadly:
        file.write_text(file.read_text() + "This is the end.\n")
    (site / "content/first/p0.md").write_text("---\nstatus: none\n---\nText\n")
    if is_small:
        assert check(tmp_path).returncode < 0  # nothing is left that could tell, but the next run knows
    for _again in range(2):
        found = errors(check(tmp_path))
        assert [name for name, message in found if "Markdown parser" in message] == [
            "content/first/p1.md",
            "content/second/p2.md",
        ]
        assert "content/first/p0.md" in {name for name, _ in found}
    for file in deadly:
        file.write_text("---\nstatus: published\n---\nMended\n")
    (site / "content/first/p0.md").write_text("---\nstatus: published\n---\nText\n")
    for _again in range(2):
        mended = check(tmp_path)
        assert (mended.returncode, json.loads(mended.stdout)["errors"]) == (0, 0), mended.stderr
    assert not list((tmp_path / "site").rglob("compiling"))

"""Running ``cms``: in this process, which is quick, or in one of its own, which is the real thing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.programs.copied_process import Copy, started

CMS = [sys.executable, "-c", "from cli.main import main; main()"]
"""The command as a process of its own, whether or not it is on the path."""
MAIN = "import os, sys; os.chdir(sys.argv.pop(1)); from cli.main import main; main()"
"""A program for ``tests.programs.copied_process``: the command, in the directory that its first argument is."""

AT_A_TERMINAL = """
import os, sys
os.chdir(sys.argv.pop(1))
os.dup2(2, 0)
os.dup2(2, 1)
for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
    setattr(sys, name, open(number, mode, buffering=1, closefd=False))
from cli.main import main
main()
"""
"""The same, with all streams where its standard error is."""

DEFINITION = "id: site\nname: The Site\ntimezone: Asia/Tokyo\nlanguages: [en, de]\n"
BLOG = """\
uid: api_Blog00000001
name: Blog
endpoint: blog
kind: list
multilingual: true
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: rating, name: Rating, type: number}
"""
AUTHORS = """\
uid: api_Authors00001
name: Authors
endpoint: authors
kind: list
fields:
  - {id: name, name: Name, type: text}
"""


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document it has to be."""
        return json.loads(self.out)


Cms = Callable[..., Ran]


def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    """A function that runs ``cms`` with arguments in this process."""

    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["cms", *map(str, arguments)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


def process(*arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run ``cms`` in a process of its own, a copy of one that has imported everything."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        given = [str(cwd or Path.cwd()), *map(str, arguments)]
        running = started(MAIN, given, {**os.environ, **(env or {})}, errors)
        printed, _ = running.communicate()
        errors.seek(0)
        assert running.returncode is not None
        return Ran(running.returncode, printed, errors.read())


def at_a_terminal(
    terminal: int, *arguments: str, env: Mapping[str, str], children: bool = False
) -> Copy | subprocess.Popen[str]:
    """Start ``cms`` with all its streams at a terminal, which is closed here; ``env`` is added to the environment."""
    with os.fdopen(terminal, "r+b", buffering=0) as screen:
        running = started(
            AT_A_TERMINAL, [str(Path.cwd()), *arguments], {**os.environ, **env}, screen, children=children
        )
    assert running.stdout is not None
    running.stdout.close()  # nothing is written there
    return running


def process_from_nothing(*arguments: str | Path, env: Mapping[str, str]) -> Ran:
    """Run ``cms`` in a process that Python starts with variables of its own."""
    done = subprocess.run(
        [*CMS, *map(str, arguments)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write_workspace(root: Path) -> Path:
    """A small workspace: two APIs, two languages, three entries, one of them translated."""
    files = {
        "workspace.yaml": DEFINITION,
        "apis/authors.yaml": AUTHORS,
        "apis/blog.yaml": BLOG,
        "content/authors/mika.yaml": "name: Mika\ncreatedAt: 2026-01-01\n",
        "content/blog/one.md": entry("One"),
        "content/blog/one.de.md": entry("Eins"),
        "content/blog/two.md": entry("Two", "status: scheduled\npublishStart: 2126-01-01T00:00:00Z\n"),
        "content/blog/two.draft.md": entry("Two, rewritten"),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def entry(title: str, more: str = "") -> str:
    """A Markdown entry of the blog."""
    return f"---\ntitle: {title}\ncreatedAt: 2026-01-01\n{more}---\n"

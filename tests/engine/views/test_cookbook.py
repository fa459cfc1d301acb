"""The cookbook: its recipes are run from top to bottom over the demo's views, and have to print what the page shows.

``python -m tests.engine.views.test_cookbook`` writes the outputs into the page anew.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from datetime import UTC
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from snapshots.times import parse_datetime
from tests.engine.views.test_analysts_page import DATE, OTHERS, make_workspace
from tests.programs.copied_process import ROOT

PAGE = ROOT / "docs" / "analysts-cookbook.md"
LIBRARIES = ("pandas", "polars", "matplotlib")
_RECIPE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run_recipes(text: str) -> list[str]:
    """What each recipe of a page prints, run in order as one program in the current directory."""
    names: dict[str, Any] = {}
    printed = []
    for recipe in _RECIPE.finditer(text):
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(recipe[1], str(PAGE), "exec"), names)  # noqa: S102 - our own page
        printed.append(out.getvalue())
    return printed


@pytest.mark.slow
@pytest.mark.skipif(not all(map(PathFinder.find_spec, LIBRARIES)), reason=f"needs {', '.join(LIBRARIES)}")
def test_every_recipe_prints_what_the_page_shows(tmp_path: Path) -> None:
    """Whenever the demo was made, but for dates."""
    workspace = make_workspace(tmp_path / "shown")
    another = make_workspace(tmp_path / "another", parse_datetime(OTHERS[1], UTC))
    # In a process without the folder that hides pandas.
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    program = (
        f"import sys; from {__name__} import *\n"
        "def ran(folder): os.chdir(folder); return run_recipes(PAGE.read_text(encoding='utf-8'))\n"
        "print(json.dumps([ran(folder) for folder in sys.argv[1:]]))"
    )
    command = [sys.executable, "-c", program, str(workspace), str(another)]
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    recipes = list(_RECIPE.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(recipes) == 11
    for recipe, first, second in zip(recipes, *json.loads(done.stdout), strict=True):
        assert first == (recipe[2] or ""), recipe[1]
        assert DATE.sub("", second) == DATE.sub("", first), recipe[1]
    assert (workspace / "views.png").stat().st_size > 0


def main() -> None:
    """Write the outputs into the page."""
    os.environ["MPLBACKEND"] = "agg"
    text = PAGE.read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        os.chdir(make_workspace(Path(folder)))
        outputs = run_recipes(text)

    def redone(recipe: re.Match[str]) -> str:
        found = outputs.pop(0)
        return f"```python\n{recipe[1]}```\n" + (f"\n```text\n{found}```\n" if found else "")

    PAGE.write_text(_RECIPE.sub(redone, text), encoding="utf-8")


if __name__ == "__main__":
    main()

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
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.engine.views.test_analysts_page import make_workspace
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


@pytest.mark.skipif(not all(map(PathFinder.find_spec, LIBRARIES)), reason=f"needs {', '.join(LIBRARIES)}")
def test_every_recipe_prints_what_the_page_shows(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    # In a process without the folder that hides pandas.
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    program = f"import json; from {__name__} import *; print(json.dumps(run_recipes(PAGE.read_text(encoding='utf-8'))))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=workspace, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    recipes = list(_RECIPE.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(recipes) == 11
    for recipe, printed in zip(recipes, json.loads(done.stdout), strict=True):
        assert printed == (recipe[2] or ""), recipe[1]
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

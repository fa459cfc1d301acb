"""The cookbook: its recipes are run from top to bottom over the demo's views, and have to print what the page shows.

``python -m tests.engine.views.test_cookbook`` writes the outputs into the page anew.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.engine.views.test_analysts_page import make_workspace
from tests.programs.copied_process import ROOT

PAGE = ROOT / "docs" / "analysts-cookbook.md"
LIBRARIES = ("pandas", "polars", "matplotlib")
_RECIPE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run_recipes(text: str, printed: Callable[[re.Match[str], str], None]) -> None:
    """Run the recipes of a page in order, as one program; ``printed`` gets each with what it printed."""
    names: dict[str, Any] = {}
    for recipe in _RECIPE.finditer(text):
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(recipe[1], str(PAGE), "exec"), names)  # noqa: S102 - our own page
        printed(recipe, out.getvalue())


@pytest.mark.skipif(not all(map(find_spec, LIBRARIES)), reason=f"needs {', '.join(LIBRARIES)}")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries, not of the recipes
def test_every_recipe_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(make_workspace(tmp_path))
    ran = []

    def check(recipe: re.Match[str], found: str) -> None:
        assert found == (recipe[2] or ""), recipe[1]
        ran.append(recipe)

    run_recipes(PAGE.read_text(encoding="utf-8"), check)
    assert len(ran) == 11
    assert Path("views.png").stat().st_size > 0


def main() -> None:
    """Write the outputs into the page."""
    os.environ["MPLBACKEND"] = "agg"
    text = PAGE.read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        os.chdir(make_workspace(Path(folder)))
        outputs: list[str] = []
        run_recipes(text, lambda _, found: outputs.append(found))

    def redone(recipe: re.Match[str]) -> str:
        found = outputs.pop(0)
        return f"```python\n{recipe[1]}```\n" + (f"\n```text\n{found}```\n" if found else "")

    PAGE.write_text(_RECIPE.sub(redone, text), encoding="utf-8")


if __name__ == "__main__":
    main()

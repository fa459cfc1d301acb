"""An importer is a module and a row of a table: ``cms import`` is made of the table."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from snapshots.importers.kinds.registry import KINDS

DOCS = Path(__file__).parents[4] / "docs" / "coming-from.md"
READER = """
from snapshots.importers.model import ApiPlan, FieldPlan, Imported, Version
from snapshots.model import FieldType

def read(export):
    names = export.path.read_text().split()
    versions = (Version("notes", f"n{number}", {"title": name}) for number, name in enumerate(names))
    return Imported([ApiPlan("notes", "Notes", [FieldPlan("title", FieldType.TEXT)])], versions, ["en"])
"""
CMS = """
import sys
from snapshots.importers.kinds.registry import KINDS, Kind
KINDS["notebook"] = Kind("notebook", "Import the words of a notebook.")
from cli.main import main
sys.argv = ["cms", *sys.argv[1:]]
sys.path.insert(0, ".")
main()
"""


def cms(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CMS, *arguments], capture_output=True, text=True, check=False, cwd=directory
    )


def test_a_new_row_is_a_command_that_imports(tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text(READER)
    (tmp_path / "words").write_text("hello world")
    assert re.search(r"notebook +Import the words of a notebook\.", cms(tmp_path, "import", "--help").stdout)
    made = cms(tmp_path, "import", "notebook", "words", "site")
    assert made.returncode == 0, made.stderr
    assert "notebook" in (tmp_path / "site/workspace.yaml").read_text()
    assert cms(tmp_path, "check", "site").returncode == 0
    unknown = cms(tmp_path, "import", "notebok", "words", "other")
    assert (unknown.returncode, "notebook" in unknown.stderr.replace("notebok", "")) == (2, True)


def test_every_importer_is_in_the_docs() -> None:
    assert set(re.findall(r"cms import ([a-z]+)", DOCS.read_text(encoding="utf-8"))) == {*KINDS}

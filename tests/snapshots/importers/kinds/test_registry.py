"""An importer is a module and a row of a table: ``cms import`` is made of the table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from snapshots.importers.kinds.registry import KINDS

DOCS = Path(__file__).parents[4] / "docs" / "coming-from.md"
READER = """
from snapshots.importers.model import ApiPlan, FieldPlan, Imported, ImportedVersion
from snapshots.model import FieldType

def read(export):
    names = export.path.read_text().split()
    versions = (ImportedVersion("notes", f"n{number}", {"title": name}) for number, name in enumerate(names))
    return Imported([ApiPlan("notes", "Notes", [FieldPlan("title", FieldType.TEXT)])], versions, ["en"])
"""
COMMANDS = """
import contextlib, io, json, sys
from snapshots.importers.kinds.registry import KINDS, ImportKind
KINDS["notebook"] = ImportKind("notebook", "Import the words of a notebook.")
from cli.main import main
sys.path.insert(0, ".")
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["cms", *arguments]
    status, said = 0, io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    print(json.dumps([status, said.getvalue()]))
"""


def test_a_new_row_is_a_command_that_imports(tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text(READER)
    (tmp_path / "words").write_text("hello world")
    commands = (
        ("import", "--help"),
        ("import", "notebook", "words", "site"),
        ("check", "site"),
        ("import", "notebok", "words", "other"),
    )
    program = [sys.executable, "-c", COMMANDS, json.dumps(commands)]
    ran = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    listed, made, checked, unknown = map(json.loads, ran.stdout.splitlines())
    assert re.search(r"notebook +Import the words of a notebook\.", listed[1])
    assert made[0] == 0, made
    assert "notebook" in (tmp_path / "site/workspace.yaml").read_text()
    assert checked[0] == 0, checked
    assert (unknown[0], "notebook" in unknown[1].replace("notebok", "")) == (2, True)


def test_every_importer_is_in_the_docs() -> None:
    assert set(re.findall(r"cms import ([a-z]+)", DOCS.read_text(encoding="utf-8"))) == {*KINDS}

"""Where files are: a module's tests in the folder of its name, and no folder with more files than a reader takes in."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("cli", "engine", "server", "snapshots")
MOST_FILES = 15
"""The most modules of one folder, its ``__init__.py`` aside."""


def folders(top: Path) -> set[Path]:
    """The folders below ``top`` that hold Python files, relative to it."""
    return {path.relative_to(top).parent for path in top.rglob("*.py")}


def test_every_folder_of_tests_has_the_name_of_what_is_tested() -> None:
    strange = set()
    for package in PACKAGES:
        top = REPOSITORY / package
        modules = {path.relative_to(REPOSITORY).with_suffix("") for path in top.rglob("*.py")}
        tests = {
            path.relative_to(REPOSITORY / "tests").parent
            for path in (REPOSITORY / "tests" / package).rglob("test_*.py")
        }
        strange |= tests - {package / folder for folder in folders(top)} - modules
    assert strange == set()


def test_no_folder_holds_several_subjects_worth_of_files() -> None:
    crowded = {}
    for top in (*PACKAGES, "tests"):
        for folder in folders(REPOSITORY / top):
            count = sum(path.name != "__init__.py" for path in (REPOSITORY / top / folder).glob("*.py"))
            if count > MOST_FILES:
                crowded[str(top / folder)] = count
    assert crowded == {}

"""CONTRIBUTING.md says what is there: its map names every folder, and its table every dependency."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = ("snapshots", "engine", "server", "cli", "tests")


def rooms(package: Path) -> set[str]:
    """The folders directly below a package, as paths of the repository; or those of one without modules."""
    found: set[str] = set()
    for folder in sorted(package.iterdir()):
        tracked = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        if not tracked:
            continue
        only_folders = all(path.name == "__init__.py" for path in folder.glob("*.*")) and package.name != "tests"
        found |= rooms(folder) if only_folders else {folder.relative_to(REPOSITORY).as_posix()}
    return found


def test_the_map_of_the_code_names_every_folder() -> None:
    named = set(re.findall(r"^\| `([a-z_/]+)/` \|", TEXT, re.MULTILINE))
    there = {room for package in PACKAGES for room in rooms(REPOSITORY / package)}
    of_packages = {room for room in there if not room.startswith("tests/")}
    beside = {room for room in there if room.startswith("tests/") and room.removeprefix("tests/") not in PACKAGES}
    assert named == of_packages | beside


def test_the_modules_that_the_map_names_are_there() -> None:
    """Each stands in the paragraph of its package."""
    paragraphs = re.findall(r"^\*\*`([a-z]+)/`\*\*(.+?)\n\n", TEXT, re.MULTILINE | re.DOTALL)
    assert {package for package, _ in paragraphs} == {*PACKAGES, "benchmarks"}
    for package, paragraph in paragraphs:
        for name in re.findall(r"`([a-z_]+\.py)`", paragraph):
            assert (REPOSITORY / package / name).exists(), f"{package}/{name}"


def test_every_dependency_has_its_reason() -> None:
    table = TEXT[TEXT.index("## Dependencies") : TEXT.index("## Style")]
    rows = re.findall(r"^\| ([a-z0-9, -]+?)(?: \(extra `([a-z]+)`\))? \|", table, re.MULTILINE)
    given = {(extra, name) for names, extra in rows for name in names.split(", ") if name != "package"}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {extra: of for extra, of in project["optional-dependencies"].items() if extra != "dev"}
    assert given == {
        (extra, re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0])
        for extra, of in {"": project["dependencies"], **extras}.items()
        for requirement in of
    }

"""The wheel holds the four packages with their example and starter, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.project.wheel_contents import NEEDED, REPOSITORY, complaints, sources

GOOD = {
    **dict.fromkeys(NEEDED, ""),
    "parquetry-0.1.0.dist-info/entry_points.txt": "[console_scripts]\n"
    "cms = parquetry:main\nparquetry = parquetry:main\n",
    "parquetry-0.1.0.dist-info/licenses/LICENSE": "Apache License",
}


def wheel_of(directory: Path, files: dict[str, str]) -> Path:
    path = directory / "parquetry-0.1.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_the_built_wheel_holds_what_it_should(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, REPOSITORY],
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    assert complaints(wheel, sources()) == []


@pytest.mark.parametrize(
    ("stray", "complaint"),
    [
        ("tests/project/test_wheel.py", "does not belong in a wheel: tests/project/test_wheel.py"),
        ("conftest.py", "does not belong in a wheel: conftest.py"),
        ("engine/data.parquet", "does not belong in a wheel: engine/data.parquet"),
        ("cli/creating/example/.cms/current", "does not belong in a wheel: cli/creating/example/.cms/current"),
        ("engine/left_over.py", "is not in the repository: engine/left_over.py"),
    ],
)
def test_a_stray_file_is_noticed(tmp_path: Path, stray: str, complaint: str) -> None:
    assert complaints(wheel_of(tmp_path, {**GOOD, stray: ""}), set(NEEDED)) == [complaint]


@pytest.mark.parametrize(
    ("left_out", "complaint"),
    [
        ("cli/creating/example/workspace.yaml", "is missing: cli/creating/example/workspace.yaml"),
        ("snapshots/__init__.py", "is missing: snapshots/__init__.py"),
        ("parquetry-0.1.0.dist-info/entry_points.txt", "has no commands `cms` and `parquetry`"),
        ("parquetry-0.1.0.dist-info/licenses/LICENSE", "has no LICENSE"),
    ],
)
def test_a_missing_file_is_noticed(tmp_path: Path, left_out: str, complaint: str) -> None:
    files = {name: text for name, text in GOOD.items() if name != left_out}
    assert complaints(wheel_of(tmp_path, files), set(NEEDED)) == [complaint]


def test_a_wheel_with_everything_has_no_complaint(tmp_path: Path) -> None:
    assert complaints(wheel_of(tmp_path, GOOD), set(NEEDED)) == []

"""Every test file is collected: pytest passes over folders with certain names, ``build`` among them, without a word."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def test_no_folder_of_tests_is_passed_over(pytestconfig: pytest.Config) -> None:
    folders = {part for path in TESTS.rglob("test_*.py") for part in path.relative_to(TESTS).parent.parts}
    patterns = pytestconfig.getini("norecursedirs")
    assert [folder for folder in sorted(folders) if any(fnmatch(folder, pattern) for pattern in patterns)] == []

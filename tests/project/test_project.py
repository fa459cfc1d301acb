"""The project's pages and pins agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.version import Version

from snapshots.version import VERSION

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PIN = re.compile(r"([A-Za-z0-9._-]+)==[0-9][A-Za-z0-9.!+]*")


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    everything, tests = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    assert everything.endswith("/cms demo")
    assert "/pytest" in tests
    assert tests in (REPOSITORY / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_every_requirement_is_pinned_exactly() -> None:
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [PIN.fullmatch(line) for line in lines]
    assert None not in pins
    pinned = {normalised(pin[1]) for pin in pins if pin}
    assert len(pinned) == len(lines)
    project = PROJECT["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *PROJECT["build-system"]["requires"],
    ]
    names = {normalised(re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0]) for requirement in wanted}
    assert names - pinned == set()


def test_the_links_of_the_pages_lead_somewhere() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert target.startswith("https://") or (REPOSITORY / target).exists(), f"{page}: {target}"


def test_the_version_is_written_once_in_two_places_that_agree() -> None:
    """As Semantic Versioning has it, and in the normal form of PEP 440."""
    assert str(Version(VERSION)) == PROJECT["project"]["version"]

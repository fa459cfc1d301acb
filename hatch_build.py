"""Add to what is built what the repository has elsewhere, or does not have.

To the wheel, the sites of ``examples/``, where ``cms init --example`` finds them; to the wheel and the source
distribution, the commit that they are built from, which ``cms --version`` prints.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from pathspec import GitIgnoreSpec

SITES = ("astro", "nextjs", "nuxt", "sveltekit")
TARGET = "cli/creating/sites"
COMMIT = "snapshots/commit.txt"
COMMIT_VARIABLE = "PARQUETRY_COMMIT"
"""Names the commit where the build has no git to ask, as in an image."""


class Additions(BuildHookInterface[Any]):
    """Adds to the files of a target those that this module is about."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # there, `examples/` itself is used, and the commit changes
            return
        if self.target_name == "wheel":
            self._add_sites(build_data)
        root = Path(self.root)
        commit = None if (root / COMMIT).exists() else commit_of(root)  # a source distribution has the file
        if commit is not None:
            self._temporary = TemporaryDirectory()
            recorded = Path(self._temporary.name, "commit.txt")
            recorded.write_text(f"{commit}\n", encoding="utf-8")
            build_data["force_include"][str(recorded)] = COMMIT

    def _add_sites(self, build_data: dict[str, Any]) -> None:
        """Add each file that git would not ignore: packages, builds and keys of whoever tries the sites stay away."""
        examples = Path(self.root, "examples")
        ignored = GitIgnoreSpec.from_lines((examples / ".gitignore").read_text(encoding="utf-8").splitlines())
        files = [examples / ".gitignore", *(file for site in SITES for file in (examples / site).rglob("*"))]
        for file in files:
            name = file.relative_to(examples).as_posix()
            if file.is_file() and file.name != "README.md" and not ignored.match_file(name):
                build_data["force_include"][str(file)] = f"{TARGET}/{name}"


def commit_of(root: Path) -> str | None:
    """Return the commit of a checkout, with ``-dirty`` where tracked files are changed; ``None`` where git has none.

    A folder inside somebody else's checkout has none.
    """
    named = os.environ.get(COMMIT_VARIABLE, "").strip()
    if named:
        return named
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = _git(root, "rev-parse", "HEAD")
    if top is None or not commit or Path(top).resolve() != root.resolve():
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if changed else commit


def _git(root: Path, *arguments: str) -> str | None:
    try:
        ran = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout.strip()

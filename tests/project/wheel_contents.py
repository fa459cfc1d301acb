"""A built wheel → what is wrong with what it holds. Run with a wheel's path, it prints that and fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("cli", "engine", "server", "snapshots")
EXAMPLES = ("examples/.gitignore", *(f"examples/{site}" for site in ("astro", "nextjs", "nuxt", "sveltekit")))
DATA = {
    "cli/creating/acme": {".md", ".yaml"},
    "cli/creating/example": {".md", ".yaml", ".json", ".jsonl", ".jpg", ".png", ".webp", ".pdf"},
    "cli/creating/sites": {
        ".astro",
        ".css",
        ".html",
        ".js",
        ".json",
        ".mjs",
        ".svelte",
        ".svg",
        ".ts",
        ".tsx",
        ".vue",
        "",
    },
    "cli/creating/starter": {".md", ".yaml"},
    "engine/views/reporting": {".css", ".py"},
    "snapshots/adoption/proof": {".css", ".py"},
    "engine/typed/source": {".ts", ".txt"},
    "server/pages/assets": {".css", ".js", ".svg"},
    "server/pages/templates": {".html"},
    "server/pages/vendor": {".css", ".js", ".txt"},
    "server/reference/page": {".css", ".html", ".js", ".svg"},
    "server/reference/swagger": {".css", ".js", ".txt", ""},
    "server/reference": {".py", ".yaml"},
}
"""Folders that hold something other than Python, and what."""
COMMIT = "snapshots/commit.txt"
"""What a build adds: the commit that it was made of."""
NEEDED = (
    COMMIT,
    "cli/main.py",
    "cli/creating/acme/workspace.yaml",
    "cli/creating/example/workspace.yaml",
    "cli/creating/sites/.gitignore",
    *(f"cli/creating/sites/{site}/package.json" for site in ("astro", "nextjs", "nuxt", "sveltekit")),
    "cli/creating/starter/workspace.yaml",
    "engine/views/reporting/report.css",
    "snapshots/adoption/proof/report.css",
    "engine/typed/source/client.ts",
    "server/pages/assets/dev.js",
    "server/pages/templates/frames/frame.html",
    "server/reference/openapi.yaml",
    "server/reference/page/page.html",
    "server/reference/swagger/LICENSE",
    "parquetry.py",
    *(f"{package}/{name}" for package in PACKAGES for name in ("__init__.py", "py.typed")),
)


def sources() -> set[str]:
    """What the repository has of the four packages, where it is in a wheel: committed, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "parquetry.py", *PACKAGES, *EXAMPLES],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {name for name in listed.split("\0") if name and (REPOSITORY / name).exists()}
    return {re.sub("^examples/", "cli/creating/sites/", name) for name in names if not name.endswith("/README.md")}


def belongs(name: str) -> bool:
    """True for Python in a package, and for data in a folder that is there for it."""
    path = PurePosixPath(name)
    if name == COMMIT:
        return True
    for folder, suffixes in DATA.items():
        if path.is_relative_to(folder):
            return path.suffix in suffixes
    if path.parts[0] not in PACKAGES:
        return name == "parquetry.py"
    return path.suffix == ".py" or path.name == "py.typed"


def complaints(wheel: Path, expected: set[str]) -> list[str]:
    """Everything wrong with a wheel's files; ``expected`` is what the packages hold in the repository."""
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        metadata = {name for name in names if PurePosixPath(name).parts[0].endswith(".dist-info")}
        entry_points = "".join(archive.read(name).decode() for name in metadata if name.endswith("/entry_points.txt"))
    content = names - metadata
    found = [f"does not belong in a wheel: {name}" for name in sorted(content) if not belongs(name)]
    found += [f"is missing: {name}" for name in sorted((expected | set(NEEDED)) - content)]
    found += [f"is not in the repository: {name}" for name in sorted(content - expected - {COMMIT}) if belongs(name)]
    if not {"cms = parquetry:main", "parquetry = parquetry:main"} <= set(entry_points.splitlines()):
        found.append("has no commands `cms` and `parquetry`")
    if not any(name.endswith("/licenses/LICENSE") for name in metadata):
        found.append("has no LICENSE")
    return found


if __name__ == "__main__":
    path = Path(sys.argv[1])
    wrong = complaints(path, sources())
    print("\n".join(f"{path.name}: {complaint}" for complaint in wrong) or f"{path.name}: holds what it should")
    sys.exit(1 if wrong else 0)

#!/usr/bin/env python3
"""Make a release of the last commit: everything that is published of a version, in ``dist/``.

    python3 .ci/release.py [--out DIR] [--base IMAGE] [--no-image]

The files are a source distribution, the wheel that is built of it, a list of all packages that are installed with it
(CycloneDX, JSON), the container image (an OCI archive, where podman or buildah is installed), and SHA256SUMS. Each is
made twice, in different folders, and has to come out the same to the byte. Needs Python 3.11 or newer and git; packages
are those of ``constraints.txt``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
EXTRAS = "mcp,objects,oidc,otel,redis,spreadsheet"
"""All that an installation may have, and so what is listed."""
TOOLS = ("build", "cyclonedx-bom", "hatch-fancy-pypi-readme", "hatchling")
ENGINES = ("podman", "buildah")
"""The programs that build images of which every byte can be had again; the first that is there is taken."""


class ReleaseError(Exception):
    """There can be no release; the message says why."""


def main() -> int:
    """Make the release that the arguments ask for; return the exit status."""
    parser = argparse.ArgumentParser(description="Make a release of the last commit: everything that is published.")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist", help="The folder for the files; default dist.")
    parser.add_argument("--base", help="The image to build on, in place of the one that deploy/Containerfile names.")
    parser.add_argument("--no-image", action="store_true", help="Make no container image.")
    chosen = parser.parse_args()
    engine = None if chosen.no_image else next(filter(shutil.which, ENGINES), None)
    try:
        with tempfile.TemporaryDirectory(prefix="parquetry-release-") as work:
            made = make(Path(work), engine, chosen.base)
            chosen.out.mkdir(parents=True, exist_ok=True)
            files = [Path(shutil.copy(path, chosen.out)) for path in made]
    except ReleaseError as error:
        say(f"error: {error}")
        return 1
    for path in files:
        say(f"{path.stat().st_size:>12,}  {path}")
    if engine is None:
        why = "--no-image was given" if chosen.no_image else f"neither {' nor '.join(ENGINES)} is installed"
        say(f"There is no image: {why}.")
    return 0


def make(work: Path, engine: str | None, base: str | None) -> list[Path]:
    """Make everything twice in a folder; return the files of the first time, SHA256SUMS last.

    Raises ``ReleaseError``.
    """
    commit, instant, version = released()
    tools = work / "tools"
    say(f"── The tools for {version}")
    environment(tools, TOOLS, REPOSITORY / "constraints.txt")
    files: list[list[Path]] = []
    for name in ("first", "second"):
        say(f"── Making it for the {name} time, of {commit}")
        folder = work / name / "files"
        folder.mkdir(parents=True)
        source = work / name / "checkout"
        run("git", "clone", "-q", "--no-checkout", REPOSITORY, source)
        run("git", "-C", source, "checkout", "-q", commit)
        surroundings = {"SOURCE_DATE_EPOCH": str(instant), "PIP_CONSTRAINT": ""}
        packages(tools, source, folder, surroundings)
        materials(tools, source, folder, version)
        if engine is not None:
            image(engine, folder, version, instant, base)
        files.append(sorted(folder.iterdir()))
    compare(*files)
    sums = work / "first" / "files" / "SHA256SUMS"
    sums.write_text("".join(f"{digest(path)}  {path.name}\n" for path in files[0]), encoding="ascii")
    return [*files[0], sums]


def released() -> tuple[str, int, str]:
    """Return the commit that is released, its time (seconds of UTC), and the version. Raises ``ReleaseError``."""
    changed = run("git", "-C", REPOSITORY, "status", "--porcelain", "--untracked-files=no")
    if changed:
        raise ReleaseError(f"There are changes that are not committed:\n{changed}\nCommit them, or put them away.")
    commit, instant = run("git", "-C", REPOSITORY, "log", "-1", "--format=%H %ct").split()
    found = re.search(r'^VERSION = "(.+)"$', (REPOSITORY / "snapshots/version.py").read_text("utf-8"), re.MULTILINE)
    heading = re.search(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if found is None or heading is None or heading[1] != found[1]:
        raise ReleaseError(
            f"CHANGELOG.md begins with {heading and heading[1]}, and snapshots/version.py says {found and found[1]}. "
            "A release has its own section at the top."
        )
    return commit, int(instant), found[1]


def packages(tools: Path, source: Path, folder: Path, surroundings: Mapping[str, str]) -> None:
    """Build the source distribution of a checkout, and of that the wheel."""
    run(tools / "bin/python", "-m", "build", "--no-isolation", "--outdir", folder, source, **surroundings)


def materials(tools: Path, source: Path, folder: Path, version: str) -> None:
    """Install the wheel with everything that it may need, run it, and list what is installed."""
    [wheel] = folder.glob("*.whl")
    installed = folder.parent / "installed"
    environment(installed, (f"parquetry[{EXTRAS}] @ {wheel.as_uri()}",), source / "constraints.txt")
    told = run(installed / "bin/cms", "--version")
    commit = run("git", "-C", source, "rev-parse", "HEAD")
    if told != f"parquetry {version} (commit {commit})":
        raise ReleaseError(f"The wheel was built of commit {commit}, and says: {told}")
    run(installed / "bin/python", "-m", "pip", "uninstall", "-q", "-y", "pip", "setuptools")
    listing(tools, installed / "bin/python", source, folder / f"parquetry-{version}.cdx.json")


def listing(tools: Path, python: Path, source: Path, target: Path) -> None:
    """List all packages that an interpreter finds, as what the project of a checkout consists of (CycloneDX)."""
    run(
        *(tools / "bin/cyclonedx-py", "environment", python, "--pyproject", source / "pyproject.toml"),
        *("--mc-type", "application", "--output-reproducible", "--output-format", "JSON", "--output-file", target),
    )


def image(engine: str, folder: Path, version: str, instant: int, base: str | None) -> None:
    """Build the image of the source distribution, as an archive of an OCI layout."""
    [distribution] = folder.glob("*.tar.gz")
    with tarfile.open(distribution) as archive:
        archive.extractall(folder.parent, filter="data")
    source = folder.parent / distribution.name.removesuffix(".tar.gz")
    name = f"localhost/parquetry:{version}-{folder.parent.name}"
    chosen = [] if base is None else ["--build-arg", f"BASE={base}"]
    recipe = source / "deploy/Containerfile"
    run(
        *(engine, "build", "--no-cache", "--format", "oci", "--timestamp", str(instant), *chosen),
        *("--label", f"org.opencontainers.image.version={version}", "--file", recipe, "--tag", name, source),
    )
    layout = folder.parent / "layout"
    run(engine, "push", "-q", name, f"oci:{layout}:{version}")
    run(engine, "rmi", name)
    pack(layout, folder / f"parquetry-{version}.oci.tar", instant)


def pack(layout: Path, target: Path, instant: int) -> None:
    """Pack a folder into an archive that depends on nothing but its files and an instant (seconds of UTC)."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = instant
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(layout.rglob("*")):
            archive.add(path, path.relative_to(layout).as_posix(), recursive=False, filter=plain)


def compare(first: list[Path], second: list[Path]) -> None:
    """Raise ``ReleaseError`` where what was made twice is not the same."""
    names = [path.name for path in first]
    if names != [path.name for path in second]:
        raise ReleaseError(f"The second time, other files were made: {', '.join(path.name for path in second)}.")
    differing = [a.name for a, b in zip(first, second, strict=True) if digest(a) != digest(b)]
    if differing:
        raise ReleaseError(f"What was made twice is not the same: {', '.join(differing)}.")


def environment(folder: Path, wanted: tuple[str, ...], constraints: Path) -> None:
    """Make a virtual environment with some packages, each in its pinned version."""
    run(sys.executable, "-m", "venv", folder)
    pip = (folder / "bin/python", "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check")
    run(*pip, "-c", constraints, *wanted, PIP_CONSTRAINT="")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def say(text: str) -> None:
    """Print a line on standard error, at once."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def run(*command: str | Path, **surroundings: str) -> str:
    """Return what a command prints. Raises ``ReleaseError`` with its errors where it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CMS_", "PYTHON", "GIT_"))}
    done = subprocess.run(
        [str(part) for part in command], env={**kept, **surroundings}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"{Path(command[0]).name} {command[1]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

"""The program's own version and commit, for manifests, ``cms --version`` and ``/readyz``, and the versions of the
packages it compiles with."""

from functools import cache
from pathlib import Path
from typing import Final

VERSION = "1.0.0-rc.1"
PROGRAM = f"parquetry {VERSION}"
UNKNOWN: Final = "unknown"
_COMMIT: Final = Path(__file__).with_name("commit.txt")
"""Written when a package is built (``hatch_build.py``), and in no checkout."""
_COMPILING = ("comrak", "nh3", "tzdata")


@cache
def commit() -> str:
    """Return the commit that the program was built from, as git names it, followed by ``-dirty`` where tracked files
    had been changed; ``unknown`` where it runs from a checkout, or was built without git."""
    try:
        return _COMMIT.read_text(encoding="ascii").strip() or UNKNOWN
    except (OSError, UnicodeDecodeError):
        return UNKNOWN


@cache
def compilers() -> tuple[str, ...]:
    """Return this program and the packages that decide what content compiles to, each with its version."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - 20 ms, which few commands need

    named = [PROGRAM]
    for package in _COMPILING:
        try:
            named.append(f"{package} {version(package)}")
        except PackageNotFoundError:  # where the system has the time zones, or all is frozen into one file
            named.append(package)
    return tuple(named)

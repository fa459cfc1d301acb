"""The program's own version, for manifests and ``cms --version``, and those of the packages it compiles with."""

from functools import cache

VERSION = "0.1.0"
PROGRAM = f"parquetry {VERSION}"
_COMPILING = ("comrak", "nh3", "tzdata")


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

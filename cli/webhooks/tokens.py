"""The API token of a CDN: from a file, or typed in at the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from snapshots.problems import ParquetryError

TokenFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help="A file with the API token of a CDN; - is standard input. Default: ask for it.",
        show_default=False,
    ),
]


class NoToken(ParquetryError):
    """A token is needed, and there is nobody to ask for it."""


def read_token(file: Path | None) -> str:
    """Return the token in a file, or typed in by the person at the terminal, to whom it is not shown."""
    if file is not None:
        return sys.stdin.readline() if str(file) == "-" else file.read_text(encoding="utf-8")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NoToken("This format needs an API token. Give a file with it: --token-file FILE.")
    from getpass import getpass

    return getpass("API token: ", sys.stderr)

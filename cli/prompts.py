"""Questions to the person at the terminal; without a terminal no question is asked."""

from __future__ import annotations

import sys

from cli.output import lines
from snapshots.problems import ParquetryError

_YES = frozenset({"y", "yes"})


class NotConfirmed(ParquetryError):
    """The person at the terminal did not answer yes."""


def has_reader() -> bool:
    """Return whether a person sees standard output and can answer: both streams are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirmed(question: str) -> bool:
    """Return whether a question is answered with yes; true, without asking, if standard input is no terminal.

    Raises ``EOFError`` when the input ends without an answer.
    """
    if not sys.stdin.isatty():
        return True
    lines.message(f"{question} [y/N]")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip().lower() in _YES

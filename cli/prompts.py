"""Questions to the person at the terminal; where nobody is, nothing is asked."""

from __future__ import annotations

import sys

from cli import output

_YES = frozenset({"y", "yes"})


def has_reader() -> bool:
    """Whether somebody sees what is written on standard output, and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirmed(question: str) -> bool:
    """Whether a question is answered with yes; true without asking where standard input is no terminal.

    Raises ``EOFError`` when the input ends without an answer.
    """
    if not sys.stdin.isatty():
        return True
    output.message(f"{question} [y/N]")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip().lower() in _YES

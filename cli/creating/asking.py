"""The questions that a site's folder leaves open, asked at the terminal one after the other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cli.output import lines

if TYPE_CHECKING:
    from snapshots.adoption.settling.decisions import Decision


def ask(decisions: list[Decision]) -> None:
    """Ask each question until it has an answer, and take that; an empty line takes the first.

    Raises ``EOFError`` when the input ends without an answer.
    """
    for number, one in enumerate(decisions, 1):
        lines.message(f"\nQuestion {number} of {len(decisions)}: {one.question}")
        lines.message(f"{one.evidence}\n", style="dim")
        for at, answer in enumerate(one.answers, 1):
            lines.message(f"  {at}  {answer}")
        if one.is_one is not None:
            lines.message("  or write another")
        lines.message("\nYour answer (Enter takes 1):")
        one.take(_answer(one))


def _answer(one: Decision) -> str:
    while line := sys.stdin.readline():
        written = line.strip()
        if not written:
            return one.answers[0]
        if written.isascii() and written.isdigit() and 1 <= int(written) <= len(one.answers):
            return one.answers[int(written) - 1]
        if one.takes(written):
            return written
        lines.message(f"{written!r} is no answer to this. Your answer (Enter takes 1):")
    raise EOFError

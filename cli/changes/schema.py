"""Print the changes of definitions, those that break clients first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from cli.output import lines

if TYPE_CHECKING:
    from snapshots.compare.compatibility import SchemaChange

BREAKING: Final = "BREAKING"


def show_schema(changes: Iterable[SchemaChange]) -> None:
    """Print schema changes, the breaking ones first and marked."""
    ordered = sorted(changes, key=lambda change: not change.breaking)
    width = len(BREAKING) if any(change.breaking for change in ordered) else 0
    lines.answer(f"{'':{width}}  DEFINITIONS", style="bold")
    for change in ordered:
        mark = BREAKING if change.breaking else ""
        lines.answer(f"{mark:{width}}  {change}", style="red" if mark else "")

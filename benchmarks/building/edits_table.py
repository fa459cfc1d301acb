"""The figures of ``edits.py`` → the tables of a page, in Markdown: what one changed entry costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Figures: TypeAlias = dict[str, list[dict[str, Any]]]
START: float = 110e6
"""Bytes of memory that a build of a hundred entries takes."""


def seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.1f} MB" if value < 10e6 else f"{value / 1e6:,.0f} MB"


def share(one: dict[str, Any], new: str, of: str) -> str:
    return f"{megabytes(one['edit'][new])}, {one['edit'][new] / one[of]:.1%}"


def memory(one: dict[str, Any]) -> str:
    beyond = (one["edit"]["memory"] - START) / (one["first"]["memory"] - START)
    return f"{megabytes(one['edit']['memory'])}, {megabytes(one['first']['memory'])}; {beyond:.2f}"


BUILT, SERVED = "built", "served, from the save on"
ROWS: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    BUILT: (lambda one: seconds(one["edit"]["seconds"]), "1.5 s at 20,000, 3 s at 200,000, 6 s at 1,000,000"),
    SERVED: (lambda one: seconds(one["edit"]["served"]), "2 s at 20,000, 5 s at 200,000, 10 s at 1,000,000"),
    "processor time of the build": (lambda one: seconds(one["edit"]["cpu"]), ""),
    "new in the store, and of the version's bytes": (lambda one: share(one, "published", "version"), "10 MB; 10 %"),
    "new in the build cache, and of its bytes": (lambda one: share(one, "cached", "cache"), "10 %"),
    "most memory of the build, and of a first one; ratio beyond the 110 MB of the smallest": (memory, "0.5"),
    "a first build: time, processor time": (
        lambda one: f"{seconds(one['first']['seconds'])}, {seconds(one['first']['cpu'])}",
        "",
    ),
    "nothing changed: time, processor time": (
        lambda one: f"{seconds(one['nothing']['seconds'])}, {seconds(one['nothing']['cpu'])}",
        "",
    ),
}
FILES_TARGETS = {BUILT: "2 s at 100,000 × 2", SERVED: "4 s at 100,000 × 2"}


def table(figures: list[dict[str, Any]], what: str, targets: dict[str, str]) -> str:
    """A column a size, and one for the targets, ``targets`` before those of ``ROWS``."""
    head = [what, *(f"{one['entries']:,} × 2" for one in figures), "target"]
    rows = [head, ["---"] * len(head)]
    for name, (cell, target) in ROWS.items():
        rows.append([name, *map(cell, figures), targets.get(name, target)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def tables(figures: Figures) -> list[str]:
    """Return the blocks of the page."""
    titles: dict[str, tuple[str, dict[str, str]]] = {
        "lines": ("one changed entry among as many of 0.7 KB, all in one JSONL file", {}),
        "files": ("the same in Markdown, a file for each language version", FILES_TARGETS),
    }
    return [table(figures[form], *title) for form, title in titles.items() if figures.get(form)]

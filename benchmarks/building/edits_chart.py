"""The figures of ``edits.py`` → one SVG picture: what it takes until a save is served, against the entries in all.

It is processor time, of the build and of the server: on a machine that others use too, that says more than the clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.reading.sizes_chart import STYLE, finished, prepared, short

LINES = (
    ("before", "one JSONL file, before segments", "#777777", "s"),
    ("lines", "one JSONL file", "#0072b2", "o"),
    ("files", "a Markdown file for each", "#d55e00", "^"),
)
"""The name of the figures, what they are, colour and mark."""


def draw(figures: dict[str, list[dict[str, Any]]], target: Path) -> None:
    """Draw the figures of two sizes or more into a file that refers to nothing outside itself."""
    sizes = sorted({one["entries"] for some in figures.values() for one in some})
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(7.2, 3.8), facecolor="white")
        axes = picture.subplots()
        picture.subplots_adjust(left=0.07, right=0.97, top=0.91, bottom=0.14)
        prepared(axes, "Processor time until one changed entry is served, s", sizes)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        every = [one["edit"]["served cpu"] for some in figures.values() for one in some]
        low, high = min(every) * 0.7, max(every) * 1.6
        axes.set_yticks([tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200) if low <= tick <= high])
        axes.set_ylim(low, high)
        axes.yaxis.set_minor_locator(NullLocator())
        for name, label, colour, mark in LINES:
            if some := figures.get(name):
                axes.plot(
                    [one["entries"] for one in some],
                    [one["edit"]["served cpu"] for one in some],
                    color=colour, marker=mark, markersize=5, linewidth=1.6, label=label,
                )  # fmt: skip
                for one in some:
                    served = one["edit"]["served cpu"]
                    axes.annotate(
                        f"{served:.1f}" if served < 10 else f"{served:.0f}", (one["entries"], served),
                        textcoords="offset points", xytext=(0, 7), ha="center", color=colour, fontsize=9,
                    )  # fmt: skip
        axes.legend(frameon=False, loc="upper left")
        finished(picture, target)

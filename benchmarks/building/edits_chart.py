"""The figures of ``edits.py`` → one SVG picture: time until one changed entry is served, against the entries in all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.reading.sizes_chart import STYLE, finished, prepared, short

LINES = (
    ("served", "until it is served, by the clock", "#0072b2", "o", 7),
    ("cpu", "processor time of the build", "#d55e00", "s", -15),
)
"""The name of the figures, what they are, colour, mark, and how many points above a mark its number stands."""


def draw(figures: list[dict[str, Any]], target: Path) -> None:
    """Draw the figures of two sizes or more into a file that refers to nothing outside itself."""
    sizes = [one["entries"] for one in figures]
    every = [one["edit"][name] for one in figures for name, *_ in LINES]
    low, high = min(every) * 0.6, max(every) * 1.8
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(7.2, 3.8), facecolor="white")
        axes = picture.subplots()
        picture.subplots_adjust(left=0.07, right=0.95, top=0.91, bottom=0.14)
        prepared(axes, "One changed entry, all in one JSONL file: seconds", sizes)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        axes.set_yticks([tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200) if low <= tick <= high])
        axes.set_ylim(low, high)
        axes.yaxis.set_minor_locator(NullLocator())
        for name, label, colour, mark, above in LINES:
            values = [one["edit"][name] for one in figures]
            axes.plot(sizes, values, color=colour, marker=mark, markersize=5, linewidth=1.6, label=label)
            for size, value in zip(sizes, values, strict=True):
                text = f"{value:.1f}" if value < 10 else f"{value:.0f}"
                place = {"textcoords": "offset points", "xytext": (0, above), "ha": "center"}
                axes.annotate(text, (size, value), color=colour, fontsize=9, **place)
        axes.legend(frameon=False, loc="upper left")
        finished(picture, target)

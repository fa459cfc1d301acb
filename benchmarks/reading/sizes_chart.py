"""The figures of ``sizes.py`` → one SVG picture: answer times against the number of entries, and memory beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

LABELS = {
    "Q1": "Q1 first page",
    "Q2": "Q2 one entry",
    "Q3": "Q3 by rating",
    "Q4": "Q4 word in text",
    "Q5": "Q5 references",
    "Q6": "Q6 page at 90 %",
    "Q7": "Q7 count",
}
# Okabe and Ito's colours, told apart by people who are colour-blind too.
COLOURS = ("#000000", "#b37400", "#0072b2", "#009e73", "#d55e00", "#2f8fc9", "#cc79a7")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
INK, GRID = "#333333", "#dddddd"
STYLE = {
    "svg.fonttype": "none",  # text stays text, in the reader's own typeface
    "svg.hashsalt": "parquetry",  # the same bytes for the same figures
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
}
NOTHING = {"Date": None, "Creator": None, "Format": None, "Type": None}


def short(value: float) -> str:
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def spread(heights: list[float], gap: float) -> list[float]:
    """The heights in ascending order, moved apart as little as it takes for each to be ``gap`` from the next."""
    moved = sorted(heights)
    for _ in range(200):
        for at in range(len(moved) - 1):
            if (short_of := gap - (moved[at + 1] - moved[at])) > 1e-9:
                moved[at] -= short_of / 2
                moved[at + 1] += short_of / 2
    return moved


def prepared(axes: Axes, title: str, sizes: list[int]) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [short(size) for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("entries, each in two languages")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0)


def times(axes: Axes, figures: list[dict[str, Any]], sizes: list[int]) -> None:
    prepared(axes, "Median time of an answer that is not kept, ms", sizes)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    lines = {name: [one["median"][name] for one in figures] for name in LABELS}
    every = [value for line in lines.values() for value in line]
    low, high = min(0.5, min(every) * 0.8), max(20, max(every) * 1.3)
    axes.set_yticks([tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= tick <= high])
    axes.set_ylim(low, high)
    axes.yaxis.set_minor_locator(NullLocator())
    for (name, line), colour, mark in zip(lines.items(), COLOURS, MARKS, strict=True):
        axes.plot(sizes, line, color=colour, marker=mark, markersize=5, linewidth=1.6, label=name)
    # A label at the end of each line, in the order of the ends, moved apart where two would lie on each other.
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = sorted((float(to_axes.transform((sizes[-1], line[-1]))[1]), name) for name, line in lines.items())
    for (_, name), height in zip(ends, spread([end for end, _ in ends], 0.062), strict=True):
        colour = COLOURS[list(LABELS).index(name)]
        text = f"{LABELS[name]}, {lines[name][-1]:.1f}"
        axes.text(1.02, height, text, color=colour, transform=axes.transAxes, va="center")


def memory(axes: Axes, figures: list[dict[str, Any]], sizes: list[int]) -> None:
    prepared(axes, "Memory of the server, GB", sizes)
    held = [one["memory, asked"] for one in figures]
    resident = [some["pss"] / 1024 for some in held]
    own = [(some["pss"] - some["files"]) / 1024 for some in held]
    axes.fill_between(sizes, own, resident, color="#0072b2", alpha=0.15, linewidth=0)
    axes.plot(sizes, resident, color="#0072b2", marker="o", markersize=5, label="resident, with mapped files")
    axes.plot(sizes, own, color="#d55e00", marker="s", markersize=5, label="its own, without them")
    axes.set_ylim(0, max(*resident, 1) * 1.25)
    axes.legend(frameon=False, loc="upper left")


def draw(figures: list[dict[str, Any]], target: Path) -> None:
    """Draw the figures of two sizes or more into a file that refers to nothing outside itself."""
    sizes = [one["entries"] for one in figures]
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(10, 4.2), facecolor="white")
        left, right = picture.subplots(1, 2, width_ratios=(5, 2.9))
        picture.subplots_adjust(left=0.045, right=0.99, top=0.92, bottom=0.13, wspace=0.6)
        times(left, figures, sizes)
        memory(right, figures, sizes)
        finished(picture, target)


def finished(picture: Figure, target: Path) -> None:
    """Write a picture, without the address of a definition of SVG."""
    picture.savefig(target, format="svg", metadata=NOTHING)
    text = target.read_text(encoding="utf-8")
    head, _, rest = text.partition("<!DOCTYPE")
    target.write_text(head + rest.partition(">\n")[2], encoding="utf-8")

"""Measure what docs/benchmarks.md tells and write it there: one command for all tables and the chart.

    python -m benchmarks.published [--only hot,sizes] [--work DIR] [--bench BENCH] [--rounds N]
        [--tldr ARCHIVE] [--million DIR]
    python -m benchmarks.published --only none

Runs the benchmarks one after the other, keeps their figures in ``figures.json`` beside this file, each with its date,
and rewrites the part of docs/benchmarks.md between the two marks, and its charts in docs/pictures, from what is kept. A
part that is not run, or that needs a folder or an archive that is not given, keeps its older figures.

``--work`` holds the stores of ``reading/sizes.py`` for another run; ``--bench`` is the folder of the peers' bench,
whose work folder ``BENCH_WORK`` names, as ``reading/peers.py`` has it; ``--tldr`` is the archive of
``building/tldr.py``, ``--million`` the folder of ``building/million.py``, ``--edits`` that of ``building/edits.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.building import edits_chart, edits_table
from benchmarks.reading.sizes import QUESTIONS, TERMS
from benchmarks.reading.sizes_chart import draw

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
CHART = HERE.parent / "docs" / "pictures" / "sizes.svg"
EDITS_CHART = HERE.parent / "docs" / "pictures" / "edits.svg"
FIGURES = HERE / "figures.json"
BEGIN, END = "<!-- figures: written by benchmarks/published.py -->", "<!-- end of figures -->"
PEERS = "ours,ours-cold,postgrest,postgrest-nototal,roapi,datasette,json-server,directus,strapi,uvicorn-bare"
LIMITS = {"Q1": 10, "Q2": 10, "Q3": 30, "Q4": 60, "Q5": 40, "Q6": 10, "Q7": 10}
"""Milliseconds at a million entries."""

Row = tuple[str, str, str, str]
"""What, figure, target, the command that measures it."""


@dataclass(frozen=True)
class PublishedPart:
    command: list[str]
    """A module of this folder, then its arguments; ``--json`` is added where it does not stand yet."""
    minutes: float
    """How long it takes at most on two cores that do nothing else."""
    needs: str = ""
    """The option without which it is left out."""


def parts(options: argparse.Namespace) -> dict[str, PublishedPart]:
    work = [] if options.work is None else ["--work", str(options.work)]
    sizes = ["reading.sizes", "--sizes", *map(str, options.sizes), *work]
    bench = ["reading.peers", str(options.bench), "--peers", options.peers, "--rounds", options.rounds]
    bench += ["--seconds", "1"]
    return {
        "sizes": PublishedPart(sizes, 5 if options.work else 20),
        "hot": PublishedPart(["reading.hot"], 3),
        "peers": PublishedPart(bench, 20 * int(options.rounds), needs="bench"),
        "engine": PublishedPart(["reading.engine_queries"], 3),
        "search": PublishedPart(["reading.search", "--entries", "100000"], 6),
        "tldr": PublishedPart(["building.tldr", str(options.tldr), "--rounds", "3"], 2, needs="tldr"),
        "million": PublishedPart(["building.million", "--work", str(options.million), "--keep"], 15, needs="million"),
        "edits": PublishedPart(["building.edits", "--work", str(options.edits)], 60, needs="edits"),
        "dev": PublishedPart(["building.dev_rebuild"], 2),
        "rate limit": PublishedPart(["reading.rate_limit"], 1),
        "views": PublishedPart(["page_views", "--json", "record"], 1),
        "reads": PublishedPart(["page_views", "--json", "reads", "--rounds", "5", "--seconds", "16"], 7),
        "counts": PublishedPart(["page_views", "--json", "counts"], 5),
    }


def ms(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1024:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"


def sizes_table(sizes: list[dict[str, Any]]) -> str:
    """A column a size, and one for the targets, which are for a million."""
    head = [
        "one connection over HTTP, a new request each time: ms",
        *(f"{one['entries']:,} × 2" for one in sizes),
        "target at a million",
    ]
    rows = [head, ["---"] * len(head)]
    for name, meaning in QUESTIONS.items():
        rows.append(
            [f"{name}: {meaning}", *(ms(one["median"][name]) for one in sizes), f"under {LIMITS[name]}"],
        )
    slowest = [max((one["median"][term], term) for term in TERMS) for one in sizes]
    rows.append(
        ["Q4 with the slowest kind of term", *(f"{ms(some)} ({term})" for some, term in slowest), "under 60"],
    )
    for name, bar in (("first", "60 s"), ("later", "3 s")):
        rows.append([f"ready after a {name} start", *(f"{one[f'ready, {name}']:.1f} s" for one in sizes), bar])
    asked = [one["memory, asked"] for one in sizes]
    rows.append(["memory, with mapped files", *(gigabytes(one["pss"]) for one in asked), "at most 4 GB"])
    rows.append(["of that, mapped files", *(gigabytes(one["files"]) for one in asked), ""])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def best(found: dict[str, dict[str, float]], limits: list[str]) -> tuple[float, str]:
    """(requests a second, name) of the best peer."""
    return max((told["rps"], peer) for peer, told in found.items() if peer not in (*limits, "ours"))


def peers_table(figures: dict[str, Any]) -> str:
    """Ours in requests a second, and as a multiple of the best peer's, a row a question."""
    kinds = {
        "hot, 32": "the same request again and again, 32 connections",
        "cold, 1": "a new request each time, 1 connection",
        "cold, 32": "a new request each time, 32 connections",
    }
    head = [f"{figures['entries']:,} entries: requests/s, and times the best peer's", *kinds.values()]
    rows = [head, ["---"] * len(head)]
    for name, meaning in QUESTIONS.items():
        cells = [f"{name}: {meaning}"]
        for kind in kinds:
            found = figures["medians"].get(kind, {}).get(name, {})
            if "ours" in found:
                rate, peer = best(found, figures["limits"])
                cells.append(f"{found['ours']['rps']:,.0f}, {found['ours']['rps'] / rate:.1f} × {peer}")
            else:
                cells.append("–")
        rows.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def hot_rows(figures: dict[str, dict[str, float]]) -> list[Row]:
    shares = {name: found["ours"] / found["bare"] for name, found in figures.items()}
    text = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return [
        (
            "the same request again and again, 32 connections: share of a bare uvicorn's requests a second",
            text,
            "38 %",
            "reading.hot",
        )
    ]


def search_rows(figures: list[dict[str, Any]]) -> list[Row]:
    [one] = figures
    slowest = max((found["index"], name) for name, found in one["terms"].items())
    words = one["terms"]["a word"]
    return [
        ("search index, of the text it covers", f"{one['index']['share of text']:.0%}", "60 %", "reading.search"),
        (
            f"search in {one['entries']:,} × 2: a word / the slowest kind of term, in processor time",
            f"{ms(words['index'])} / {ms(slowest[0])} ms ({slowest[1]}); {ms(words['scan'])} ms without the index",
            "",
            "reading.search",
        ),
    ]


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def tldr_rows(figures: dict[str, list[float]]) -> list[Row]:
    cold, change, nothing = (median(figures[name]) for name in ("cold", "one change", "unchanged"))
    hugo = figures["hugo"]
    ratio = median([one / other for one, other in zip(figures["cold"], hugo, strict=True)]) if hugo else None
    beside = f"; {ratio:.2f} of the time Hugo takes, in turns" if ratio else ""
    return [
        (
            "24,891 Markdown files in 12 languages, built from nothing",
            f"{cold:.1f} s{beside}",
            "as fast as Hugo",
            "building.tldr ARCHIVE",
        ),
        ("the same after one change / none", f"{change:.1f} / {nothing:.1f} s", "1.2 / 0.5 s", "building.tldr ARCHIVE"),
    ]


def engine_rows(figures: dict[str, float]) -> list[Row]:
    def told(*names: str) -> str:
        return " / ".join(f"{figures[name]:.2g}" for name in names) + " ms"

    return [
        (
            "100,000 × 2, without HTTP: one entry / default list / filtered list with total",
            told("entry", "list", "filter and total"),
            "",
            "reading.engine_queries",
        ),
        (
            "the same filtered list in the other language / with fallback to the main one",
            told("filter and total, en", "filter and total, en, fallback"),
            "2 times",
            "reading.engine_queries",
        ),
        (
            "default list: first page / at offset 90 %",
            told("list", "list, offset at 90 %"),
            "3 times",
            "reading.engine_queries",
        ),
        (
            "100 rows, `depth=2`: two reference fields / three (3.1 MB)",
            told("limit=100, depth=2, all but related", "limit=100, depth=2, entries of related"),
            "15 ms",
            "reading.engine_queries",
        ),
    ]


def million_rows(figures: dict[str, float]) -> list[Row]:
    what = f"{figures['entries']:,} × 2 built from {figures['bytes'] / 1e9:.1f} GB of JSONL"
    text = f"{figures['seconds']:.0f} s, {figures['peak, proportional'] / 1e9:.1f} GB of memory at most"
    return [(what, text, "300 s, 4 GB", "building.million")]


def dev_rows(figures: dict[str, dict[str, int]]) -> list[Row]:
    alone, served = figures["build alone"], figures["from the save to the new answer"]
    return [
        (
            "10,000 Markdown files, one saved: built again / served by `cms dev`",
            f"{alone['median']} / {served['median']} ms",
            "served within 2 s",
            "building.dev_rebuild",
        )
    ]


def rate_limit_rows(figures: dict[str, list[list[float]]]) -> list[Row]:
    [[typical, late, _]] = figures["20 keys, let through, 1 process"]
    text = f"{typical:.0f} / {late:.0f} µs"
    return [("the rate limit of a key, one process: median / 99th percentile", text, "20 µs", "reading.rate_limit")]


def view_rows(figures: dict[str, float]) -> list[Row]:
    text = f"{figures['share']:.2f} of the requests a second of a bare application that answers 204"
    return [("recording a page view", text, "0.33", "page_views record")]


def read_rows(figures: dict[str, float]) -> list[Row]:
    what = "p99 of reads: alone / beside 1,000 requests a second to another process / beside 1,000 page views a second"
    states = ("alone", "beside 1,000 bare 204s", "beside 1,000 views")
    return [(what, " / ".join(f"{figures[name]:.2f}" for name in states) + " ms", "1.5 times", "page_views reads")]


def count_rows(figures: dict[str, float]) -> list[Row]:
    ids, ratio, kept = figures["100 ids"], figures["by views"] / figures["by date"], figures["megabytes"]
    what = "50 million views of 100,000 entries: `_views` of 100 IDs / `orders=-views` against `-publishedAt` / memory"
    return [(what, f"{ids:.1f} ms / {ratio:.1f} times / {kept:.0f} MB", "5 ms / 2 times / 300 MB", "page_views counts")]


ROWS: dict[str, Callable[[Any], list[Row]]] = {
    "hot": hot_rows,
    "engine": engine_rows,
    "search": search_rows,
    "tldr": tldr_rows,
    "million": million_rows,
    "dev": dev_rows,
    "rate limit": rate_limit_rows,
    "views": view_rows,
    "reads": read_rows,
    "counts": count_rows,
}


def section(kept: dict[str, Any]) -> str:
    """The part of the page between the marks, in Markdown."""
    days = sorted({one["measured"] for one in kept.values()})
    told = f"{days[0]} to {days[-1]}" if len(days) > 1 else "".join(days)
    blocks = [
        f"Medians on {os.cpu_count()} cores, measured {told}; `python -m benchmarks.published` measures all again."
    ]
    if "sizes" in kept:
        blocks += ["![Answer times and memory from ten thousand entries to a million](pictures/sizes.svg)"]
        blocks += [sizes_table(kept["sizes"]["figures"]), "Measured by `python -m benchmarks.reading.sizes`."]
    if "peers" in kept:
        blocks += [peers_table(kept["peers"]["figures"]), "Measured by `python -m benchmarks.reading.peers BENCH`."]
    if "edits" in kept:
        blocks += [
            "![Time until one changed entry is served, from ten thousand entries to a million](pictures/edits.svg)"
        ]
        blocks += [*edits_table.tables(kept["edits"]["figures"]), "Measured by `python -m benchmarks.building.edits`."]
    rows = [row for name, make in ROWS.items() if name in kept for row in make(kept[name]["figures"])]
    if rows:
        lines = [("what", "figure", "target", "measured by"), ("---",) * 4]
        lines += [(what, figure, bar, f"`python -m benchmarks.{command}`") for what, figure, bar, command in rows]
        blocks.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
    return "\n\n".join(blocks)


def rewrite(kept: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE} needs the lines {BEGIN} and {END}, in this order.")
    PAGE.write_text(f"{before}{BEGIN}\n\n{section(kept)}\n\n{END}{after}", encoding="utf-8")
    if "sizes" in kept and len(kept["sizes"]["figures"]) > 1:
        draw(kept["sizes"]["figures"], CHART)
    if "edits" in kept:
        edits_chart.draw(kept["edits"]["figures"]["lines"], EDITS_CHART)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="the parts to run, with commas; none: write what is kept")
    parser.add_argument("--work", type=Path, help="where reading/sizes.py keeps its stores")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--bench", type=Path, help="the folder of the peers' bench")
    parser.add_argument("--peers", default=PEERS, help=f"default: {PEERS}")
    parser.add_argument("--rounds", default="2", help="of the peers' bench, 20 minutes each")
    parser.add_argument("--tldr", type=Path, help="the archive of building/tldr.py")
    parser.add_argument("--million", type=Path, help="where building/million.py may put 20 GB, which stay there")
    parser.add_argument("--edits", type=Path, help="where building/edits.py may put 20 GB, which stay there")
    options = parser.parse_args()
    known = parts(options)
    wanted = list(known) if options.only is None else [name for name in options.only.split(",") if name != "none"]
    if unknown := set(wanted) - set(known):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    run = {name: known[name] for name in wanted if not known[name].needs or getattr(options, known[name].needs)}
    for name in sorted(set(wanted) - set(run)):
        print(f"{name} is left out: give --{known[name].needs}")
    print(f"{', '.join(run) or 'nothing'} to run, at most {sum(part.minutes for part in run.values()):.0f} minutes")
    kept = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    failed = []
    for name, part in run.items():
        began = time.monotonic()
        command = [sys.executable, "-m", f"benchmarks.{part.command[0]}", *part.command[1:]]
        command += [] if "--json" in command else ["--json"]
        done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            failed.append(name)
            continue
        figures = json.loads(done.stdout.splitlines()[-1])
        kept[name] = {"measured": f"{datetime.now(UTC):%Y-%m-%d}", "figures": figures}
        FIGURES.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    rewrite(kept)
    if failed:
        sys.exit(f"failed, their older figures are kept: {', '.join(failed)}")


if __name__ == "__main__":
    main()

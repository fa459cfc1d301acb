"""What a question costs at ten thousand, a hundred thousand and a million entries, over HTTP, and the chart of it.

    python -m benchmarks.reading.sizes [--sizes 10000 100000 1000000] [--work DIR] [--rounds 101] [--json]
            [--chart FILE]
    python -m benchmarks.reading.sizes --figures FILE --chart FILE

Entries are in two languages, with about 2 KB of text each. A store of each size is made under ``--work`` where it is
not there yet (a million: some ten minutes, 12 GB). Over each, ``cms serve``'s server is started with one worker, once
with an empty cache and once more, and asked over one connection; parameters differ from request to request, so that no
kept answer helps. ``--figures`` takes what ``--json`` printed and measures nothing; a chart needs matplotlib (the
extra ``bench``).
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from http.client import HTTPConnection
from itertools import cycle, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from benchmarks.reading.engine_queries import words
from benchmarks.reading.sized_stores import BUILT, sized_store
from snapshots.store.store import Store
from snapshots.times import format_datetime
from tests.sites.served_site import Running, eventually, serving

QUESTIONS = {
    "Q1": "first page, newest first",
    "Q2": "one entry",
    "Q3": "of a category, by rating, 20",
    "Q4": "a word anywhere in the text, newest first",
    "Q5": "newest 100, two references expanded",
    "Q6": "page at 90 % of the list",
    "Q7": "count by category and rating",
}
TERMS = ("one letter", "two letters", "three letters", "two words", "no hit")
FILES = "/v1/bench/entries"
START_LIMIT = 900.0


def in_turns(terms: Iterable[str], chance: random.Random) -> Callable[[], str]:
    """Terms in any order, none for a second time before each was asked for: what is found is kept."""
    every = list(terms)
    chance.shuffle(every)
    return cycle(every).__next__


def questions(entries: int, chance: random.Random) -> dict[str, Callable[[], str]]:
    """The target of the next request, by question."""
    word, two_words = in_turns(words(), chance), in_turns(words(), chance)
    letters = [in_turns(map("".join, product(ascii_lowercase, repeat=count)), chance) for count in range(4)]

    def before() -> str:
        """A moment within the newest twentieth."""
        return format_datetime(BUILT - 86_400_000 - chance.randrange(entries * 50))

    def listed(query: Callable[[], str]) -> Callable[[], str]:
        return lambda: f"{FILES}?depth=0&{query()}"

    def searched(term: Callable[[], str]) -> Callable[[], str]:
        return listed(lambda: f"limit=10&q={term()}")

    def category() -> str:
        return f"category[equals]category-{chance.randrange(20)}"

    expanded = "limit=100&depth=1&fields=title,body,category,rating,author,section"
    return {
        "Q1": listed(lambda: f"limit=10&filters=publishedAt[less_than]{before()}"),
        "Q2": lambda: f"{FILES}/e{chance.randrange(entries):07d}?depth=0",
        "Q3": listed(lambda: f"limit=20&orders=-rating&filters={category()}[and]publishedAt[less_than]{before()}"),
        "Q4": searched(word),
        "Q5": lambda: f"{FILES}?{expanded}&filters=publishedAt[less_than]{before()}",
        "Q6": listed(lambda: f"limit=10&offset={entries * 9 // 10}&filters=publishedAt[less_than]{before()}"),
        "Q7": listed(
            lambda: f"limit=1&fields=id&filters={category()}[and]rating[greater_than]{chance.random() * 100:.3f}"
        ),
        "one letter": searched(lambda: f"{letters[1]()}&offset={chance.randrange(1000)}"),
        "two letters": searched(lambda: f"{letters[2]()}&offset={chance.randrange(1000)}"),
        "three letters": searched(letters[3]),
        "two words": searched(lambda: f"{two_words()}+{two_words()}"),
        "no hit": searched(lambda: f"zq{letters[3]()}{letters[3]()}qz"),
    }


def ask(server: Running, entries: int, rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each answer over one connection, the questions in turns; the first of each does not count."""
    chance = random.Random(time.time_ns())
    connection = HTTPConnection(server.host, timeout=60)
    asked = questions(entries, chance)
    times: dict[str, list[float]] = {name: [] for name in asked}
    for target in asked.values():
        connection.request("GET", target(), headers=server.headers)
        connection.getresponse().read()
    for _ in range(rounds):
        for name, target in asked.items():
            path = target()
            began = time.perf_counter()
            connection.request("GET", path, headers=server.headers)
            answer = connection.getresponse()
            body = answer.read()
            times[name].append((time.perf_counter() - began) * 1000)
            if answer.status != 200:
                sys.exit(f"{path}: {answer.status} {body.decode()[:200]}")
    connection.close()
    return times


def memory(pid: int) -> dict[str, float]:
    """Megabytes of a process and its children: resident, the same with each shared page counted once, of that in
    mapped files, which the system may drop, and resident at most."""
    found = dict.fromkeys(("rss", "pss", "files", "peak"), 0.0)
    todo = [pid]
    while todo:
        process = Path(f"/proc/{todo.pop()}")
        text = (process / "smaps_rollup").read_text() + (process / "status").read_text()
        for name, label in (("rss", "\nRss:"), ("pss", "\nPss:"), ("files", "\nPss_File:"), ("peak", "\nVmHWM:")):
            found[name] += int(text.partition(label)[2].split()[0]) / 1024
        for task in (process / "task").iterdir():
            todo += map(int, (task / "children").read_text().split())
    return {name: round(megabytes) for name, megabytes in found.items()}


def ready(server: Running) -> bool:
    try:
        return server.get("/readyz").status == 200
    except TimeoutError:
        return False


def measure(store: Store, key: str, entries: int, rounds: int, log: Path) -> dict[str, Any]:
    """All figures of one size: ready times in seconds, questions in milliseconds, memory in megabytes."""
    shutil.rmtree(store.cache, ignore_errors=True)
    figures: dict[str, Any] = {"entries": entries}
    for name in ("first", "later"):
        began = time.perf_counter()
        with serving(store, log, key=key, from_nothing=True) as server:
            eventually(partial(ready, server), within=START_LIMIT)
            figures[f"ready, {name}"] = round(time.perf_counter() - began, 2)
            if name == "first":
                figures["memory, first start"] = memory(server.process.pid)
            else:
                figures["memory, started"] = memory(server.process.pid)
                times = ask(server, entries, rounds)
                figures["memory, asked"] = memory(server.process.pid)
    figures["median"] = {name: round(statistics.median(some), 3) for name, some in times.items()}
    figures["p95"] = {name: round(sorted(some)[len(some) * 95 // 100], 3) for name, some in times.items()}
    return figures


def table(sizes: list[dict[str, Any]]) -> str:
    """The figures as a Markdown table, a column a size."""
    rows = [("", [f"{one['entries']:,} × 2" for one in sizes]), ("---", ["---"] * len(sizes))]
    for name, meaning in QUESTIONS.items():
        rows.append((f"{name}: {meaning}", [f"{one['median'][name]:.1f} ms" for one in sizes]))
    for name in TERMS:
        rows.append((f"Q4 with {name}", [f"{one['median'][name]:.1f} ms" for one in sizes]))
    for name in ("first", "later"):
        rows.append((f"ready after a {name} start", [f"{one[f'ready, {name}']:.1f} s" for one in sizes]))
    asked = [one["memory, asked"] for one in sizes]
    rows.append(("resident after all of these", [f"{one['pss']:,} MB" for one in asked]))
    rows.append(("of that, mapped files", [f"{one['files']:,} MB" for one in asked]))
    rows.append(("resident at most in a first start", [f"{one['memory, first start']['peak']:,} MB" for one in sizes]))
    return "\n".join(f"| {' | '.join([label, *cells])} |" for label, cells in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--work", type=Path, help="where the stores are kept for another run")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--figures", type=Path, help="figures of an earlier run, in place of measuring")
    parser.add_argument("--chart", type=Path, help="draw the figures into this SVG file")
    options = parser.parse_args()
    if options.figures:
        sizes = json.loads(options.figures.read_text())
    else:
        with tempfile.TemporaryDirectory(prefix="parquetry-sizes-") as scratch:
            sizes = []
            for entries in sorted(options.sizes):
                store, key = sized_store((options.work or Path(scratch)) / str(entries), entries)
                sizes.append(measure(store, key, entries, options.rounds, Path(scratch) / "log"))
    print(json.dumps(sizes) if options.json else table(sizes))
    if options.chart:
        from benchmarks.reading.sizes_chart import draw  # noqa: PLC0415 - only a chart needs matplotlib

        draw(sizes, options.chart)


if __name__ == "__main__":
    main()

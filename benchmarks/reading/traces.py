"""What traces cost: requests a second of a server that records one in ten of them, beside one that records none.

    python -m benchmarks.reading.traces [--rounds 15] [--seconds 1] [--share 0.1] [--only Q1] [--json]

Both servers run over the same store, in turns under wrk, each with one worker; a collector takes what is recorded.
What answers has one core for itself, where the system can hold a process to one: the keeper, which sends the spans, wrk
and the collector share the others, as they would not be on that core, or on that machine, where many ask.
Prints the medians of the turns, with processor time of the process that answers and of all processes of the server,
and the median of what each turn lost beside the one before it. ``made`` asks for answers that are not kept.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.reading.hot import QUERIES, content, load
from tests.servers.trace_collector import collecting
from tests.sites.served_site import Running, Site, eventually, serving


def own_seconds(pid: int) -> float:
    """The processor time that a process has used so far, without its children."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def cores() -> list[int]:
    """The cores to which a process can be held; none where the system holds none to any."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []


def hold(pid: int, chosen: list[int]) -> None:
    """Hold every thread of a process, and what it starts, to some cores; to any where there are none to choose."""
    if chosen:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), chosen)


def turn(server: Running, target: str, headers: list[str], seconds: float) -> tuple[float, float, float]:
    """Requests a second, and microseconds of processor time a request: of the worker, and of all processes."""
    before = own_seconds(server.process.pid)
    rate, cost = load(f"http://{server.host}{target}", server.process.pid, headers, seconds)
    return rate, (own_seconds(server.process.pid) - before) / (rate * seconds) * 1e6, cost


def compare(
    off: Running, on: Running, target: str, headers: list[str], rounds: int, seconds: float
) -> dict[str, float]:
    """One query: the medians of ``turn`` without traces and with, and the share of requests that is lost."""
    for server in (off, on):
        turn(server, target, headers, seconds)
    found: dict[str, list[tuple[float, float, float]]] = {"off": [], "on": []}
    for number in range(rounds):
        turns = (("off", off), ("on", on))
        for name, server in turns if number % 2 else reversed(turns):
            found[name].append(turn(server, target, headers, seconds))
    lost = [1 - with_them[0] / without[0] for without, with_them in zip(found["off"], found["on"], strict=True)]
    medians = {
        f"{name} {what}": statistics.median(column)
        for name, turns in found.items()
        for what, column in zip(("rate", "worker", "all"), zip(*turns, strict=True), strict=True)
    }
    return {**medians, "lost": statistics.median(lost)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--only", help="one query, such as Q1, or made")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is needed: apt-get install wrk")
    queries = {name: (query, {}) for name, query in QUERIES.items()}
    queries["made"] = (QUERIES["Q3"], {"answer_cache": 0})
    with tempfile.TemporaryDirectory() as directory, collecting(decodes=False) as (collector, address):
        site = Site(Path(directory))
        content(site)
        _, key = site.key()
        headers = [f"X-API-KEY: {key}"]
        figures = {}
        first, others = cores()[:1], cores()[1:]
        hold(os.getpid(), others)
        if not options.json:
            print("         without/s  worker us  all us     with/s  worker us  all us    lost")
        for name, (query, settings) in queries.items():
            if options.only not in (None, name):
                continue
            with (
                serving(site.store, Path(directory) / "off", key=key, from_nothing=True, **settings) as off,
                serving(
                    site.store,
                    Path(directory) / "on",
                    key=key,
                    from_nothing=True,
                    cache=str(Path(directory) / "cache"),
                    CMS_TRACES=address,
                    CMS_TRACES_SHARE=str(options.share),
                    **settings,
                ) as on,
            ):
                for server in (off, on):
                    eventually(lambda server=server: server.get("/v1/acme/_schema").status == 200, within=120)
                    if others:
                        hold(server.process.pid, first)
                target = f"/v1/acme/{query}"
                figures[name] = compare(off, on, target, headers, options.rounds, options.seconds)
            if not options.json:
                (rate, own, whole), (traced, traced_own, traced_whole) = (
                    [figures[name][f"{which} {what}"] for what in ("rate", "worker", "all")] for which in ("off", "on")
                )
                print(
                    f"{name:8} {rate:9,.0f} {own:10.1f} {whole:7.1f}  {traced:9,.0f} {traced_own:10.1f} "
                    f"{traced_whole:7.1f} {figures[name]['lost']:7.1%}",
                    flush=True,
                )
        if not collector.paths:
            sys.exit("the collector got nothing")
        if options.json:
            print(json.dumps(figures))


if __name__ == "__main__":
    main()

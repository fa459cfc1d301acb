"""What a rate limit check costs on one machine: median and 99th percentile, one process alone and two at once.

    python -m benchmarks.reading.rate_limit [--checks 50000] [--directory DIR] [--json]

Each process times its own checks one by one, against a file in a fresh folder below DIR (default: the system's
folder for temporary files). Keys take turns, as those of a server's clients do; the last row is one key that all
processes share and that is refused most of the time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

from engine.access.keys.rate_limit import window_name
from engine.access.keys.rate_limit_local import LocalWindows
from snapshots.times import now_ms


def measured(directory: Path, keys: int, limit: int, checks: int, barrier: Barrier) -> list[float]:
    """The µs of each check, in order of size."""
    times = []
    with closing(LocalWindows(directory, now=now_ms())) as windows:
        barrier.wait()
        for number in range(checks):
            began = time.perf_counter_ns()
            windows.take(window_name("acme", f"key_{number % keys}"), limit, now_ms())
            times.append((time.perf_counter_ns() - began) / 1000)
        barrier.wait()
    return sorted(times)


def run(results: multiprocessing.Queue[list[float]], *arguments: object) -> None:
    results.put(measured(*arguments))  # type: ignore[arg-type]  # passed on as given


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checks", type=int, default=50_000)
    arguments.add_argument("--directory", type=Path)
    arguments.add_argument("--json", action="store_true", help="print the figures, in µs, as JSON")
    options = arguments.parse_args()
    context = multiprocessing.get_context("spawn")
    figures: dict[str, list[tuple[float, float, float]]] = {}
    if not options.json:
        print(f"{'':34}{'median':>9}{'p99':>9}{'worst':>10}   µs a check")
    for name, keys, limit in (("20 keys, let through", 20, 1_000_000), ("1 key, limit 300", 1, 300)):
        for count in (1, 2):
            with tempfile.TemporaryDirectory(dir=options.directory) as folder:
                barrier = context.Barrier(count)
                results: multiprocessing.Queue[list[float]] = context.Queue()
                processes = [
                    context.Process(target=run, args=(results, Path(folder), keys, limit, options.checks, barrier))
                    for _ in range(count)
                ]
                for process in processes:
                    process.start()
                found = [results.get() for _ in processes]
                for process in processes:
                    process.join()
            for times in found:
                row = (statistics.median(times), times[int(len(times) * 0.99)], times[-1])
                label = f"{name}, {count} process{'es' if count > 1 else ''}"
                figures.setdefault(label, []).append(row)
                if not options.json:
                    print(f"{label:34}{row[0]:9.1f}{row[1]:9.1f}{row[2]:10.0f}", flush=True)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

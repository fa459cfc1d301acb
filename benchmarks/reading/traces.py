"""What traces cost: requests a second of a server that records one in ten, beside the same server recording none.

    python -m benchmarks.reading.traces [--seconds 60] [--phase 1000] [--every 10] [--only Q1] [--json]

The server has one worker, and sends what is recorded to a collector. wrk asks so many requests of a phase without
``traceparent``, then as many with it in one of ten, and so on: one process is compared with itself, as two that do the
same differ by more than traces cost, and phases are short, so that the work of others on the machine meets both alike.
What answers has one core for itself, where the system can hold a process to one: the keeper, which sends the spans, wrk
and the collector share the others, as they would not be on that core, or on that machine, where many ask. Phases that
last several seconds tell what the keeper's work costs there, too.
Prints the medians of the phases, and of what each phase lost beside the one before it, with the bounds between which
the latter lies by 95 %: where they are far apart, it takes more phases. ``made`` asks for answers that are not kept.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.reading.hot import CONNECTIONS, QUERIES, content
from tests.servers.trace_collector import collecting
from tests.sites.served_site import Running, Site, eventually, serving

SCRIPT = """
local ffi = require("ffi")
ffi.cdef("typedef struct {{ long s; long ns; }} moment; int clock_gettime(int clock, moment *now);")
local now, asked, began, plain, recorded = ffi.new("moment"), 0, nil, nil, nil
init = function()
  plain = wrk.format()
  wrk.headers["traceparent"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  recorded = wrk.format()
end
request = function()
  if asked % {phase} == 0 then
    ffi.C.clock_gettime(1, now)
    local at = tonumber(now.s) + tonumber(now.ns) / 1e9
    if began then print("phase", at - began) end
    began = at
  end
  asked = asked + 1
  local records = math.floor((asked - 1) / {phase}) % 2 == 1
  return records and asked % {every} == 0 and recorded or plain
end
"""
"""wrk's: phases without and with, in turns; it prints the seconds of each."""
WARMING = 4
"""Phases that do not count."""


def cores() -> list[int]:
    """The cores to which a process can be held; none where the system holds none to any."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []


def hold(pid: int, chosen: list[int]) -> None:
    """Hold every thread of a process, and what it starts, to some cores; to any where there are none to choose."""
    if chosen:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), chosen)


def compare(
    server: Running, target: str, headers: list[str], script: Path, phase: int, seconds: float
) -> dict[str, float]:
    """One query: requests a second without traces and with, and the share of them that is lost."""
    flags = [word for header in headers for word in ("-H", header)]
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "-s", str(script), *flags]
    told = subprocess.run([*command, f"http://{server.host}{target}"], capture_output=True, text=True, check=True)
    if "Non-2xx" in told.stdout or "Socket errors" in told.stdout:
        sys.exit(told.stdout)
    taken = [float(line.split()[1]) for line in told.stdout.splitlines() if line.startswith("phase")][WARMING:]
    off, on = taken[0::2], taken[1::2]
    lost = [1 - without / with_them for without, with_them in zip(off, on, strict=False)]
    low, high = bounds(lost)
    return {
        "off": phase / statistics.median(off),
        "on": phase / statistics.median(on),
        "lost": statistics.median(lost),
        "lost at least": low,
        "lost at most": high,
        "pairs": len(lost),
    }


def bounds(values: list[float]) -> tuple[float, float]:
    """Return the values between which the median lies with a probability of 95 %, by their ranks."""
    ordered = sorted(values)
    outside = max(round(len(ordered) / 2 - 0.98 * math.sqrt(len(ordered))), 0)
    return ordered[outside], ordered[len(ordered) - 1 - outside]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="of each query")
    parser.add_argument("--phase", type=int, default=1000, help="requests of a phase")
    parser.add_argument("--every", type=int, default=10, help="of so many requests, one is recorded")
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
        script = Path(directory) / "phases.lua"
        script.write_text(SCRIPT.format(phase=options.phase, every=options.every))
        figures = {}
        first, others = cores()[:1], cores()[1:]
        hold(os.getpid(), others)
        if not options.json:
            print("         without/s     with/s    lost  by 95 %            pairs")
        for name, (query, settings) in queries.items():
            if options.only not in (None, name):
                continue
            with serving(
                site.store,
                Path(directory) / "log",
                key=key,
                from_nothing=True,
                CMS_TRACES=address,
                CMS_TRACES_SHARE="0",
                **settings,
            ) as server:
                eventually(lambda server=server: server.get("/v1/acme/_schema").status == 200, within=120)
                if others:
                    hold(server.process.pid, first)
                headers, target = [f"X-API-KEY: {key}"], f"/v1/acme/{query}"
                found = figures[name] = compare(server, target, headers, script, options.phase, options.seconds)
            if not options.json:
                print(
                    f"{name:8} {found['off']:9,.0f}  {found['on']:9,.0f} {found['lost']:7.1%}  "
                    f"{found['lost at least']:6.1%} to {found['lost at most']:6.1%}  {found['pairs']:6.0f}",
                    flush=True,
                )
        if not collector.paths:
            sys.exit("the collector got nothing")
        if options.json:
            print(json.dumps(figures))


if __name__ == "__main__":
    main()

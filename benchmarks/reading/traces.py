"""What traces cost: requests a second of a server that records one in ten, beside the same server recording none.

    python -m benchmarks.reading.traces [--seconds 60] [--phase 0.1] [--share 0.1] [--only Q1] [--json]

The server has one worker, and sends what is recorded to a collector. In one phase of the clock it records nothing, in
the next one in ten requests, and so on: one process is compared with itself, as two that do the same differ by more
than traces cost, and phases are short, so that the work of others on the machine meets both alike.
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
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.reading.hot import CONNECTIONS, QUERIES, content
from tests.servers.trace_collector import collecting
from tests.sites import served_site
from tests.sites.served_site import Running, Site, eventually, serving

SERVER = """
import random, time
from types import SimpleNamespace
import server.tracing.recording as recording
def in_phases():
    return random.random() if int(time.monotonic() / {phase}) % 2 else 1.0
recording.random = SimpleNamespace(random=in_phases)
"""
"""What goes before the server's start: chance never falls on a request of an even phase."""
ASKED = """
local ffi = require("ffi")
ffi.cdef("typedef struct {{ long s; long ns; }} moment; int clock_gettime(int clock, moment *now);")
local now, asked, phase, plain = ffi.new("moment"), 0, nil, nil
init = function() plain = wrk.format() end
request = function()
  ffi.C.clock_gettime({clock}, now)
  local at = math.floor((tonumber(now.s) + tonumber(now.ns) / 1e9) / {phase})
  if at ~= phase then
    if phase then print("phase", phase % 2, asked) end
    phase, asked = at, 0
  end
  asked = asked + 1
  return plain
end
"""
"""wrk's: it prints the requests of each phase, by the same clock."""
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
    server: Running, target: str, headers: list[str], script: Path, phase: float, seconds: float
) -> dict[str, float]:
    """One query: requests a second without traces and with, and the share of them that is lost."""
    flags = [word for header in headers for word in ("-H", header)]
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "-s", str(script), *flags]
    told = subprocess.run([*command, f"http://{server.host}{target}"], capture_output=True, text=True, check=True)
    if "Non-2xx" in told.stdout or "Socket errors" in told.stdout:
        sys.exit(told.stdout)
    lines = [line.split() for line in told.stdout.splitlines() if line.startswith("phase")][WARMING:]
    counted = [(int(number), int(requests)) for _, number, requests in lines]
    lost = [1 - on / off for (one, off), (other, on) in pairwise(counted) if (one, other) == (0, 1)]
    rates = [statistics.median(n / phase for which, n in counted if which == number) for number in (0, 1)]
    low, high = bounds(lost)
    return {
        "off": rates[0],
        "on": rates[1],
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
    parser.add_argument("--phase", type=float, default=0.1, help="seconds of a phase")
    parser.add_argument("--share", type=float, default=0.1, help="of requests that are recorded")
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
        script.write_text(ASKED.format(phase=options.phase, clock=time.CLOCK_MONOTONIC))
        served_site.SCRIPT[1] = SERVER.format(phase=options.phase) + served_site.SERVE
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
                CMS_TRACES_SHARE=str(options.share),
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

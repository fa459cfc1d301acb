"""What reads of `/v1` cost while people use the console of the same server.

    python -m benchmarks.reading.console [--rounds 5] [--seconds 16] [--entries 2000]

A list is asked for 250 times a second: alone, beside a *clicking* console (four people who go round all pages, 2 pages
a second together), and beside a *pressed* one (a program that asks for the comparison of two versions again and again
without a pause). The three take turns in every round, with the requests' bare cost to the machine aside: so a machine
that is busy with something else is as busy for each. It prints the p99 of each and, of each round, its ratio to that
alone; beside them stands how much of the cores' time the hypervisor and other programs took. In the end it prints how
long pages take, alone and while other programs take all cores. ``--json`` prints the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from contextlib import redirect_stdout
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path

from benchmarks.page_views import cores_ticks, read_times
from engine.access.sign_in.people import Person
from engine.access.sign_in.sign_ins import SignIns
from snapshots.store.locations import open_objects
from snapshots.times import now_ms
from tests.sites.served_site import Site, eventually, serving

CLICKS: float = 2.0
"""Pages a second of the clicking people together."""
CONSOLE = "/console/acme"


def signed_in(host: str, store: Path) -> str:
    """Return the cookie of an operator's session."""
    token = SignIns(open_objects(store)).new_link(Person("bench", is_operator=True), now_ms())
    connection = HTTPConnection(host)
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/console/-/link", f"token={token}", headers)
    cookies = connection.getresponse().headers.get_all("Set-Cookie") or []
    connection.close()
    return next(cookie.partition(";")[0] for cookie in cookies if "session=" in cookie)


def use_console(host: str, cookie: str, paths: list[str], seconds: float, rate: float | None) -> list[float]:
    """Ask for pages at a ``rate`` a second, ``None`` as quickly as they come: the milliseconds that each took."""
    times = []
    connection = HTTPConnection(host)
    began = time.perf_counter()
    for number, path in enumerate(cycle(paths)):
        due = began + (0.0 if rate is None else number / rate)
        if max(due, time.perf_counter()) > began + seconds:
            break
        time.sleep(max(0.0, due - time.perf_counter()))
        asked = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        times.append((time.perf_counter() - asked) * 1000)
        assert answer.status == 200, (path, answer.status)
    connection.close()
    return times


def take_a_core(seconds: float) -> None:
    """Compute without a pause."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def measure(rounds: int, seconds: float, entries: int) -> dict[str, float]:
    """Print the times of reads, and return the p99 of each case with its ratio to that alone."""
    times: dict[str, list[list[float]]] = {"alone": [], "clicking": [], "pressed": []}
    stolen: dict[str, int] = dict.fromkeys(times, 0)
    ticks: dict[str, int] = dict.fromkeys(times, 0)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), entries=entries)
        first = site.publish("one sentence of a title that many entries have")
        site.publish("another sentence of a title which all the entries have now")
        key = site.key(validity="none")[1]
        with serving(site.store, Path(folder) / "log", key=key, from_nothing=True, CMS_CONSOLE="1") as server:
            eventually(lambda: server.get("/readyz").status == 200)
            port = int(server.host.rsplit(":", 1)[1])
            cookie = signed_in(server.host, site.store.root)
            compared = f"{CONSOLE}/versions/{site.place.versions()[0]}?from={first}"
            pages = [CONSOLE, f"{CONSOLE}/entries", f"{CONSOLE}/entries/posts/post-1", f"{CONSOLE}/schedule"]
            pages += [f"{CONSOLE}/versions", compared, f"{CONSOLE}/settings/api-keys", f"{CONSOLE}/settings/audit-log"]
            use_console(server.host, cookie, pages, 5, None)
            read_times(port, key, 2)
            cases = {"alone": None, "clicking": (pages, CLICKS), "pressed": ([compared], None)}
            for _ in range(rounds):
                for name, case in cases.items():
                    user = None
                    if case is not None:
                        paths, rate = case
                        arguments = (server.host, cookie, paths, seconds + 2, rate)
                        user = context.Process(target=use_console, args=arguments)
                        user.start()
                        time.sleep(1.5)
                    before = cores_ticks()
                    times[name].append(read_times(port, key, seconds))
                    after = cores_ticks()
                    stolen[name] += after[0] - before[0]
                    ticks[name] += after[1] - before[1]
                    if user is not None:
                        user.join()
            pages_alone = use_console(server.host, cookie, pages, seconds, None)
            others = [context.Process(target=take_a_core, args=(seconds + 3,)) for _ in range(os.cpu_count() or 1)]
            for other in others:
                other.start()
            time.sleep(1)
            pages_beside = use_console(server.host, cookie, pages, seconds, None)
            for other in others:
                other.join()
    print(f"{entries:,} entries, {rounds} rounds of {seconds:g} s; load of the machine {os.getloadavg()[1]:.1f}")
    figures = {}
    alone = [statistics.quantiles(row, n=100)[98] for row in times["alone"]]
    for name, rows in times.items():
        each = [statistics.quantiles(row, n=100) for row in rows]
        p50, p99 = (statistics.median(one[percentile] for one in each) for percentile in (49, 98))
        ratio = statistics.median(one[98] / first for one, first in zip(each, alone, strict=True))
        print(f"{name:9} p50 {p50:.2f} ms  p99 {p99:.2f} ms, {ratio:.2f} times that alone, "
              f"{stolen[name] / ticks[name]:.1%} of the cores' time stolen")  # fmt: skip
        figures |= {f"{name} p50": p50, f"{name} p99": p99, f"{name} ratio": ratio}
    for name, row in (("alone", pages_alone), ("beside programs that take all cores", pages_beside)):
        print(f"pages {name}: p50 {statistics.median(row):.0f} ms, at most {max(row):.0f} ms")
        figures |= {f"pages {name} p50": statistics.median(row), f"pages {name} at most": max(row)}
    return figures


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=16)
    arguments.add_argument("--entries", type=int, default=2000)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    with redirect_stdout(sys.stderr if given.json else sys.stdout):
        found = measure(given.rounds, given.seconds, given.entries)
    if given.json:
        print(json.dumps(found))

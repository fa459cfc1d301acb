"""What a kept answer costs beside bare uvicorn sending the same bytes: requests a second, and processor time of each.

    python -m benchmarks.reading.hot [--rounds 5] [--seconds 1] [--workers 1] [--compressed] [--json]

Both servers run in turns under wrk, with 32 connections over loopback; ours checks the key, counts the request for its
limit and writes its line of the access log. Prints medians, and ours as a share of bare.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from snapshots.build.build import build
from snapshots.times import now_ms
from tests.sites.served_site import Running, Site, eventually, serving

CONNECTIONS = 32
ENTRIES = 10_000
QUERIES = {
    "Q1": "entries?limit=10",
    "Q2": "entries/entry-4711",
    "Q3": "entries?filters=category[equals]cat-3&orders=-rating&limit=20",
    "Q4": "entries?q=lorem&limit=10",
    "Q5": "entries?limit=100&depth=1",
    "Q6": "entries?offset=9000&limit=10",
    "Q7": "entries?filters=category[equals]cat-3[and]rating[greater_than]4&limit=1&fields=id",
}
API = """\
uid: api_{name}
name: {name}
endpoint: {name}
kind: list
fields:
{fields}
"""
FIELDS = {
    "authors": "  - {id: name, type: text}\n  - {id: bio, type: textarea}",
    "categories": "  - {id: name, type: text}",
    "entries": (
        "  - {id: title, type: text}\n  - {id: body, type: textarea}\n  - {id: rating, type: number}\n"
        "  - {id: author, type: reference, api: authors}\n  - {id: category, type: reference, api: categories}"
    ),
}
BARE = """
import pathlib, socket, sys
from uvicorn import Config, Server
body = pathlib.Path(sys.argv[1]).read_bytes()
start = {"type": "http.response.start", "status": 200, "headers": [
    (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]}
async def app(scope, receive, send):
    await send(start)
    await send({"type": "http.response.body", "body": body})
listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(listener.getsockname()[1], flush=True)
Server(Config(app, http="httptools", ws="none", lifespan="off", access_log=False, log_level="warning")).run([listener])
"""


def content(site: Site) -> None:
    """Entries of some 2 KB, each with an author and a category."""
    chance = random.Random(1)
    words = ["lorem", *("".join(chance.choices("aeiourstln", k=chance.randint(2, 9))) for _ in range(5000))]

    def text(count: int) -> str:
        return " ".join(chance.choices(words, k=count))

    rows: dict[str, list[dict[str, Any]]] = {
        "authors": [{"id": f"author-{n}", "name": text(2), "bio": text(40)} for n in range(100)],
        "categories": [{"id": f"cat-{n}", "name": text(1)} for n in range(20)],
        "entries": [
            {
                "id": f"entry-{n}",
                "title": text(6),
                "body": text(300),
                "rating": round(chance.random() * 5, 3),
                "author": f"author-{chance.randrange(100)}",
                "category": f"cat-{chance.randrange(20)}",
            }
            for n in range(ENTRIES)
        ],
    }
    for name, entries in rows.items():
        (site.source / "apis" / f"{name}.yaml").write_text(API.format(name=name, fields=FIELDS[name]))
        dated = (
            {**entry, "createdAt": f"2026-01-01T00:{n // 60 % 60:02}:{n % 60:02}Z"} for n, entry in enumerate(entries)
        )
        (site.source / "content" / f"{name}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in dated))
    build(site.source, site.store, now=now_ms())


def processor_seconds(pid: int) -> float:
    """What a process and its children have used so far."""
    total = 0.0
    for stat_file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parts = stat_file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat_file.parent.name) == pid or int(parts[1]) == pid:
            total += (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    return total


def load(url: str, pid: int, headers: list[str], seconds: float) -> tuple[float, float]:
    """(requests a second, microseconds of the server's processor time a request)."""
    before = processor_seconds(pid)
    flags = [word for header in headers for word in ("-H", header)]
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", *flags, url]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in told or "Socket errors" in told:
        sys.exit(told)
    [requests], [rate] = re.findall(r"(\d+) requests in", told), re.findall(r"Requests/sec: +([\d.]+)", told)
    return float(rate), (processor_seconds(pid) - before) / int(requests) * 1e6


def compare(
    server: Running, target: str, headers: list[str], directory: Path, rounds: int, seconds: float
) -> dict[str, float]:
    """One query: bytes, requests a second of ours and of bare, and microseconds of processor time a request."""
    sent = dict(header.split(": ", 1) for header in headers)
    file = directory / "body"
    for _ in range(2):
        file.write_bytes(server.get(target, headers=sent).body)
    bare = subprocess.Popen([sys.executable, "-c", BARE, str(file)], stdout=subprocess.PIPE, text=True)
    assert bare.stdout is not None
    try:
        port = bare.stdout.readline().strip()
        found: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
        for _ in range(rounds):
            found["bare"].append(load(f"http://127.0.0.1:{port}{target}", bare.pid, headers, seconds))
            found["ours"].append(load(f"http://{server.host}{target}", server.process.pid, headers, seconds))
    finally:
        bare.kill()
        bare.wait()
    (rate, cost), (bare_rate, bare_cost) = (
        tuple(statistics.median(column) for column in zip(*found[name], strict=True)) for name in ("ours", "bare")
    )
    return {"bytes": file.stat().st_size, "ours": rate, "bare": bare_rate, "ours us": cost, "bare us": bare_cost}


def row(name: str, found: dict[str, float]) -> str:
    size, rate, bare_rate, cost, bare_cost = found.values()
    return (
        f"{name:8} {size:9,} {rate:9,.0f} {bare_rate:9,.0f} {rate / bare_rate:7.0%}"
        f" {cost:8.1f} {bare_cost:8.1f} {bare_cost / cost:7.0%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--compressed", action="store_true", help="ask for zstd")
    parser.add_argument("--only", help="one query, such as Q1")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is needed: apt-get install wrk")
    with tempfile.TemporaryDirectory() as directory:
        site = Site(Path(directory))
        content(site)
        # One key never has more in a window than the counts of a machine hold: a minute of one key is enough here.
        _, key = site.key()
        headers = [f"X-API-KEY: {key}", *(["Accept-Encoding: zstd"] if options.compressed else [])]
        figures = {}
        if not options.json:
            print("             bytes  ours r/s  bare r/s   share  ours us  bare us   share")
        with serving(
            site.store, Path(directory) / "log", key=key, from_nothing=True, workers=options.workers
        ) as server:
            eventually(lambda: server.get("/v1/acme/_schema").status == 200, within=120)
            for name, query in QUERIES.items():
                if options.only in (None, name):
                    target = f"/v1/acme/{query}"
                    figures[name] = compare(server, target, headers, Path(directory), options.rounds, options.seconds)
                    if not options.json:
                        print(row(name, figures[name]), flush=True)
        if options.json:
            print(json.dumps(figures))


if __name__ == "__main__":
    main()

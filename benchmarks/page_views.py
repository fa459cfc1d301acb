"""What page views cost: recording beside a bare ASGI application, reads meanwhile, and counts at 50 million views.

    python -m benchmarks.page_views record [--rounds 3] [--seconds 4]
    python -m benchmarks.page_views reads [--rounds 5] [--seconds 16]
    python -m benchmarks.page_views counts [--keys 100000] [--views 50000000]

``record`` runs the real server and, in turns, an application that reads the body and answers 204, both with the same
HTTP parser in one process, under the same 32 connections. ``reads`` asks ``/v1`` for a list 250 times a second: alone,
beside 1,000 views a second, and beside 1,000 requests a second to that bare application in its other process, which
tells what the load itself does to the machine; beside each stands how much of the cores' time the hypervisor took
meanwhile, which tells a noisy run from a slow server. A part of a round should last as long as it takes the writer of
page views to come to its file for analysts again, 15 seconds, or it holds that too often or never. ``counts`` makes
counts files spread evenly over a year, which is the most rows there can be, and asks. ``--json``, before the name of
the part, prints the figures as JSON; what people read goes to standard error then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from http.client import HTTPConnection
from pathlib import Path

import duckdb
import msgspec
import pyarrow.parquet as pq

from engine.read.query.answers.view_counts import parse_views_query, views_document
from engine.read.reader.reader import open_reader
from engine.views.collecting.targets import day_of, jst_day
from engine.views.counting.count_files import COUNTS, TODAY, CountState
from engine.views.counting.counts import CountsFile
from snapshots.times import now_ms
from tests.generated.asked import asked
from tests.sites.served_site import Running, Site, eventually, serving

CONNECTIONS = 32
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
BARE = """
import socket, sys
from uvicorn import Config, Server
from server.http.protocol import DeliveryProtocol
from tests.generated.asked import asked
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})
listener = socket.create_server(("127.0.0.1", 0))
print("http://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
config = Config(app, http=DeliveryProtocol, ws="none", lifespan="off", access_log=False, log_level="warning")
Server(config).run([listener])
"""


def view_request(chance: random.Random) -> bytes:
    body = json.dumps({"path": f"/page/{chance.randrange(1000)}"}).encode()
    address = ".".join(str(chance.randrange(1, 255)) for _ in range(4))
    head = (
        f"POST /pv/acme HTTP/1.1\r\nHost: x\r\nOrigin: https://acme.example\r\nUser-Agent: {AGENT}\r\n"
        f"X-Forwarded-For: {address}\r\nContent-Type: text/plain;charset=UTF-8\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _connection(port: int, until: float, seed: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    chance = random.Random(seed)
    requests = [view_request(chance) for _ in range(2000)]
    sent = 0
    while time.perf_counter() < until:
        writer.write(requests[sent % len(requests)])
        await reader.readuntil(b"\r\n\r\n")
        sent += 1
    writer.close()
    return sent


def load(port: int, seconds: float, seed: int) -> float:
    """Views a second that were answered, over 32 connections that never wait."""

    async def run() -> int:
        until = time.perf_counter() + seconds
        return sum(await asyncio.gather(*(_connection(port, until, seed + n) for n in range(CONNECTIONS))))

    return asyncio.run(run()) / seconds


def send_paced(port: int, seconds: float, rate: float, seed: int) -> None:
    """So many views a second, at equal distances over 32 connections, for as little work of our own as can be."""
    chance = random.Random(seed)
    requests = [view_request(chance) for _ in range(int(rate * seconds))]
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    began = time.perf_counter()
    for number, request in enumerate(requests):
        connection = connections[number % CONNECTIONS]
        if number >= CONNECTIONS:
            connection.recv(4096)  # the answer to the view before
        time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        connection.sendall(request)
    for connection in connections:
        connection.recv(4096)
        connection.close()
    late = time.perf_counter() - began - seconds
    if late > 0.5:
        print(f"(the views came {late:.1f} s late)")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cores_ticks() -> tuple[int, int]:
    """(taken by the hypervisor, all) of the time of all cores together, in ticks since the machine was started."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return ticks[7], sum(ticks)


@contextmanager
def both_servers(**settings: object) -> Iterator[tuple[Running, int, subprocess.Popen[str], int]]:
    """The server with its port, and the bare application with its port."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder))
        with (site.source / "workspace.yaml").open("a") as file:
            file.write("domains: [acme.example]\n")
        site.publish("one")
        key = site.key(validity="none")[1]
        bare = subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE, text=True)
        try:
            assert bare.stdout is not None
            bare_port = int(bare.stdout.readline().rsplit(":", 1)[1])
            log = Path(folder) / "log"
            with serving(
                site.store, log, key=key, from_nothing=True, CMS_TRUSTED_PROXIES="127.0.0.1", **settings
            ) as server:
                eventually(lambda: server.get("/readyz").status == 200)
                yield server, int(server.host.rsplit(":", 1)[1]), bare, bare_port
        finally:
            bare.kill()
            bare.wait()


def record(rounds: int, seconds: float) -> dict[str, float]:
    figures: dict[str, list[tuple[float, float]]] = {"bare": [], "ours": []}
    with both_servers() as (server, port, bare, bare_port):
        for number in range(rounds):
            for name, at, pid in (("bare", bare_port, bare.pid), ("ours", port, server.process.pid)):
                before = cpu_seconds(pid)
                rate = load(at, seconds, number * 1000)
                used = (cpu_seconds(pid) - before) / (rate * seconds) * 1e6
                figures[name].append((rate, used))
    for name, pairs in figures.items():
        rates, used_all = zip(*pairs, strict=True)
        print(f"{name:5} {statistics.median(rates):8.0f} views/s {statistics.median(used_all):6.0f} us CPU each")
    ratio = statistics.median(o[0] / b[0] for o, b in zip(figures["ours"], figures["bare"], strict=True))
    cost = statistics.median(b[1] / o[1] for o, b in zip(figures["ours"], figures["bare"], strict=True))
    print(f"ours / bare: {ratio:.2f} of the requests a second, {cost:.2f} by CPU")
    return {"share": ratio, "share of cpu": cost}


def reads(rounds: int, seconds: float) -> dict[str, float]:
    times: dict[str, list[list[float]]] = {"alone": [], "beside 1,000 bare 204s": [], "beside 1,000 views": []}
    stolen = dict.fromkeys(times, 0)
    ticks = dict.fromkeys(times, 0)
    context = multiprocessing.get_context("spawn")
    with both_servers() as (server, port, _, bare_port):
        spool = server.log_file.parent / "store" / "acme" / "views" / "spool"
        read_times(port, server.headers["X-API-KEY"], seconds)
        for number in range(rounds):
            for (name, found), at in zip(times.items(), (None, bare_port, port), strict=True):
                sender = None
                if at is not None:
                    arguments = (at, seconds + 2, 1000.0, 7_000_000 + number * 1000)
                    sender = context.Process(target=send_paced, args=arguments)
                    sender.start()
                    time.sleep(1.5)
                before = cores_ticks()
                found.append(read_times(port, server.headers["X-API-KEY"], seconds))
                after = cores_ticks()
                stolen[name] += after[0] - before[0]
                ticks[name] += after[1] - before[1]
                if sender is not None:
                    sender.join()
                if name == "beside 1,000 views":
                    eventually(lambda: not any(spool.glob("*/*.ndjson")), within=60)
                    time.sleep(2)  # until the counts are read again
    figures = {}
    for name, rows in times.items():
        pooled = statistics.quantiles([one for row in rows for one in row], n=100)
        each = statistics.median(statistics.quantiles(row, n=100)[98] for row in rows)
        share = stolen[name] / ticks[name]
        print(f"{name:24} p50 {pooled[49]:.2f} ms  p99 {pooled[98]:.2f} ms, median of rounds {each:.2f} ms "
              f"({sum(map(len, rows))} reads), {share:.1%} of the cores' time stolen")  # fmt: skip
        figures[name] = each
        figures[f"{name}, stolen"] = share
    return figures


def read_times(port: int, key: str, seconds: float) -> list[float]:
    """Milliseconds of each of 250 reads a second over one connection."""
    times = []
    connection = HTTPConnection("127.0.0.1", port)
    connection.connect()
    start = time.perf_counter()
    for number in range(int(seconds * 250)):
        time.sleep(max(0.0, start + number / 250 - time.perf_counter()))
        began = time.perf_counter()
        connection.request("GET", "/v1/acme/posts?limit=10", headers={"X-API-KEY": key})
        answer = connection.getresponse()
        answer.read()
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status == 200
    connection.close()
    return times


def memory() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def median_ms(ask: Callable[[], object], rounds: int = 41) -> float:
    """Milliseconds of CPU time, of which other work on the machine takes none."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        ask()
        times.append((time.process_time() - began) * 1000)
    return statistics.median(times)


def read_alone(directory: Path, results: multiprocessing.Queue[tuple[float, float, float]]) -> None:
    """Seconds, megabytes kept, and megabytes at most."""
    before = memory()
    began = time.perf_counter()
    file = CountsFile(directory)
    file.refresh()
    seconds = time.perf_counter() - began
    results.put((seconds, memory() - before, peak()))


def counts(keys: int, views: int) -> dict[str, float]:
    now = now_ms()
    today = jst_day(now)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "views"
        (directory / COUNTS).mkdir(parents=True)
        share = views / keys / 365
        duckdb.sql("SET memory_limit = '4GB'")
        duckdb.sql(
            f"COPY (SELECT 'entry' AS kind, 'post-' || k AS key, DATE '{day_of(today)}' - d::INTEGER AS day, n "
            "AS views "
            f"FROM (SELECT k, d, floor(hash(k, d) % 1000 / 1000.0 * 2 * {share} + 0.5)::BIGINT AS n "
            f"FROM range({keys}) a(k), range(1, 365) b(d)) WHERE n > 0 ORDER BY kind, key, day) "
            f"TO '{directory}/counts/base.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1048576)"
        )
        some = duckdb.sql(
            f"SELECT 'entry' AS kind, 'post-' || k AS key, DATE '{day_of(today)}' AS day, 1::BIGINT AS views "
            f"FROM range(0, {keys}, 7) a(k) ORDER BY key"
        ).to_arrow_table()
        state = msgspec.json.encode(CountState(base="base.parquet", base_day=today - 1))
        pq.write_table(some.replace_schema_metadata({b"parquetry": state}), directory / COUNTS / TODAY)
        rows = pq.ParquetFile(directory / COUNTS / "base.parquet").metadata.num_rows
        context = multiprocessing.get_context("spawn")
        results: multiprocessing.Queue[tuple[float, float, float]] = context.Queue()
        reading = context.Process(target=read_alone, args=(directory, results))  # a process that has done nothing else
        reading.start()
        seconds, kept, most = results.get()
        reading.join()
        print(f"{rows:,} rows of days: read in {seconds:.1f} s, {kept:.0f} MB kept, {most:.0f} MB at most")
        file = CountsFile(directory)
        file.refresh()
        print(f"read again when only today changed: {median_ms(file.refresh, 5):.1f} ms")
        site = Site(Path(folder), entries=keys)
        version = site.publish("one")
        reader = open_reader(site.place.snapshots / version, site.place.manifest(version), site.store.cache)
        api = reader.workspace.apis[0]
        chance = random.Random(1)

        def ids() -> bytes:
            return b"ids=" + ",".join(f"post-{chance.randrange(keys)}" for _ in range(100)).encode()

        def listed(query: str) -> Callable[[], bytes]:
            return lambda: asked(reader, f"{api.endpoint}?{query}", now, views=file.counts.entry_totals)

        def first_after_change() -> float:
            file.refresh()
            began = time.perf_counter()
            listed("orders=-views")()
            return (time.perf_counter() - began) * 1000

        print(f"orders=-views for the first time: {first_after_change():.0f} ms")
        later = statistics.median(first_after_change() for _ in range(9))
        print(f"orders=-views, the first after a change of the counts: {later:.1f} ms")
        by_ids = median_ms(lambda: views_document(reader, api, parse_views_query(ids()), now, now, file.counts))
        print(f"_views for 100 ids: {by_ids:.2f} ms")
        by_date, by_views = median_ms(listed("orders=-publishedAt")), median_ms(listed("orders=-views"))
        print(f"orders=-publishedAt {by_date:.2f} ms, -views {by_views:.2f} ms: {by_views / by_date:.1f} times")
        reader.close()
    return {"megabytes": kept, "100 ids": by_ids, "by date": by_date, "by views": by_views, "after a change": later}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("--rounds", type=int, default=3)
    recording.add_argument("--seconds", type=float, default=4.0)
    reading = commands.add_parser("reads")
    reading.add_argument("--rounds", type=int, default=5)
    reading.add_argument("--seconds", type=float, default=16.0)
    counting = commands.add_parser("counts")
    counting.add_argument("--keys", type=int, default=100_000)
    counting.add_argument("--views", type=int, default=50_000_000)
    options = parser.parse_args()
    with redirect_stdout(sys.stderr) if options.json else nullcontext():
        if options.command == "record":
            figures = record(options.rounds, options.seconds)
        elif options.command == "reads":
            figures = reads(options.rounds, options.seconds)
        else:
            figures = counts(options.keys, options.views)
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

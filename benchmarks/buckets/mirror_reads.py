"""Reads of a server while it pulls versions from a bucket, against reads while nothing happens.

    python -m benchmarks.buckets.mirror_reads [VERSIONS] [ENTRIES]

The versions, in which every entry differs, are in the bucket (SeaweedFS on this machine) with what readers open of them
before anything is measured. Then each is made current; a client asks 200 times a second all the while, and its answers
are told apart by whether a version was on its way, or was being opened. Prints the median and the 99th percentile of
each, in milliseconds, and how long each version took to be pulled.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

from engine.read.files.paths import cache_paths
from engine.read.materialise.shared_parts import make_and_push
from snapshots.build.build import build
from snapshots.store.locations import open_objects
from snapshots.store.store import Store
from snapshots.times import now_ms
from tests.sites.bucket_site import BucketSite, mirror_in, serving_bucket
from tests.sites.served_site import Running
from tests.stores.object_stores import ObjectStore, object_store

QUIET_SECONDS = 5.0
PAUSE = 0.005


class Client:
    """Asks for pages all the time, and keeps the seconds of each answer with the instant at which it was asked."""

    def __init__(self, reader: Running) -> None:
        self._reader = reader
        self.answers: list[tuple[float, float]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        connection = HTTPConnection(self._reader.host, timeout=20)
        generator = random.Random(1)
        while not self._stopping.wait(PAUSE):
            asked = time.monotonic()
            target = f"/v1/acme/posts?limit=10&offset={generator.randrange(1000)}"
            connection.request("GET", target, headers=self._reader.headers)
            response = connection.getresponse()
            response.read()
            assert response.status == 200
            self.answers.append((asked, time.monotonic() - asked))


def version_served(reader: Running) -> str:
    return str(reader.get("/v1/acme/posts?limit=1").headers["x-snapshot"])


def main(versions: int, entries: int) -> None:
    with ExitStack() as ending, tempfile.TemporaryDirectory() as name:
        server = beside_all_else(lambda: ending.enter_context(object_store("seaweedfs")))
        os.environ.update(server.environment)
        directory, url = Path(name), server.place()
        objects = open_objects(url)
        site = BucketSite(directory, objects)
        site.release("first")
        _, key = site.released_key()
        built = [publish(site, entries, number) for number in range(versions)]
        builder = Store(directory / "builder", directory / "builder" / ".cache", objects)
        for version in built:
            site.push_version(version)
            make_and_push(builder.workspace("acme"), cache_paths(builder.cache, "acme"), version)
        size = sum(file.bytes for file in site.place.manifest(built[-1]).files) / 1e6
        mirrored = mirror_in(directory / "reader", url).workspace("acme")
        with serving_bucket(url, directory / "reader", key=key) as reader:
            while reader.get("/v1/acme/posts").status != 200:
                time.sleep(0.1)
            pulls, swaps, client = [], [], Client(reader)
            for version in built:
                time.sleep(QUIET_SECONDS)
                site.activate(version)
                site.push_current()
                begun = time.monotonic()
                while (current := mirrored.current()) is None or current.version != version:
                    time.sleep(0.02)
                pulled = time.monotonic()
                while version_served(reader) != version:
                    time.sleep(0.05)
                pulls.append((begun, pulled))
                swaps.append((pulled, time.monotonic() + 1))
            time.sleep(QUIET_SECONDS)
            client.stop()
    pulling, swapping = (within(client.answers, spans) for spans in (pulls, swaps))
    quiet = [took for asked, took in client.answers if not any(b <= asked <= e for b, e in [*pulls, *swaps])]
    seconds = statistics.median(end - begin for begin, end in pulls)
    print(f"{versions} versions of {size:.0f} MB, and what readers open of them, pulled in {seconds:.1f} s each")
    for label, taken in (("quiet", quiet), ("while pulling", pulling), ("around the swap", swapping)):
        median, last = percentile(taken, 50), percentile(taken, 99)
        print(f"{label:16} {len(taken):6,} answers, ms: median {median:.2f}, p99 {last:.2f}")
    print(f"p99 while pulling / quiet: {percentile(pulling, 99) / percentile(quiet, 99):.2f}")


def beside_all_else(start: Callable[[], ObjectStore]) -> ObjectStore:
    """Start a server that takes the processors when nobody else does, as it would be on another machine."""
    started: list[ObjectStore] = []

    def run() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        started.append(start())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return started[0]


def within(answers: list[tuple[float, float]], spans: list[tuple[float, float]]) -> list[float]:
    return [took for asked, took in answers if any(begin <= asked <= end for begin, end in spans)]


def publish(site: BucketSite, entries: int, number: int) -> str:
    """Build a version of entries that no other version has: random texts, which compress little."""
    generator = random.Random(number)
    with (site.source / "content" / "posts.jsonl").open("w") as content:
        for entry in range(entries):
            line = {"id": f"post-{entry}", "createdAt": "2026-01-01T00:00:00Z", "title": generator.randbytes(500).hex()}
            content.write(json.dumps(line) + "\n")
    return build(site.source, site.store, now=now_ms(), activate=False).version


def percentile(seconds: list[float], share: int) -> float:
    return 1000 * statistics.quantiles(seconds, n=100)[share - 1]


if __name__ == "__main__":
    main(*(int(argument) for argument in [*sys.argv[1:], "6", "40000"][:2]))

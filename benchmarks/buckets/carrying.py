"""Versions carried between a directory and a bucket by ``cms snapshot push`` and ``cms snapshot pull``.

    python -m benchmarks.buckets.carrying [ENTRIES] [MEGABYTES]

With ENTRIES (100,000), one of which is changed: the bytes of the second version, and those pushed and pulled for it.
Then how long ``cms snapshot pull`` takes for a version of MEGABYTES (1,024), and boto3 for a plain copy of the
same objects, in turns, and the ratio of their medians. The bucket is SeaweedFS's, on this machine.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import boto3

from snapshots.build.build import build
from snapshots.columns import FileKind
from snapshots.store.locations import open_objects
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.programs.command_line import CMS
from tests.sites.served_site import Site
from tests.stores.object_stores import ObjectStore, object_store
from tests.stores.store_content import BLOG, data_file, manifest_of, version_at
from tests.stores.store_proxy import store_proxy

ROUNDS = 5
FILES = 4


def cms(*arguments: object) -> None:
    subprocess.run([*CMS, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def write_entries(site: Site, entries: int, edited: int | None) -> None:
    """Write entries of about a kilobyte of text that compresses as texts do."""
    generator = random.Random(1)
    words = [generator.randbytes(4).hex()[: generator.randrange(3, 9)] for _ in range(5000)]
    with (site.source / "content" / "posts.jsonl").open("w") as content:
        for entry in range(entries):
            title = " ".join(generator.choices(words, k=150)) + (" edited" if entry == edited else "")
            line = {"id": f"post-{entry}", "createdAt": f"2026-01-01T00:00:{entry % 60:02}Z", "title": title}
            content.write(json.dumps(line) + "\n")


def one_entry_changed(directory: Path, server: ObjectStore, entries: int) -> None:
    site = Site(directory)
    location = server.place()
    with store_proxy(server.port) as proxy:
        through = location.replace(f":{server.port}/", f":{proxy.port}/")
        for edited in (None, entries // 2):
            write_entries(site, entries, edited)
            version = build(site.source, site.store, now=now_ms()).version
            proxy.sent = proxy.received = 0
            cms("snapshot", "push", through, "--store", site.store.root)
            pushed, proxy.received = proxy.sent, 0
            cms("snapshot", "pull", through, "--store", directory / "pulled")
            size = sum(file.bytes for file in site.place.manifest(version).files)
            label = "all new" if edited is None else "one changed"
            print(f"{label:12} {size / 1e6:.1f} MB, {pushed / 1e6:.1f} pushed, {proxy.received / 1e6:.1f} pulled")


def seconds_to_pull(directory: Path, server: ObjectStore, megabytes: int) -> None:
    source, location = open_store(directory / "large").workspace("acme"), server.place()
    version = version_at(1)
    with source.stage(version) as staging:
        files = []
        for number in range(FILES):
            path = staging.directory / f"l{number}" / "blog" / "all.parquet"
            path.parent.mkdir(parents=True)
            with path.open("wb") as file:
                for _ in range(megabytes // FILES):
                    file.write(os.urandom(1 << 20))
            relative = str(path.relative_to(staging.directory))
            files.append(data_file(staging.directory, relative, BLOG, f"l{number}", FileKind.PUBLISHED, 1))
        source.publish(staging, manifest_of(version, files))
    cms("snapshot", "push", location, "--store", directory / "large")
    objects = open_objects(location)
    keys = [one.key for folder in ("acme/snapshots", "acme/files") for one in objects.names(folder)]
    ours, plain = [], []
    for _ in range(ROUNDS):
        for taken, copy in ((ours, pulled), (plain, copied)):
            began = time.monotonic()
            copy(location, directory / "copy", keys)
            taken.append(time.monotonic() - began)
            shutil.rmtree(directory / "copy")
    ours_median, plain_median = statistics.median(ours), statistics.median(plain)
    print(f"{megabytes:,} MB: cms snapshot pull {ours_median:.1f} s, a plain copy {plain_median:.1f} s", end="")
    print(f" (ratio {ours_median / plain_median:.2f}, {ROUNDS} rounds in turns)")


def pulled(location: str, target: Path, keys: list[str]) -> None:  # noqa: ARG001 - called as ``copied`` is
    cms("snapshot", "pull", location, "--store", target)


def copied(location: str, target: Path, keys: list[str]) -> None:
    """Download objects as the AWS command line does: by boto3, ten requests at once, nothing synced or compared."""
    url = urlsplit(location.partition("+")[2])
    bucket, _, prefix = url.path.strip("/").partition("/")
    client = boto3.client("s3", endpoint_url=f"{url.scheme}://{url.netloc}")

    def download(key: str) -> None:
        (target / key).parent.mkdir(parents=True, exist_ok=True)
        client.download_file(bucket, f"{prefix}/{key}", str(target / key))

    with ThreadPoolExecutor(FILES) as threads:
        list(threads.map(download, keys))


def main(entries: int, megabytes: int) -> None:
    with ExitStack() as ending, tempfile.TemporaryDirectory() as name:
        server = ending.enter_context(object_store("seaweedfs"))
        os.environ.update(server.environment)
        if entries:
            one_entry_changed(Path(name), server, entries)
        if megabytes:
            seconds_to_pull(Path(name), server, megabytes)


if __name__ == "__main__":
    main(*(int(argument) for argument in [*sys.argv[1:], *("100000", "1024")[len(sys.argv) - 1 :]]))

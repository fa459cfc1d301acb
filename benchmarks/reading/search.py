"""What the search index costs, and how long ``q`` takes with it and without, by kind of term.

    python -m benchmarks.reading.search [--entries 10000 100000] [--work DIR] [--rounds 11] [--json]

Generates the snapshot of ``engine_queries.py``, two languages with about 2 KB of text an entry, indexes its files, and
prints the index's size, the build's CPU time a version, and for each kind of term the median of a whole answer through
``engine.read.query.answers.answer`` in ms of CPU time, HTTP left out. ``--work`` keeps the data for another run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from benchmarks.reading.engine_queries import NOW, generate
from benchmarks.reading.segmented import write_indexes
from engine.read.reader.reader import Reader, ReaderSettings, open_reader
from snapshots.columns import indexed_fields, search_column
from snapshots.data_files.stored_columns import lifted, stored_as
from snapshots.store.manifest import Manifest
from tests.generated.asked import asked

TERMS = {
    "one letter": ("e", "q", "a"),
    "two letters": ("ab", "th", "qz"),
    "a part of words": ("abc", "xyz", "ing"),
    "no hit": ("zzzzqqq", "notthere"),
    "one blank": ("+",),
    "a Japanese word": ("%E6%9D%B1%E4%BA%AC",),
}


def text_bytes(data: Path, fields: list[str]) -> int:
    names = [search_column(field) for field in fields]
    with pq.ParquetFile(data) as file:
        stored = stored_as(names, file.schema_arrow)
        batches = (lifted(batch, names) for batch in file.iter_batches(4096, columns=stored))
        return sum(pc.sum(pc.binary_length(column)).as_py() or 0 for batch in batches for column in batch.columns)


def index(snapshot: Path, manifest: Manifest) -> tuple[Manifest, dict[str, Any]]:
    """Write the indexes. Returns the manifest that names them, and what they cost."""
    started = time.process_time()
    indexes = write_indexes(snapshot, manifest)
    cpu = time.process_time() - started
    rows, covered, size = 0, 0, sum(file.bytes for file in indexes)
    for file in manifest.files:
        api = manifest.workspace.api_by_uid(file.api)
        if api is not None and indexed_fields(api):
            rows, covered = rows + file.rows, covered + text_bytes(snapshot / file.path, indexed_fields(api))
    cost = {"share of text": size / covered, "us a version": cpu / rows * 1e6, "bytes": size}
    return replace(manifest, files=(*manifest.files, *indexes)), cost


def words_of(reader: Reader) -> list[str]:
    """The beginnings of some bodies: words, a word with the part of the next, two words."""
    answer = msgspec.json.decode(asked(reader, "entries?depth=0&limit=5", NOW))
    return [entry["body"].removeprefix("<p>") for entry in answer["contents"]]


def ask(reader: Reader, terms: list[str], rounds: int) -> tuple[float, float]:
    """(milliseconds of CPU time, mean share of hits)."""
    times, totals = [], []
    for number in range(max(rounds, len(terms))):
        started = time.process_time()
        answer = asked(reader, f"entries?depth=0&q={terms[number % len(terms)]}", NOW)
        times.append((time.process_time() - started) * 1000)
        totals.append(msgspec.json.decode(answer)["totalCount"])
    return statistics.median(times), statistics.mean(totals)


def measure(snapshot: Path, entries: int, rounds: int) -> dict[str, Any]:
    """The index's cost, and by kind of term the hits and milliseconds with it and without."""
    plain = generate(snapshot, entries)
    settings = ReaderSettings(time_limit=600)
    scanning = open_reader(snapshot, plain, snapshot / "cache-plain", settings)
    manifest, cost = index(snapshot, plain)
    indexing = open_reader(snapshot, manifest, snapshot / "cache-indexed", settings)
    both = (indexing, scanning)
    bodies = words_of(scanning)
    terms = {name: list(some) for name, some in TERMS.items()}
    terms["a word"] = [body.split()[3] for body in bodies]
    terms["a word and a part"] = ["+".join(body.split()[3:5])[:-1] for body in bodies]
    terms["two words"] = ["+".join(body.split()[3:5]) for body in bodies]
    terms["parts of two words"] = [body.split()[3][-2:] + "+" + body.split()[4][:1] for body in bodies]
    figures = {}
    for name, some in terms.items():
        indexed, hits = ask(indexing, some, rounds)
        scanned, _ = ask(scanning, some, min(rounds, 3))
        one, other = (asked(reader, f"entries?q={some[0]}", NOW) for reader in both)
        if one != other:
            raise SystemExit(f"{name}: another answer by the index than without")
        figures[name] = {"hits": hits, "index": indexed, "scan": scanned}
    scanning.close()
    indexing.close()
    return {"entries": entries, "index": cost, "terms": figures}


def show(figures: dict[str, Any]) -> None:
    share, cpu, size = figures["index"].values()
    print(f"\n{figures['entries']:,} entries in two languages")
    print(f"index: {share:.1%} of the text, {cpu:.0f} µs of CPU a version, {size >> 20} MB")
    print(f"{'':20} {'hits':>9} {'index ms':>9} {'scan ms':>9}")
    for name, found in figures["terms"].items():
        print(f"{name:20} {found['hits']:9,.0f} {found['index']:9.2f} {found['scan']:9.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--work", type=Path, help="where the data is kept for another run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="parquetry-bench-") as scratch:
        sizes = []
        for entries in options.entries:
            sizes.append(measure((options.work or Path(scratch)) / str(entries), entries, options.rounds))
            if not options.json:
                show(sizes[-1])
        if options.json:
            print(json.dumps(sizes))


if __name__ == "__main__":
    main()

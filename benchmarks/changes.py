"""How long it takes to tell the changes between two versions of a million entries that differ in ten.

    python -m benchmarks.changes [--entries 1000000] [--rounds 5] [--json]

Writes the two versions' data files with 2 KB of JSON an entry, in row groups as a build makes them. Of the second
version five entries were edited, three are new (one of them the first of the file, so that all rows move), two are
gone. Prints the median seconds of the first call, of calls with everything kept, and of a flip in one version.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.timeline.changes import changes
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point
from snapshots.build.cached.chunks import arrow_field
from snapshots.columns import DIGEST_COLUMN, JSON_COLUMN, OWN, Column, FileKind, columns, own_member
from snapshots.model import ALWAYS, NEVER, Api, ApiKind, Workspace
from snapshots.store.manifest import FORMAT, MANIFEST, DataFile, Manifest, encode_manifest
from snapshots.store.store import WorkspaceStore, new_version, open_store

API = Api("api_articles", "Articles", "articles", ApiKind.LIST, False, ())
WORKSPACE = Workspace(id="acme", name="Acme", languages=("en",), apis=(API,))
GROUP_ROWS = 8192
NOW = 1_800_000_000_000


def write_version(
    workspace_store: WorkspaceStore, number: int, ids: list[str], says: np.ndarray, live_from: np.ndarray
) -> str:
    """Write a version of these entries; ``says`` has a number for what each says."""
    version = new_version(NOW + number, f"{number:08x}")
    directory = workspace_store.snapshots / version
    (directory / "en/articles").mkdir(parents=True)
    count = len(ids)
    source = random.Random(number)
    arrays = {
        "id": pa.array(ids),
        "live_from": pa.array(live_from),
        "live_until": pa.array(np.full(count, NEVER)),
        own_member(DIGEST_COLUMN): pa.array(says),
    }
    *chosen, own = columns(WORKSPACE, API, "en", FileKind.PUBLISHED)
    schema = pa.schema(map(arrow_field, [*chosen, own]))
    path = directory / "en/articles/all.parquet"
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=["live_from", "live_until"]) as writer:
        for first in range(0, count, GROUP_ROWS):
            rows = min(GROUP_ROWS, count - first)
            text = [f"{source.getrandbits(64):x}" * 125 for _ in range(rows)]
            given = {name: array.slice(first, rows) for name, array in arrays.items()}
            given[own_member(JSON_COLUMN)] = pa.array(text)
            zeros = pa.array(np.zeros(rows, np.int64))

            def filled(some: Iterable[Column], given: Mapping[str, pa.Array] = given) -> list[pa.Array]:
                return [given.get(one.name, zeros).cast(arrow_field(one).type) for one in some]  # noqa: B023 - called at once

            struct = pa.StructArray.from_arrays(filled(own.inside), fields=list(schema.field(OWN).type))
            writer.write_table(pa.Table.from_arrays([*filled(chosen), struct], schema=schema))
    digest = hashlib.sha256(f"{number}".encode()).hexdigest()
    file = DataFile(
        "en/articles/all.parquet", API.uid, "en", FileKind.PUBLISHED, count, path.stat().st_size, digest, digest
    )
    manifest = Manifest(FORMAT, version, digest, WORKSPACE, (file,), NOW, "bench@here", "parquetry bench")
    (directory / MANIFEST).write_bytes(encode_manifest(manifest))
    return version


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        workspace_store = open_store(Path(work)).workspace("acme")
        ids = [f"{number * 2654435761 % 2**40:012x}" for number in range(given.entries)]
        says = np.random.default_rng(1).integers(-(2**62), 2**62, given.entries)
        live_from = np.full(given.entries, ALWAYS)
        live_from[::1000] = NOW + 1 + np.arange(len(live_from[::1000])) * 1000
        old = write_version(workspace_store, 1, ids, says, live_from)
        edited = says.copy()
        edited[given.entries // 7 :: given.entries // 5] += 1
        keep = np.ones(given.entries, np.bool_)
        keep[[given.entries // 3, given.entries // 2]] = False
        kept_ids = [one for one, is_kept in zip(ids, keep.tolist(), strict=True) if is_kept]
        new = write_version(
            workspace_store,
            2,
            ["new1", *kept_ids, "new2", "new3"],
            np.array([1, *edited[keep], 2, 3]),
            np.concatenate([[ALWAYS], live_from[keep], [ALWAYS, ALWAYS]]),
        )
        del ids, kept_ids
        figures: dict[str, list[float]] = {"first": [], "kept": [], "flip": []}
        for _ in range(given.rounds):
            kept = ComparedFiles()
            for name, points in (
                ("first", (Point(old, NOW), Point(new, NOW))),
                ("kept", (Point(old, NOW), Point(new, NOW))),
                ("flip", (Point(new, NOW), Point(new, NOW + 2))),
            ):
                begun = time.perf_counter()
                found = changes(workspace_store, *points, kept=kept)
                figures[name].append(time.perf_counter() - begun)
                print(name, found.total, [one.change.value for one in found.entries(0, 12)], figures[name][-1])
    medians = {name: round(statistics.median(values), 4) for name, values in figures.items()}
    print(json.dumps({"entries": given.entries, "seconds": medians}) if given.json else medians)


if __name__ == "__main__":
    main()

"""How long a version takes to be ready to serve: the first time, with one entry changed, and rolled back to.

    python -m benchmarks.building.activation [--case apis] [--case languages] [--case million] [--work DIR] [--json]

- ``apis``: 20 APIs of 10,000 entries in each of 5 languages (1,000,000 rows in all).
- ``languages``: one API of 119,000 tiny entries in all, in 128 languages.
- ``million``: the snapshot of ``reading/engine_queries.py``, 1,000,000 entries of 2 KB in 2 languages, with
  search indexes.

Generates the snapshots straight as Parquet, with the search indexes that a build writes, and opens each version in a
process of its own. Prints the seconds from the beginning until a list is answered, the most memory that the process
had, mapped files included, in MB, and what the cache took on the disk. ``--work`` keeps the snapshots for another run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import msgspec

from benchmarks.reading import engine_queries, sized_stores
from benchmarks.reading.segmented import write_indexes, write_segments
from engine.read.reader.reader import open_reader
from snapshots.model import ALWAYS, NEVER, Api, ApiKind, Field, FieldType, Workspace
from snapshots.store.manifest import FORMAT, DataFile, Manifest, decode_manifest, encode_manifest
from tests.generated.asked import asked

NOW = engine_queries.NOW
FIRST, SECOND = "20260101T000000000Z-00000001", "20260101T000001000Z-00000002"
SQL = """
SELECT printf('e%07d', i) AS id, epoch_ms($now - i * 1000) AS "createdAt", "createdAt" AS "updatedAt",
  "createdAt" AS "publishedAt", epoch_ms($always) AS live_from, epoch_ms($never) AS live_until, {windows}
  CASE WHEN $changed AND i = 5 THEN 'Changed' ELSE printf('%s %d', $name, i) END AS title,
  lower(title) AS title__search,
  {more} to_json({{title: title{members}}})::VARCHAR AS _json
FROM range($rows) r(i) ORDER BY i
"""
MORE = """
  array_to_string(list_transform(range(30), lambda x: word(i, x)), ' ') AS body__search,
  '<p>' || body__search || '</p>' AS body, 'category-' || (hash(i) % 20) AS category,
  (hash(i, 5) % 1000) / 10.0 AS rating, printf('e%07d', (hash(i, 6) % $rows)::BIGINT) AS author,
"""


def case_apis() -> tuple[Workspace, int]:
    """The workspace of the case, and how many rows a file has."""
    apis = []
    for number in range(20):
        fields = (
            Field("title", "Title", FieldType.TEXT),
            Field("body", "Body", FieldType.RICHTEXT),
            Field("category", "Category", FieldType.SINGLE_SELECT),
            Field("rating", "Rating", FieldType.NUMBER),
            Field("author", "Author", FieldType.REFERENCE, target=f"api_Bench{(number + 1) % 20}"),
        )
        apis.append(Api(f"api_Bench{number}", f"Bench {number}", f"bench{number}", ApiKind.LIST, True, fields))
    return Workspace("bench", "Bench", ("ja", "en", "fr", "de", "pt"), apis=tuple(apis)), 10_000


def case_languages() -> tuple[Workspace, int]:
    """The same for many languages."""
    languages = tuple(f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(128))
    fields = (Field("title", "Title", FieldType.TEXT),)
    apis = (Api("api_Bench", "Bench", "bench", ApiKind.LIST, True, fields),)
    return Workspace("bench", "Bench", languages, apis=apis), 930


class Snapshots:
    """Two versions of a workspace below a directory, which differ in one entry of one file."""

    def __init__(self, directory: Path, workspace: Workspace, rows: int) -> None:
        self._directory = directory
        self._workspace = workspace
        self._rows = rows
        self._connection = duckdb.connect()
        self._connection.execute("SET VARIABLE words = ?", [engine_queries.words()])
        self._connection.execute(
            "CREATE MACRO word(i, x) AS getvariable('words')[1 + (hash(i, x + 100) % 5000)::INTEGER]"
        )

    def write(self, version: str, before: Manifest | None = None) -> Manifest:
        """Write one version, all of it or, after another, the one file that changed."""
        manifest_file = self._directory / version / "manifest.json"
        if manifest_file.exists():
            return decode_manifest(manifest_file.read_bytes(), str(manifest_file))
        last = self._workspace.apis[-1], self._workspace.languages[-1]
        files = []
        for api in self._workspace.apis:
            for lang in self._workspace.languages:
                if before is None or (api, lang) == last:
                    files += self._files(self._directory / version, api, lang, changed=before is not None)
                else:
                    files += self._linked(self._directory / version, before, api, lang)
        content = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()
        manifest = Manifest(
            FORMAT, version, content, self._workspace, tuple(files), NOW, "bench@host", "parquetry bench"
        )
        manifest_file.write_bytes(encode_manifest(manifest))
        return manifest

    def _files(self, snapshot: Path, api: Api, lang: str, *, changed: bool) -> Iterator[DataFile]:
        windows = "".join(
            f'epoch_ms($always) AS "_{other}_from", epoch_ms($never) AS "_{other}_until", '
            for other in self._workspace.languages
            if other != lang
        )
        more = len(api.fields) > 1
        members = "".join(f", {field.id}: {field.id}" for field in api.fields[1:])
        sql = SQL.format(windows=windows, more=MORE if more else "", members=members)
        given = {"now": NOW, "always": ALWAYS, "never": NEVER, "name": f"{api.name} {lang}", "rows": self._rows}
        flat = snapshot / "rows.parquet"
        snapshot.mkdir(parents=True, exist_ok=True)
        self._connection.execute(
            f"COPY ({sql}) TO '{flat}' (FORMAT parquet, COMPRESSION zstd)", given | {"changed": changed}
        )
        files = write_segments(flat, snapshot, self._workspace, api, lang)
        flat.unlink()
        yield from files
        about = Manifest(FORMAT, "", "", self._workspace, tuple(files), NOW, "", "")
        yield from write_indexes(snapshot, about)

    def _linked(self, snapshot: Path, before: Manifest, api: Api, lang: str) -> Iterator[DataFile]:
        for file in before.files:
            if (file.api, file.lang) == (api.uid, lang):
                target = snapshot / file.path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                target.hardlink_to(self._directory / before.version / file.path)
                yield file


class Opening(msgspec.Struct, frozen=True):
    """What it took to open a version."""

    seconds: float
    megabytes: int
    disk: int
    """MB of the cache after it."""


def opened(snapshots: Path, manifest: Manifest, cache: Path) -> Opening:
    """Open a version in a process of its own, and answer a list from it."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        started = time.perf_counter()
        reader = open_reader(snapshots / manifest.version, manifest, cache)
        asked(reader, f"{manifest.workspace.apis[-1].endpoint}?limit=100&depth=1", NOW)
        seconds = time.perf_counter() - started
        os.write(written, json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10]).encode())
        os._exit(0)
    os.close(written)
    with os.fdopen(read) as figures:
        seconds, megabytes = json.loads(figures.read())
    os.waitpid(child, 0)
    disk = sum(file.stat().st_blocks * 512 for file in cache.rglob("*") if file.is_file()) >> 20
    return Opening(seconds, megabytes, disk)


def measured(snapshots: Path, versions: Sequence[Manifest], cache: Path) -> dict[str, Opening]:
    """The figures of a case, by what is done."""
    shutil.rmtree(cache, ignore_errors=True)
    first, last = versions[0], versions[-1]
    figures = {"first start": opened(snapshots, first, cache)}
    if last is not first:
        figures["one entry changed"] = opened(snapshots, last, cache)
    figures["rolled back"] = opened(snapshots, first, cache)
    return figures


def million(work: Path) -> tuple[Path, list[Manifest]]:
    """The store with a million entries, as the directory of its versions and the one there is."""
    store, _ = sized_stores.sized_store(work, 1_000_000)
    workspace_store = store.workspace("bench")
    return workspace_store.snapshots, [workspace_store.manifest(version) for version in workspace_store.versions()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=("apis", "languages", "million"))
    parser.add_argument("--work", type=Path, help="where the snapshots are kept for another run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    work: Path = arguments.work or Path(tempfile.mkdtemp(prefix="parquetry-bench-"))
    figures = {}
    try:
        for case in arguments.case or ("apis", "languages", "million"):
            directory = work / case
            if case == "million":
                snapshots, versions = million(directory)
            else:
                made = Snapshots(directory, *(case_apis() if case == "apis" else case_languages()))
                first = made.write(FIRST)
                snapshots, versions = directory, [first, made.write(SECOND, first)]
            figures[case] = measured(snapshots, versions, work / "cache")
            if not arguments.json:
                for name, one in figures[case].items():
                    print(
                        f"{case:10} {name:20} {one.seconds:7.2f} s {one.megabytes:6} MB, cache {one.disk:6} MB",
                        flush=True,
                    )
        if arguments.json:
            print(json.dumps(msgspec.to_builtins(figures)))
    finally:
        shutil.rmtree(work if arguments.work is None else work / "cache", ignore_errors=True)


if __name__ == "__main__":
    main()

"""How long the engine takes to open a snapshot and to answer, at any number of entries in two languages.

    python -m benchmarks.reading.engine_queries [--entries 100000] [--work DIR] [--rounds 41] [--json]

Generates a snapshot of synthetic entries (about 2 KB of HTML each, three reference fields) straight as Parquet, has it
materialised, and prints the median time of each question through ``engine.read.query.answers``, in ms, HTTP left out.
Parameters that decide which rows are read change from call to call. ``--work`` keeps the data for another run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.reading.segmented import write_segments
from engine.read.reader.reader import Reader, open_reader
from snapshots.model import ALWAYS, NEVER, Api, ApiKind, Field, FieldType, Workspace
from snapshots.store.manifest import FORMAT, Manifest
from tests.generated.asked import asked

NOW = 1_800_000_000_000
VERSION = "20260101T000000000Z-00000000"
AUTHORS, SECTIONS = 1_000, 20

ENTRIES_API = Api(
    "api_BenchEntries",
    "Entries",
    "entries",
    ApiKind.LIST,
    True,
    (
        Field("title", "Title", FieldType.TEXT),
        Field("body", "Body", FieldType.RICHTEXT),
        Field("category", "Category", FieldType.SINGLE_SELECT),
        Field("rating", "Rating", FieldType.NUMBER),
        Field("author", "Author", FieldType.REFERENCE, target="api_BenchAuthors"),
        Field("section", "Section", FieldType.REFERENCE, target="api_BenchSections"),
        Field("related", "Related", FieldType.REFERENCES, target="api_BenchEntries"),
    ),
)
NAMED = (Field("title", "Title", FieldType.TEXT),)
AUTHORS_API = Api("api_BenchAuthors", "Authors", "authors", ApiKind.LIST, False, NAMED)
SECTIONS_API = Api("api_BenchSections", "Sections", "sections", ApiKind.LIST, True, NAMED)
WORKSPACE = Workspace("bench", "Bench", ("ja", "en"), apis=(ENTRIES_API, AUTHORS_API, SECTIONS_API))

# Half of a fallback list in English falls back. No ORDER BY: DuckDB keeps the order of range(), and sorting would hold
# every text in memory.
JA_SQL = """
SELECT printf('e%07d', (i * 7919) % $n) AS id,
  epoch_ms($now - 86400000 - i * 1000) AS "createdAt", "createdAt" AS "updatedAt", "createdAt" AS "publishedAt",
  epoch_ms(CASE WHEN i % 50 = 0 THEN $now - 1000 - i ELSE $always END) AS live_from, epoch_ms($never) AS live_until,
  epoch_ms($always) AS _en_from,
  epoch_ms(CASE WHEN ((i * 7919) % $n) % 2 = 0 THEN $now - 1 ELSE $never END) AS _en_until,
  'Title ' || upper(word(i, 1)) || ' ' || word(i, 2) AS title, lower(title) AS title__search,
  array_to_string(list_transform(range(270), lambda x: word(i, x)), ' ') AS body__search,
  '<p>' || body__search || '</p>' AS body,
  'category-' || (hash(i) % 20) AS category, (hash(i, 5) % 1000) / 10.0 AS rating,
  'a' || (hash(i, 6) % $authors) AS author, 's' || (hash(i, 7) % $sections) AS section,
  list_transform(range(3), lambda x: printf('e%07d', (hash(i, 8 + x) % $n)::BIGINT)) AS related,
  to_json({title: title, body: body, category: category, rating: rating, author: author, section: section,
    related: related})::VARCHAR AS _json
FROM range($n) r(i)
"""
# The same texts: making them up once more takes most of the time.
EN_SQL = """
SELECT * EXCLUDE (_en_from, _en_until) REPLACE (_en_until AS live_until),
  epoch_ms($always) AS _ja_from, epoch_ms($never) AS _ja_until
FROM '{ja}'
"""
NAMED_SQL = """
SELECT $letter || i AS id, epoch_ms($now - i) AS "createdAt", "createdAt" AS "updatedAt", "createdAt" AS "publishedAt",
  epoch_ms($always) AS live_from, epoch_ms($never) AS live_until, {windows}
  'Name ' || i AS title, lower(title) AS title__search, to_json({{title: title}})::VARCHAR AS _json
FROM range($n) r(i) ORDER BY i
"""


def words() -> list[str]:
    """The vocabulary of the texts: every word is in about one text of twenty."""
    return ["".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz", k=3 + n % 8)) for n in range(5000)]


def generate(directory: Path, entries: int, now: int = NOW) -> Manifest:
    """Write the Parquet files of a snapshot of ``now`` and return its manifest; files that are there are taken."""
    connection = duckdb.connect()
    connection.execute("SET VARIABLE words = ?", [words()])
    connection.execute("CREATE MACRO word(i, x) AS getvariable('words')[1 + (hash(i, x + 100) % 5000)::INTEGER]")
    base = {"now": now, "always": ALWAYS, "never": NEVER}
    files = []

    def write(path: str, api: Api, lang: str, sql: str, **parameters: object) -> None:
        target = directory / "rows" / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            given = {name: value for name, value in (base | parameters).items() if re.search(rf"\${name}\b", sql)}
            options = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 16384"
            part = target.with_suffix(".part")
            connection.execute(f"COPY ({sql}) TO '{part}' ({options})", given)
            part.rename(target)
        files.extend(write_segments(target, directory, WORKSPACE, api, lang))

    for lang, other in (("ja", "en"), ("en", "ja")):
        sql = JA_SQL if lang == "ja" else EN_SQL.format(ja=directory / "rows/ja-entries.parquet")
        scale = {"n": entries, "authors": AUTHORS, "sections": SECTIONS}
        write(f"{lang}-entries.parquet", ENTRIES_API, lang, sql, **scale)
        windows = f"epoch_ms($always) AS _{other}_from, epoch_ms($never) AS _{other}_until,"
        named = NAMED_SQL.format(windows=windows)
        write(f"{lang}-sections.parquet", SECTIONS_API, lang, named, letter="s", n=SECTIONS)
    write("ja-authors.parquet", AUTHORS_API, "ja", NAMED_SQL.format(windows=""), letter="a", n=AUTHORS)
    content = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()
    return Manifest(FORMAT, VERSION, content, WORKSPACE, tuple(files), now, "bench@host", "parquetry bench")


def questions(reader: Reader, entries: int) -> dict[str, Callable[[], bytes]]:
    """What is measured, by name."""
    rng = random.Random(1)

    def listed(query: str) -> Callable[[], bytes]:
        def ask() -> bytes:
            text = query.format(
                category=f"category-{rng.randrange(20)}", rating=rng.randrange(100), deep=entries * 9 // 10
            )
            return asked(reader, f"entries?{text}", NOW)

        return ask

    def entry(query: str) -> Callable[[], bytes]:
        def ask() -> bytes:
            entry_id = f"e{rng.randrange(entries // 2) * 2 + 1:07d}"
            return asked(reader, f"entries/{entry_id}?{query}", NOW)

        return ask

    filtered = "depth=0&filters=category[equals]{category}[and]rating[greater_than]{rating}"
    return {
        "entry": entry("depth=0"),
        "entry, depth=1": entry("depth=1"),
        "entry, en, fallback": entry("depth=0&lang=en&lang_fallback=true"),
        "list": listed("depth=0"),
        "list, limit=100": listed("depth=0&limit=100"),
        "list, offset at 90 %": listed("depth=0&offset={deep}"),
        "list, fields, _langs": listed("depth=0&limit=100&fields=title,category&include=_langs"),
        "list, en": listed("depth=0&lang=en"),
        "list, en, fallback": listed("depth=0&lang=en&lang_fallback=true"),
        "list, en, fallback, offset at 90 %": listed("depth=0&lang=en&lang_fallback=true&offset={deep}"),
        "filter and total": listed(filtered),
        "filter and total, en": listed(filtered + "&lang=en"),
        "filter and total, en, fallback": listed(filtered + "&lang=en&lang_fallback=true"),
        "orders=-rating": listed("depth=0&orders=-rating"),
        "orders=title": listed("depth=0&orders=title"),
        "q": listed("depth=0&q=zzzzqqq"),
        "limit=100, depth=1": listed("limit=100&depth=1"),
        "limit=100, depth=2, entries of related": listed("limit=100&depth=2"),
        "limit=100, depth=2, en, fallback": listed("limit=100&depth=2&lang=en&lang_fallback=true"),
        "limit=100, depth=2, all but related": listed("limit=100&depth=2&fields=title,author,section"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--work", type=Path, help="where the data is kept for another run")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    work: Path = arguments.work or Path(tempfile.mkdtemp(prefix="parquetry-bench-"))
    try:
        snapshot = work / str(arguments.entries)
        manifest = generate(snapshot, arguments.entries)
        cache = work / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        child = os.fork()
        if child == 0:  # a process of its own, so that its peak memory is this work's alone
            started = time.perf_counter()
            open_reader(snapshot, manifest, cache).close()
            seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
            cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
            if not arguments.json:
                print(f"verified and materialised in {seconds:.1f} s, {cpu:.1f} s of CPU, peak {peak} MB", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        size = sum(file.stat().st_size for file in cache.rglob("*.*")) >> 20
        started = time.perf_counter()
        reader = open_reader(snapshot, manifest, cache)
        figures = {"opened again": (time.perf_counter() - started) * 1000}
        if not arguments.json:
            print(f"opened again in {figures['opened again']:.0f} ms; the cache has {size} MB")
        for name, ask in questions(reader, arguments.entries).items():
            times = []
            for _ in range(arguments.rounds):
                started = time.perf_counter()
                answer = ask()
                times.append((time.perf_counter() - started) * 1000)
            figures[name] = statistics.median(times)
            if not arguments.json:
                print(f"{name:42} {figures[name]:8.2f} ms   best {min(times):8.2f} ms {len(answer):9,} bytes")
        reader.close()
        if arguments.json:
            print(json.dumps(figures))
    finally:
        if arguments.work is None:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()

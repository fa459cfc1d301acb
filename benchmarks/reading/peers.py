"""Parquetry beside other content servers, in the peers' bench: the same data, the same seven queries, one command.

    python -m benchmarks.reading.peers BENCH [--n 10000] [--peers ours,postgrest] [--json] [anything else for the bench]

``BENCH`` is the folder of the peers' bench, installed by its ``install.sh``; ``BENCH_WORK`` is its work folder, as
there. Makes the bench's data where it is not there yet, turns it into a workspace of JSONL files, builds a store of
it, issues a key without a rate limit to speak of, and runs the bench with this checkout as the servers ``ours`` and
``ours-cold``, the second without an answer cache: its figures are those of requests that nobody asked before.
``--json`` prints medians in place of the bench's report, which goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from snapshots.store.manifest import FORMAT
from snapshots.times import format_datetime

WORKSPACE = "id: bench\nname: Bench\nlanguages: [en]\n"
# The body is a textarea, whose markup is text: what a search of the peers goes through too.
ENTRIES = """uid: api_PeersEntries
name: Entries
endpoint: entries
kind: list
fields:
  - {id: title, name: Title, type: text}
  - {id: slug, name: Slug, type: text}
  - {id: body, name: Body, type: textarea}
  - {id: category, name: Category, type: reference, api: categories}
  - {id: tags, name: Tags, type: multiple_select}
  - {id: author, name: Author, type: reference, api: authors}
  - {id: rating, name: Rating, type: number}
  - {id: featured, name: Featured, type: boolean}
"""
CATEGORIES = """uid: api_PeersCategories
name: Categories
endpoint: categories
kind: list
fields:
  - {id: name, name: Name, type: text}
  - {id: slug, name: Slug, type: text}
  - {id: description, name: Description, type: textarea}
"""
AUTHORS = """uid: api_PeersAuthors
name: Authors
endpoint: authors
kind: list
fields:
  - {id: name, name: Name, type: text}
  - {id: bio, name: Bio, type: textarea}
"""
APIS = {"entries": ENTRIES, "categories": CATEGORIES, "authors": AUTHORS}
SERVER = """[{name}]
start = "{python} -m cli.main serve --store {store} --port {{port}}"
env = {{ PYTHONPATH = "{code}", {settings} }}
port = {port}
base = "/v1/bench"
headers = ["X-API-KEY: {key}"]
templates = "delivery"
"""
SERVERS = {
    "ours": (8120, 'CMS_CACHE = "{cache}"'),
    "ours-cold": (8121, 'CMS_CACHE = "{cache}", CMS_ANSWER_CACHE = "0"'),
}
"""Ports and settings: with the answer cache for what is asked again and again, without it for what is not."""
CODE = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "cli.main"]


def lines(file: Path) -> Iterator[str]:
    """The rows of one of the bench's Parquet files as documents, one a line."""
    for batch in pq.ParquetFile(file).iter_batches(8192):
        for row in batch.to_pylist():
            document: dict[str, Any] = {"createdAt": "2021-01-01T00:00:00.000Z"} | row
            if "publishedAt" in row:
                published = int(row["publishedAt"].replace(tzinfo=UTC).timestamp() * 1000 + 0.5)
                document["createdAt"] = document["publishedAt"] = format_datetime(published)
            yield json.dumps(document) + "\n"


def build(data: Path, directory: Path) -> str:
    """Build a store of a data set of the bench in ``directory``, unless it is there. Returns a key for it."""
    key = directory / "key.txt"
    if key.exists():
        return key.read_text()
    shutil.rmtree(directory, ignore_errors=True)
    root = directory / "workspace"
    (root / "apis").mkdir(parents=True)
    (root / "content").mkdir()
    (root / "workspace.yaml").write_text(WORKSPACE)
    for endpoint, definition in APIS.items():
        (root / f"apis/{endpoint}.yaml").write_text(definition)
        with (root / f"content/{endpoint}.jsonl").open("w") as file:
            file.writelines(lines(data / f"{endpoint}.parquet"))
    store = ["--store", str(directory / "store")]
    command = [*COMMAND, "snapshot", "build", str(root), *store]
    subprocess.run(command, check=True, cwd=CODE, stdout=sys.stderr)
    create = [*COMMAND, "key", "create", "Bench", "--rate-limit", "1000000000", "--yes", "--json", *store]
    issued = json.loads(subprocess.run(create, check=True, cwd=CODE, capture_output=True).stdout)
    key.write_text(issued["key"])
    return key.read_text()


def medians(raw: Path) -> dict[str, Any]:
    """The raw lines of a run → what it measured: requests a second and ms by mode, connections, query and server.

    ``limits`` names the servers that are no peers, ``problems`` what was left out and why. In cold mode, ``ours`` is
    the server without an answer cache.
    """
    *rows, last = map(json.loads, raw.read_text().splitlines())
    run = last["run"]
    cells: dict[tuple[str, int, str, str], list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        cells[row["mode"], row["conns"], row["query"], row["peer"]].append((row["rps"], row["p50_ms"]))
    figures: dict[str, Any] = {}
    for (mode, connections, query, peer), some in cells.items():
        if peer == ("ours" if mode == "cold" else "ours-cold"):
            continue
        rates, times = zip(*some, strict=True)
        told = {"rps": round(statistics.median(rates), 2), "p50": statistics.median(times)}
        figures.setdefault(f"{mode}, {connections}", {}).setdefault(query, {})[
            "ours" if peer == "ours-cold" else peer
        ] = told
    problems = [
        f"{peer} {query}: {check['problem']}"
        for peer, found in run["peers"].items()
        for query, check in found["checks"].items()
        if check["problem"]
    ]
    problems += [f"{peer}: {why}" for peer, why in run["failed"].items()]
    limits = [peer for peer, found in run["peers"].items() if found["kind"] != "peer"]
    return {"entries": run["n"], "limits": limits, "problems": problems, "medians": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", help="print the medians as JSON")
    arguments, rest = parser.parse_known_args()
    bench: Path = arguments.bench.resolve()
    work = Path(os.environ.get("BENCH_WORK", bench / ".work")).resolve()
    python, data = work / "venv/bin/python", work / "data" / str(arguments.n)
    if not data.exists():
        make: list[str | Path] = [
            python,
            bench / "mkdata.py",
            "--n",
            str(arguments.n),
            "--words",
            work / "words.txt",
            "--out",
            data,
        ]
        subprocess.run(make, check=True)
    directory = work / "ours" / f"{arguments.n}-format-{FORMAT}"  # an older store has less that makes it fast
    key = build(data, directory)
    servers = [
        SERVER.format(
            name=name,
            python=shlex.quote(sys.executable),
            store=directory / "store",
            code=CODE,
            key=key,
            port=port,
            settings=settings.format(cache=directory / f"cache-{name}"),
        )
        for name, (port, settings) in SERVERS.items()
    ]
    (directory / "ours.toml").write_text("\n".join(servers))
    run: list[str | Path] = [
        python,
        bench / "bench.py",
        "--n",
        str(arguments.n),
        "--extra",
        directory / "ours.toml",
        *rest,
    ]
    environment = os.environ | {"BENCH_WORK": str(work)}
    if not arguments.json:
        sys.exit(subprocess.run(run, env=environment, check=False).returncode)
    with tempfile.TemporaryDirectory(prefix="parquetry-peers-") as scratch:
        out = Path(scratch) / "run.md"
        code = subprocess.run([*run, "--out", out], env=environment, check=False, stdout=sys.stderr).returncode
        if code:
            sys.exit(code)
        print(json.dumps(medians(out.with_suffix(".jsonl"))))


if __name__ == "__main__":
    main()

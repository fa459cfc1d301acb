"""What languages cost a build: the same entries, in more and more languages.

    python -m benchmarks.building.languages [--languages 130] [--languages 500] [--entries 500] [--json]

Each entry is in the main language and in one other, so that with more languages there are more files and no more rows.
Builds them from one JSONL file, then again with one title changed, each time in a process of its own, and opens both
versions. Prints the seconds of processor time of each, the most memory of a build, and the MB of a version and of what
a reader keeps of it. To compare with other code, run this file with that code's directory as PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from string import ascii_lowercase

API = """uid: api_posts0000000
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text}
  - {id: body, type: richtext}
"""
BUILD = """
import sys
from pathlib import Path
from snapshots.build.build import build
from snapshots.store.store import open_store
build(Path(sys.argv[1]), open_store(sys.argv[2]), now=int(sys.argv[3]))
"""
OPEN = """
import sys
from pathlib import Path
from engine.read.reader.reader import open_reader
from snapshots.store.store import open_store
store = open_store(sys.argv[2])
place = store.workspace("bench")
version = place.current().version
open_reader(place.snapshots / version, place.manifest(version), store.cache, None).close()
"""
USED = """
import json, resource
own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
seconds = sum(one.ru_utime + one.ru_stime for one in (own, others))
print(json.dumps([seconds, max(own.ru_maxrss, others.ru_maxrss) / 1024]))
"""


def languages(count: int) -> list[str]:
    """Return so many languages: some have a name, all have a form that names can have."""
    return [f"q{one}{other}" for one, other in product(ascii_lowercase[:20], ascii_lowercase)][:count] + [
        f"q{one}{other}-{region}" for region, one, other in product(("jp", "us"), ascii_lowercase[:20], ascii_lowercase)
    ][: max(count - 520, 0)]


def write(root: Path, count: int, entries: int, title: str) -> None:
    """Write the workspace; ``title`` is that of one entry, in another language than the main one."""
    (root / "apis").mkdir(parents=True, exist_ok=True)
    (root / "content").mkdir(exist_ok=True)
    langs = languages(count)
    (root / "workspace.yaml").write_text(f"id: bench\nlanguages: {json.dumps(langs)}\n")
    (root / "apis" / "posts.yaml").write_text(API)
    with (root / "content" / "posts.jsonl").open("w") as lines:
        for number in range(entries):
            for lang in (langs[0], langs[1 + number % (count - 1)]):
                is_changed = number == 3 and lang != langs[0]
                entry = {
                    "id": f"e{number}",
                    "lang": lang,
                    "createdAt": "2026-01-01",
                    "title": title if is_changed else f"Title {number}",
                    "body": f"<p>{number} in {lang}</p>",
                }
                lines.write(json.dumps(entry) + "\n")


def measured(program: str, *arguments: str) -> tuple[float, float]:
    """Run a program; return its seconds of processor time, and the most memory it had, in MB."""
    done = subprocess.run(
        [sys.executable, "-c", program + USED, *arguments], capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode:
        sys.exit(done.stderr)
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


def size(folder: Path) -> float:
    """Return the MB of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def rows(work: Path, count: int, entries: int) -> Iterator[dict[str, float | int | str]]:
    """Measure a number of languages: a row for the first build, and one for the edit."""
    root, store = work / f"site-{count}", work / f"store-{count}"
    for now, step in enumerate(("first build", "one title changed")):
        write(root, count, entries, step)
        seconds, megabytes = measured(BUILD, str(root), str(store), str(1_780_000_000_000 + now))
        [*_, newest] = sorted((store / "bench" / "snapshots").glob("2*"))
        before = size(store / ".cache")
        opening, _ = measured(OPEN, str(root), str(store))
        yield {
            "languages": count,
            "step": step,
            "build_cpu_seconds": round(seconds, 2),
            "memory_mb": round(megabytes),
            "version_mb": round(size(newest), 1),
            "opening_cpu_seconds": round(opening, 2),
            "reader_mb": round(size(store / ".cache") - before, 1),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", type=int, action="append")
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="languages-") as work:
        for count in asked.languages or [130, 500, 1000]:
            for row in rows(Path(work), count, asked.entries):
                if asked.json:
                    print(json.dumps(row), flush=True)
                else:
                    print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()

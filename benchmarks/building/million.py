"""How long one million entries in two languages take to build from JSONL, and in how much memory.

    python -m benchmarks.building.million [--entries 1000000] [--work DIR] [--keep] [--json]
    python -m benchmarks.building.million --work DIR --only-generate
    python -m benchmarks.building.million --workspace DIR/workspace --work OTHER

Writes a workspace of synthetic articles (about 2 KB of HTML each, ten fields, references) unless DIR holds one or
another is named, builds it with ``cms snapshot build`` in a process of its own, and prints wall time, CPU time
and the peak memory of the largest process and of all together: resident (pages that processes share count once for
each), sampled every 0.2 s, and, where Linux tells it, proportional (they count once), every 2 s and at each new peak,
as telling it takes the system 20 ms a gigabyte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from itertools import count
from pathlib import Path

WORDS = 20_000
AUTHORS = 500

WORKSPACE = "id: million\nlanguages: [en, ja]\n"
ARTICLES = """uid: api_BenchArticles
name: Articles
endpoint: articles
kind: list
multilingual: true
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: body, name: Body, type: richtext}
  - {id: category, name: Category, type: single_select, options: [news, guide, story, note]}
  - {id: tags, name: Tags, type: multiple_select}
  - {id: rating, name: Rating, type: number}
  - {id: featured, name: Featured, type: boolean}
  - {id: happens, name: Happens, type: datetime}
  - {id: author, name: Author, type: reference, api: authors}
  - {id: related, name: Related, type: references, api: articles}
  - {id: cover, name: Cover, type: image}
"""
PEOPLE = """uid: api_BenchAuthors0
name: Authors
endpoint: authors
kind: list
fields:
  - {id: name, name: Name, type: text, required: true}
"""


def make_workspace(root: Path, entries: int) -> None:
    """Write the workspace's files, the same for the same number of entries."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(WORDS)]
    (root / "apis").mkdir(parents=True)
    (root / "content").mkdir()
    (root / "workspace.yaml").write_text(WORKSPACE)
    (root / "apis/articles.yaml").write_text(ARTICLES)
    (root / "apis/authors.yaml").write_text(PEOPLE)
    with (root / "content/authors.jsonl").open("w") as file:
        for n in range(AUTHORS):
            person = {"id": f"author-{n}", "createdAt": "2026-01-01T00:00:00Z", "name": f"Author {n}"}
            file.write(json.dumps(person) + "\n")
    with (root / "content/articles.jsonl").open("w") as file:
        for n in range(entries):
            for lang in ("en", "ja"):
                text = rng.choices(words, k=262)
                body = f"<h2>{' '.join(text[:4])}</h2>" + "".join(
                    f"<p>{' '.join(text[at : at + 50])}.</p>" for at in range(4, 204, 50)
                )
                body += (
                    "<ul>" + "".join(f"<li>{' '.join(text[at : at + 8])}</li>" for at in range(204, 244, 8)) + "</ul>"
                )
                day = rng.randrange(2_000)
                line: dict[str, object] = {
                    "id": f"article-{n}",
                    "lang": lang,
                    "createdAt": f"{2020 + day // 366}-{1 + day % 12:02}-{1 + day % 28:02}T{n % 24:02}:{n % 60:02}:00Z",
                    "title": " ".join(text[244:250]),
                    "body": body,
                    "category": rng.choice(("news", "guide", "story", "note")),
                    "tags": text[250 : 250 + rng.randrange(4)],
                    "rating": round(rng.random() * 5, 4),
                    "featured": rng.random() < 0.1,
                    "happens": "2026-11-01T09:00:00+09:00",
                    "author": f"author-{rng.randrange(AUTHORS)}",
                    "related": [f"article-{rng.randrange(entries)}" for _ in range(rng.randrange(3))],
                    "cover": {"url": f"/images/{n}.webp", "width": 1200, "height": 630},
                }
                file.write(json.dumps(line) + "\n")


def resident(pid: int) -> dict[int, int]:
    """Resident bytes of a process and its descendants (Linux), by process."""
    found = {}
    todo = [pid]
    while todo:
        here = todo.pop()
        try:
            found[here] = int(Path(f"/proc/{here}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for task in Path(f"/proc/{here}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except (OSError, ValueError):
            continue
    return found


def proportional(pid: int) -> int:
    """Bytes a process holds, each shared page divided by the number of processes that share it; 0 where unknown."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--entries", type=int, default=1_000_000)
    arguments.add_argument("--work", type=Path)
    arguments.add_argument("--keep", action="store_true", help="leave the store behind too")
    arguments.add_argument("--only-generate", action="store_true", help="write the workspace under --work and stop")
    arguments.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments.add_argument("--workspace", type=Path, help="build this one, which stays as it is")
    options = arguments.parse_args()
    work = options.work or Path(tempfile.mkdtemp(prefix="parquetry-million-"))
    root, store = options.workspace or work / "workspace", work / "store"
    if not root.exists():
        make_workspace(root, options.entries)
    if options.only_generate:
        return
    shutil.rmtree(store, ignore_errors=True)
    size = sum(file.stat().st_size for file in (root / "content").iterdir())
    with (root / "content/articles.jsonl").open("rb") as file:
        entries = sum(1 for _ in file) // 2
    if not options.json:
        print(f"{entries:,} entries x 2 languages, {size / 1e9:.2f} GB of JSONL", flush=True)
    command = [sys.executable, "-m", "cli.main", "snapshot", "build", str(root), "--store", str(store)]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=sys.stderr if options.json else None)
    peaks = [0, 0, 0]
    done = threading.Event()

    def watch() -> None:
        for sample in count():
            if done.wait(0.2):
                return
            now = resident(process.pid)
            peaks[0] = max(peaks[0], *now.values(), 0)
            peaks[1], before = max(peaks[1], sum(now.values())), peaks[1]
            if sample % 10 == 0 or peaks[1] > before:
                peaks[2] = max(peaks[2], sum(map(proportional, now)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    done.set()
    watcher.join()
    seconds = time.monotonic() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    written = sum(file.stat().st_size for file in store.glob("*/snapshots/**/*.parquet"))
    cpu = used.ru_utime + used.ru_stime
    if options.json:
        names = ("entries", "bytes", "seconds", "cpu", "peak of one", "peak", "peak, proportional")
        print(json.dumps(dict(zip(names, (entries, size, seconds, cpu, *peaks), strict=True))))
    else:
        print(
            f"exit {code}; {seconds:.1f} s, {cpu:.1f} s of CPU; peak memory: largest process "
            f"{peaks[0] / 1e9:.2f} GB, all processes {peaks[1] / 1e9:.2f} GB resident, {peaks[2] / 1e9:.2f} GB "
            f"proportional; {written / 1e9:.2f} GB of Parquet"
        )
    if not options.keep:
        shutil.rmtree(store, ignore_errors=True)
        if options.work is None:
            shutil.rmtree(work, ignore_errors=True)
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()

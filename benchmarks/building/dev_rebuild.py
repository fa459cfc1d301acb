"""How soon ``cms dev`` serves a saved file, in a workspace of ten thousand entries.

    python -m benchmarks.building.dev_rebuild [--entries 10000] [--saves 20] [--json]

Writes a workspace of Markdown files (about 2 KB each, eight fields, references), starts ``cms dev`` over it, and saves
one file after another. Measured are the build alone, in this process and as `cms dev` asks for it, from the save to the
new answer over HTTP, and the processor time a save costs the running process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

from snapshots.build.build import build
from snapshots.build.settings import LIGHT
from snapshots.store.store import open_store
from snapshots.times import now_ms

WORKSPACE = "id: bench\nlanguages: [en]\n"
ARTICLES = """uid: api_BenchArticles
name: Articles
endpoint: articles
kind: list
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: body, name: Body, type: richtext}
  - {id: category, name: Category, type: single_select, options: [news, guide, story, note]}
  - {id: tags, name: Tags, type: multiple_select}
  - {id: rating, name: Rating, type: number}
  - {id: featured, name: Featured, type: boolean}
  - {id: author, name: Author, type: reference, api: authors}
  - {id: related, name: Related, type: references, api: articles}
"""
AUTHORS = """uid: api_BenchAuthors0
name: Authors
endpoint: authors
kind: list
fields:
  - {id: name, name: Name, type: text, required: true}
"""
DEADLINE = 60.0


def make_workspace(root: Path, entries: int) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(5000)]
    for folder in ("apis", "content/articles", "content/authors"):
        (root / folder).mkdir(parents=True)
    (root / "workspace.yaml").write_text(WORKSPACE)
    (root / "apis/articles.yaml").write_text(ARTICLES)
    (root / "apis/authors.yaml").write_text(AUTHORS)
    for number in range(50):
        (root / f"content/authors/person-{number}.yaml").write_text(f"name: Person {number}\ncreatedAt: 2026-01-01\n")
    for number in range(entries):
        paragraphs = "\n\n".join(" ".join(rng.choices(words, k=60)) for _ in range(5))
        related = ", ".join(f"article-{rng.randrange(entries)}" for _ in range(3))
        (root / f"content/articles/article-{number}.md").write_text(
            f"---\ntitle: Article {number}\ncreatedAt: 2026-01-{number % 28 + 1:02}\ncategory: news\n"
            f"tags: [{rng.choice(words)}, {rng.choice(words)}]\nrating: {rng.randrange(100)}\nfeatured: true\n"
            f"author: person-{number % 50}\nrelated: [{related}]\n---\n{paragraphs}\n"
        )


def save(root: Path, number: int, title: str) -> None:
    path = root / f"content/articles/article-{number}.md"
    path.write_text(re.sub(r"^title: .*$", f"title: {title}", path.read_text(), count=1, flags=re.M))


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_builds(root: Path, store: Path, saves: int) -> tuple[list[float], list[float]]:
    """Seconds by the clock and of the processor for each build after one save."""
    opened = open_store(store)
    build(root, opened, now=now_ms(), settings=LIGHT)
    wall, cpu = [], []
    for number in range(saves):
        save(root, number * 7, f"Built {number}")
        began, used = time.perf_counter(), time.process_time()
        build(root, opened, now=now_ms(), settings=LIGHT)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
        opened.workspace("bench").prune(2)
    return wall, cpu


def measure_dev(root: Path, store: Path, saves: int) -> tuple[list[float], list[float]]:
    """Seconds from a save to the new answer, and of the processor for it, after each save."""
    command = [sys.executable, "-m", "cli.main", "dev", str(root), "--port", "0", "--store", str(store)]
    dev = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wall, cpu = [], []
    try:
        assert dev.stdout is not None
        text = ""
        while "Serving" not in text:
            text += dev.stdout.readline()
        [host] = re.findall(r"http://([0-9.:]+)/\n", text)[:1]
        [key] = re.findall(r"pq_\w{12,}", text)
        connection = HTTPConnection(host, timeout=DEADLINE)
        for number in range(saves):
            time.sleep(0.5)
            used, began = cpu_seconds(dev.pid), time.perf_counter()
            entry, title = number * 7 + 3, f"Saved {number}"
            save(root, entry, title)
            while True:
                connection.request(
                    "GET", f"/v1/bench/articles/article-{entry}?fields=title", headers={"X-API-KEY": key}
                )
                if json.loads(connection.getresponse().read())["title"] == title:
                    break
                if time.perf_counter() - began > DEADLINE:
                    sys.exit("the new title was never served")
                time.sleep(0.005)
            wall.append(time.perf_counter() - began)
            cpu.append(cpu_seconds(dev.pid) - used)
    finally:
        dev.send_signal(signal.SIGINT)
        dev.wait(30)
    return wall, cpu


def summary(wall: list[float], cpu: list[float]) -> dict[str, int]:
    """Milliseconds."""
    seconds = {"median": statistics.median(wall), "worst": max(wall), "processor": statistics.median(cpu)}
    return {name: round(1000 * one) for name, one in seconds.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--entries", type=int, default=10_000)
    arguments.add_argument("--saves", type=int, default=20)
    arguments.add_argument("--json", action="store_true", help="print the figures, in ms, as JSON")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="parquetry-dev-") as folder:
        root = Path(folder) / "workspace"
        make_workspace(root, options.entries)
        figures = {
            "build alone": summary(*measure_builds(root, Path(folder) / "store", options.saves)),
            "from the save to the new answer": summary(*measure_dev(root, Path(folder) / "store", options.saves)),
        }
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{options.entries:,} entries, one file saved, {options.saves} times")
    for what, found in figures.items():
        median, worst, used = found.values()
        print(f"{what:36} median {median:5} ms, worst {worst:5} ms, processor {used:5} ms")


if __name__ == "__main__":
    main()

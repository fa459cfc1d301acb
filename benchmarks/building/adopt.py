"""How long ``cms init --from`` takes to adopt a site of Hugo's, and ``cms snapshot build`` after it.

    python -m benchmarks.building.adopt [--files 20000] [--rounds 3] [--json]

Writes a site of Markdown files (about 2 KB each, with title, date, tags and description), and in each round adopts and
builds it anew. Measured are the time by the clock, that of all processors, and the most memory of all processes
together, the pages that they share counted once.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

CODE = Path(__file__).resolve().parents[2]
CMS = [sys.executable, "-m", "cli.main"]
A_FOLDER = 500
"""Files."""
OFTEN = 0.1
"""Seconds between two looks at the memory."""


def write_site(root: Path, files: int) -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 10))) for _ in range(2_000)]
    paragraphs = [" ".join(rng.choices(words, k=70)) for _ in range(2_000)]
    (root / "content/posts").mkdir(parents=True)
    (root / "hugo.toml").write_text('baseURL = "https://example.org/"\ntitle = "A site"\n')
    for number in range(files):
        folder = root / f"content/posts/{number // A_FOLDER:03}"
        folder.mkdir(exist_ok=True)
        (folder / f"post-{number}.md").write_text(
            f"---\ntitle: Post {number}\ndate: 2024-0{1 + number % 9}-1{number % 10}T10:00:00Z\n"
            f"tags: [{rng.choice(words)}, {rng.choice(words)}]\ndescription: {' '.join(rng.choices(words, k=8))}\n"
            "---\n\n" + "\n\n".join(rng.choices(paragraphs, k=4)) + "\n"
        )


def memory_of(pid: int) -> int:
    """Bytes of a process and of those that it started, shared pages divided among the processes that share them."""
    found = 0
    with suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        found = 1024 * int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    with suppress(OSError):
        for started in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += memory_of(int(started))
    return found


def measured(command: list[str]) -> dict[str, float]:
    """Seconds by the clock and of the processors, and megabytes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    running = subprocess.Popen([*CMS, *command], cwd=CODE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most = 0
    while running.poll() is None:
        most = max(most, memory_of(running.pid))
        with suppress(subprocess.TimeoutExpired):
            running.wait(OFTEN)
    seconds = time.perf_counter() - began
    if running.returncode:
        assert running.stderr is not None
        sys.exit(f"cms {' '.join(command)}: exit {running.returncode}\n{running.stderr.read()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "processor seconds": used, "MB": most / 1e6}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--files", type=int, default=20_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = arguments.parse_args()
    figures: dict[str, list[dict[str, float]]] = {"adopted": [], "built": []}
    with tempfile.TemporaryDirectory(prefix="parquetry-adopt-") as folder:
        root = Path(folder) / "site"
        write_site(root, options.files)
        for _ in range(options.rounds):
            for made in (".cms", "apis"):
                shutil.rmtree(root / made, ignore_errors=True)
            (root / "workspace.yaml").unlink(missing_ok=True)
            time.sleep(2.5)  # younger files are looked at again, since their times prove nothing yet
            figures["adopted"].append(measured(["init", "--from", str(root), "--yes"]))
            figures["built"].append(measured(["snapshot", "build", str(root)]))
    medians = {
        step: {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
        for step, rounds in figures.items()
    }
    if options.json:
        print(json.dumps(medians))
        return
    print(f"{options.files:,} Markdown files, medians of {options.rounds}")
    for step, found in medians.items():
        print(f"{step:8} " + ", ".join(f"{figure:,.1f} {name}" for name, figure in found.items()))


if __name__ == "__main__":
    main()

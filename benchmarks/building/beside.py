"""The processor time of builds, beside that of an earlier commit: the first, one of a changed word, one of no change.

    git worktree add /tmp/before 415c87d
    python -m benchmarks.building.beside [--before /tmp/before] [--entries 100000] [--work DIR] [--rounds 3] [--json]

Builds the workspace of ``million.py`` by ``cms snapshot build`` of each commit in turns, each into a store of its own,
and prints the least seconds of processor time, those of all processes together, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.building.million import make_workspace

HERE = Path(__file__).resolve().parents[2]


def processor_seconds(root: Path, workspace: Path, store: Path) -> float:
    """Build with the commit that is checked out in ``root``."""
    command = [sys.executable, "-m", "cli.main", "snapshot", "build", str(workspace), "--store", str(store)]
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"a build of {root} ended with {status}")
    return used.ru_utime + used.ru_stime


def change_one_word(file: Path, number: int) -> None:
    """Write a new title into the entry in the middle of a JSONL file."""
    lines = file.read_text().splitlines(keepends=True)
    line = json.loads(lines[len(lines) // 2])
    lines[len(lines) // 2] = json.dumps({**line, "title": f"{line['title']} {number}"}) + "\n"
    file.write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--work", type=Path, help="where the workspace is kept for another run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    roots = [HERE, *([options.before.resolve()] if options.before else [])]
    found: dict[str, list[list[float]]] = {"first": [], "one word": [], "nothing": []}
    with tempfile.TemporaryDirectory(dir=options.work) as scratch:
        workspace = (options.work or Path(scratch)) / f"workspace-{options.entries}"
        if not workspace.exists():
            make_workspace(workspace, options.entries)
        stores = [(root, Path(scratch) / str(number)) for number, root in enumerate(roots)]
        for number in range(options.rounds):
            for name, turns in found.items():
                if name == "first":
                    for _, store in stores:
                        shutil.rmtree(store, ignore_errors=True)
                elif name == "one word":
                    change_one_word(workspace / "content" / "articles.jsonl", number)
                turns.append([processor_seconds(root, workspace, store) for root, store in stores])
    figures = {name: [round(min(column), 2) for column in zip(*turns, strict=True)] for name, turns in found.items()}
    if options.json:
        print(json.dumps(figures))
        return
    for name, seconds in figures.items():
        print(f"{name:9} {' '.join(f'{one:8.2f}' for one in seconds)} s {seconds[0] / seconds[-1]:6.2f}")


if __name__ == "__main__":
    main()

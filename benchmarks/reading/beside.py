"""The processor time of a request, beside that of an earlier commit, and its way through the code.

    git worktree add /tmp/before 415c87d
    python -m benchmarks.reading.beside [--before /tmp/before] [--entries 10000 100000] [--work DIR] [--rounds 81]
            [--requests 10] [--only Q1 Q2] [--json | --table]
    python -m benchmarks.reading.beside --workers 2 --only kept --requests 1000

Each commit serves a store that it made itself (kept below ``--work``) in a process of its own: its application behind
uvicorn's protocol, with everything a server does but without sockets. Both answer the same questions in turns, a few
requests each, so that the work of others on the machine meets both alike. Prints the µs of all threads that a tenth of
the requests stay below, since others only add to them, and the median, each with its ratio; ``page`` is any page of
ten, ``kept`` one request over and over. Then how many modules and calls of our own code such a request passes.
``--table`` prints Markdown: the median ms of processor time of both commits at each size, and their ratio.
With ``--workers`` so many processes are asked at once, beside a single one unless ``--before`` is given.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.reading.sizes import FILES, QUESTIONS, TERMS, questions

HERE = Path(__file__).resolve().parents[2]
PAGE, KEPT = "page", "kept"
DIFFERENT = {"one letter": 26, "two letters": 26**2}
"""How many requests there are of a kind, of which none is to be asked twice."""
SERVED = """
import asyncio, json, logging, os, sys, time
from collections import Counter
from pathlib import Path
import uvloop
from uvicorn import Config
from uvicorn.server import ServerState
root, directory, entries = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
sys.path[:0] = [str(root), str(root / "benchmarks")]
from server.app import create_app
from server.settings import read_settings
try:
    from benchmarks.reading.sized_stores import sized_store
    from server.http.protocol import DeliveryProtocol
except ModuleNotFoundError:  # the names of 415c87d
    from server.protocol import DeliveryProtocol
    from sized_stores import sized_store
logging.disable()
told = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # which others print on
store, key = sized_store(directory, entries)

class Transport:
    def __init__(self):
        self.written = b""
    def get_extra_info(self, name, default=None):
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name, default)
    def write(self, data):
        self.written = data
    def get_write_buffer_size(self):
        return 0
    def is_closing(self):
        return False
    def close(self):
        pass
    pause_reading = resume_reading = close

class Protocol(DeliveryProtocol):
    def on_response_complete(self):
        super().on_response_complete()
        self.answered.set()

class Way:
    def __init__(self):
        self.calls = Counter()
    def __call__(self, frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(f"{root}/") and "/.venv/" not in file:
            self.calls[file] += 1

async def main():
    sys.setswitchinterval(0.0005)
    app = create_app(read_settings({"store": str(store.root)}))
    options = {"log_config": None, "access_log": False, "proxy_headers": False, "server_header": False}
    config = Config(app, ws="none", lifespan="on", **options)
    config.load()
    lifespan = config.lifespan_class(config)
    await lifespan.startup()
    state = ServerState()
    state.default_headers = [(b"date", b"Thu, 01 Jan 2026 00:00:00 GMT")]
    loop = asyncio.get_running_loop()
    protocol = Protocol(config=config, server_state=state, app_state=lifespan.state, _loop=loop)
    protocol.answered, transport = asyncio.Event(), Transport()
    protocol.connection_made(transport)

    async def ask(target):
        protocol.answered.clear()
        lines = [f"GET {target} HTTP/1.1", "Host: 127.0.0.1:8787", f"X-API-KEY: {key}", "Accept: */*", "", ""]
        protocol.data_received("\\r\\n".join(lines).encode())
        await asyncio.sleep(0)  # 415c87d may be done by now, and the loop has more to do than this
        await protocol.answered.wait()

    print("ready", file=told)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command, targets = json.loads(line)
        way = Way()
        if command == "way":
            sys.setprofile(way)
        spent = []
        for target in targets:
            began = time.process_time_ns()
            await ask(target)
            spent.append((time.process_time_ns() - began) / 1000)
        sys.setprofile(None)
        body = transport.written.decode().rpartition("\\r\\n\\r\\n")[2]
        print(json.dumps({"us": spent, "way": [len(way.calls), way.calls.total()], "body": body}), file=told)
    await lifespan.shutdown()

uvloop.run(main())
"""


class Served:
    """A commit that answers in processes of its own, all from one store."""

    def __init__(self, root: Path, directory: Path, entries: int, workers: int) -> None:
        command = [sys.executable, "-c", SERVED, str(root), str(directory), str(entries)]
        self._processes = []
        for _ in range(workers):
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root
            )
            self._processes.append(process)
            _line_of(process)
        while "contents" not in self.ask("time", [f"{FILES}?limit=1"])["body"]:  # the cache is still being made
            time.sleep(0.5)

    def ask(self, command: str, targets: list[str]) -> Any:
        """Ask all processes at the same time. Return what the first answers, and the µs of all."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps([command, targets]) + "\n")
            process.stdin.flush()
        answers = [json.loads(_line_of(process)) for process in self._processes]
        return answers[0] | {"us": [us for answer in answers for us in answer["us"]]}

    def close(self) -> None:
        for process in self._processes:
            process.communicate()


def _line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        sys.exit(f"the server ended with {process.wait()}")
    return line


def measure(served: list[Served], entries: int, rounds: int, requests: int, only: list[str]) -> dict[str, Any]:
    """By question: the µs of each commit, modules and calls."""
    chance = random.Random(1)
    asked = questions(entries, chance)
    asked[PAGE] = lambda: f"{FILES}?depth=0&limit=10&offset={chance.randrange(entries - 10)}"
    first_page = asked["Q1"]()
    asked[KEPT] = lambda: first_page
    found: dict[str, Any] = {}
    for name in (*QUESTIONS, *TERMS, PAGE, KEPT):
        if only and name not in only:
            continue
        asking = asked[name]
        most = DIFFERENT.get(name, (rounds + 2) * requests)
        at_once = max(1, min(requests, most // 20))
        times: list[list[float]] = [[] for _ in served]
        for number in range(min(rounds + 2, most // at_once)):
            targets = [asking() for _ in range(at_once)]
            answers = [one.ask("time", targets) for one in served]
            if any(answer["body"] != answers[0]["body"] for answer in answers):
                shown = "\n".join(answer["body"][:200] for answer in answers)
                sys.exit(f"{targets[-1]} is answered differently:\n{shown}")
            if number > 1:
                times = [one + answer["us"] for one, answer in zip(times, answers, strict=True)]
        found[name] = {
            "us": [round(statistics.quantiles(of_one, n=10)[0], 1) for of_one in times],
            "median": [round(statistics.median(of_one), 1) for of_one in times],
            "way": [one.ask("way", [asking()])["way"] for one in served],
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000])
    parser.add_argument("--work", type=Path, help="where the stores are kept for another run")
    parser.add_argument("--workers", type=int, default=1, help="processes that are asked at the same time")
    parser.add_argument("--rounds", type=int, default=81)
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=[], help="some questions, such as Q1")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--table", action="store_true", help="print the medians as Markdown")
    options = parser.parse_args()
    sides = [("now", HERE, options.workers)]
    if options.before:
        sides.append(("before", options.before.resolve(), options.workers))
    elif options.workers > 1:
        sides.append(("now", HERE, 1))
    sizes: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        for entries in options.entries:
            served = [Served(root, work / f"{entries}-{name}", entries, workers) for name, root, workers in sides]
            try:
                sizes[entries] = measure(served, entries, options.rounds, options.requests, options.only)
            finally:
                for one in served:
                    one.close()
    if options.json:
        print(json.dumps(sizes))
    elif options.table:
        print(table(sizes))
    else:
        for entries, found in sizes.items():
            show(entries, found)


def table(sizes: dict[int, dict[str, Any]]) -> str:
    """The medians in ms as Markdown, a column a size: before, now and the ratio of both, where there are two."""
    rows = [["processor time of a request, ms", *(f"{entries:,} × 2" for entries in sizes)], ["---"] * (len(sizes) + 1)]
    meanings = {
        **{name: f"{name}: {meaning}" for name, meaning in QUESTIONS.items()},
        **{t: f"Q4 with {t}" for t in TERMS},
    }
    for name in next(iter(sizes.values())):
        medians = [found[name]["median"] for found in sizes.values()]
        cells = [
            " → ".join(f"{us / 1000:.2f}" for us in reversed(one))
            + (f" ({one[0] / one[1]:.2f})" if len(one) > 1 else "")
            for one in medians
        ]
        rows.append([meanings.get(name, name), *cells])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def show(entries: int, found: dict[str, Any]) -> None:
    """Print the figures of one size."""
    print(f"{entries:,} entries")
    for name, figures in found.items():
        ways = " ".join(f"{modules:4}/{calls}" for modules, calls in figures["way"])
        shown = (
            f"{label} {' '.join(f'{us:8.1f}' for us in figures[key])} us {figures[key][0] / figures[key][-1]:5.2f}"
            for key, label in (("us", "tenth"), ("median", "median"))
        )
        print(f"{name:13} {'  '.join(shown)}  modules/calls {ways}")


if __name__ == "__main__":
    main()

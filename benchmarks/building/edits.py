"""What one changed entry costs, from the save until a running server answers with it, in collections of several sizes.

    python -m benchmarks.building.edits [--entries N…] [--files N…] [--bytes 700]
            [--edits 3] [--before DIR] [--work DIR] [--keep] [--json]

Writes workspaces of so many entries in two languages, with a text of about ``--bytes`` in each: ``--entries`` are all
in one JSONL file, of ``--files`` each language has a Markdown file of its own. Builds each with ``cms snapshot build``,
serves it with ``cms serve``, changes the title of an entry, builds again, and asks until the answer has the new title;
then builds once more with nothing changed. A million entries of 700 bytes need 12 GB of disk and some ten minutes.

Of each build it prints wall time, processor time and the most memory of all its processes together (resident, so that
pages they share count once for each, with mapped files), and the bytes that are new in the store and in the build
cache afterwards; of an edit also the time from the save until it is served, and the processor time that build and
server took until then, which says more where others use the machine too. Of several edits it takes the medians.
``--before`` builds and serves with the program that is checked out there. A store that ``--keep`` left is edited
again, with the figures of its first build as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.building.million import resident
from engine.access.keys.access import AccessFile, issue_key
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.servers.ports import free_port

HERE = Path(__file__).resolve().parents[2]
API = """uid: api_posts0000000
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text}
  - {id: body, type: richtext}
  - {id: related, type: reference, api: posts}
"""
SOURCE = 'source: "content/posts/*/{id}.{lang}.md"\n'
LANGUAGES = ("en", "ja")
TITLE_BYTES = 40
ROUNDS = {"first": "a first build", "edit": "one entry changed", "nothing": "nothing changed"}
LIMIT = 900.0


class Content:
    """A workspace, of which one entry is changed again and again."""

    def __init__(self, root: Path, entries: int, form: str, size: int) -> None:
        self.root, self.entries = root, entries
        self._form, self._middle = form, entries // 2
        self.entry = f"post-{self._middle}"
        self._offset = root / "offset"
        if not self._offset.exists():
            shutil.rmtree(root, ignore_errors=True)
            self._write(size)

    def edit(self, title: str) -> None:
        """Give the entry in the middle another title of ``TITLE_BYTES``."""
        if self._form == "lines":
            path, at = self.root / "content/posts.jsonl", int(self._offset.read_text())
        else:
            path = self._path(self._middle, LANGUAGES[0])
            at = path.read_bytes().index(b"title: ") + len("title: ")
        with path.open("r+b") as file:
            file.seek(at)
            file.write(title.ljust(TITLE_BYTES, ".").encode())

    def _path(self, number: int, lang: str) -> Path:
        return self.root / f"content/posts/{number // 1000}/post-{number}.{lang}.md"

    def _write(self, size: int) -> None:
        chance = random.Random(1)
        words = [chance.randbytes(4).hex()[: chance.randrange(3, 9)] for _ in range(5000)]
        (self.root / "apis").mkdir(parents=True)
        (self.root / "content").mkdir()
        (self.root / "workspace.yaml").write_text(f"id: bench\nlanguages: [{', '.join(LANGUAGES)}]\n")
        (self.root / "apis/posts.yaml").write_text(API + ("" if self._form == "lines" else SOURCE))
        told, offset = 0, 0
        with (self.root / "content/posts.jsonl").open("wb") as lines:
            for number in range(self.entries):
                for lang in LANGUAGES:
                    title = " ".join(chance.choices(words, k=8))[:TITLE_BYTES].ljust(TITLE_BYTES, ".")
                    body = " ".join(chance.choices(words, k=size // 7))
                    related, date = f"post-{chance.randrange(self.entries)}", f"2026-01-{number % 28 + 1:02}T00:00:00Z"
                    if self._form == "files":
                        self._write_file(number, lang, title, body, related, date)
                        continue
                    line = {"title": title, "id": f"post-{number}", "lang": lang, "createdAt": date}
                    data = json.dumps({**line, "body": f"<p>{body}</p>", "related": related}).encode() + b"\n"
                    if (number, lang) == (self._middle, LANGUAGES[0]):
                        offset = told + len(b'{"title": "')
                    told += lines.write(data)
        if self._form == "files":
            (self.root / "content/posts.jsonl").unlink()
        self._offset.write_text(str(offset))

    def _write_file(self, number: int, lang: str, title: str, body: str, related: str, date: str) -> None:
        path = self._path(number, lang)
        if not number % 1000:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\ntitle: {title}\ncreatedAt: {date}\nrelated: {related}\n---\n{body}\n")


def built(program: Path, root: Path, store: Path) -> dict[str, float]:
    """Build with the program that is checked out in a folder: seconds, processor seconds, and bytes of memory and of
    new files."""
    before = files_of(store)
    command = [sys.executable, "-m", "cli.main", "snapshot", "build", str(root), "--store", str(store)]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=program, stdout=subprocess.DEVNULL)
    peak, ended = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.05):
            peak = max(peak, sum(resident(process.pid).values()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    ended.set()
    watcher.join()
    if status:
        sys.exit(f"a build of {root} ended with {status}")
    new = {file: (path, size) for file, (path, size) in files_of(store).items() if file not in before}
    cached = sum(size for path, size in new.values() if path.startswith("/.cache/build/"))
    published = sum(size for path, size in new.values() if "/snapshots/" in path)
    return {
        "seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "memory": peak, "published": published,
        "cached": cached,
    }  # fmt: skip


def files_of(store: Path) -> dict[tuple[int, int], tuple[str, int]]:
    """The files below a store by inode and time of their last change: path and bytes."""
    found = {}
    for path in store.rglob("*"):
        try:
            if path.is_file():
                status = path.stat()
                found[status.st_ino, status.st_mtime_ns] = (f"/{path.relative_to(store)}", status.st_size)
        except OSError:  # a server drops it at this instant
            continue
    return found


def processor_seconds(pid: int) -> float:
    """Processor time of a process and its descendants, those that ended included."""
    found = 0.0
    for process in resident(pid):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return found


@contextmanager
def served(program: Path, store: Path) -> Iterator[tuple[str, int]]:
    """Serve a store with the program that is checked out in a folder; yield its address and process ID once it is
    ready."""
    port = free_port()
    command = [sys.executable, "-m", "cli.main", "serve", "--store", str(store), "--port", str(port)]
    process = subprocess.Popen(command, cwd=program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        host, end = f"127.0.0.1:{port}", time.monotonic() + LIMIT
        while answered(host, "/readyz", {})[0] != 200:
            if time.monotonic() > end or process.poll() is not None:
                sys.exit("the server does not get ready")
            time.sleep(0.05)
        yield host, process.pid
    finally:
        process.terminate()
        process.wait(60)


def answered(host: str, target: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """The status and body of an answer; status 0 where there is none."""
    connection = HTTPConnection(host, timeout=60)
    try:
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def edited(
    program: Path, content: Content, store: Path, server: tuple[str, int], key: str, title: str
) -> dict[str, float]:
    """Change the entry, and build; as ``built``, with the seconds from the save until it is served, and those of the
    processor until then."""
    host, pid = server
    served_at: list[float] = []
    target = f"/v1/bench/posts/{content.entry}?fields=title"

    def ask() -> None:
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            status, body = answered(host, target, {"X-API-KEY": key})
            if status == 200 and json.loads(body)["title"].startswith(title):
                served_at.extend((time.monotonic() - began, processor_seconds(pid) - used))
                return
            time.sleep(0.02)

    time.sleep(2.5)  # what was changed within the last two seconds is looked at again
    content.edit(title)
    began, used = time.monotonic(), processor_seconds(pid)
    asking = threading.Thread(target=ask)
    asking.start()
    figures = built(program, content.root, store)
    asking.join()
    if not served_at:
        sys.exit("the new title was never served")
    return {**figures, "served": served_at[0], "served cpu": figures["cpu"] + served_at[1]}


def measured(program: Path, content: Content, store: Path, edits: int) -> dict[str, Any]:
    """Build from nothing, edit, and build with nothing changed."""
    figures: dict[str, Any] = {"entries": content.entries}
    first = store / "first.json"
    if not first.exists():
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir(parents=True)
        time.sleep(2.5)
        first.write_text(json.dumps(built(program, content.root, store)))
    figures["first"] = json.loads(first.read_text())
    figures["version"] = figures["first"]["published"]
    figures["cache"] = figures["first"]["cached"]
    place = open_store(store).workspace("bench")
    _, key = issue_key(
        AccessFile(place.directory), name="Bench", scope=None, now=now_ms(), zone=UTC, validity="none", rate_limit=10**9
    )
    with served(program, store) as server:
        some = [edited(program, content, store, server, key, f"edit {number} of {now_ms()}") for number in range(edits)]
    figures["edit"] = {name: statistics.median([one[name] for one in some]) for name in some[0]}
    time.sleep(2.5)
    built(program, content.root, store)
    some = [built(program, content.root, store) for _ in range(edits)]
    figures["nothing"] = {name: statistics.median([one[name] for one in some]) for name in some[0]}
    return figures


def tell(form: str, figures: dict[str, Any]) -> None:
    for name, meaning in ROUNDS.items():
        one = figures[name]
        until = ""
        if "served" in one:
            until = f", served after {one['served']:.1f} s, {one['served cpu']:.1f} s of the processor"
        print(
            f"{figures['entries']:9,} x 2 in {form}, {meaning}: {one['seconds']:.1f} s, {one['cpu']:.1f} s of the "
            f"processor, {one['memory'] / 1e6:,.0f} MB of memory, {one['published'] / 1e6:.2f} MB new in the store, "
            f"{one['cached'] / 1e6:.2f} MB in the build cache{until}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="*", default=[10_000, 20_000, 100_000, 200_000, 1_000_000])
    parser.add_argument("--files", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--bytes", type=int, default=700, help="of the text of an entry in a language")
    parser.add_argument("--edits", type=int, default=3)
    parser.add_argument("--before", type=Path, help="a checkout of another commit to measure")
    parser.add_argument("--work", type=Path, help="where workspaces are kept for another run")
    parser.add_argument("--keep", action="store_true", help="leave the stores there too")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {"lines": [], "files": []}
    with tempfile.TemporaryDirectory(prefix="edits-", dir=options.work) as scratch:
        place = options.work or Path(scratch)
        for form, sizes in (("lines", options.entries), ("files", options.files)):
            for entries in sizes:
                name = f"{form}-{entries}-{options.bytes}"
                content = Content(place / name, entries, form, options.bytes)
                store = (place if options.keep else Path(scratch)) / f"store-{name}"
                found[form].append(measured(options.before or HERE, content, store, options.edits))
                if not options.keep:
                    shutil.rmtree(store)
                if not options.json:
                    tell(form, found[form][-1])
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()

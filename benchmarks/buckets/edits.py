"""What an edit costs in a bucket: requests and bytes of ``cms snapshot build``, and of a reader that follows.

    python -m benchmarks.buckets.edits [ENTRIES]

ENTRIES (20,000) entries in each of two languages, in one JSONL file. Builds them straight into a bucket, as on a build
machine, then again with one title changed, and once more with nothing changed; a mirror polls after each. Counts the
requests by kind at a proxy before the bucket, which is SeaweedFS's on this machine, and the bytes that passed it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from snapshots.store.store import open_store
from tests.programs.command_line import CMS
from tests.stores.counted_requests import kinds_of
from tests.stores.mirrored_machine import Machine
from tests.stores.object_stores import object_store
from tests.stores.store_proxy import Proxy, store_proxy

API = """uid: api_posts0000000
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text}
  - {id: body, type: richtext}
"""


def write(root: Path, entries: int, edited: str) -> None:
    """Write the workspace, of which one entry has the title ``edited``. An entry has 0.7 KB in each language."""
    generator = random.Random(1)
    words = [generator.randbytes(4).hex()[: generator.randrange(3, 9)] for _ in range(5000)]
    (root / "apis").mkdir(parents=True, exist_ok=True)
    (root / "content").mkdir(exist_ok=True)
    (root / "workspace.yaml").write_text("id: bench\nlanguages: [en, ja]\n")
    (root / "apis" / "posts.yaml").write_text(API)
    with (root / "content" / "posts.jsonl").open("w") as lines:
        for number in range(entries):
            for lang in ("en", "ja"):
                is_edited = (number, lang) == (entries // 2, "en")
                line = {
                    "id": f"post-{number}",
                    "lang": lang,
                    "createdAt": f"2026-01-01T00:00:{number % 60:02}Z",
                    "title": edited if is_edited else " ".join(generator.choices(words, k=6)),
                    "body": f"<p>{' '.join(generator.choices(words, k=90))}</p>",
                }
                lines.write(json.dumps(line) + "\n")


def tell(what: str, proxy: Proxy) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds_of(proxy.requests).items()))
    print(f"{what:32} {kinds}; {proxy.sent / 1e6:.2f} MB sent, {proxy.received / 1e6:.2f} MB received", flush=True)
    proxy.requests.clear()
    proxy.sent = proxy.received = 0


def main(entries: int) -> None:
    with ExitStack() as running, tempfile.TemporaryDirectory(prefix="edits-") as name:
        server = running.enter_context(object_store("seaweedfs"))
        os.environ.update(server.environment, XDG_CACHE_HOME=f"{name}/cache")
        proxy = running.enter_context(store_proxy(server.port))
        location = server.place().replace(f":{server.port}/", f":{proxy.port}/")
        reader = open_store(location, cache=Path(name, "reader-cache"))
        assert reader.bucket is not None
        machine = Machine(Path(name, "mirror"), reader.bucket)  # type: ignore[arg-type]
        root = Path(name, "site")
        for step, title in (("first", "before"), ("one title changed", "after"), ("nothing changed", "after")):
            write(root, entries, title)
            command = [*CMS, "snapshot", "build", str(root), "--store", location]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            tell(f"{step}: the build", proxy)
            machine.poll()
            tell(f"{step}: a reader", proxy)
        version = reader.workspace("bench").versions()[0]
        files = reader.workspace("bench").manifest(version).files
        print(f"the version: {len(files)} files, {sum(file.bytes for file in files) / 1e6:.1f} MB")
        machine.mirror.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)

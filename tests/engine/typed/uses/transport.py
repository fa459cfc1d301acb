"""What the client sends, seen by a server that answers from a script. Each line of input is an address and a task."""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

from komugi import Client, ContentError


def done(content: Client, task: str) -> object:
    match task:
        case "pages":
            return [bread["id"] for bread in content.breads.all(fields=["name"])]
        case "pin":
            pinned = content.pin()
            return [pinned.snapshot, pinned.breads.list()["totalCount"], content.snapshot]
        case "etag":
            first = content.breads.list()
            first["contents"].clear()
            second = content.breads.list()
            change, tags = content.last_answer.next_change, content.last_answer.tags
            shown = change and change.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            return [first is second, len(second["contents"]), shown, tags]
        case "threads":
            with ThreadPoolExecutor(4) as threads:
                return sum(threads.map(lambda _: content.breads.list()["totalCount"], range(40)))
        case "async":
            return asyncio.run(asyncio.to_thread(content.breads.list))["totalCount"]
    try:
        return content.breads.list()["totalCount"]
    except ContentError as error:
        return [type(error).__name__, error.status, str(error)]


for line in sys.stdin:
    url, wanted = line.split()
    with Client(url, "the key", patience=1 if wanted == "impatient" else 60) as asking:
        print(json.dumps(done(asking, wanted)), flush=True)

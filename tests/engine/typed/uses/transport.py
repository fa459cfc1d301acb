"""What the client sends, seen by a server that answers from a script. Each line of input is an address and a task."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from komugi import AsyncClient, Client, ContentError, Wait

IS_ASYNC = sys.argv[1:] == ["async"]
SETTINGS: dict[str, dict[str, Any]] = {
    "impatient": {"patience": 0},
    "abort": {"patience": 120},
    "waits": {"patience": 120},
    "hurry": {"patience": 0, "timeout": 0.2},
    "hurry-on": {"patience": 60, "timeout": 0.2},
}
sleep, sleep_in_asyncio = time.sleep, asyncio.sleep


def done(content: Client, task: str, waits: list[Wait]) -> object:
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
        case "all":
            return len(list(content.breads.all()))
        case "pinned":
            return content.at("x@y").breads.list()["totalCount"]
        case "entries":
            return len(content.breads.entries(["n0", "n7", "no entry", "n0"]))
        case "many":
            return [one["id"] for one in content.breads.entries(f"n{number}" for number in range(25))]
        case "object":
            return content.shop.get()
        case "waits":
            return [
                content.breads.list()["totalCount"],
                [[one.status, one.seconds, one.reason, one.url] for one in waits],
            ]
        case "impatient":
            return content.breads.list(limit=3)
    return content.breads.list()["totalCount"]


async def done_in_asyncio(content: AsyncClient, task: str, waits: list[Wait]) -> object:
    match task:
        case "pages":
            return [bread["id"] async for bread in content.breads.all(fields=["name"])]
        case "pin":
            pinned = await content.pin()
            return [pinned.snapshot, (await pinned.breads.list())["totalCount"], content.snapshot]
        case "etag":
            first = await content.breads.list()
            first["contents"].clear()
            second = await content.breads.list()
            change, tags = content.last_answer.next_change, content.last_answer.tags
            shown = change and change.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            return [first is second, len(second["contents"]), shown, tags]
        case "threads":
            pages = await asyncio.gather(*(content.breads.list() for _ in range(40)))
            return sum(one["totalCount"] for one in pages)
        case "all":
            return len([one async for one in content.breads.all()])
        case "pinned":
            return (await content.at("x@y").breads.list())["totalCount"]
        case "entries":
            return len(await content.breads.entries(["n0", "n7", "no entry", "n0"]))
        case "many":
            return [one["id"] for one in await content.breads.entries(f"n{number}" for number in range(25))]
        case "object":
            return await content.shop.get()
        case "waits":
            total = (await content.breads.list())["totalCount"]
            return [total, [[one.status, one.seconds, one.reason, one.url] for one in waits]]
        case "impatient":
            return await content.breads.list(limit=3)
        case "abort":
            try:
                async with asyncio.timeout(0.1):
                    await content.breads.list()
            except TimeoutError:
                return "stopped"
    return (await content.breads.list())["totalCount"]


async def with_client(url: str, task: str, waits: list[Wait], settings: dict[str, Any]) -> object:
    async with AsyncClient(url, "the_key", on_wait=waits.append, **settings) as content:
        return await done_in_asyncio(content, task, waits)


def answer(url: str, task: str) -> object:
    waits: list[Wait] = []
    settings = {"timeout": 0} | SETTINGS.get(task, {})
    try:
        if IS_ASYNC:
            return asyncio.run(with_client(url, task, waits, settings))
        with Client(url, "the_key", on_wait=waits.append, **settings) as content:
            return done(content, task, waits)
    except ContentError as error:
        facts = [type(error).__name__, error.status, str(error)]
        return [*facts, error.url] if task == "impatient" else facts
    except ValueError as error:
        return ["Error", 0, str(error)]


if __name__ == "__main__":
    # Pauses of minutes take seconds.
    time.sleep = lambda seconds, /: sleep(float(seconds) / 100)
    asyncio.sleep = lambda seconds: sleep_in_asyncio(seconds / 100)  # type: ignore[assignment]
    for line in sys.stdin:
        print(json.dumps(answer(*line.split())), flush=True)

"""Answers made on the event loop: which ones, the same as threads make them, and counted once like all others."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from engine.query import at_once as at_once_rule
from server.app import create_app
from server.content import delivery, kept_answers
from server.content.thread_pool import Statements
from server.settings import Settings
from snapshots.build.build import build
from snapshots.times import now_ms
from tests.served_site import Site, eventually

FIELDS = """\
  - {id: rank, name: Rank, type: number}
  - {id: kind, name: Kind, type: single_select}
  - {id: next, name: Next, type: reference, api: posts}
"""


def test_what_is_answered_at_once_and_that_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = published(tmp_path)
    _, key = site.key(rate_limit=1000)
    threads: list[str] = []
    lists, entries = delivery.list_answer, delivery.entry_answer
    for name, whole in (("list_answer", lists), ("entry_answer", entries)):
        monkeypatch.setattr(
            delivery, name, lambda *given, whole=whole: threads.append(threading.current_thread().name) or whole(*given)
        )
    with TestClient(create_app(Settings(store=str(site.store.root)))) as client:
        eventually(lambda: client.get("/v1/acme/_schema", headers={"X-API-KEY": key}).status_code == 200)

        def ask(target: str) -> tuple[int, bytes, bool, int]:
            """(status, body, whether a thread made it, requests left)"""
            threads.clear()
            answer = client.get(f"/v1/acme/{target}", headers={"X-API-KEY": key, "Accept-Encoding": "identity"})
            left = re.search("r=([0-9]+)", answer.headers.get("ratelimit", ""))
            handed = any(name.startswith(("quick-statements", "statements")) for name in threads)
            return answer.status_code, answer.content, handed, int(left[1]) if left else -1

        dates = "filters=publishedAt[less_than]2030-01-01T00:00:00Z"
        at_once = [
            "posts?limit=16",
            "posts?limit=32&depth=0",
            f"posts?limit=3&{dates}",
            "posts/post-7",
            "posts?_=1",
            "site?a=1",
            "posts?orders=-rank",
            "posts?filters=rank[greater_than]3[or]kind[exists]&orders=publishedAt,rank",
            f"posts?{dates}[and]next[equals]post-3[and]kind[not_equals]a",
            "posts?orders=rank&limit=5&offset=30",
        ]
        handed = [
            "posts?limit=17",
            "posts?limit=33&depth=0",
            "posts?q=one",
            "posts?orders=title",
            "posts?filters=id[equals]post-1",
            "posts?orders=rank&limit=33",
            "posts?orders=rank&q=one",
            "posts?orders=rank,title",
            "posts?orders=views",
            "posts?orders=rank,-views",
            "posts?filters=next[equals]missing",
            "posts?filters=title[contains]on",
            "posts?filters=rank[equals]3[and]title[exists]",
        ]
        refused = [
            "posts?limit=0",
            "posts?orders=nothing",
            "posts?filters=rank[contains]3",
            "posts/nothing",
            "posts/post%2D7?limit=1",
            "posts/post-7/",
        ]
        for target in ("posts?limit=1", "site"):
            assert ask(target)[2], "nothing is known of the version yet"
        found = {}
        left = ask("posts?limit=1")[3]
        for target in (*at_once, *handed, *refused):
            found[target] = ask(target)
            if target in at_once:
                assert not found[target][2], target
            if target in handed:
                assert found[target][2], target
            counted = found[target][3] >= 0
            left -= counted
            assert not counted or found[target][3] == left, target
        for most, query, too_many in (
            (80, "orders=rank&filters=rank[less_than]3", False),
            (79, "orders=rank&filters=rank[less_than]4", True),
            (79, "orders=rank", False),
            (39, "orders=-rank", True),
            (39, dates, False),
        ):
            monkeypatch.setattr(at_once_rule, "MOST_VALUES", most)
            assert ask(f"posts?limit=7&{query}")[2] is too_many, (most, query)
        monkeypatch.setattr(kept_answers, "work_at_once", lambda *_: None)
        for target, before in found.items():
            again = target + ("&" if "?" in target else "?")
            assert ask(again)[:2] == before[:2], target


def published(folder: Path) -> Site:
    site = Site(folder)
    with (site.source / "apis" / "posts.yaml").open("a") as file:
        file.write(FIELDS)
    posts = [
        {"id": f"post-{n}", "createdAt": "2026-01-01", "title": "one", "rank": n * 7 % 11, "kind": "ab"[n % 2]}
        | {"next": f"post-{(n + 1) % 40}"}
        for n in range(40)
    ]
    (site.source / "content" / "posts.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    (site.source / "content" / "site.yaml").write_text("title: one\ncreatedAt: 2026-01-01\n")
    build(site.source, site.store, now=now_ms())
    return site


def test_one_work_that_took_long_has_nothing_refused_after_it() -> None:
    async def ask() -> int:
        statements = Statements(1, 1.0)
        release = threading.Event()
        statements.submit(lambda: release.wait(0.6), quick=True)
        await asyncio.sleep(0.7)
        waiting = [asyncio.wrap_future(statements.submit(lambda: None, quick=True)) for _ in range(200)]
        await asyncio.gather(*waiting)
        statements.shutdown()
        return len(waiting)

    assert asyncio.run(ask()) == 200

"""The answer cache: what is kept and for how long, that nothing wrong is ever answered, and that one asks for many."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

from engine.access.keys.access import Keyring
from engine.access.keys.keys import Key as ApiKey
from engine.read.query.answers.answer import Source
from engine.read.query.answers.answer_cache import Answer, AnswerCache, AnswerKey, Lifetime, views_lifetime
from engine.read.query.answers.bind import NotFound, Plan
from engine.timeline.flips import Epoch
from server.delivery import delivery
from server.delivery.admission import Admission, Caller
from server.delivery.answer_cache_layer import LONGEST_KNOWN, MOST_KNOWN, Identity, KnownRequests
from server.delivery.answer_making import AnswerMaking, WantedAnswer, Work, represent
from server.delivery.lanes import Lanes, Overloaded
from server.settings import Settings
from server.workspaces.open_snapshot import OpenSnapshot
from snapshots.build.build import build
from snapshots.model import ALWAYS, NEVER
from snapshots.times import parse_datetime
from tests.contract.service import ZONE, Service
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

START = parse_datetime("2026-06-15T12:00:00Z", ZONE)
FOREVER = Lifetime()


def key(number: int, query: bytes = b"") -> AnswerKey:
    return AnswerKey(b"/%d" % number, query, 0, None)


def test_a_cache_holds_what_was_used_last_within_its_bytes() -> None:
    cache = AnswerCache(10_000)
    answers = {n: Answer(bytes(1000), FOREVER) for n in range(4)}
    for n in range(3):
        cache.put(key(n), answers[n])
    assert cache.get(key(0)) is answers[0]
    cache.put(key(3), answers[3])
    assert [cache.get(key(n)) is not None for n in range(4)] == [True, False, True, True]
    assert cache.size <= 10_000
    cache.put(key(9), Answer(bytes(20_000), FOREVER))
    assert cache.get(key(9)) is None
    cache.put(key(9, b"x" * 20_000), Answer(b"", FOREVER))
    assert cache.get(key(9, b"x" * 20_000)) is None
    for n in (0, 2, 3):
        cache.put(key(n), Answer(b"", FOREVER))
    assert len(cache) == 3
    assert cache.size < 9_000


def test_what_is_unpublished_is_never_kept() -> None:
    cache = AnswerCache(10_000)
    cache.put(key(1), Answer(b"", FOREVER))
    cache.put(key(1), Answer(b"", None))
    assert cache.get(key(1)) is None
    assert cache.size == 0
    assert not Answer(b"", None).holds(0, 0)


def test_an_answer_holds_from_its_first_instant_to_the_flip_and_for_its_counts() -> None:
    answer = Answer(b"", Lifetime(100, 200, 7))
    assert [answer.holds(now, 7) for now in (99, 100, 199, 200)] == [False, True, True, False]
    assert not answer.holds(150, 8)


@pytest.mark.parametrize("hour", [0, 8, 14, 15, 23])
def test_view_counts_hold_for_a_day_in_japan(hour: int) -> None:
    now = parse_datetime(f"2026-06-15T{hour:02}:30:00Z", ZONE)
    day = 15 if hour >= 15 else 14
    epochs = [Epoch(ALWAYS, NEVER)]
    workspace = SimpleNamespace(languages_of=lambda _: ["en"])
    reader = SimpleNamespace(workspace=workspace, deadline=lambda: 0.0, common_epoch=lambda *_: epochs[0])
    life = views_lifetime(cast(Any, reader), cast(Any, None), now, 3)
    assert life.since == parse_datetime(f"2026-06-{day}T15:00:00Z", ZONE)
    assert life.until == parse_datetime(f"2026-06-{day + 1}T15:00:00Z", ZONE)
    assert life.counts == 3
    epochs[0] = Epoch(now - 5, now + 5)
    life = views_lifetime(cast(Any, reader), cast(Any, None), now, 3)
    assert (life.since, life.until) == (now - 5, now + 5), "an entry comes or goes"


def test_requests_are_remembered_within_bounds() -> None:
    cache, keyring = AnswerCache(1 << 20), cast(Keyring, object())
    served = SimpleNamespace(number=0)
    workspaces = SimpleNamespace(keyring=keyring, served=lambda _: served)
    admission = Admission(cast(Any, workspaces), cast(Any, None), cast(Any, None))
    caller = Caller("acme", cast(ApiKey, None), keyring, 0, "", b"", 300, since=0, until=60_000)
    known = KnownRequests(cache, admission, cast(Any, None))
    answers = [Answer(b"{}", FOREVER)]
    answers[0].representations["identity"] = represent(answers[0], "identity", b"")

    def request(number: int, size: int = 0) -> Identity:
        return b"/%d" % number, b"x" * size, b"key", None, None, None

    def remember(identity: Identity) -> None:
        known.remember(identity, caller, key(0), answers[0])

    def is_known(identity: Identity) -> bool:
        return known.recall(identity, 59_999) is not None

    for number in range(MOST_KNOWN):
        remember(request(number))
    assert is_known(request(0))
    remember(request(MOST_KNOWN))
    assert [is_known(request(number)) for number in (0, 1, 2, MOST_KNOWN)] == [True, False, True, True]
    remember(request(1, LONGEST_KNOWN))
    assert not is_known(request(1, LONGEST_KNOWN))
    assert known.recall(request(0), 60_000) is None, "the key may have expired since"
    workspaces.keyring = cast(Keyring, object())
    assert not is_known(request(2)), "the keys were edited"
    remember(request(3))
    answers.clear()
    assert not is_known(request(4)), "the answer is not kept any more"


class Asked:
    """Answers without a server: work is counted, and waits until it may go on."""

    def __init__(self, longest_wait: float = 10.0) -> None:
        self.making = AnswerMaking(AnswerCache(1 << 20), Lanes(2, longest_wait), lambda: True, lambda _: None)
        self.made = 0
        self.go_on = threading.Event()
        self.leased = 0

    async def ask(
        self, *, now: int = 0, error: Exception | None = None, keep: bool = True, path: bytes = b"/"
    ) -> bytes:
        reader = SimpleNamespace(version="v")
        snapshot = SimpleNamespace(number=1, reader=reader, acquire=partial(self._lease, 1), release=self._release)

        def make(kept_only: bool) -> Answer:
            assert not kept_only
            self.made += 1
            assert self.leased > 0
            assert self.go_on.wait(60)
            if error is not None:
                raise error
            return Answer(b"answer at %d" % now, Lifetime(now - 10, now + 10))

        key = AnswerKey(path, b"", 1, None) if keep else None
        wanted = WantedAnswer(cast(OpenSnapshot, snapshot), key, b"", None, now, 0)
        answer = self.making.kept(wanted) or await self.making.made(wanted, Work(make, is_small=False, is_long=False))
        return (await self.making.represented(wanted, answer)).body

    def _lease(self, number: int) -> None:
        self.leased += number

    def _release(self) -> None:
        self.leased -= 1


async def begun(*asking: Any) -> list[asyncio.Task[bytes]]:
    tasks = [asyncio.ensure_future(one) for one in asking]
    await asyncio.sleep(0.05)
    return tasks


def test_many_ask_the_same_and_it_is_made_once() -> None:
    async def run() -> None:
        asked = Asked()
        tasks = await begun(*(asked.ask() for _ in range(50)))
        asked.go_on.set()
        assert set(await asyncio.gather(*tasks)) == {b"answer at 0"}
        assert await asked.ask() == b"answer at 0"
        await asyncio.sleep(0.05)
        assert (asked.made, asked.leased) == (1, 0)

    asyncio.run(run())


def test_a_failure_is_only_of_the_one_who_asked() -> None:
    async def run() -> None:
        asked = Asked()
        first, *others = await begun(asked.ask(error=NotFound("no")), asked.ask(), asked.ask())
        asked.go_on.set()
        with pytest.raises(NotFound):
            await first
        assert await asyncio.gather(*others) == [b"answer at 0"] * 2
        await asyncio.sleep(0.05)
        assert asked.leased == 0

    asyncio.run(run())


def test_one_who_goes_away_takes_nothing_from_the_others() -> None:
    async def run() -> None:
        asked = Asked()
        first, second = await begun(asked.ask(), asked.ask())
        first.cancel()
        await asyncio.sleep(0.01)
        asked.go_on.set()
        assert await second == b"answer at 0"
        await asyncio.sleep(0.05)
        assert (asked.made, asked.leased) == (1, 0)

    asyncio.run(run())


def test_who_asks_after_the_flip_gets_no_answer_from_before_it() -> None:
    async def run() -> None:
        asked = Asked()
        tasks = await begun(asked.ask(now=0), asked.ask(now=9), asked.ask(now=10), asked.ask(now=-11))
        asked.go_on.set()
        assert await asyncio.gather(*tasks) == [b"answer at 0", b"answer at 0", b"answer at 10", b"answer at -11"]

    asyncio.run(run())


def test_previews_are_neither_kept_nor_shared() -> None:
    async def run() -> None:
        asked = Asked()
        asked.go_on.set()
        for _ in range(2):
            await asked.ask(keep=False)
        assert asked.made == 2
        assert len(asked.making.cache) == 0

    asyncio.run(run())


def test_who_cannot_be_begun_in_time_is_told_so() -> None:
    async def run() -> None:
        asked = Asked(longest_wait=0.1)
        tasks = await begun(*(asked.ask(path=b"/%d" % n) for n in range(5)))
        late = await asyncio.gather(*tasks[1:], return_exceptions=True)
        assert [type(error) for error in late] == [Overloaded] * 4
        asked.go_on.set()
        assert await tasks[0] == b"answer at 0"
        await asyncio.sleep(0.05)
        assert (asked.made, asked.leased) == (1, 0)

    asyncio.run(run())


FLIPS = 40
STEP = 1000


@pytest.fixture(scope="module")
def flipping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, TestClient, dict[str, str]]]:
    """A list in which, every second, one entry appears and another one goes; an item refers to one of them."""
    site = Site(tmp_path_factory.mktemp("flipping"))
    (site.source / "apis" / "site.yaml").write_text(
        "uid: api_site00000001\nname: Site\nendpoint: site\nkind: object\nfields:\n"
        "  - {id: picks, name: Picks, type: references, api: posts}\n"
    )
    lines = [
        {
            "id": f"post-{n:02}",
            "createdAt": "2026-01-01T00:00:00Z",
            "publishStart": instant(START + n * STEP),
            "publishEnd": instant(START + (n + 3) * STEP),
            "title": str(n),
        }
        for n in range(FLIPS)
    ]
    (site.source / "content" / "posts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    picks = json.dumps([line["id"] for line in lines])
    (site.source / "content" / "site.yaml").write_text(f"picks: {picks}\ncreatedAt: 2026-01-01T00:00:00Z\n")
    build(site.source, site.store, now=START)
    _, text = site.key(validity="none", start=date(2026, 1, 1))
    service = Service(site.store, 0, {}, START)
    with TestClient(quiet_app(Settings(store=str(site.store.root)), clock=lambda: service.now)) as client:
        headers = {"X-API-KEY": text}
        eventually(lambda: client.get("/v1/acme/_schema", headers=headers).status_code == 200)
        yield service, client, headers


def instant(now: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1000)) + f".{now % 1000:03}Z"


def live(now: int) -> list[str]:
    """The titles that a list shows, oldest first."""
    return [str(n) for n in range(FLIPS) if START + n * STEP <= now < START + (n + 3) * STEP]


def shown(client: TestClient, headers: dict[str, str], target: str) -> list[str]:
    answer = client.get(f"/v1/acme/{target}", headers=headers)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    return sorted((entry["title"] for entry in found.get("contents", found.get("picks"))), key=int)


def test_an_answer_is_made_once_an_epoch(
    flipping: tuple[Service, TestClient, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, client, headers = flipping
    made = []
    whole = delivery.answer_to
    monkeypatch.setattr(delivery, "answer_to", lambda *given: made.append(given) or whole(*given))
    instants = [5000, 5001, 5999, 6000, 6999, 5500, 5999]  # the clock may also go back
    for now in instants:
        service.now = START + now
        assert shown(client, headers, "posts?limit=100&fields=title") == live(service.now)
    assert len(made) == 3
    assert shown(client, headers, "posts?limit=100&fields=title&") == live(service.now)
    assert len(made) == 4, "what is written in another way is another question"


def test_what_is_asked_for_often_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    whole = delivery.answer_to

    def counted(plan: Plan, source: Source) -> Answer:
        answer = whole(plan, source)  # or nothing is made, of what is kept
        made.append(getattr(plan, "entry_id", ""))
        return answer

    monkeypatch.setattr(delivery, "answer_to", counted)
    site = Site(tmp_path, entries=200)
    site.publish("one")
    _, text = site.key()
    with TestClient(quiet_app(Settings(store=str(site.store.root), answer_cache=100_000))) as client:
        eventually(lambda: client.get("/v1/acme/_schema", headers={"X-API-KEY": text}).status_code == 200)
        for n in range(1, 200):
            for entry in (0, n):
                answer = client.get(f"/v1/acme/posts/post-{entry}", headers={"X-API-KEY": text})
                assert answer.json()["id"] == f"post-{entry}"
        assert made.count("post-0") == 1
        client.get("/v1/acme/posts/post-1", headers={"X-API-KEY": text})
        assert made.count("post-1") == 2, "long forgotten"


@pytest.mark.slow
def test_no_answer_outlives_a_flip_under_load(flipping: tuple[Service, TestClient, dict[str, str]]) -> None:
    service, client, headers = flipping
    service.now = START
    stop = threading.Event()

    def ask(target: str) -> int:
        asked = 0
        while not stop.is_set():
            before = service.now
            titles = shown(client, headers, target)
            after = service.now
            right = [live(now) for now in {before, after, *range(before - before % STEP + STEP, after, STEP)}]
            assert titles in right, (target, before - START, after - START, titles)
            asked += 1
        return asked

    targets = ["posts?limit=100", "site", "posts?limit=100&orders=title", "site?fields=picks"]
    with ThreadPoolExecutor(len(targets)) as pool:
        asking = [pool.submit(ask, target) for target in targets]
        try:
            while service.now < START + (FLIPS + 4) * STEP and not any(one.done() for one in asking):
                time.sleep(0.005)
                service.now += 90  # several requests an epoch
        finally:
            stop.set()
        assert all(one.result() > 20 for one in asking)

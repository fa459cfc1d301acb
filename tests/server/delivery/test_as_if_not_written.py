"""Two servers of one random workspace, of which one was never given what is not published: nobody can tell them apart.

The one has all versions of the content, the other only those that are live at the instant asked about. Every request of
every kind gets the same answer from both, byte for byte, by the same statements. Only the one instant of each API that
a workspace may tell differs, and what it is follows from the definitions and windows alone.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from engine.access.keys.access import ACCESS, AccessFile, issue_key
from engine.read.reader.reader import Reader
from engine.views.collecting.spool import VIEWS, SpoolWriter
from engine.views.collecting.spool import View as Viewed
from engine.views.collecting.targets import Kind
from engine.views.gathering.writer import ViewWriter
from server.settings import Settings
from snapshots.build.build import build
from snapshots.store.store import Store, open_store
from snapshots.times import format_datetime, parse_datetime
from tests.generated.budget import RANDOM, TIMES
from tests.generated.content import (
    APIS,
    DAY,
    FLIPS,
    IDS,
    LANGUAGES,
    START,
    WORKSPACE,
    Version,
    random_versions,
    version,
    write_workspace,
    written,
)
from tests.generated.engine import draft_key
from tests.generated.requests import BY_ENDPOINT, ENDPOINTS, ENTRY_IDS, SCOPES, any_of, requests
from tests.model.model import Model, Request
from tests.server.delivery.test_nothing_unpublished import hunting, marked
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import eventually

MINUTE = 60_000
ENTRIES = 5
"""The most entries of a segment: what is not published divides the entries of one server in another way."""
LISTS = [api["endpoint"] for api in APIS if api["kind"] == "list"]
TOLD_APART = ("x-request-id", "x-next-change")


@dataclass
class Server:
    """A server in this process over a store of its own, and the statements that it runs."""

    client: TestClient
    model: Model
    keys: list[str]
    """One for each of ``SCOPES``."""
    points: list[str]
    """The version before the present one and the present one, each at the instant it is asked at."""

    def ask(self, method: str, target: str, scope: int, headers: dict[str, str]) -> httpx.Response:
        """Ask for a target, in which ``{before}`` and ``{present}`` stand for the points."""
        sent = {name: self.filled(value) for name, value in headers.items()}
        sent = {"X-API-KEY": self.keys[scope], "Accept-Encoding": "identity", **sent}
        return self.client.request(method, self.filled(target), headers=sent)

    def filled(self, text: str) -> str:
        before, present = self.points
        return text.replace("{before}", before).replace("{present}", present)

    def plain(self, text: str) -> str:
        """A text in which the names of versions are those that every server has."""
        before, present = (point.partition("@")[0] for point in self.points)
        return text.replace(present, "<present>").replace(before, "<before>")


@dataclass
class Pair:
    """The two servers, and whether they tell what comes next."""

    whole: Server
    alone: Server
    tells: bool
    now: int
    statements: list[tuple[str, str]] = field(default_factory=list)

    def asked(self, server: Server, method: str, target: str, scope: int, headers: dict[str, str]) -> Any:
        self.statements.clear()
        answer = server.ask(method, target, scope, headers)
        return answer, list(self.statements)


def without(versions: list[Version], now: int) -> list[Version]:
    """The versions that are live at an instant."""
    model = Model(WORKSPACE, versions)
    return [one for one in versions if Request(model, None, now).is_live(one)]


def published_later(versions: list[Version], random: Random) -> list[Version]:
    """The same content some time after: edited, withdrawn, put off, taken back to drafts, and new."""
    names = {(one["api"], one["id"], one["lang"], one["draft"]) for one in versions}
    later = []
    for one in versions:
        chance, name = random.random(), (one["api"], one["id"], one["lang"], True)
        if chance < 0.2:
            later.append(version(random, BY_ENDPOINT[one["api"]], one["id"], one["lang"], draft=one["draft"]))
        elif chance < 0.35 and not one["draft"]:
            put_off = {**one, "status": "scheduled", "publishStart": written(START + (FLIPS - 1) * DAY)}
            later.append({key: value for key, value in put_off.items() if key != "publishEnd"})
        elif chance < 0.4 and name not in names:
            later.append({**one, "status": "draft"})
        elif chance < 0.9:
            later.append(one)
    for one in random_versions(random.randrange(1 << 20)):
        name = (one["api"], one["id"], one["lang"], one["draft"])
        if one["api"] in LISTS and not one["draft"] and one["status"] != "draft" and name not in names:
            later.append(one)
    return later


def write(directory: Path, versions: list[Version], tells: bool) -> Path:
    write_workspace(directory, versions)
    if not tells:
        file = directory / "workspace.yaml"
        file.write_text(json.dumps({**json.loads(file.read_text()), "signals": {"next_change": False}}))
    return directory


@contextmanager
def serving(directory: Path, stages: list[list[Version]], instants: list[int], tells: bool, access: Path | None,
            keys: list[str], views: list[str]) -> Iterator[Server]:  # fmt: skip
    """Serve the first stage of the content at the first instant, then the second at the second."""
    store: Store = open_store(directory / "store")
    place = store.workspace(WORKSPACE["id"])
    first = build(write(directory / "first", stages[0], tells), store, now=instants[0] - 5 * MINUTE,
                  segment_entries=ENTRIES).version  # fmt: skip
    if access is None:
        for number, scope in enumerate(SCOPES):
            made = issue_key(
                AccessFile(place.directory), name=f"{number}", scope=scope, now=0, zone=UTC, validity="none",
                rate_limit=1_000_000,
            )  # fmt: skip
            keys.append(made[1])
    else:
        shutil.copy(access, place.directory / ACCESS)
    (place.directory / VIEWS).mkdir()
    spool = SpoolWriter(place.directory / VIEWS, instants[0])
    for one in views:
        spool.append(Viewed(instants[0], Kind.ENTRY, one, "example.com"))
    spool.close()
    ViewWriter(place.directory / VIEWS).round(instants[0], 0.0, flush=True)
    clock = [instants[0]]
    with TestClient(quiet_app(Settings(store=str(store.root)), clock=lambda: clock[0])) as client:
        server = Server(client, Model(WORKSPACE, stages[1], draft_key), keys, ["-", "-"])

        def served() -> str | None:
            return server.ask("GET", "/v1/random/_schema", 0, {}).headers.get("x-snapshot")

        eventually(lambda: served() == first)
        second = build(write(directory / "second", stages[1], tells), store, now=instants[1] - 5 * MINUTE,
                       allow_breaking=True, segment_entries=ENTRIES).version  # fmt: skip
        eventually(lambda: served() == second)
        clock[0] = instants[1]
        server.points = [f"{one}@{format_datetime(at)}" for one, at in zip((first, second), instants, strict=True)]
        yield server


@contextmanager
def pair_of(directory: Path, seed: int) -> Iterator[Pair]:
    random = Random(seed)
    flip, tells = START + random.randrange(1, FLIPS - 1) * DAY, seed % 2 == 0
    instants = [flip - 10 * MINUTE, flip + 10 * MINUTE]
    one = marked(random_versions(seed))
    stages = [one, marked(published_later(one, random))]
    views = [entry_id for entry_id in [*IDS, "front", "own-id", "imprint"] for _ in range(random.randrange(3))]
    keys: list[str] = []
    with ExitStack() as stack:
        whole = stack.enter_context(serving(directory / "whole", stages, instants, tells, None, keys, views))
        access = open_store(directory / "whole" / "store").workspace(WORKSPACE["id"]).directory / ACCESS
        live = [without(stage, at) for stage, at in zip(stages, instants, strict=True)]
        alone = stack.enter_context(serving(directory / "alone", live, instants, tells, access, keys, views))
        pair = Pair(whole, alone, tells, instants[1])
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        execute = Reader._execute

        def executed(self: Reader, statement: Any, *rest: Any) -> Any:
            # The names of parts are digests of their content, and their rows have numbers of their own.
            text = re.sub(r'"[^"]*"\."[^"]*"\.', "", statement.text)
            pair.statements.append((re.sub(r"\b\d+\b", "0", text), repr(statement.parameters)))
            return execute(self, statement, *rest)

        patch.setattr(Reader, "_execute", executed)
        yield pair


@st.composite
def asked_for(draw: st.DrawFn) -> tuple[str, str, int, dict[str, str]]:
    """Any request: method, target, the number of the key and headers."""
    sent = draw(requests())
    scope = SCOPES.index(sent.scope)
    query = re.sub(r"draftKey=[^&]+", "draftKey=wrong", sent.query)
    headers = {name: value and "wrong" for name, value in sent.headers}
    target = f"{sent.path}?{query}"
    match draw(any_of(["content"] * 6 + ["hunt", "hunt", "views", "counts", "changes", "changes"])):
        case "hunt":
            target += f"&{hunting(draw(st.integers(0, 250)), draw(st.integers(0, 7)))}"
        case "views":
            ids = draw(st.lists(any_of([*ENTRY_IDS[:-2], "front", "own-id", "imprint"]), min_size=1, max_size=20))
            days = draw(any_of(["", "&days=1", "&days=365", "&days=0"]))
            target = f"/v1/random/_views/{draw(any_of([*ENDPOINTS, 'nothing']))}?ids={','.join(ids)}{days}"
            headers = {}
        case "counts":
            ids = draw(st.lists(any_of(ENTRY_IDS[:-2]), max_size=5))
            target = f"/pv/random/counts?{'&'.join(f'entryId={one}' for one in ids)}"
        case "changes":
            since = draw(any_of(["", "since={before}", "since={before}", "since={present}", "since=x"]))
            target = f"/v1/random/_changes?{since}{draw(any_of(['', '', '&limit=1', '&limit=7', '&limit=0']))}"
            headers = {}
    if draw(any_of([False] * 7 + [True])):
        headers["X-Snapshot"] = draw(any_of(["{before}", "{present}", "wrong"]))
    return draw(any_of(["GET"] * 5 + ["HEAD", "POST"])), target, scope, headers


def next_of_changes(model: Model, scope: int, now: int) -> int | None:
    """The next flip of any API in a scope, in any language."""
    allowed = SCOPES[scope]
    flips = [
        model._next_flip(api, lang, False, now)
        for api in APIS
        if allowed is None or api["uid"] in allowed
        for lang in (LANGUAGES if api["multilingual"] else LANGUAGES[:1])
    ]
    return min(filter(None, flips), default=None)


def told(pair: Pair, server: Server, answer: httpx.Response, target: str, scope: int) -> int | None:
    """The instant that must come with an answer from the present version."""
    path, _, query = target.partition("?")
    if not pair.tells or answer.status_code not in (200, 304) or re.search("/_schema|/_views|/counts", path):
        return None
    if "/_changes" in path:
        return next_of_changes(server.model, scope, pair.now)
    return server.model.next_change(path, query, SCOPES[scope], pair.now)


def shown(pair: Pair, server: Server, answer: httpx.Response, target: str) -> tuple[Any, ...]:
    """All of an answer that both servers have to say alike."""
    headers = {name: server.plain(value) for name, value in answer.headers.items() if name not in TOLD_APART}
    body = server.plain(answer.text)
    if "/_changes" in target:
        headers["etag"] = headers.get("etag", "")[:1]  # since the body names the version
        if pair.tells:
            headers.pop("content-length")
            body = re.sub(r'"nextChange":[^,]*,', "", body)
    return answer.status_code, headers, body


def they_are_alike(pair: Pair, method: str, target: str, scope: int, headers: dict[str, str]) -> httpx.Response:
    """Ask both: for what is made, then twice as a client that has the answer, for what is kept and remembered."""
    has: dict[str, str] = {}
    for _ in range(3):
        answers = []
        for server in (pair.whole, pair.alone):
            answer, statements = pair.asked(server, method, target, scope, {**headers, **has})
            if "X-Snapshot" not in headers:
                instant = answer.headers.get("x-next-change")
                expected = told(pair, server, answer, target, scope)
                assert (None if instant is None else parse_datetime(instant, UTC)) == expected
            answers.append((shown(pair, server, answer, target), statements))
        assert answers[0][0] == answers[1][0]
        assert answers[0][1] == answers[1][1]
        if "etag" in answer.headers and "/_changes" not in target:
            has = {"If-None-Match": answer.headers["etag"]}
    return answer


def pages(pair: Pair, limit: int) -> None:
    """A list of changes read page by page, each from where the other ended."""
    since = {id(pair.whole): "{before}", id(pair.alone): "{before}"}
    for _ in range(100):
        found = []
        for server in (pair.whole, pair.alone):
            at = since[id(server)]
            answer = server.ask("GET", f"/v1/random/_changes?limit={limit}&since={quote(at, safe='{}@:~')}", 0, {})
            since[id(server)] = answer.json()["next"]
            found.append((server.plain(answer.json()["next"]), answer.json()["changes"]))
        assert found[0] == found[1]
        if not found[0][1]:
            return
    raise AssertionError("the list of changes has no end")


@pytest.mark.parametrize(
    ("seed", "examples"),
    [(7000, 30), *(pytest.param(seed, 150, marks=pytest.mark.slow) for seed in range(7001, 7003))],
)
def test_nobody_can_tell_whether_anything_unpublished_was_written(tmp_path: Path, seed: int, examples: int) -> None:
    statuses = set()
    with pair_of(tmp_path, seed) as pair:
        assert len(pair.whole.model.versions) > len(pair.alone.model.versions) + 20

        @settings(RANDOM, max_examples=examples * TIMES)
        @given(asked=asked_for())
        def alike(asked: tuple[str, str, int, dict[str, str]]) -> None:
            statuses.add(they_are_alike(pair, *asked).status_code)

        alike()
        pages(pair, 5)
        for scope in range(len(SCOPES)):
            for target in ("_changes?since={before}&limit=1000", "_schema", "things?limit=100", "things?orders=-views"):
                they_are_alike(pair, "GET", f"/v1/random/{target}", scope, {})
            for endpoint in ENDPOINTS:
                they_are_alike(pair, "GET", f"/v1/random/_views/{endpoint}?ids={','.join(IDS)}", scope, {})
        assert any(one["total"] for one in views(pair.whole).values()), "there are counts to tell"
    assert {200, 304, 400, 404, 405} <= statuses


def views(server: Server) -> dict[str, dict[str, int]]:
    found = server.ask("GET", f"/v1/random/_views/things?ids={','.join(IDS)}", 0, {}).json()["views"]
    assert isinstance(found, dict)
    return found

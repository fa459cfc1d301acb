"""The feed: a client that applies the changes holds exactly what list requests return, whatever its history was."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.read.query.answers.bind import NotFound
from engine.read.query.answers.feed import DEFAULT_CHANGES, FeedQuery, feed_answer, parse_feed_query
from engine.read.query.invalid_query import InvalidQuery
from engine.read.reader.reach import Scope
from engine.read.reader.reader import Reader, open_reader
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point, PointGone
from snapshots.model import ALWAYS, NEVER, Api, ApiKind, Field, FieldType, Workspace
from snapshots.store.current import FOLLOWED_MS, Current, Term
from snapshots.store.store import WorkspaceStore, new_version, open_store
from tests.generated.asked import asked
from tests.stores.snapshot_builder import write_snapshot

TITLE = (Field("title", "Title", FieldType.TEXT),)
BLOG = Api("api_blog", "Blog", "blog", ApiKind.LIST, True, TITLE)
NEWS = Api("api_news", "News", "news", ApiKind.LIST, False, TITLE)
MOVED = msgspec.structs.replace(BLOG, endpoint="posts")
WIDER = msgspec.structs.replace(NEWS, fields=(*TITLE, Field("more", "More", FieldType.NUMBER)))
OTHER = Api("api_other", "Other", "news", ApiKind.LIST, True, TITLE)
WORKSPACES = [
    Workspace(id="acme", name="Acme", languages=languages, apis=apis)
    for languages, apis in (
        (("ja", "en"), (BLOG, NEWS)),
        (("ja", "en"), (BLOG, NEWS)),
        (("ja", "en", "de"), (WIDER, BLOG)),
        (("en", "ja"), (MOVED, NEWS)),
        (("ja",), (BLOG, OTHER)),
    )
]
SCOPES: tuple[Scope, ...] = (None, frozenset({"api_blog"}), frozenset({"api_news", "api_other"}), frozenset())
START, END = 1_000, 1_030
BOUNDS = (ALWAYS, *range(START, END + 3, 3), NEVER)
Copy = dict[tuple[str, str, str], dict[str, Any]]
"""What a client holds: (endpoint, ID, language) → the entry."""


class Histories:
    """Versions of a workspace whose definitions differ too, each of them open."""

    def __init__(self, place: WorkspaceStore, readers: dict[str, Reader]) -> None:
        self.place = place
        self.readers = readers
        self.kept = ComparedFiles(200_000)

    def feed(self, since: Point | None, present: Point, scope: Scope, limit: int, told: str | None = None) -> Any:
        raw = f"limit={limit}" + (f"&since={told or since}" if told or since else "")
        query = parse_feed_query(raw.encode())
        terms = tuple(Term(version, 0, NEVER) for version in self.readers)
        history = Current(present.version, (), 0, "", terms=terms)
        return json.loads(feed_answer(self.place, present, query, scope, history, self.kept).body)

    def entry(self, at: Point, scope: Scope, change: Mapping[str, str]) -> dict[str, Any]:
        """An entry as a request that is pinned to a point gets it."""
        reader = self.readers[at.version]
        target = f"{change['api']}/{change['id']}?depth=0&lang={change['lang']}"
        found: dict[str, Any] = json.loads(asked(reader, target, at.at, scope=scope))
        return found

    def listed(self, at: Point, scope: Scope) -> Copy:
        """What list requests return, for every API of the scope and every language."""
        reader = self.readers[at.version]
        return {
            (api.endpoint, one["id"], lang): one
            for api in reader.workspace.apis
            if scope is None or api.uid in scope
            for lang in reader.workspace.languages_of(api)
            for one in json.loads(asked(reader, f"{api.endpoint}?depth=0&limit=100&lang={lang}", at.at, scope=scope))[
                "contents"
            ]
        }


def random_rows(source: random.Random, workspace: Workspace) -> dict[tuple[str, str], list[dict[str, Any]]]:
    return {
        (api.endpoint, lang): [
            {
                "id": f"e{number}",
                "title": source.choice("ab"),
                "publishedAt": source.choice((5, 6)),
                "live_from": source.choice((ALWAYS, source.choice(BOUNDS))),
                "live_until": source.choice((NEVER, source.choice(BOUNDS))),
            }
            for number in source.sample(range(8), source.randrange(9))
        ]
        for api in workspace.apis
        for lang in workspace.languages_of(api)
        if source.random() < 0.9
    }


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Histories]:
    directory: Path = tmp_path_factory.mktemp("feed")
    place = open_store(directory / "store").workspace("acme")
    source = random.Random(4)
    with ExitStack() as stack:
        readers = {}
        for number, workspace in enumerate(WORKSPACES * 2):
            version = new_version(1_800_000_000_000 + number, f"{number:08x}")
            home = place.snapshots / version
            home.mkdir(parents=True)
            manifest = write_snapshot(home, workspace, random_rows(source, workspace), version=version)
            readers[version] = open_reader(home, manifest, directory / "cache")
            stack.callback(readers[version].close)
        yield Histories(place, readers)


def apply(copy: Copy, change: Mapping[str, str], histories: Histories, at: Point, scope: Scope) -> None:
    """Do what a client does with one change. An entry that is gone already at the present will be told of as well."""
    name = change["api"], change["id"], change["lang"]
    if change["change"] == "unpublished":
        del copy[name]
        return
    assert (change["change"] == "updated") == (name in copy)
    before = copy.get(name)
    copy[name] = histories.entry(at, scope, change)
    assert copy[name] != before


SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 200))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_client_that_applies_the_feed_holds_what_lists_return(histories: Histories, seed: int) -> None:
    """Activations, rollbacks and flips, in any order, between any two calls; pages of any length."""
    source = random.Random(seed)
    scope = source.choice(SCOPES)
    versions, now = [*histories.readers], START
    current = Point(source.choice(versions), now)
    copy = histories.listed(current, scope)
    answer = histories.feed(None, current, scope, 1)
    assert answer["changes"] == []
    for _ in range(source.randrange(2, 6)):
        for _ in range(source.randrange(3)):  # any number of events between two calls
            now += source.randrange(6)
            current = Point(source.choice((current.version, source.choice(versions))), now)
        limit = source.choice((1, 2, 5, 1000))
        while True:
            told, target = answer["next"], current
            answer = histories.feed(None, current, scope, limit, told=told)
            inside = told.split("~")
            if len(inside) == 3:  # the list goes on as it was begun
                version, at = inside[1].split("@")
                target = Point(version, ms(at))
            for change in answer["changes"]:
                apply(copy, change, histories, target, scope)
            if not answer["changes"]:
                break
            assert len(answer["changes"]) <= limit
            if limit < 1000 and source.random() < 0.1:  # something happens between two pages
                now += source.randrange(3)
                current = Point(source.choice(versions), now)
        assert copy == histories.listed(current, scope)
        until = answer["nextChange"]
        later = histories.listed(Point(current.version, END + 9 if until is None else ms(until) - 1), scope)
        assert later == copy
        if until is not None:
            assert histories.listed(Point(current.version, ms(until)), scope) != copy


def ms(text: str) -> int:
    """An instant of these histories, which are all in the first minute of 1970."""
    return int(text[17:19]) * 1000 + int(text[20:23])


def test_an_entry_that_the_feed_does_not_tell_of_is_out_of_scope(histories: Histories) -> None:
    version = next(iter(histories.readers))
    change = {"api": "blog", "id": "nobody", "lang": "ja"}
    with pytest.raises(NotFound):
        histories.entry(Point(version, START), None, change)


POINT = Point(new_version(1_800_000_000_000, f"{0:08x}"), START)


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        ("", FeedQuery()),
        ("limit=7&fields=x", FeedQuery(limit=7)),
        (f"since={POINT}", FeedQuery(POINT, limit=DEFAULT_CHANGES)),
        (f"since={str(POINT).replace(':', '%3A').replace('@', '%40')}&limit=1000", FeedQuery(POINT, limit=1000)),
        (f"since={POINT}~{POINT}~12", FeedQuery(POINT, POINT, 12)),
    ],
)
def test_the_parameters(raw: str, query: FeedQuery) -> None:
    assert parse_feed_query(raw.encode()) == query


@pytest.mark.parametrize(
    "raw",
    [
        "since=",
        "since=now",
        "since=20260101",
        f"since={POINT.version}",
        f"since={POINT}~",
        f"since={POINT}~{POINT}",
        f"since={POINT}~{POINT}~0",
        f"since={POINT}~{POINT}~-1",
        f"since={POINT}~{POINT}~1e3",
        f"since={POINT}~{POINT}~9999999999999999",
        f"since={POINT}~now~1",
        f"since={POINT}~{POINT}~1~1",
        "limit=0",
        "limit=1001",
        "limit=",
        "limit=ten",
    ],
)
def test_parameters_that_cannot_be_used(raw: str) -> None:
    with pytest.raises(InvalidQuery, match=r"^(since|limit): "):
        parse_feed_query(raw.encode())


def test_what_may_not_be_told(histories: Histories) -> None:
    versions = [*histories.readers]
    present = Point(versions[0], START)

    def asked(query: FeedQuery) -> Any:
        term = Term(versions[1], START - 5, START - 1)
        history = Current(versions[0], (versions[1],), START - 1, "", terms=(term,))
        return feed_answer(histories.place, present, query, None, history)

    asked(FeedQuery(Point(versions[1], START - 5)))
    unknown = new_version(1, "0" * 8)
    with pytest.raises(InvalidQuery, match="is in the future"):
        asked(FeedQuery(Point(versions[1], START + 1)))
    for point in (Point(versions[2], START), Point(unknown, START), Point(versions[1], START - 6), Point(unknown, 0)):
        for query in (FeedQuery(point), FeedQuery(Point(versions[1], START - 5), point, 1)):
            with pytest.raises(PointGone, match=f"^Snapshot version {point.version} is no longer kept"):
                asked(query)


def test_a_version_counts_until_it_was_replaced(histories: Histories) -> None:
    """What its schedule has for later was perhaps never visible to anybody."""
    first, *others = histories.readers
    end = START + 10

    def told(version: str, at: int, until: int) -> Any:
        history = Current(first, (version,), end, "", terms=(Term(version, START, until - FOLLOWED_MS),))
        query = FeedQuery(Point(version, at), limit=1000)
        return feed_answer(histories.place, Point(first, END), query, None, history).body

    for version in others:
        assert told(version, end, end) == told(version, end + 1, end) == told(version, END, end)
    assert any(told(version, END, end) != told(version, END, END) for version in others)

"""The signals about answers, over random content: exact instants, and tags that every change of an answer has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.read.query.answers.answer_cache import Answer
from engine.read.query.answers.bind import NotFound
from engine.read.query.answers.signals import LONGEST_TAGS, SEPARATOR, _bounded
from engine.read.query.invalid_query import InvalidQuery
from engine.timeline.changes import changes, tags
from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point
from snapshots.model import NEVER
from snapshots.store.store import WorkspaceStore
from tests.generated.asked import asked
from tests.generated.budget import RANDOM, TIMES
from tests.generated.content import DAY, FLIPS, IDS, START
from tests.generated.engine import Engine, random_engines
from tests.generated.requests import Sent, requests

FEW = range(2)
"""Seeds of random workspaces."""
EXAMPLES = ((25, FEW[-1]), pytest.param(400, 4, marks=pytest.mark.slow))
"""How many requests are sent, and the last seed of the random workspaces that they are sent to."""
INSTANTS = [START + day * DAY - early for day in range(FLIPS + 1) for early in (1, 0)]
"""All flips there are, each after the millisecond before."""


@pytest.fixture(scope="module")
def engines() -> Iterator[Callable[[int], Engine]]:
    with random_engines() as found:
        yield found


def made(engine: Engine, sent: Sent) -> Answer | None:
    """The answer made anew; ``None`` for a failure."""
    draft = dict(sent.headers).get("X-Draft-Key")
    try:
        return engine._answer(sent, None if draft is None else draft.encode())
    except (InvalidQuery, NotFound):
        return None


@pytest.mark.parametrize(("examples", "last"), EXAMPLES)
def test_an_answer_stays_until_its_next_change(engines: Callable[[int], Engine], examples: int, last: int) -> None:
    @settings(RANDOM, max_examples=examples * TIMES)
    @given(seed=st.integers(0, last), sent=requests())
    def stays(seed: int, sent: Sent) -> None:
        stays_until_its_next_change(engines(seed), sent)

    stays()


def stays_until_its_next_change(engine: Engine, sent: Sent) -> None:
    answer = made(engine, sent)
    assume(answer is not None)
    assert answer is not None
    following = answer.signals.next_change
    if "_schema" not in sent.path:
        assert following == engine.model.next_change(sent.path, sent.query, sent.scope, sent.now)
    if "views" in sent.query:
        return
    for now in INSTANTS:
        if sent.now < now < (following or NEVER):
            after = made(engine, replace(sent, now=now))
            assert after is not None, now
            assert after.body == answer.body, now


@pytest.mark.parametrize(("examples", "last"), EXAMPLES)
def test_a_change_of_an_answer_has_one_of_its_tags(engines: Callable[[int], Engine], examples: int, last: int) -> None:
    @settings(RANDOM, max_examples=examples * TIMES)
    @given(seed=st.integers(0, last), sent=requests(), now=st.sampled_from(INSTANTS))
    def has_one(seed: int, sent: Sent, now: int) -> None:
        a_change_has_one_of_its_tags(engines(seed), sent, now)

    has_one()


def a_change_has_one_of_its_tags(engine: Engine, sent: Sent, now: int) -> None:
    answer = made(engine, sent)
    assume(answer is not None)
    assert answer is not None
    found = answer.signals.tags
    assert found[0] == "random"
    assert len(SEPARATOR.join(found)) <= LONGEST_TAGS
    after = made(engine, replace(sent, now=now))
    if after is not None and after.body == answer.body:
        return
    place = WorkspaceStore("random", engine.reader.snapshot_dir.parents[1])
    version = engine.reader.version
    changed = changes(place, Point(version, sent.now), Point(version, now), kept=KEPT)
    assert set(tags("random", changed.entries())) & set(found)


KEPT = ComparedFiles()


def test_a_list_in_the_order_of_views_promises_nothing(engines: Callable[[int], Engine]) -> None:
    found = [
        made(engine, Sent("/v1/random/things", f"orders={order}", (), None, now)).signals.next_change
        for engine in map(engines, FEW)
        for now in INSTANTS
        for order in ("views", "-views,title")
        if engine.reader.workspace.api("things")
    ]
    assert set(found) == {None}


NARROW = ["filters=id[equals]a", "q=a", "fields=title", "limit=1&offset=5000", "orders=-size,title"]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_no_condition_asks_for_the_next_change_of_some_entries(engines: Callable[[int], Engine], depth: int) -> None:
    """Whatever is asked for in an API, the instant told is that of the API as a whole: were it the next of what meets a
    condition, conditions would tell what is scheduled."""
    found = set()
    for engine in map(engines, FEW):
        for now in INSTANTS:
            told = {
                made(engine, Sent("/v1/random/things", f"depth={depth}&{query}", (), None, now)).signals.next_change
                for query in ("", *NARROW, "&".join(NARROW))
            }
            entries = [made(engine, Sent(f"/v1/random/things/{one}", f"depth={depth}", (), None, now)) for one in IDS]
            told |= {answer.signals.next_change for answer in entries if answer is not None}
            assert len(told) == 1
            found |= told
    assert len(found) > FLIPS / 2


@pytest.mark.parametrize(
    ("found", "whole", "expected"),
    [
        ({"a": ["x"]}, set(), ("w", "w:a:x")),
        ({"a": []}, {"a"}, ("w", "w:a")),
        ({"a": ["y", "x", "y"], "b": ["z"]}, set(), ("w", "w:a:x", "w:a:y", "w:b:z")),
        ({"a": ["x"], "b": [f"{number:050}" for number in range(60)]}, set(), ("w", "w:a:x", "w:b")),
        ({f"api{number:060}": ["x"] for number in range(60)}, set(), ("w",)),
    ],
)
def test_tags_are_bounded(found: dict[str, list[str]], whole: set[str], expected: tuple[str, ...]) -> None:
    assert _bounded("w", found, whole) == expected


def test_signals_leave_the_body_as_it_is(engines: Callable[[int], Engine]) -> None:
    engine = engines(0)
    sent = Sent("/v1/random/things", "depth=2", (), None, INSTANTS[3])
    answer = made(engine, sent)
    assert answer is not None
    assert answer.body == asked(engine.reader, "things?depth=2", INSTANTS[3], views=engine.views)

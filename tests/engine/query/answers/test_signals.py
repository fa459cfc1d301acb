"""The signals about answers, over random content: exact instants, and tags that every change of an answer has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from urllib.parse import parse_qs

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.changes.changes import changes, tags
from engine.changes.compared_files import ComparedFiles
from engine.changes.points import Point
from engine.query.answers.answer import NotFound, answer_list
from engine.query.answers.answer_cache import Answer
from engine.query.answers.signals import LONGEST_TAGS, SEPARATOR, _bounded
from engine.query.invalid_query import InvalidQuery
from snapshots.model import NEVER
from snapshots.store.store import WorkspaceStore
from tests.generated.content import DAY, FLIPS, START, many_versions, random_versions, random_views
from tests.generated.engine import Engine, engine_over
from tests.generated.requests import Sent, requests

WORKSPACES = 5
RANDOM = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), print_blob=True)
INSTANTS = [START + day * DAY - early for day in range(FLIPS + 1) for early in (1, 0)]
"""All flips there are, each after the millisecond before."""


@pytest.fixture(scope="module")
def engines() -> Iterator[list[Engine]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(engine_over(random_versions(seed), random_views(seed))) for seed in range(WORKSPACES)
        ]


def made(engine: Engine, sent: Sent) -> Answer | None:
    """The answer made anew; ``None`` for a failure."""
    draft = dict(sent.headers).get("X-Draft-Key")
    try:
        return engine._answer(sent, None if draft is None else draft.encode())
    except (InvalidQuery, NotFound):
        return None


def is_exact(sent: Sent, answer: Answer) -> bool:
    """Whether a flip of anything that the answer is made of has to show in it: nothing is left out of it, and no
    reference of a thing leaves open in which of several APIs the entry is."""
    given = parse_qs(sent.query, keep_blank_values=True)
    is_expanded = given.get("depth", ["1"])[-1] != "0" and "/things" in sent.path
    if {"fields", "lang_fallback"} & given.keys() or is_expanded:
        return False
    body = json.loads(answer.body)
    return not isinstance(body.get("contents"), list) or body["totalCount"] == len(body["contents"])


@pytest.mark.parametrize("examples", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_an_answer_stays_until_its_next_change(engines: list[Engine], examples: int) -> None:
    @settings(RANDOM, max_examples=examples)
    @given(seed=st.integers(0, WORKSPACES - 1), sent=requests())
    def stays(seed: int, sent: Sent) -> None:
        stays_until_its_next_change(engines[seed], sent)

    stays()


def stays_until_its_next_change(engine: Engine, sent: Sent) -> None:
    answer = made(engine, sent)
    assume(answer is not None)
    assert answer is not None
    following = answer.signals.next_change
    if "views" in sent.query:
        return
    for now in INSTANTS:
        if sent.now < now < (following or NEVER):
            after = made(engine, replace(sent, now=now))
            assert after is not None, now
            assert after.body == answer.body, now
    if following is not None:
        assert following > sent.now
        then = made(engine, replace(sent, now=following))
        assert then is None or then.body != answer.body or not is_exact(sent, answer)


@pytest.mark.parametrize("examples", [120, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_change_of_an_answer_has_one_of_its_tags(engines: list[Engine], examples: int) -> None:
    @settings(RANDOM, max_examples=examples)
    @given(seed=st.integers(0, WORKSPACES - 1), sent=requests(), now=st.sampled_from(INSTANTS))
    def has_one(seed: int, sent: Sent, now: int) -> None:
        a_change_has_one_of_its_tags(engines[seed], sent, now)

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


def test_a_list_in_the_order_of_views_promises_nothing(engines: list[Engine]) -> None:
    found = [
        made(engine, Sent("/v1/random/things", f"orders={order}", (), None, now)).signals.next_change
        for engine in engines
        for now in INSTANTS
        for order in ("views", "-views,title")
        if engine.reader.workspace.api("things")
    ]
    assert set(found) == {None}


def test_a_condition_limits_what_is_waited_for() -> None:
    """Of thousands of flips, a list waits for those of the entries that meet its conditions."""
    with engine_over(many_versions(3, 800)) as engine:
        source, exact = Random(1), 0
        for _ in range(40):
            now = source.choice(INSTANTS)
            query = f"limit=1&offset=5000&filters=id[equals]e{source.randrange(800)}"
            answer = made(engine, Sent("/v1/random/things", query, (), None, now))
            whole = made(engine, Sent("/v1/random/things", "", (), None, now))
            assert answer is not None
            assert whole is not None
            one, every = (found.signals.next_change or NEVER for found in (answer, whole))
            assert one >= every
            exact += one > every
        assert exact


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


def test_signals_leave_the_body_as_it_is(engines: list[Engine]) -> None:
    engine = engines[0]
    api = engine.reader.workspace.api("things")
    assert api is not None
    sent = Sent("/v1/random/things", "depth=2", (), None, INSTANTS[3])
    answer = made(engine, sent)
    assert answer is not None
    assert answer.body == answer_list(engine.reader, api, None, b"depth=2", INSTANTS[3], engine.views)

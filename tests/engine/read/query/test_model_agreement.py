"""The engine and the naive evaluator agree: on any content, any request, at any instant.

``PARQUETRY_EXAMPLES`` multiplies the number of examples, and makes them other ones each time:
``PARQUETRY_EXAMPLES=50 pytest tests/engine/read/query/test_model_agreement.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.read.reader.kept import Kept
from tests.generated.budget import RANDOM, TIMES
from tests.generated.content import DAY, FLIPS, START, many_versions, random_versions, random_views
from tests.generated.engine import Engine, engine_over, random_engines
from tests.generated.requests import Sent, requests

INSTANTS = [START + day * DAY - early for day in range(FLIPS + 1) for early in (0, 1)]
"""The flips of random workspaces, and the milliseconds before."""
VIEWED = [1, 5, 6, 10]
"""Seeds of view counts: none, and three that differ."""


@pytest.fixture(scope="module")
def engines() -> Iterator[Callable[[int], Engine]]:
    """A few random workspaces, each built and opened once."""
    with random_engines() as found:
        yield found


@pytest.mark.parametrize(("examples", "workspaces"), [(60, 2), pytest.param(1000, 4, marks=pytest.mark.slow)])
def test_many_requests_to_a_few_workspaces(engines: Callable[[int], Engine], examples: int, workspaces: int) -> None:
    @settings(RANDOM, max_examples=examples * TIMES)
    @given(seed=st.integers(0, workspaces * TIMES - 1), sent=requests())
    def agrees(seed: int, sent: Sent) -> None:
        engines(seed).check(sent)

    agrees()


@pytest.fixture(scope="module")
def activated() -> Iterator[list[Engine]]:
    """Versions of one workspace that share what is kept of lists, of which there is room for few."""
    kept = Kept(12_000)
    with ExitStack() as stack:
        yield [stack.enter_context(engine_over(random_versions(seed), random_views(seed), kept)) for seed in range(3)]


@pytest.mark.slow
def test_the_same_requests_again_and_again(activated: list[Engine]) -> None:
    """What is kept of a list is right across flips, activations, view counts and scopes, and when there is no room."""

    @settings(RANDOM, max_examples=30 * TIMES)
    @given(
        popular=st.lists(requests(), min_size=2, max_size=4),
        steps=st.lists(
            st.tuples(
                st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.sampled_from([None, *INSTANTS]), requests()
            ),
            min_size=20,
            max_size=40,
        ),
    )
    def agrees(popular: list[Sent], steps: list[tuple[int, int, int, int | None, Sent]]) -> None:
        scopes = [None, *(sent.scope for sent in popular)]
        for version, views, place, now, other in steps:
            engine = activated[version]
            engine.view(random_views(VIEWED[views]))
            sent = popular[place % len(popular)]
            sent = replace(sent, scope=scopes[views % len(scopes)], now=sent.now if now is None else now)
            by_views = replace(sent, query=f"{sent.query}&orders={'-' * (views % 2)}views")  # the last one counts
            for one in (sent, by_views, other):
                engine.check(one)

    agrees()


@settings(RANDOM, max_examples=7 * TIMES)
@given(
    seed=st.integers(1000, 2000),
    kept=st.sets(st.integers(0, 99), max_size=99),
    many=st.lists(requests(), min_size=1, max_size=12),
)
def test_a_few_requests_to_many_workspaces(seed: int, kept: set[int], many: list[Sent]) -> None:
    """Each example is a part of a random workspace, so that a failure shrinks to the versions that matter."""
    versions = [version for place, version in enumerate(random_versions(seed)) if place in kept]
    Random(seed).shuffle(versions)
    with engine_over(versions, random_views(seed)) as engine:
        for sent in many:
            engine.check(sent)


@pytest.fixture(scope="module")
def large() -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("snapshots.build.pieces.POOL_BYTES", 1 << 30)  # what is built in other processes is the same
        with engine_over(many_versions(0, 3000), random_views(0)) as engine:
            yield engine


@pytest.mark.slow
@settings(RANDOM, max_examples=30 * TIMES)
@given(sent=requests(), offset=st.sampled_from([None, 0, 1500, 2040, 2500, 3000]))
def test_requests_to_a_large_workspace(large: Engine, sent: Sent, offset: int | None) -> None:
    """Thousands of rows take other paths through the database than a few."""
    large.check(sent if offset is None else replace(sent, query=f"{sent.query}&offset={offset}&limit=20"))

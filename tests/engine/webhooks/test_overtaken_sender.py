"""A sender that was paused in a try, and comes back when another has gone on with the endpoint, changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.timeline.compared_files import ComparedFiles
from engine.timeline.points import Point
from engine.webhooks.dispatcher import PROGRESS_EVERY, Dispatcher
from engine.webhooks.editing import disable_endpoint, replay
from engine.webhooks.endpoint import EndpointState
from engine.webhooks.post import Post, PostResult
from tests.engine.webhooks.test_dispatcher import NOW, OK, ONE, TWO, World, many

REFUSED = PostResult(500, "it answered 500")


class TwoSenders(World):
    """A world with another sender, which goes on while the first waits for an answer."""

    def __init__(self, folder: Path, *args: Any, **settings: Any) -> None:
        super().__init__(folder, *args, **settings)
        self.other = Dispatcher(
            self.place, self.file, lambda: self.keys, ComparedFiles(), clock=lambda: self.now, chance=lambda: 0.0
        )

    def go_on(self, answer: PostResult) -> None:
        """Let the other sender make the next try, which is answered so."""
        self.other.deliver(self.endpoint, self.served, lambda _request, _now: answer)

    def tell_and_be_overtaken(self, meanwhile: Callable[[], None], answer: PostResult, at: int = 1) -> None:
        """Make one try, in which ``meanwhile`` happens before its request number ``at`` is answered."""

        def answered(_: Post) -> PostResult:
            if len(self.got) < at:
                return OK
            if len(self.got) == at:
                meanwhile()
            return answer

        self.answer = answered
        self.tell()
        self.answer = lambda _: OK


@pytest.mark.parametrize(
    "late", [OK, REFUSED, PostResult(410, "it answered 410")], ids=lambda answer: str(answer.status)
)
def test_its_answer_is_not_taken_for_one_to_the_next_step(tmp_path: Path, late: PostResult) -> None:
    world = TwoSenders(tmp_path, ONE, TWO)
    world.activate()

    def next_step_is_tried() -> None:
        world.go_on(OK)
        world.activate(0)
        world.go_on(REFUSED)

    known = []

    def noted() -> None:
        next_step_is_tried()
        known.append(world.endpoint)

    world.tell_and_be_overtaken(noted, late)
    assert [world.endpoint] == known
    assert known[0].pending is not None
    assert (known[0].pending.after.version, known[0].pending.failures) == (world.versions[0], 1)


def test_its_answer_is_not_taken_for_one_to_the_same_step_from_further_back(tmp_path: Path) -> None:
    world = TwoSenders(tmp_path, ONE, TWO)
    world.activate()
    before = Point(world.versions[0], NOW - 1)

    def told_and_replayed() -> None:
        world.go_on(OK)
        replay(world.file, world.endpoint.id, before, world.now)

    world.tell_and_be_overtaken(told_and_replayed, OK)
    assert world.endpoint.cursor == before
    assert len(world.tell()) == 1, "what is replayed is told"


def test_its_progress_is_not_taken_for_that_of_the_next_step(tmp_path: Path) -> None:
    count = PROGRESS_EVERY + 50
    world = TwoSenders(tmp_path, many(count), many(count, "y"), form="microcms")
    world.activate()

    def next_step_is_tried() -> None:
        world.go_on(OK)
        world.activate(0)
        world.go_on(REFUSED)

    world.tell_and_be_overtaken(next_step_is_tried, OK, at=PROGRESS_EVERY)
    world.got.clear()
    assert world.endpoint.pending is not None
    world.now = world.endpoint.pending.next_at
    assert len(world.tell()) == count, "nothing of the next step is left out"


def test_a_step_without_news_is_not_skipped_back_to(tmp_path: Path) -> None:
    world = TwoSenders(tmp_path, ONE, ONE)
    world.versions.append(world.put(3, TWO))
    stale = world.endpoint
    world.activate(1)
    served = world.served
    world.activate(2)
    world.go_on(REFUSED)
    known = world.endpoint
    assert known.pending is not None
    assert world.dispatcher.deliver(stale, served, world._send) is None
    assert world.endpoint == known


def test_a_pruned_step_is_replaced_once(tmp_path: Path) -> None:
    world = TwoSenders(tmp_path, ONE, TWO)
    world.versions.append(world.put(3, TWO))
    world.activate(1)
    world.go_on(REFUSED)
    stale = world.endpoint
    (world.place.snapshots / world.versions[1] / "manifest.json").unlink()
    world.activate(2)
    world.now += 10 * 60_000
    world.go_on(OK)  # puts another step in its place
    world.go_on(OK)
    world.activate(0)
    world.go_on(REFUSED)
    known = world.endpoint
    assert known.pending is not None
    assert known.cursor is not None
    assert world.dispatcher.deliver(stale, world.served, world._send) is None
    assert world.endpoint == known


def test_an_endpoint_disabled_meanwhile_stays_so(tmp_path: Path) -> None:
    world = TwoSenders(tmp_path, ONE, TWO)
    world.activate()
    gone = PostResult(410, "it answered 410")

    def disabled() -> None:
        disable_endpoint(world.file, world.endpoint.id, world.now)

    world.tell_and_be_overtaken(disabled, gone)
    assert world.endpoint.stopped is not None
    assert world.endpoint.stopped.state is EndpointState.DISABLED

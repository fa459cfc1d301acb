"""Descriptions of workspaces for programs, made once for however many ways in which they are asked for."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from engine.described.answers import DescribedPlan, Document, described_answer
from engine.read.query.answers.answer_cache import Answer
from server.delivery.answer_making import Work
from server.workspaces.open_snapshot import OpenSnapshot

MOST_MADE: Final = 8
"""Descriptions that are remembered: of a workspace with thousands of fields one takes a second, which a key in a page
must not be able to use up again and again by parameters that have no effect."""


class Descriptions:
    """The descriptions that were made last."""

    def __init__(self, document: Document) -> None:
        """``document`` makes the OpenAPI document of a workspace."""
        self._document = document
        self._made: OrderedDict[tuple[int, DescribedPlan], Answer] = OrderedDict()
        self._lock = Lock()

    def work(self, plan: DescribedPlan, snapshot: OpenSnapshot) -> Work:
        """Return the work that answers a plan from the definitions of a version."""
        key = (snapshot.number, plan)
        with self._lock:
            made = self._made.get(key)

        def make(_: bool) -> Answer:
            if made is not None:  # of an answer of its own, which has the headers of its own request
                return Answer(made.body, made.lifetime, made.signals, media_type=made.media_type)
            answer = described_answer(plan, snapshot.reader.workspace, self._document)
            self._remember(key, answer)
            return Answer(answer.body, answer.lifetime, answer.signals, media_type=answer.media_type)

        return Work(make, is_small=made is not None, is_long=False)

    def _remember(self, key: tuple[int, DescribedPlan], answer: Answer) -> None:
        with self._lock:
            self._made[key] = answer
            if len(self._made) > MOST_MADE:
                self._made.popitem(last=False)

"""The engine over a random workspace: compiled by the real compiler, opened by the real reader, asked directly."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from engine.access.drafts.keys import derived_draft_key
from engine.read.query.answers.answer import Source, answer_to
from engine.read.query.answers.answer_cache import Answer, AnswerCache, AnswerKey
from engine.read.query.answers.bind import NotFound, Target, bind
from engine.read.query.invalid_query import InvalidQuery
from engine.read.reader.kept import Kept
from engine.read.reader.reader import Reader, open_reader
from engine.views.counting.totals import ViewTotals
from snapshots.build.build import build
from snapshots.store.store import open_store
from tests.generated.content import WORKSPACE, Version, random_versions, random_views, write_workspace
from tests.generated.requests import Sent
from tests.model.model import Model

DAY = 86_400_000
"""Longer than from any flip to the next."""
SECRET = b"a secret of thirty-two bytes, yes"


class Engine:
    """One opened snapshot, and the naive evaluator of the same content."""

    def __init__(self, reader: Reader, model: Model) -> None:
        self.reader = reader
        self.model = model
        self.view(model.views)
        self.kept = AnswerCache(1 << 20)

    def view(self, totals: dict[str, int]) -> None:
        """Count these views from now on."""
        self.model.views = totals
        self.views = ViewTotals.of(totals)

    def answer(self, sent: Sent) -> tuple[int, bytes | None]:
        """The status, and the body of a 200 as bytes, which may be a kept one."""
        key = kept_by(sent)
        draft = dict(sent.headers).get("X-Draft-Key")
        kept = self.kept.get(key) if draft is None else None
        if kept is not None and kept.holds(sent.now, self.views.generation):
            return 200, kept.body
        try:
            answer = self._answer(sent, None if draft is None else draft.encode())
        except InvalidQuery:
            return 400, None
        except NotFound:
            return 404, None
        if draft is None:
            self.kept.put(key, answer)
        return 200, answer.body

    def strictly(self, sent: Sent) -> tuple[int, bytes | None]:
        """The same as ``answer`` to a request that is to be read strictly, made anew."""
        draft = dict(sent.headers).get("X-Draft-Key")
        try:
            return 200, self._answer(sent, None if draft is None else draft.encode(), strict=True).body
        except InvalidQuery:
            return 400, None
        except NotFound:
            return 404, None

    def _answer(self, sent: Sent, draft: bytes | None, *, strict: bool = False) -> Answer:
        target = Target([unquote(part) for part in sent.path.split("/")[3:]], sent.query.encode("ascii"))
        plan = bind(self.reader, sent.scope, target, {} if draft is None else {b"x-draft-key": draft}, strict=strict)
        return answer_to(plan, Source(self.reader, sent.now, self.views, draft_secret=SECRET))

    def expected(self, sent: Sent) -> tuple[int, Any]:
        """What the naive evaluator says."""
        return self.model.answer(sent.path, sent.query, dict(sent.headers), sent.scope, sent.now)

    def check(self, sent: Sent) -> None:
        """The two agree: on the status, and on the body, whose numbers must have the same form. A kept answer is the
        same, and is what would be made anew at every other instant that it is said to hold at."""
        status, body = self.answer(sent)
        expected_status, expected_body = self.expected(sent)
        assert status == expected_status
        if body is None:
            return
        found = json.loads(body)
        assert exact(found) == exact(expected_body) or spread(found) == spread(expected_body)
        assert self.answer(sent) == (200, body)
        kept = self.kept.get(kept_by(sent))
        for now in (sent.now - 1, sent.now + 1, sent.now + DAY):
            if kept is not None and kept.holds(now, self.views.generation):
                assert self._answer(replace(sent, now=now), None).body == kept.body


def kept_by(sent: Sent) -> AnswerKey:
    return AnswerKey(sent.path.encode(), sent.query.encode(), 0, sent.scope)


def exact(value: Any) -> str:
    """JSON with sorted members: tells 5 from 5.0 and true from 1, as plain equality does not."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def spread(value: Any) -> str:
    """The same over many lines, for people, which takes many times as long."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1)


@contextmanager
def random_engines() -> Iterator[Callable[[int], Engine]]:
    """Engines over random workspaces by their seeds, each built when it is first asked for."""
    with ExitStack() as stack:
        yield cache(lambda seed: stack.enter_context(engine_over(random_versions(seed), random_views(seed))))


@contextmanager
def engine_over(
    versions: list[Version], views: dict[str, int] | None = None, kept: Kept | None = None
) -> Iterator[Engine]:
    """Build the versions' workspace in a temporary directory and open it, until the end of the block.

    ``kept`` is where the parts of lists are kept.
    """
    with TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as place:
        root = Path(place) / "workspace"
        write_workspace(root, versions)
        store = open_store(Path(place) / "store")
        version = build(root, store, now=0, segment_entries=max(2, len(versions) // 20)).version
        workspace = store.workspace(WORKSPACE["id"])
        reader = open_reader(workspace.snapshots / version, workspace.manifest(version), store.cache, None, kept)
        try:
            yield Engine(reader, Model(WORKSPACE, versions, draft_key, views or {}))
        finally:
            reader.close()


def draft_key(api: str, entry_id: str, lang: str) -> str:
    """The key of a draft whose files give none; how it is made is the engine's secret, so it is asked."""
    return derived_draft_key(SECRET, WORKSPACE["id"], api, entry_id, lang)

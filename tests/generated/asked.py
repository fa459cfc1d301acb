"""A read as in a URL, answered by the engine alone."""

from __future__ import annotations

from collections.abc import Mapping

from engine.read.query.answers.answer import Source, answer_to
from engine.read.query.answers.bind import bind, target_of
from engine.read.reader.reach import Scope
from engine.read.reader.reader import Reader
from engine.views.counting.totals import NO_VIEWS, ViewTotals


def asked(
    reader: Reader,
    target: str,
    now: int,
    *,
    scope: Scope = None,
    headers: Mapping[bytes, bytes] | None = None,
    views: ViewTotals = NO_VIEWS,
    secret: bytes = b"",
) -> bytes:
    """Return the body of the answer to a target such as ``blog?limit=3`` at ``now`` (UTC milliseconds)."""
    plan = bind(reader, scope, target_of(target), headers or {})
    return answer_to(plan, Source(reader, now, views, draft_secret=secret)).body

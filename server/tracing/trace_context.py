"""A request's place in a trace, as W3C Trace Context tells it in the header ``traceparent``.

A request that comes with the header stays in that trace: its answer, its line of the access log and what is logged
about it name the trace, whether or not anything is recorded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from random import getrandbits
from typing import Final, TypeVar

import msgspec

HEADER: Final = b"traceparent"

Result = TypeVar("Result")

_FORM: Final = re.compile(rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NEWEST_VERSION: Final = b"00"
_SAMPLED: Final = 1


class Work(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The time that a thread took for an answer."""

    begun: int
    """UTC nanoseconds."""
    ended: int


class Trace(msgspec.Struct, gc=False):
    """A request's place in a trace."""

    trace_id: str
    """32 hexadecimal digits."""
    span_id: str
    """16 hexadecimal digits, of this request alone."""
    parent_id: str | None
    """The span ID of the one who asked; ``None`` where the trace begins here."""
    is_recorded: bool
    source: str | None = None
    """The source of the answer, as ``Metrics.answer`` names sources."""
    work: tuple[Work, ...] = ()

    @property
    def traceparent(self) -> bytes:
        """The header by which others join the trace, as children of this request."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.is_recorded else '00'}".encode("ascii")


CURRENT: Final[ContextVar[Trace | None]] = ContextVar("parquetry.trace", default=None)
"""The place of the request that is being answered; set where it is recorded."""


def traced_work(trace: Trace, work: Callable[[], Result]) -> Result:
    """Return the result of work that a thread does for a request which is recorded, and note its time."""
    token = CURRENT.set(trace)
    begun_at = time.time_ns()
    try:
        return work()
    finally:
        trace.work = (*trace.work, Work(begun_at, time.time_ns()))
        CURRENT.reset(token)


def continued(given: bytes, *, records: bool) -> Trace | None:
    """Return the place of a request that came with the header ``given``; ``None`` where the header is malformed, and
    so counts as none. It is recorded where the one who asked records it, and ``records``."""
    found = _FORM.fullmatch(given)
    if found is None or (found[5] is not None and found[1] == _NEWEST_VERSION):  # later versions may say more
        return None
    is_sampled = bool(int(found[4], 16) & _SAMPLED)
    return Trace(found[2].decode(), _span_id(), found[3].decode(), is_sampled and records)


def begun() -> Trace:
    """Return the place of a request with which a trace begins, which is recorded."""
    return Trace(f"{getrandbits(128) or 1:032x}", _span_id(), None, is_recorded=True)


def _span_id() -> str:
    return f"{getrandbits(64) or 1:016x}"  # no secret: it only has to be one of its own

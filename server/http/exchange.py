"""A request and its answer under way: the facts that the endpoint and the layers around it tell one another."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec
from starlette.types import Scope

from engine.access.keys.rate_limit import Allowance
from server.http.routes import path_segments
from server.tracing.trace_context import Trace

_KEY: Final = "parquetry.exchange"


class PathClass(Enum):
    """The parts of the service whose answers carry the same headers."""

    DELIVERY = "/v1"
    COUNTS = "/pv/{workspace}/counts"
    VIEWS = "/pv"
    OTHER = "other"


class Exchange(msgspec.Struct):
    """The facts that become known about a request while it is answered."""

    request_id: bytes
    path_class: PathClass
    workspace: str | None = None
    """The workspace that the path names, if any, as ``logged_workspace`` returns it."""
    key_prefix: str | None = None
    """The prefix of a key that was issued, accepted or not."""
    snapshot: str | None = None
    """The version that answers, once the request is authenticated."""
    snapshot_at: int = 0
    """The instant that the answer is for, in UTC milliseconds, where there is a version."""
    allowance: Allowance | None = None
    """The state of the key's rate limit, once the request is counted for it."""
    is_strict: bool = False
    """Whether the request asks to be read strictly (decision 76)."""
    target: str | None = None
    """The path and query from ``logged_target``, where they are known without looking."""
    signed_in: bool | None = None
    """Whether a request for the console is one of a session; ``None`` where that made no difference."""
    trace: Trace | None = None
    """The place in a trace, where there is one."""
    recorded: bool = True
    """Whether the access log and the metrics tell of the request. A page view is told by its count alone."""

    @property
    def logged(self) -> str:
        """The request as lines of the log name it: its ID, and that of the trace."""
        request = self.request_id.decode("ascii")
        return request if self.trace is None else f"{request} (trace {self.trace.trace_id})"


def begin_exchange(scope: Scope, request_id: bytes, trace: Trace | None = None) -> Exchange:
    """Return a new ``Exchange`` for the request of a scope, which ``exchange_of`` finds from now on."""
    exchange: Exchange = Exchange(request_id, path_class(scope), trace=trace)
    scope[_KEY] = exchange
    return exchange


def exchange_of(scope: Scope) -> Exchange:
    """Return the ``Exchange`` of the request that a scope belongs to."""
    found: Exchange = scope[_KEY]
    return found


def path_class(scope: Scope) -> PathClass:
    """Return the part of the service that a request's path belongs to, whether or not there is anything at it."""
    if scope["raw_path"].startswith(b"/v1/"):
        return PathClass.DELIVERY
    match path_segments(scope):
        case ["v1", *_]:
            return PathClass.DELIVERY
        case ["pv", _, "counts"]:
            return PathClass.COUNTS
        case ["pv", *_]:
            return PathClass.VIEWS
    return PathClass.OTHER

"""A request and its answer under way: the facts that the endpoint and the layers around it tell one another."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec
from starlette.types import Scope

from engine.access.keys.rate_limit import Allowance
from server.http.request_ids import HEADER as REQUEST_ID
from server.http.request_ids import kept_request_id, new_request_id
from server.http.routes import path_segments
from server.tracing.trace_context import HEADER as TRACEPARENT
from server.tracing.trace_context import Trace

_KEY: Final = "parquetry.exchange"
_READ: Final = frozenset(
    (
        *(b"x-api-key", b"x-draft-key", b"x-snapshot", b"prefer", b"accept-encoding", b"if-none-match"),
        *(REQUEST_ID, TRACEPARENT),
    )
)


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
    headers: Mapping[bytes, bytes] = {}
    """The headers of the request that decide about its answer, by name in lower case: each once, however often it was
    sent."""
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


def begin_exchange(scope: Scope) -> Exchange:
    """Return a new ``Exchange`` for the request of a scope, which ``exchange_of`` finds from now on."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:  # one look at them all, as every request passes here
        if name in _READ:
            headers[name] = value if name not in headers else _joined(name, headers[name], value)
    given = headers.get(REQUEST_ID)
    request_id = new_request_id() if given is None else kept_request_id(given)
    exchange: Exchange = Exchange(request_id, path_class(scope), headers)
    scope[_KEY] = exchange
    return exchange


def _joined(name: bytes, before: bytes, value: bytes) -> bytes:
    """Return the value of a header that was sent more than once: joined as HTTP has it, but of request IDs the first,
    and none of several places in traces."""
    if name == REQUEST_ID:
        return before
    return b"" if name == TRACEPARENT else b"%b, %b" % (before, value)


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

"""Headers of every answer: those of an exchange, a failure or a representation."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import quote

from engine.access.keys.rate_limit import Allowance
from engine.read.query.answers.signals import SEPARATOR, Signals
from server.http.compression import IDENTITY
from server.http.exchange import Exchange, PathClass
from server.http.preferences import APPLIED
from server.http.request_ids import HEADER
from server.logs import moment_text
from server.tracing.trace_context import HEADER as TRACEPARENT

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Names in lower case, and values."""

JSON: Final = "application/json"
MOST_IGNORED: Final = 20
"""Unknown parameters that ``X-Ignored-Parameters`` names."""
LONGEST_IGNORED: Final = 64
"""Characters of each name there."""

_EXPOSED: Final = b"*"
"""All headers: a page may read them, since no answer to another origin is for a request with cookies."""
_ANY_ORIGIN: Final = (b"access-control-allow-origin", b"*")
_OF_PATHS: Final[dict[PathClass, Headers]] = {
    PathClass.DELIVERY: (
        _ANY_ORIGIN,
        (b"access-control-expose-headers", _EXPOSED),
        (b"cache-control", b"private, no-store"),
    ),
    PathClass.COUNTS: (_ANY_ORIGIN, (b"cache-control", b"public, max-age=60, s-maxage=300")),
    PathClass.VIEWS: (_ANY_ORIGIN,),
    PathClass.OTHER: (),
}
"""Headers of every answer in a part of the service, failures included (decisions 29, 42 and 46)."""
_OF_BODIES: Final = frozenset({b"content-type", b"content-length", b"content-encoding"})

PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": (
        "X-API-KEY, X-Draft-Key, X-Snapshot, If-None-Match, Prefer, traceparent, tracestate"
    ),
    "Access-Control-Max-Age": "86400",
    "Allow": "GET, HEAD, OPTIONS",
}
"""Headers of the answer to OPTIONS: any page may send the headers of the service (decision 3)."""


def exchange_headers(exchange: Exchange) -> list[tuple[bytes, bytes]]:
    """Return the headers that every answer of an exchange carries, a failure too."""
    headers = [*_OF_PATHS[exchange.path_class], (HEADER, exchange.request_id)]
    if exchange.trace is not None:
        headers.append((TRACEPARENT, exchange.trace.traceparent))
    if exchange.allowance is not None:
        headers += rate_limit_headers(exchange.allowance)
    if exchange.snapshot is not None:
        headers.append((b"x-snapshot", exchange.snapshot.encode("ascii")))
        headers.append((b"x-snapshot-at", _instant(exchange.snapshot_at)))
    if exchange.is_strict:
        headers.append(APPLIED)
    return headers


def _instant(ms: int) -> bytes:
    return moment_text(ms).encode("ascii")


def rate_limit_headers(allowance: Allowance) -> Headers:
    """Return ``RateLimit-Policy`` and ``RateLimit`` as draft-ietf-httpapi-ratelimit-headers-10 has them: ``q``
    requests in ``w`` seconds, of which ``r`` are left, with more in ``t`` seconds (decision 45)."""
    state = b'"key";r=%d;t=%d' % (allowance.remaining, allowance.reset_seconds)
    return (b"ratelimit-policy", _policy(allowance.limit, allowance.window)), (b"ratelimit", state)


@lru_cache(maxsize=1024)
def _policy(limit: int, window: int) -> bytes:
    return b'"key";q=%d;w=%d' % (limit, window // 1000)


def failure_headers(
    status: int, *, allow: str | None = None, retry_after: int | None = None, content_range: str | None = None
) -> dict[str, str]:
    """Return the headers that a failure of ``status`` adds: the methods to ``allow`` for 405, the seconds to
    ``retry_after``, which are 1 for a 503 unless given, the ``content_range`` of all that there is for 416, and how to
    authenticate for 401 (decision 66)."""
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'ApiKey header="X-API-KEY"'
    if allow is not None:
        headers["Allow"] = allow
    if content_range is not None:
        headers["Content-Range"] = content_range
    if retry_after is None and status == 503:
        retry_after = 1
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return headers


def refusal_headers(exchange: Exchange, status: int, size: int) -> list[tuple[bytes, bytes]]:
    """Return the headers of a refusal with a body of ``size`` bytes, which ends the connection."""
    more = [(name.lower().encode(), value.encode()) for name, value in failure_headers(status).items()]
    return [
        (b"content-type", JSON.encode()),
        (b"content-length", b"%d" % size),
        (b"connection", b"close"),
        *more,
        *exchange_headers(exchange),
    ]


def representation_headers(
    media_type: str, size: int, coding: str, etag: bytes, ignored: list[str], *, strict: bool = False
) -> Headers:
    """Return the headers about a body of ``size`` bytes in a content ``coding``, and the names of the parameters that
    were ``ignored`` for it; ``strict`` tells whether the request was read strictly."""
    headers = [
        (b"content-type", media_type.encode("ascii")),
        (b"content-length", b"%d" % size),
        (b"vary", b"Accept-Encoding, Prefer" if strict else b"Accept-Encoding"),
        (b"etag", etag),
    ]
    if coding != IDENTITY:
        headers.append((b"content-encoding", coding.encode("ascii")))
    if ignored:
        names = (quote(name, safe="") for name in ignored[:MOST_IGNORED])
        shown = ", ".join(name if len(name) <= LONGEST_IGNORED else f"{name[:LONGEST_IGNORED]}..." for name in names)
        headers.append((b"x-ignored-parameters", shown.encode("ascii")))
    return tuple(headers)


def signal_headers(signals: Signals) -> Headers:
    """Return the headers that tell applications with answers of their own when these are out of date."""
    headers = []
    if signals.next_change is not None:
        headers.append((b"x-next-change", _instant(signals.next_change)))
    if signals.tags:
        headers.append((b"x-content-tags", SEPARATOR.join(signals.tags).encode("ascii")))
    return tuple(headers)


def not_modified_headers(headers: Headers) -> Headers:
    """Return a representation's headers as a 304 carries them: without those about the body (RFC 9110, 15.4.5)."""
    return tuple(header for header in headers if header[0] not in _OF_BODIES)

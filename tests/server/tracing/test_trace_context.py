"""``traceparent``, as W3C Trace Context has it: read, or passed over where it is malformed."""

from __future__ import annotations

import pytest

from server.http.exchange import begin_exchange
from server.tracing.trace_context import begun, continued

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "is_sampled"),
    [
        (f"00-{TRACE}-{PARENT}-01", True),
        (f"00-{TRACE}-{PARENT}-00", False),
        (f"00-{TRACE}-{PARENT}-03", True),  # flags to come
        (f"00-{TRACE}-{PARENT}-fe", False),
        (f"cc-{TRACE}-{PARENT}-01", True),  # a version to come
        (f"cc-{TRACE}-{PARENT}-01-what-the-future-will-be-like", True),
    ],
)
def test_a_request_stays_in_its_trace(header: str, is_sampled: bool) -> None:
    trace = continued(header.encode(), records=True)
    assert trace is not None
    assert (trace.trace_id, trace.parent_id, trace.is_recorded) == (TRACE, PARENT, is_sampled)
    assert trace.span_id != PARENT
    assert trace.traceparent == f"00-{TRACE}-{trace.span_id}-{'01' if is_sampled else '00'}".encode()
    unrecorded = continued(header.encode(), records=False)
    assert unrecorded is not None
    assert unrecorded.traceparent == f"00-{TRACE}-{unrecorded.span_id}-00".encode()


@pytest.mark.parametrize(
    "header",
    [
        "",
        TRACE,
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-1",
        f"00-{TRACE}-{PARENT}-01-more",
        f"cc-{TRACE}-{PARENT}-01.what-the-future-will-not-be-like",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}g-{PARENT}-01",
        f"00_{TRACE}_{PARENT}_01",
        f" 00-{TRACE}-{PARENT}-01\n",
    ],
)
def test_a_malformed_header_counts_as_none(header: str) -> None:
    assert continued(header.encode("latin-1"), records=True) is None


def test_two_headers_count_as_none() -> None:
    one = (b"traceparent", f"00-{TRACE}-{PARENT}-01".encode())
    for headers, trace_id in (([one], TRACE), ([one, (b"x-request-id", b"an-id"), one], None), ([], None)):
        exchange = begin_exchange({"raw_path": b"/v1/acme/posts", "headers": headers})
        trace = continued(exchange.headers.get(b"traceparent", b""), records=True)
        assert (None if trace is None else trace.trace_id) == trace_id


def test_the_first_of_two_request_ids_counts() -> None:
    given = [(b"x-request-id", b"an-id"), (b"x-request-id", b"another")]
    assert begin_exchange({"raw_path": b"/v1/acme/posts", "headers": given}).request_id == b"an-id"


def test_what_begins_here_continues_elsewhere() -> None:
    first, second = begun(), begun()
    assert first.trace_id != second.trace_id
    there = continued(first.traceparent, records=True)
    assert there is not None
    assert (there.trace_id, there.parent_id, there.is_recorded) == (first.trace_id, first.span_id, True)

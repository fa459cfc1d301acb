"""Traces over real processes: what a collector gets of requests and webhooks, and what clients and the log are told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.tracing.spans import MOST_FILES, Span, SpanFiles
from snapshots.version import VERSION, commit
from tests.server.background.webhooks.test_sender import add
from tests.servers.trace_collector import Collected, Collector, collecting, needs_rotel, rotel_before
from tests.servers.webhook_receiver import Reply, receiver
from tests.sites.served_site import Running, Site, eventually, serving

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed: pip install 'parquetry[otel]'")

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}


@dataclass(frozen=True)
class Traced:
    """A server whose own requests are all recorded, and the collector."""

    site: Site
    version: str
    server: Running
    collector: Collector

    def span_of(self, answer_id: str) -> Collected:
        """The span of the request with an ID."""

        def found() -> list[Collected]:
            return [one for one in self.collector.spans if one.attributes.get("parquetry.request") == answer_id]

        eventually(found)
        [span] = found()
        return span


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    folder = tmp_path_factory.mktemp("traced")
    site = Site(folder)
    version = site.publish("one")
    _, key = site.key()
    with (
        collecting() as (collector, address),
        serving(
            site.store,
            folder / "log",
            key=key,
            CMS_TRACES=address,
            CMS_TRACES_SHARE="1",
            CMS_LOG_FORMAT="json",
            OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test",
            OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20secret",
        ) as server,
    ):
        eventually(lambda: server.get("/readyz").status == 200)
        yield Traced(site, version, server, collector)


def access_line(server: Running, request_id: str) -> dict[str, object]:
    def found() -> list[dict[str, object]]:
        lines = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
        return [line for line in lines if line.get("request") == request_id]

    eventually(found)
    [line] = found()
    return line


def test_a_request_in_a_trace_of_others(traced: Traced) -> None:
    before = time.time_ns()
    secret = traced.server.headers["X-API-KEY"]
    target = f"/v1/acme/posts?q=embargoed&token={secret}"
    answer = traced.server.get(target, headers={**traced.server.headers, **SAMPLED, "X-Request-ID": "in-1"})
    assert answer.status == 200
    span = traced.span_of("in-1")
    assert answer.headers["traceparent"] == f"00-{TRACE}-{span.span_id}-01"
    assert (span.trace_id, span.parent_id, span.kind) == (TRACE, PARENT, "server")
    assert span.name == "GET /v1/{workspace}/{endpoint}"
    assert before <= span.begun < span.ended <= time.time_ns()
    assert span.attributes == {
        "http.request.method": "GET",
        "http.response.body.size": len(answer.body),
        "http.response.status_code": 200,
        "http.route": "/v1/{workspace}/{endpoint}",
        "parquetry.answer": "made",
        "parquetry.key": secret[:11],
        "parquetry.request": "in-1",
        "parquetry.snapshot": traced.version,
        "parquetry.workspace": "acme",
        "url.path": "/v1/acme/posts",
        "url.scheme": "http",
    }
    assert span.resource["service.name"] == "parquetry"
    assert span.resource["service.version"] == VERSION
    assert span.resource["parquetry.commit"] == commit()
    assert span.resource["deployment.environment.name"] == "test"
    assert traced.collector.paths == {"/v1/traces"}
    assert traced.collector.headers["authorization"] == "Bearer secret"
    assert access_line(traced.server, "in-1")["trace"] == TRACE
    assert secret not in repr(traced.collector.spans)
    assert "embargoed" not in repr(traced.collector.spans)


def test_the_time_of_a_thread_is_a_span_of_its_own(traced: Traced) -> None:
    traced.server.get(
        "/v1/acme/posts?limit=2&orders=title", headers={**traced.server.headers, "X-Request-ID": "work-1"}
    )
    span = traced.span_of("work-1")
    assert span.attributes["parquetry.answer"] == "made"
    children = [one for one in traced.collector.spans if one.parent_id == span.span_id]
    assert [(one.name, one.kind, one.trace_id) for one in children] == [("make the answer", "internal", span.trace_id)]
    assert children[0].begun < children[0].ended <= span.ended
    traced.server.get(
        "/v1/acme/posts?limit=2&orders=title", headers={**traced.server.headers, "X-Request-ID": "work-2"}
    )
    kept = traced.span_of("work-2")
    assert kept.attributes["parquetry.answer"] == "kept"
    assert kept.parent_id == ""
    assert kept.trace_id != span.trace_id
    assert not [one for one in traced.collector.spans if one.parent_id == kept.span_id]


def test_refusals_are_no_failures_of_the_server(traced: Traced) -> None:
    for number, (target, status) in enumerate({"/v1/acme/posts?limit=x": 400, "/nowhere": 404}.items()):
        name = f"refused-{number}"
        headers = {**traced.server.headers, "X-Request-ID": name}
        assert traced.server.get(target, headers=headers).status == status
        span = traced.span_of(name)
        assert (span.attributes["http.response.status_code"], span.failed) == (status, False)
    assert span.name == "GET"
    assert "http.route" not in span.attributes


def test_what_others_do_not_record_is_not_recorded_here(traced: Traced) -> None:
    answer = traced.server.get("/v1/acme/posts", headers={**traced.server.headers, **UNSAMPLED, "X-Request-ID": "un-1"})
    assert answer.headers["traceparent"].startswith(f"00-{TRACE}-")
    assert answer.headers["traceparent"].endswith("-00")
    assert access_line(traced.server, "un-1")["trace"] == TRACE
    probe = traced.server.get("/readyz", headers={"X-Request-ID": "probe-1"})
    assert "traceparent" not in probe.headers
    traced.server.get("/v1/acme/posts", headers={**traced.server.headers, "X-Request-ID": "un-2"})
    traced.span_of("un-2")  # which came later
    told = {one.attributes.get("parquetry.request") for one in traced.collector.spans}
    assert not told & {"un-1", "probe-1"}


def test_a_malformed_place_in_a_trace_counts_as_none(traced: Traced) -> None:
    headers = {**traced.server.headers, "traceparent": f"00-{'0' * 32}-{PARENT}-01", "X-Request-ID": "malformed-1"}
    answer = traced.server.get("/v1/acme/posts", headers=headers)
    span = traced.span_of("malformed-1")
    assert answer.headers["traceparent"] == f"00-{span.trace_id}-{span.span_id}-01"
    assert (span.parent_id, len(set(span.trace_id)) > 1) == ("", True)


def test_a_collector_that_refuses_costs_no_answer(traced: Traced) -> None:
    headers = {**traced.server.headers, "X-Request-ID": "lost-1"}
    traced.collector.refuses.set()
    assert traced.server.get("/v1/acme/posts", headers=headers).status == 200
    eventually(lambda: "the collector of traces does not take them" in traced.server.log())
    eventually(lambda: "Traces cannot be sent" in traced.server.get("/readyz").body.decode())
    assert traced.server.get("/readyz").status == 200
    eventually(lambda: traced.server.log().count("does not take them") == 1)
    traced.collector.refuses.clear()
    assert traced.server.get("/v1/acme/posts", headers={**headers, "X-Request-ID": "found-1"}).status == 200
    traced.span_of("found-1")
    eventually(lambda: "takes them again" in traced.server.log())
    eventually(lambda: "Traces cannot be sent" not in traced.server.get("/readyz").body.decode())
    assert "Traceback" not in traced.server.log()


def test_pages_of_other_sites_may_send_the_header(traced: Traced) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}
    allowed = traced.server.get("/v1/acme/posts", "OPTIONS", headers=asked).headers["access-control-allow-headers"]
    assert {"traceparent", "tracestate"} <= set(allowed.split(", "))


def test_without_a_collector_traces_are_passed_on_and_logged(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    _, key = site.key()
    with serving(site.store, tmp_path / "log", key=key) as server:
        eventually(lambda: server.get("/readyz").status == 200)
        answer = server.get("/v1/acme/posts", headers={**server.headers, **SAMPLED, "X-Request-ID": "off-1"})
        assert answer.headers["traceparent"].startswith(f"00-{TRACE}-")
        assert answer.headers["traceparent"].endswith("-00")
        assert PARENT not in answer.headers["traceparent"]
        eventually(lambda: f" off-1 {TRACE}\n" in server.log())
        assert "traceparent" not in server.get("/v1/acme/posts").headers
        assert "traceparent" not in server.get("/v1/acme/posts", headers={"traceparent": "00-0-0-01"}).headers
        assert server.stop() == 0
    assert not (site.store.cache / ".traces").exists()


@needs_rotel
def test_a_real_collector_takes_what_two_workers_record(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    _, key = site.key()
    with (
        collecting() as (collector, behind),
        rotel_before(behind, tmp_path / "rotel.log") as address,
        serving(site.store, tmp_path / "log", key=key, workers=2, CMS_TRACES=address, CMS_TRACES_SHARE="0") as server,
    ):
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        for number in range(20):
            headers = {**server.headers, "traceparent": f"00-{number + 1:032x}-{PARENT}-01"}
            assert server.get("/v1/acme/posts", headers=headers).status == 200
            assert server.get("/v1/acme/posts").status == 200, "which is in no trace, and not recorded"
        eventually(lambda: len(collector.of_kind("server")) >= 20)
        assert server.stop() == 0
    assert {span.trace_id for span in collector.spans} == {f"{number + 1:032x}" for number in range(20)}
    assert len(collector.of_kind("server")) == 20


def test_files_that_nobody_takes_are_few(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.store.cache.mkdir(parents=True)
    files = SpanFiles(site.store)

    def span(number: int) -> Span:
        return Span("server", "a" * 32, "b" * 16, None, number, number + 1, "GET", 200, None, "acme")

    assert files.take() == []
    for number in range(MOST_FILES):  # what killed processes left
        (site.store.cache / ".traces").mkdir(exist_ok=True)
        (site.store.cache / ".traces" / f".9-{number}").touch()
    assert all(files.write([span(number)]) for number in range(MOST_FILES))
    assert not files.write([span(0)])
    (damaged,) = (site.store.cache / ".traces").glob("[!.]*-0")
    damaged.write_bytes(b"\xc1")
    taken = [files.take() for _ in range(MOST_FILES + 1)]
    assert sorted(span.begun for one in taken for span in one) == list(range(1, MOST_FILES))
    assert files.write([span(0)])


def test_a_webhook_begins_a_trace_that_its_receiver_can_join(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.publish("one")
    with receiver(tmp_path, tls=False) as hooked, collecting() as (collector, address):
        hooked.reply = lambda got: Reply(503 if len(hooked.received) == 0 else 200, (("retry-after", "1"),))
        add(site, hooked.url())
        with serving(
            site.store, tmp_path / "log", CMS_TRACES=address, CMS_TRACES_SHARE="0", CMS_WEBHOOK_ALLOW_LOOPBACK="1"
        ) as server:
            eventually(lambda: server.get("/readyz").status == 200)
            site.publish("two")
            first, second = hooked.wait_for(2)[:2]
            eventually(lambda: len(collector.of_kind("client")) >= 2)
        failed, accepted = sorted(collector.of_kind("client"), key=lambda span: span.begun)[:2]
    assert first.headers["traceparent"] == f"00-{failed.trace_id}-{failed.span_id}-01"
    assert second.headers["traceparent"] == f"00-{accepted.trace_id}-{accepted.span_id}-01"
    assert (failed.failed, failed.attributes["http.response.status_code"]) == (True, 503)
    assert (accepted.failed, accepted.attributes["http.response.status_code"]) == (False, 200)
    assert accepted.attributes["server.port"] == hooked.port
    assert "hook" not in repr(collector.spans), "the address of a receiver may hold a secret"

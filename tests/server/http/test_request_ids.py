"""Request IDs: in every answer and in the log, whichever way a request was answered, and never anything forged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.sites.served_site import Running, Site, eventually, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    site = Site(tmp_path_factory.mktemp("ids"))
    site.publish("one")
    log = tmp_path_factory.mktemp("log") / "log"
    with serving(site.store, log, key=site.key(validity="none")[1], CMS_LOG_FORMAT="json") as running:
        yield running


@pytest.mark.parametrize("target", ["/v1/acme/posts", "/v1/acme/nothing", "/healthz", "/nowhere"])
def test_an_id_that_came_with_a_request_is_kept(server: Running, target: str) -> None:
    for number in range(2):  # the second answer may be one that was kept
        answer = server.get(target, headers={"X-Request-ID": f"proxy-7.A_b{number}"})
        assert answer.headers["x-request-id"] == f"proxy-7.A_b{number}"


def test_every_request_has_an_id_of_its_own(server: Running) -> None:
    found = [server.get("/v1/acme/posts").headers["x-request-id"] for _ in range(5)]
    found.append(server.get("/readyz").headers["x-request-id"])
    assert len(set(found)) == 6
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", one) for one in found)
    logged = {json.loads(line).get("request") for line in server.log().splitlines()}
    eventually(lambda: set(found) <= {json.loads(line).get("request") for line in server.log().splitlines()})
    assert None in logged, "events have none"


@pytest.mark.parametrize("target", ["/v1/acme/posts", "/v1/acme/posts?q=x", "/healthz", "/nowhere"])
def test_a_key_that_came_as_an_id_is_neither_echoed_nor_logged(server: Running, target: str) -> None:
    key = server.headers["X-API-KEY"]
    for given in (key, f"a.{key}.b"):
        for _ in range(2):
            answer = server.get(target, headers={"X-Request-ID": given})
            assert key not in answer.headers["x-request-id"]
    eventually(lambda: answer.headers["x-request-id"] in server.log())
    assert key[11:] not in server.log()


@pytest.mark.parametrize("given", ["", "a b", 'x","status":"200', "é", "a" * 65, "../..", "a;b"])
def test_what_cannot_be_written_to_a_log_is_replaced(server: Running, given: str) -> None:
    answer = server.get("/v1/acme/posts", headers={"X-Request-ID": given.encode().decode("latin-1")})
    assert answer.status == 200
    assert answer.headers["x-request-id"] != given

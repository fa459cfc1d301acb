"""Contract 5 and 7, decisions 1, 2, 3, 26, 29 and 42: refusals, the order of checks, headers and methods."""

from __future__ import annotations

import pytest

from tests.contract.cases import check_all, check_message, exact, refuses
from tests.contract.service import DAY, NOW, Service

ENTRY = "articles/charlie"
EARLY = "This API key's validity period has not started yet."
EXPIRED = "This API key has expired."

KEYS = [
    refuses("7 no key", ENTRY, "An API key is required.", status=401, key="none"),
    refuses("7 an empty key", ENTRY, "An API key is required.", status=401, key="none", headers={"X-API-KEY": ""}),
    refuses("7 an unknown key", ENTRY, "This API key is not valid.", status=401, key="unknown"),
    refuses(
        "7 junk for a key",
        ENTRY,
        "This API key is not valid.",
        status=401,
        key="none",
        headers={"X-API-KEY": "' OR 1=1"},
    ),
    refuses(
        "D2 a key in the URL is not read", f"{ENTRY}?X-API-KEY=x&apiKey=x&key=x", "required", status=401, key="none"
    ),
    refuses("7 a key of another workspace", ENTRY, status=403, key="foreign"),
    refuses("7 before the start date, word for word", ENTRY, EARLY, status=401, key="early"),
    refuses("7 after the end date, word for word", ENTRY, EXPIRED, status=401, key="expired"),
    refuses("D26 a disabled key", ENTRY, "This API key is disabled.", status=401, key="disabled"),
    refuses(
        "D44 disabled comes before expired", ENTRY, "This API key is disabled.", status=401, key="disabled and expired"
    ),
    refuses("D1 the workspace comes before the validity", ENTRY, status=403, key="expired foreign"),
    refuses("D1 the key comes before the API", "nothing", status=401, key="none"),
    refuses("D1 the key comes before parameters", "articles?limit=abc", status=401, key="unknown"),
    refuses("D1 the workspace comes before the API", "nothing", status=403, key="foreign"),
    refuses("D1 the validity comes before the API", "nothing", EXPIRED, status=401, key="expired"),
    refuses("D1 the API comes before parameters", "nothing?limit=abc", status=404),
    refuses("D1 parameters come before the entry", "articles/nobody?depth=9", status=400),
    refuses("D1 parameters come before the object", "banner?lang=fr", status=400),
    refuses("D1 parameters come before a version that is not live", "articles/sleeper?lang_fallback=x", status=400),
    refuses("D42 a route comes before the key", "articles/alpha/beta", status=404, key="none"),
    refuses("D42 a trailing slash comes before the key", "articles/", status=404, key="none"),
]

PATHS = [
    "/v1",
    "/v1/",
    "/v1/acme",
    "/v1/acme/",
    "/v2/acme/articles",
    "/V1/acme/articles",
    "//v1/acme/articles",
    "/v1//acme/articles",
    "/v1/acme//articles",
    "/acme/articles",
    "/v1/acme/_nothing",
    "/index.html",
    "/v1/acme/articles/alpha/beta/gamma",
]


def test_keys_and_the_order_of_checks(service: Service) -> None:
    check_all(service, KEYS)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("key", ["all", "none"])
def test_unknown_routes(service: Service, path: str, key: str) -> None:
    """D3, D42: any other path is 404, JSON, with or without a key."""
    answer = service.get(path, key=key)
    assert answer.status == 404
    check_message(answer)


@pytest.mark.parametrize(
    ("workspace", "key", "status"),
    [
        ("nowhere", "all", 403),
        ("nowhere", "foreign", 403),
        ("nowhere", "unknown", 401),
        ("nowhere", "none", 401),
        ("nowhere", "expired", 403),
        ("ACME", "all", 403),
        ("acme%20", "all", 403),
        ("..", "all", 403),
        ("%2E%2E", "all", 403),
        (".cache", "all", 403),
        ("other", "all", 403),
        ("other", "foreign", 200),
        ("acm%65", "all", 200),
    ],
)
def test_workspaces(service: Service, workspace: str, key: str, status: int) -> None:
    """D1: an unknown workspace with a valid key is 403 (the key belongs elsewhere); with an unknown key 401."""
    answer = service.get(f"/v1/{workspace}/empty", key=key)
    assert answer.status == status
    if status != 200:
        check_message(answer)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("target", ["articles", "articles/alpha", "_schema", "site"])
def test_other_methods(service: Service, method: str, target: str) -> None:
    """Contract 1 and D3: nothing can be written; 405 names what is allowed, without looking at the key."""
    answer = service.request(method, f"/v1/acme/{target}", {})
    assert answer.status == 405
    assert {"GET", "HEAD"} <= set((answer.header("allow") or "").split(", "))
    check_message(answer)


@pytest.mark.parametrize(
    "target", ["articles?limit=2", "articles/alpha", "_schema", "site", "articles/nobody", "articles?limit=0"]
)
def test_head_answers_as_get_without_a_body(service: Service, target: str) -> None:
    key = {"X-API-KEY": service.keys["all"]}
    got = service.request("GET", f"/v1/acme/{target}", key)
    head = service.request("HEAD", f"/v1/acme/{target}", key)
    assert head.body == b""
    assert (head.status, head.header("content-type")) == (got.status, got.header("content-type"))
    assert head.header("content-length") == str(len(got.body))


@pytest.mark.parametrize("target", ["articles", "articles/alpha", "_schema"])
def test_preflights_allow_both_headers_from_any_origin(service: Service, target: str) -> None:
    asked = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "x-api-key, x-draft-key",
    }
    answer = service.request("OPTIONS", f"/v1/acme/{target}", asked)
    assert answer.status in (200, 204)
    assert answer.header("access-control-allow-origin") == "*"
    allowed = (answer.header("access-control-allow-headers") or "").lower()
    assert "x-api-key" in allowed
    assert "x-draft-key" in allowed
    assert "GET" in (answer.header("access-control-allow-methods") or "")


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("articles", "all"),
        ("articles/alpha", "all"),
        ("site", "all"),
        ("_schema", "all"),
        ("articles?limit=0", "all"),
        ("articles/nobody", "all"),
        ("nothing", "all"),
        ("articles", "none"),
        ("articles", "unknown"),
        ("articles", "expired"),
        ("articles", "foreign"),
        ("articles/", "all"),
        ("articles/alpha?draftKey=*", "all"),
    ],
)
def test_headers_of_every_answer(service: Service, target: str, key: str) -> None:
    """Contract 5.10 and 7, decisions 29 and 42."""
    answer = service.get(f"/v1/acme/{target}", key=key, headers={"Origin": "https://app.example"})
    assert answer.header("cache-control") == "private, no-store"
    assert answer.header("access-control-allow-origin") == "*"
    assert answer.header("content-type") == "application/json"
    if key == "all" and not target.endswith("/"):
        current = service.store.workspace("acme").current()
        assert current is not None
        assert answer.header("x-snapshot") == current.version


def test_a_schedule_flips_at_its_millisecond(service: Service) -> None:
    """3.1 and D22: ``live_from <= now < live_until``, with no build and no restart between."""
    lapsed, echo = 1_590_969_600_000, 1_583_452_800_000  # 2020-06-01 and 2020-03-06, midnight UTC

    def seen(now: int) -> set[str]:
        service.now = now
        found = service.get("/v1/acme/articles?fields=id").json()
        ids = {entry["id"] for entry in found["contents"]}
        assert found["totalCount"] == len(ids)
        return ids

    # The keys must be valid then too: whole days of 2020 are before every key's start.
    assert NOW - lapsed > DAY
    service.now = echo - 1
    assert service.get("/v1/acme/articles").status == 401
    sleeper = 221_813_856_000_000  # 8999-01-01, midnight UTC
    assert "sleeper" not in seen(sleeper - 1)
    assert "sleeper" in seen(sleeper)
    foxtrot = 221_845_392_000_000  # 9000-01-01, midnight UTC
    assert "foxtrot" in seen(foxtrot - 1)
    assert "foxtrot" not in seen(foxtrot)


def test_what_a_schedule_reveals_reaches_references_and_languages_too(service: Service) -> None:
    service.now = 221_813_856_000_000
    entry = service.get("/v1/acme/articles/alpha?fields=related&include=_langs").json()
    assert [one["id"] for one in entry["related"]] == ["bravo", "sleeper", "charlie"]
    charlie = service.get("/v1/acme/articles/charlie?fields=id&include=_langs&lang=ja").json()
    assert exact(charlie) == exact({"id": "charlie", "_langs": {"current": "ja", "available": ["en", "ja"]}})
    hidden = service.get("/v1/acme/topics/history").json()["parent"]
    assert hidden["label"] == "Hidden (UNPUBLISHED)"

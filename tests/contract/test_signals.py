"""What headers tell of an answer: its instant, until when it stays right, and what it was made from."""

from __future__ import annotations

import pytest

from snapshots.times import format_datetime, parse_datetime
from tests.contract.service import NOW, ZONE, Service

START, END = "8999-01-01T00:00:00.000Z", "9000-01-01T00:00:00.000Z"
BEFORE = "8998-12-31T23:59:59.999Z"

UNTIL = [
    ("the list of an API", "articles", START),
    ("a list that nothing on schedule is in", "articles?filters=id[equals]alpha&depth=0", START),
    ("a list that one entry on schedule is in", "articles?filters=id[equals]foxtrot&depth=0", START),
    ("a list that one entry is coming to", "articles?filters=id[equals]sleeper&depth=0", START),
    ("a search", "articles?q=nothing&depth=0", START),
    ("a list in the order of views", "articles?orders=views", None),
    ("an additional language", "articles?lang=ja&depth=0", START),
    ("an entry without a schedule", "articles/alpha?depth=0", START),
    ("an entry that ends", "articles/foxtrot?depth=0", START),
    ("an API without a schedule", "authors/ken?depth=0", None),
    ("languages that are told", "articles/charlie?depth=0&include=_langs", START),
    (
        "a language to come, with the main one in its place",
        "articles/charlie?depth=0&lang=ja&lang_fallback=true",
        START,
    ),
    ("what an API refers to, whatever the entry does", "authors/mika?fields=name", START),
    ("the same at the second level", "site?depth=2", START),
    ("an object", "site?depth=0", None),
    ("the schema", "_schema", None),
    ("view counts", "_views/articles?ids=alpha", None),
]


@pytest.mark.parametrize(("about", "target", "until"), UNTIL, ids=[case[0] for case in UNTIL])
def test_until_when_an_answer_stays_right(service: Service, about: str, target: str, until: str | None) -> None:
    for _ in range(3):  # made, kept, and remembered by the bytes of the request
        answer = service.get(f"/v1/acme/{target}")
        assert answer.status == 200
        assert answer.header("x-next-change") == until
        assert answer.header("x-snapshot-at") == format_datetime(NOW)


@pytest.mark.parametrize(
    ("at", "target", "until"),
    [
        (BEFORE, "articles?filters=id[equals]sleeper&depth=0", START),
        (START, "articles?filters=id[equals]sleeper&depth=0", END),
        (START, "articles/sleeper?depth=0", END),
        (START, "articles?filters=title[contains]nothing&depth=0&fields=title&offset=100", END),
        (START, "articles?depth=0&lang=ja", None),
        (START, "articles/foxtrot", END),
        (START, "articles", END),
        (END, "articles", None),
        (END, "articles?lang=ja&lang_fallback=true&include=_langs", None),
    ],
)
def test_it_follows_the_clock(service: Service, at: str, target: str, until: str | None) -> None:
    service.now = parse_datetime(at, ZONE)
    for _ in range(3):
        answer = service.get(f"/v1/acme/{target}")
        assert answer.status == 200
        assert answer.header("x-next-change") == until
        assert answer.header("x-snapshot-at") == format_datetime(service.now)


TAGS = [
    ("a list", "articles?depth=0", "acme, acme:articles"),
    ("an entry", "articles/alpha?depth=0", "acme, acme:articles:alpha"),
    ("an entry by fallback", "articles/charlie?depth=0&lang=ja&lang_fallback=true", "acme, acme:articles:charlie"),
    ("what it refers to", "articles/delta?fields=author", "acme, acme:articles:delta, acme:authors:ken"),
    (
        "two levels",
        "articles/delta?fields=author&depth=2",
        "acme, acme:articles:delta, acme:authors:ken, acme:authors:mika",
    ),
    ("what is not live yet", "articles/delta?fields=topic", "acme, acme:articles:delta, acme:topics"),
    ("an object", "site?depth=0", "acme, acme:site"),
    ("an empty list", "articles?filters=id[equals]nobody", "acme, acme:articles"),
    ("the schema", "_schema", "acme"),
    ("view counts", "_views/articles?ids=alpha", "acme, acme:articles"),
]


@pytest.mark.parametrize(("about", "target", "tags"), TAGS, ids=[case[0] for case in TAGS])
def test_the_tags_of_an_answer(service: Service, about: str, target: str, tags: str) -> None:
    for _ in range(3):
        assert service.get(f"/v1/acme/{target}").header("x-content-tags") == tags


def test_a_key_learns_nothing_of_apis_out_of_its_scope(service: Service) -> None:
    """Topics are not in the scope of ``narrow``: neither what comes there nor that there are any."""
    whole, narrow = (service.get("/v1/acme/articles/delta?fields=topic", key=key) for key in ("all", "narrow"))
    assert whole.header("x-content-tags") == "acme, acme:articles:delta, acme:topics"
    assert narrow.header("x-content-tags") == "acme, acme:articles:delta"
    for target in ("authors", "authors/ken?fields=name"):
        whole, narrow = (service.get(f"/v1/acme/{target}", key=key) for key in ("all", "narrow"))
        assert whole.header("x-next-change") == START
        assert narrow.header("x-next-change") is None


def test_a_preview_tells_of_what_is_published_alone(service: Service) -> None:
    headers = {"X-Draft-Key": "bravo-key"}
    answer = service.get("/v1/acme/articles/bravo?depth=0", headers=headers)
    assert answer.status == 200
    assert answer.header("x-next-change") == START
    assert answer.header("x-content-tags") == "acme, acme:articles:bravo"
    again = service.get(
        "/v1/acme/articles/bravo?depth=0", headers={**headers, "If-None-Match": str(answer.header("etag"))}
    )
    assert (again.status, again.body) == (304, b"")
    published = service.get("/v1/acme/articles/bravo?depth=0")
    assert published.header("etag") != answer.header("etag")


@pytest.mark.parametrize("target", ["articles", "articles/alpha", "site", "_schema", "_views/articles?ids=alpha"])
@pytest.mark.parametrize("tag", ["{}", "W/{}", '"other", {}', "*", '"other",W/{}'])
def test_an_answer_that_the_client_has_is_304_and_counted(service: Service, target: str, tag: str) -> None:
    lasting = ("etag", "x-next-change", "x-content-tags", "x-snapshot", "x-snapshot-at", "cache-control", "vary")
    for _ in range(3):
        whole = service.get(f"/v1/acme/{target}")
        again = service.get(f"/v1/acme/{target}", headers={"If-None-Match": tag.format(whole.header("etag"))})
        assert (again.status, again.body) == (304, b"")
        assert [again.header(name) for name in lasting] == [whole.header(name) for name in lasting]
        assert again.header("cache-control") == "private, no-store"
        left = [int(str(answer.header("ratelimit")).split(";")[1][2:]) for answer in (whole, again)]
        assert left[1] == left[0] - 1


@pytest.mark.parametrize("tag", ['"other"', "", "W/", "{}x", '"*"'])
def test_another_tag_gets_the_answer(service: Service, tag: str) -> None:
    whole = service.get("/v1/acme/articles")
    again = service.get("/v1/acme/articles", headers={"If-None-Match": tag.format(whole.header("etag"))})
    assert (again.status, again.body) == (200, whole.body)


@pytest.mark.parametrize(
    ("target", "status"), [("articles/nobody", 404), ("articles?limit=0", 400), ("nothing", 404), ("articles", 401)]
)
def test_failures_have_no_signals(service: Service, target: str, status: int) -> None:
    answer = service.get(f"/v1/acme/{target}", key="none" if status == 401 else "all", headers={"If-None-Match": "*"})
    assert answer.status == status
    for name in ("x-next-change", "x-content-tags", "etag"):
        assert answer.header(name) is None
    assert answer.header("x-snapshot-at") == (None if status == 401 else format_datetime(NOW))


def test_public_counts_have_a_tag_of_their_own(service: Service) -> None:
    target = "/pv/acme/counts?path=/&entryId=alpha"
    whole = service.request("GET", target, {})
    again = service.request("GET", target, {"If-None-Match": str(whole.header("etag"))})
    other = service.request("GET", "/pv/acme/counts?path=/other", {"If-None-Match": str(whole.header("etag"))})
    assert (whole.status, again.status, again.body, other.status) == (200, 304, b"", 200)
    assert again.header("cache-control") == whole.header("cache-control") == "public, max-age=60, s-maxage=300"
    assert again.header("etag") == whole.header("etag")
    assert again.header("access-control-allow-origin") == "*"

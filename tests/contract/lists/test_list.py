"""Contract 2.1, 2.2, 4.1 and decisions 4, 10, 19, 23, 38: what a list holds and how its entries look."""

from __future__ import annotations

from tests.contract.bodies import ALPHA, BRAVO, CHARLIE, DELTA, ECHO, FOXTROT, KEN, MIKA, SCIENCE
from tests.contract.cases import answers, check_all, finds, page
from tests.contract.service import Service

LIVE = "alpha bravo delta echo foxtrot charlie"

SCORES: list[dict[str, object]] = [
    {"id": "s1", "value": 9007199254740992, "at": "2020-01-01T00:00:00.001Z", "passed": True, "marks": ["a", "b"]},
    {"id": "s2", "value": 0, "at": "2020-01-01T00:00:00.000Z", "passed": False, "marks": ["b"]},
    {"id": "s3", "value": 1000, "at": "1969-12-31T23:59:59.999Z", "passed": True, "marks": []},
    {"id": "s4", "value": 0.1, "at": None, "passed": None, "marks": []},
    {"id": "s5", "value": None, "at": None, "passed": None, "marks": ["c", "a"]},
    {"id": "S6", "value": 1e-7, "at": None, "passed": None, "marks": []},
    {"id": "s6", "value": -9007199254740992, "at": "9999-12-31T23:59:59.999Z", "passed": False, "marks": []},
]


def score(index: int, created: str) -> dict[str, object]:
    return {**SCORES[index], "createdAt": created, "updatedAt": created, "publishedAt": created}


CASES = [
    answers(
        "2.2 a list has contents, totalCount, offset and limit, and entries all their fields and dates",
        "articles?depth=0",
        page(ALPHA, BRAVO, DELTA, ECHO, FOXTROT, CHARLIE, total=6),
    ),
    answers(
        "4.1 without parameters: the first ten, newest publication first, references expanded once",
        "authors",
        page(
            {**KEN, "mentor": MIKA},
            {**MIKA, "mentor": KEN, "interests": [SCIENCE]},
            total=2,
        ),
    ),
    answers(
        "D38 numbers come out canonical, and D22 dates to the edges of the calendar",
        "scores",
        page(
            score(0, "2020-01-06T00:00:00.000Z"),
            score(1, "2020-01-05T00:00:00.000Z"),
            score(2, "2020-01-04T00:00:00.000Z"),
            score(3, "2020-01-03T00:00:00.000Z"),
            score(4, "2020-01-02T00:00:00.000Z"),
            score(5, "2020-01-01T00:00:00.000Z"),
            score(6, "2020-01-01T00:00:00.000Z"),
            total=7,
        ),
    ),
    answers("4.1 an API without entries is an empty list", "empty", page(total=0)),
    answers("4.1 an API without versions in a language is an empty list", "empty?lang=ja", page(total=0)),
    finds("4.1 only live versions of the main language are listed", "articles", LIVE),
    finds("4.1 an empty query string is none", "articles?", LIVE),
    finds("4.1 empty parts of a query string are none", "articles?&&", LIVE),
    finds("D4 unknown parameters have no effect", "articles?nope=1&Limit=1&LIMIT=1&%00=1", LIVE),
    finds("4.1 draftKey has no effect on a list", "articles?draftKey=bravo-key", LIVE),
    finds("D4 draftKey has no effect on a list, however malformed", "articles?draftKey=", LIVE),
    finds("D4 the last of a repeated parameter counts", "articles?limit=1&limit=2", "alpha bravo", total=6, limit=2),
    finds("D4 an earlier repetition may be malformed", "articles?limit=abc&limit=2", "alpha bravo", total=6, limit=2),
    finds("D4 parameter names are form-encoded too", "articles?%6Cimit=2", "alpha bravo", total=6, limit=2),
    answers(
        "4.1 X-Draft-Key has no effect on a list",
        "articles?fields=title&limit=2",
        page(
            {"id": "alpha", "title": "Café Society"}, {"id": "bravo", "title": "bravo & sons <ltd>"}, total=6, limit=2
        ),
        headers={"X-Draft-Key": "bravo-key"},
    ),
    answers(
        "D4 X-Draft-Key has no effect on a list, however malformed",
        "articles?fields=title&limit=1",
        page({"id": "alpha", "title": "Café Society"}, total=6, limit=1),
        headers={"X-Draft-Key": "not a key"},
    ),
]


def test_list(service: Service) -> None:
    check_all(service, CASES)

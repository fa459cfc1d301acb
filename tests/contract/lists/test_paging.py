"""Contract 4.3 and 4.4, decisions 5 and 35: limit and offset."""

from __future__ import annotations

from tests.contract.cases import check_all, finds, refuses
from tests.contract.service import Service

LIVE = "alpha bravo delta echo foxtrot charlie"

CASES = [
    finds("4.3 limit=1 is the least", "articles?limit=1", "alpha", total=6, limit=1),
    finds("4.3 limit=100 is the most", "articles?limit=100", LIVE, limit=100),
    finds("4.3 limit defaults to 10", "articles?offset=0", LIVE, limit=10),
    refuses("4.3 limit=0", "articles?limit=0", "limit"),
    refuses("4.3 limit=101", "articles?limit=101", "limit", "100"),
    refuses("4.3 an empty limit", "articles?limit=", "limit"),
    refuses("4.3 a limit without a value", "articles?limit", "limit"),
    refuses("D5 a signed limit", "articles?limit=-1", "limit"),
    refuses("D5 a plus sign is a space", "articles?limit=+5", "limit"),
    refuses("D5 an encoded plus sign", "articles?limit=%2B5", "limit"),
    refuses("D5 a limit with a point", "articles?limit=5.0", "limit"),
    refuses("D5 a limit with an exponent", "articles?limit=1e1", "limit"),
    refuses("D5 a limit with a space", "articles?limit=5%20", "limit"),
    refuses("D5 a limit with an underscore", "articles?limit=1_0", "limit"),
    refuses("D5 digits that are not ASCII", "articles?limit=%EF%BC%95", "limit"),
    refuses("D35 a leading zero", "articles?limit=010", "limit"),
    refuses("D5 a limit beyond any integer", f"articles?limit={'9' * 5000}", "limit"),
    finds("4.4 offset=0 is the start", "articles?offset=0&limit=2", "alpha bravo", total=6, limit=2),
    finds("4.4 page 2 begins at offset = limit", "articles?offset=2&limit=2", "delta echo", total=6, offset=2, limit=2),
    finds("4.4 the last page may be short", "articles?offset=4&limit=4", "foxtrot charlie", total=6, offset=4, limit=4),
    finds("4.4 an offset at the total is an empty page", "articles?offset=6", "", total=6, offset=6),
    finds("4.4 an offset past the total is an empty page", "articles?offset=1000", "", total=6, offset=1000),
    finds(
        "D5 the greatest offset is an empty page",
        "articles?offset=9007199254740991&limit=100",
        "",
        total=6,
        offset=9007199254740991,
        limit=100,
    ),
    refuses("D5 an offset beyond 2^53-1", "articles?offset=9007199254740992", "offset"),
    refuses("4.3 a negative offset", "articles?offset=-1", "offset"),
    refuses("4.3 an empty offset", "articles?offset=", "offset"),
    refuses("D35 an offset with leading zeros", "articles?offset=00", "offset"),
    refuses("D5 an offset that is no integer", "articles?offset=ten", "offset"),
    finds(
        "4.4 the total counts what the filter leaves, whatever the page",
        "articles?filters=tags[contains]red&limit=1&offset=1",
        "bravo",
        total=3,
        offset=1,
        limit=1,
    ),
    finds(
        "4.4 the total counts what the search leaves, even past the end",
        "articles?q=caf%C3%A9&offset=5",
        "",
        total=2,
        offset=5,
    ),
]


def test_paging(service: Service) -> None:
    check_all(service, CASES)


def test_pages_of_any_size_hold_every_entry_once_in_one_order(service: Service) -> None:
    """D8: every order is total, so pages never overlap by chance."""
    for orders in ("", "featured", "-rank", "views", "publishedAt"):
        whole = service.get(f"/v1/acme/articles?orders={orders}&fields=id").json()["contents"]
        for size in range(1, 7):
            paged = []
            for start in range(0, 6, size):
                target = f"/v1/acme/articles?orders={orders}&fields=id&limit={size}&offset={start}"
                paged += service.get(target).json()["contents"]
            assert paged == whole

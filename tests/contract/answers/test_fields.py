"""Contract 4.9, decision 9: field selection."""

from __future__ import annotations

from tests.contract.bodies import ALPHA, BRAVO, CHARLIE, ECHO, FOXTROT, MIKA, SITE
from tests.contract.cases import answers, check_all, page, refuses
from tests.contract.service import Service

CASES = [
    answers(
        "4.9 one field; id is always there", "articles/alpha?fields=title", {"id": "alpha", "title": "Café Society"}
    ),
    answers("4.9 id alone", "articles/alpha?fields=id", {"id": "alpha"}),
    answers(
        "4.9 several fields, whatever their order",
        "articles/alpha?fields=rank,title",
        {"id": "alpha", "title": "Café Society", "rank": 5},
    ),
    answers("D9 repetition does not matter", "articles/alpha?fields=rank,rank,id,id", {"id": "alpha", "rank": 5}),
    answers("D9 blanks around IDs are trimmed", "articles/alpha?fields=+rank+,%20id", {"id": "alpha", "rank": 5}),
    answers("D9 empty IDs are ignored", "articles/alpha?fields=,rank,,", {"id": "alpha", "rank": 5}),
    answers("4.9 unknown IDs are ignored", "articles/alpha?fields=nope,rank", {"id": "alpha", "rank": 5}),
    answers("4.9 only unknown IDs leave the id", "articles/alpha?fields=nope", {"id": "alpha"}),
    answers("D35 field IDs are case-sensitive", "articles/alpha?fields=Rank", {"id": "alpha"}),
    answers(
        "4.9 names of the store are unknown IDs", "articles/alpha?fields=live_from,_json,title__search", {"id": "alpha"}
    ),
    answers(
        "4.9 an encoded comma is a comma",
        "articles/alpha?fields=rank%2Cfeatured",
        {"id": "alpha", "rank": 5, "featured": True},
    ),
    answers(
        "4.9 a date comes when named",
        "articles/alpha?fields=publishedAt",
        {"id": "alpha", "publishedAt": "2020-03-09T15:00:00.000Z"},
    ),
    answers(
        "4.9 all dates come when named",
        "articles/alpha?fields=createdAt,updatedAt,publishedAt",
        {
            "id": "alpha",
            "createdAt": "2020-03-01T00:00:00.000Z",
            "updatedAt": "2020-03-20T12:34:56.789Z",
            "publishedAt": "2020-03-09T15:00:00.000Z",
        },
    ),
    answers("4.3 empty fields is all fields", "articles/charlie?fields=", CHARLIE),
    answers("4.9 without fields, all fields and all dates", "articles/charlie", CHARLIE),
    answers(
        "D10 a named field without a value is null, or an empty array",
        "articles/charlie?fields=summary,tags,cover,related,rank",
        {"id": "charlie", "summary": None, "tags": [], "cover": None, "related": [], "rank": None},
    ),
    answers(
        "4.9 fields of expanded references are not narrowed",
        "articles/alpha?fields=author,related",
        {"id": "alpha", "author": MIKA, "related": [BRAVO, CHARLIE]},
    ),
    answers("4.9 fields with depth=0", "articles/alpha?fields=author&depth=0", {"id": "alpha", "author": "mika"}),
    answers(
        "4.9 fields with _langs",
        "articles/foxtrot?fields=rank&include=_langs",
        {
            "id": "foxtrot",
            "rank": 0.1,
            "_langs": {"current": "en", "available": ["en", "pt-BR"]},
        },
    ),
    answers("4.9 _langs is no field", "articles/foxtrot?fields=rank,_langs", {"id": "foxtrot", "rank": 0.1}),
    answers(
        "4.9 fields on a list",
        "articles?fields=cover,origin&limit=2",
        page(
            {"id": "alpha", "cover": ALPHA["cover"], "origin": "wire-77"},
            {"id": "bravo", "cover": BRAVO["cover"], "origin": None},
            total=6,
            limit=2,
        ),
    ),
    answers(
        "4.9 fields do not touch filters, orders and q",
        "articles?fields=summary&filters=rank[exists]&orders=title&q=e&limit=2",
        page(
            {"id": "foxtrot", "summary": FOXTROT["summary"]},
            {"id": "alpha", "summary": ALPHA["summary"]},
            total=4,
            limit=2,
        ),
    ),
    answers("4.9 fields on an object", "site?fields=title", {"id": "site", "title": SITE["title"]}),
    answers(
        "4.3 fifty fields", f"articles/echo?fields={','.join(['title'] * 50)}", {"id": "echo", "title": ECHO["title"]}
    ),
    refuses("4.3 fifty-one fields", f"articles/echo?fields={','.join(['title'] * 51)}", "fields", "50"),
    refuses(
        "D9 fifty-one fields, though unknown", f"articles?fields={','.join(f'x{n}' for n in range(51))}", "fields", "50"
    ),
    refuses("D9 fifty-one fields of an object", f"site?fields={','.join(f'x{n}' for n in range(51))}", "fields", "50"),
]


def test_fields(service: Service) -> None:
    check_all(service, CASES)

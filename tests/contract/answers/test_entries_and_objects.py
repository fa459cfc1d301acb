"""Contract 3.1, 4.2, decisions 3, 4, 20, 22, 39: one entry, and an object API's one item."""

from __future__ import annotations

from tests.contract.bodies import (
    ALPHA,
    ALPHA_JA,
    BRAVO,
    DELTA,
    ECHO,
    FOXTROT,
    FOXTROT_PT,
    GOLF_JA,
    IMPRINT,
    KEN,
    PROMO_JA,
    SITE,
    SITE_JA,
)
from tests.contract.cases import answers, check_all, missing
from tests.contract.service import Service

ENTRIES = [
    answers("4.2 an entry is a bare object", "articles/alpha?depth=0", ALPHA),
    answers("3.1 published", "articles/bravo?depth=0", BRAVO),
    answers("3.1 scheduled, and its start has passed", "articles/echo?depth=0", ECHO),
    answers("3.1 inside its publish period", "articles/foxtrot?depth=0", FOXTROT),
    answers("2.1 text in any script", "articles/delta?depth=0", DELTA),
    answers("4.2 an entry of an API without languages", "authors/ken?depth=0", KEN),
    answers("D3 an ID may be percent-encoded", "articles/%61lpha?depth=0", ALPHA),
    answers(
        "D4 search, filter, paging and sort have no effect, however malformed",
        "articles/alpha?depth=0&limit=abc&offset=-1&orders=,&filters=[and]&q=" + "x" * 101,
        ALPHA,
    ),
    missing("3.1 scheduled, and its start is not reached", "articles/sleeper"),
    missing("3.1 published, and its start is not reached", "articles/unborn"),
    missing("3.1 its end has passed", "articles/lapsed"),
    missing("3.1 a draft", "articles/hotel"),
    missing("3.1 a draft that was never published", "articles/memo"),
    missing("3.1 no version in the main language", "articles/golf"),
    missing("2.1 an ID that matches nothing", "articles/nobody"),
    missing("D3 IDs are case-sensitive", "articles/ALPHA"),
    missing("2.1 an ID outside the format is only an ID that matches nothing", "articles/%E6%9D%B1%20%F0%9F%8E%89"),
    missing("2.1 an ID that is too long", f"articles/{'a' * 65}"),
    missing("2.1 an ID that is far too long", f"articles/{'a' * 5000}"),
    missing("2.1 SQL is only an ID that matches nothing", "articles/x'%20OR%20'1'='1"),
    missing("2.1 an ID with a slash", "articles/alpha%2Fbravo"),
    missing("2.1 a path up", "articles/..%2F..%2Fworkspace.yaml"),
    missing("2.1 an ID with a NUL", "articles/alpha%00"),
    missing("2.1 a blank ID", "articles/%20"),
    missing("D3 a trailing slash after an ID", "articles/alpha/"),
    missing("D3 more than an ID", "articles/alpha/title"),
]

OBJECTS = [
    answers("4.1 an object API gives its item", "site?depth=0", SITE),
    answers("4.8 an object's references are expanded", "site", {**SITE, "featured": None, "picks": [FOXTROT]}),
    answers("4.11 an object in a language", "site?lang=ja&depth=0", SITE_JA),
    answers("4.11 its references in that language", "site?lang=ja", {**SITE_JA, "featured": None, "picks": [GOLF_JA]}),
    answers(
        "4.11 its references with fallback",
        "site?lang=ja&lang_fallback=true",
        {**SITE_JA, "featured": BRAVO, "picks": [GOLF_JA, BRAVO]},
    ),
    answers(
        "4.11 an object that falls back; its references stay in the language",
        "site?lang=pt-BR&lang_fallback=true",
        {**SITE, "featured": None, "picks": [FOXTROT_PT]},
    ),
    answers(
        "4.8 an object at depth=2",
        "site?lang=ja&depth=2&fields=picks",
        {"id": "site", "picks": [{**GOLF_JA, "author": KEN, "related": [ALPHA_JA], "topic": None}]},
    ),
    answers("D39 an object's default ID is its endpoint, whatever the file's name", "imprint", IMPRINT),
    answers("D20 unless the file says otherwise", "promo?lang=ja", PROMO_JA),
    answers(
        "D4 parameters of lists have no effect on an object", "imprint?limit=0&offset=x&orders=x&filters=x&q=x", IMPRINT
    ),
    missing("4.11 an object without a version in a language", "site?lang=pt-BR"),
    missing("3.1 an object whose end has passed", "promo"),
    missing("3.1 an object that never fell to a language it lacks", "promo?lang=pt-BR&lang_fallback=true"),
    missing("4.2 an object that is not published", "banner"),
    missing("4.2 an object that was never saved", "blank"),
    missing("4.2 no ID is allowed on an object's path", "site/site"),
    missing("4.2 not even its own", "promo/spring-sale?lang=ja"),
    missing("D3 a trailing slash after an object", "site/"),
]

APIS = [
    missing("D3 an unknown endpoint", "nothing"),
    missing("D3 endpoints are case-sensitive", "Articles"),
    missing("D3 a trailing slash", "articles/"),
    missing("D3 an endpoint that is SQL", "articles%22%3B--"),
    missing("D3 a language is no endpoint", "en"),
    missing("D3 a file of the store is no endpoint", "articles.parquet"),
    missing("D27 an API is not found by its uid", "api_Articles0001"),
    missing("2.7 an API outside the key's scope", "topics", key="narrow"),
    missing("2.7 an entry of an API outside the key's scope", "topics/science", key="narrow"),
    missing("2.7 an object outside the key's scope", "imprint", key="narrow"),
    missing("D1 scope comes before parameters", "topics?limit=abc", key="narrow"),
    missing("D1 the API comes before parameters", "nothing?limit=abc"),
    answers("2.7 an API inside the key's scope", "articles/charlie?fields=id", {"id": "charlie"}, key="narrow"),
    answers("2.7 an object inside the key's scope", "site?fields=id", {"id": "site"}, key="narrow"),
]


def test_entries_and_objects(service: Service) -> None:
    check_all(service, [*ENTRIES, *OBJECTS, *APIS])

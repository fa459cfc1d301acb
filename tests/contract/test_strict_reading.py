"""Decision 76 over HTTP: strict reading on every read endpoint, and what it has to do with kept answers."""

from __future__ import annotations

import pytest

from tests.contract.service import Answer, Service

STRICT = {"Prefer": "handling=strict"}
APPLIED = "handling=strict"
RIGHT = (
    *(
        "articles?limit=2&fields=title,author",
        "articles?filters=category[equals]news",
        "articles/alpha?depth=2",
        "site",
    ),
    *("articles/alpha?limit=x", "_schema", "_changes", "_views/articles?ids=alpha", "_openapi", "_types/python"),
)
WRONG = {
    "articles?filter=category[equals]news": 'There is no parameter "filter". Did you mean "filters"?',
    "articles?filters[rank][$lt]=3": "All conditions are one value",
    "articles?fields=titel": 'Did you mean "title"?',
    "articles?fields=title&fields=rank": "fields: given more than once",
    "articles?filters=category[equals]nws": 'has no option "nws". Did you mean "news"?',
    "articles?filters=author[equals]a%20b": "an entry ID is 1 to 64 characters",
    "scores?filters=marks[contains]d": 'has no option "d". There are: a, b, c.',
    "articles/alpha?fields=titel": 'Did you mean "title"?',
    "articles/alpha?dept=2": 'Did you mean "depth"?',
    "site?languages=ja": "There is no parameter",
    "_schema?x=1": 'There is no parameter "x".',
    "_changes?form=1": 'There is no parameter "form".',
    "_views/articles?ids=alpha&day=1": 'Did you mean "days"?',
    "_openapi?x=1": 'There is no parameter "x".',
    "_types/python?clint=false": 'Did you mean "client"?',
}


def ask(service: Service, target: str, **headers: str) -> Answer:
    return service.get(f"/v1/acme/{target}", headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("target", RIGHT)
def test_what_is_right_is_answered_alike(service: Service, target: str) -> None:
    loose, strict = ask(service, target), ask(service, target, **STRICT)
    assert (strict.status, strict.body) == (200, loose.body)
    assert strict.header("preference-applied") == APPLIED
    assert "Prefer" in (strict.header("vary") or "")
    assert loose.header("preference-applied") is None
    assert loose.header("vary") == "Accept-Encoding"


@pytest.mark.parametrize(("target", "said"), WRONG.items())
def test_what_is_wrong_is_refused_however_often(service: Service, target: str, said: str) -> None:
    """Thrice, as answers are kept after the first and requests after the second time."""
    for _ in range(3):
        loose, strict = ask(service, target), ask(service, target, **STRICT)
        assert loose.status == 200
        assert loose.header("preference-applied") is None
        assert strict.status == 400
        assert strict.header("preference-applied") == APPLIED
        assert said in strict.json()["message"]
        tagged = ask(service, target, **STRICT, If_None_Match=loose.header("etag") or "")
        assert tagged.status == 400
        anything = ask(service, target, **STRICT, If_None_Match="*")
        assert anything.status == 400


@pytest.mark.parametrize("target", ["articles?limit=2", "_schema", "_types/typescript"])
def test_tags_of_one_reading_are_none_of_the_other(service: Service, target: str) -> None:
    loose, strict = ask(service, target), ask(service, target, **STRICT)
    tags = loose.header("etag") or "", strict.header("etag") or ""
    assert tags[0] != tags[1]
    for _ in range(3):
        assert ask(service, target, If_None_Match=tags[0]).status == 304
        assert ask(service, target, If_None_Match=tags[1]).status == 200
        assert ask(service, target, **STRICT, If_None_Match=tags[0]).status == 200
        same = ask(service, target, **STRICT, If_None_Match=tags[1])
        assert same.status == 304
        assert same.header("preference-applied") == APPLIED


@pytest.mark.parametrize(
    ("target", "status"), [("nothing?x=1", 404), ("articles/nobody", 404), ("articles?limit=0", 400)]
)
def test_failures_say_that_it_was_applied(service: Service, target: str, status: int) -> None:
    strict = ask(service, target, **STRICT)
    assert (strict.status, strict.header("preference-applied")) == (status, APPLIED)
    assert strict.body == ask(service, target).body


def test_a_draft_is_read_strictly_too(service: Service) -> None:
    key = "bravo-key"
    right = ask(service, "articles/bravo?fields=title", **STRICT, X_Draft_Key=key)
    assert (right.status, right.header("preference-applied")) == (200, APPLIED)
    assert ask(service, "articles/bravo?fields=titel", **STRICT, X_Draft_Key=key).status == 400


def test_pages_may_ask_for_it(service: Service) -> None:
    answer = service.request("OPTIONS", "/v1/acme/articles", {"Origin": "https://app.example"})
    assert "prefer" in (answer.header("access-control-allow-headers") or "").lower()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("Articles", 'Did you mean "articles"?'),
        ("autors", 'Did you mean "authors"?'),
        ("zzz", "There are: articles, authors, site."),
        ("topics", "There are: articles, authors, site."),
    ],
)
def test_an_endpoint_is_suggested_that_the_key_may_read(service: Service, target: str, said: str) -> None:
    """What is out of scope is answered as what is not there."""
    answer = service.get(f"/v1/acme/{target}", key="narrow")
    assert answer.status == 404
    assert answer.json()["message"].endswith(said)

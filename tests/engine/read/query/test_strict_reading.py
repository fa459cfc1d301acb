"""Strict reading (decision 76): what is refused, in which words, and that all else is answered as ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.read.query.answers.bind import bind, target_of
from engine.read.query.invalid_query import InvalidQuery
from tests.generated.budget import RANDOM, TIMES
from tests.generated.content import random_versions
from tests.generated.engine import Engine, engine_over
from tests.generated.requests import BY_ENDPOINT, Sent, requests
from tests.model.strict import is_mistaken

WORKSPACES = 2 * TIMES
FLAWS = ("", "", "&limit=2", "&sort=x", "&fields[]=title", "&draftKey=a", "&q=a&q=b", "&%ff=1", "&", "&=", "&ids=a~b")


@pytest.fixture(scope="module")
def engines() -> Iterator[list[Engine]]:
    with ExitStack() as stack:
        yield [stack.enter_context(engine_over(random_versions(7000 + seed))) for seed in range(WORKSPACES)]


def mistaken(sent: Sent) -> bool:
    """Whether the naive evaluator sees a mistake in a request whose API may be read."""
    endpoint, *entry = [unquote(part) for part in sent.path.split("/")[3:]]
    api = BY_ENDPOINT.get(endpoint)
    return is_mistaken(sent.query, api, many=not entry and api is not None and api["kind"] == "list")


@pytest.mark.parametrize("examples", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_it_refuses_mistakes_and_answers_all_else_as_ever(engines: list[Engine], examples: int) -> None:
    seen = set()

    @settings(RANDOM, max_examples=examples * TIMES)
    @given(seed=st.integers(0, WORKSPACES - 1), sent=requests(), flaw=st.sampled_from(FLAWS))
    def holds(seed: int, sent: Sent, flaw: str) -> None:
        sent = Sent(sent.path, sent.query + flaw, sent.headers, sent.scope, sent.now)
        loose, strict = engines[seed].answer(sent), engines[seed].strictly(sent)
        seen.add((loose[0], strict[0]))
        if loose[0] == 400 or (loose[0] == 200 and not mistaken(sent)):
            assert strict == loose
        elif loose[0] == 200:
            assert strict == (400, None)
        else:  # there is no such API, or no such entry, which is looked for once the parameters are right
            assert strict[0] in (400, 404)
            assert strict[0] == 404 or mistaken(sent)

    holds()
    assert {(200, 200), (200, 400), (400, 400)} <= seen


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("things?filter=title[exists]", 'There is no parameter "filter". Did you mean "filters"?'),
        ("things?filters[price][$lt]=300", 'There is no parameter "filters[price][$lt]". All conditions are one value'),
        ("things?fields[]=title", 'There is no parameter "fields[]". A list is one value: fields='),
        ("things?sort=-title", 'There is no parameter "sort". Did you mean "orders"?'),
        ("things?Locale=ja", 'There is no parameter "Locale". Did you mean "lang"?'),
        ("things?zzz=1", 'There is no parameter "zzz". There are: limit, offset,'),
        ("things?%FF=1", "name: the value is not UTF-8"),
        (
            "things?fields=title&fields=id",
            "fields: given more than once, and only the last would count. Give it once, wi",
        ),
        ("things?limit=1&limit=1", "limit: given more than once, and only the last would count. Give it once."),
        ("things?fields=id,titel", 'fields: the API "things" has no field "titel". Did you mean "title"?'),
        ("things?fields=views", 'fields: the API "things" has no field "views".'),
        ("things/a?fields=Title", 'Did you mean "title"?'),
        ("front?fields=tite", 'fields: the API "front" has no field "tite".'),
        (
            "things?filters=kind[equals]nws",
            'condition 1 ("kind[equals]nws"): the field "kind" has no option "nws". Did y',
        ),
        ("things?filters=kind[not_equals]", "To find entries without a value, use not_exists."),
        ("things?filters=id[equals]a b", 'an entry ID is 1 to 64 characters of A-Z a-z 0-9 _ -, got "a b".'),
        ("people?filters=boss[equals]", "an entry ID is 1 to 64 characters"),
        ("people?filters=works[contains]a.b", "an entry ID is 1 to 64 characters"),
        ("_schema?depth=1&deep=1", 'There is no parameter "deep". Did you mean "depth"?'),
        ("_changes?from=x", 'There is no parameter "from".'),
        ("_views/things?ids=a&id=b", 'There is no parameter "id". Did you mean "ids"?'),
    ],
)
def test_a_mistake_is_told_with_what_was_meant(engines: list[Engine], target: str, said: str) -> None:
    reader = engines[0].reader
    assert bind(reader, None, target_of(target.replace(" ", "%20")), {}) is not None, "which is right otherwise"
    with pytest.raises(InvalidQuery) as raised:
        bind(reader, None, target_of(target.replace(" ", "%20")), {}, strict=True)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "target",
    [
        *("things?", "things?&limit=1&", "things?fields=", "things?fields=,title,%20id", "things?draftKey=~&ids=%00"),
        *("things/a?limit=x&q=&since=y", "things?filters=kind[equals]news[and]kind[exists]", "_schema?limit=abc"),
        *("things?filters=title[equals]a%20b[or]id[equals]nobody", "_views/things?ids=a&orders=x", "_changes?limit=3"),
    ],
)
def test_it_is_no_mistake(engines: list[Engine], target: str) -> None:
    """Parameters that are known, though the request does not take them, and whatever may match nothing by itself."""
    reader = engines[0].reader
    assert type(bind(reader, None, target_of(target), {}, strict=True)) is type(
        bind(reader, None, target_of(target), {})
    )


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("title:desc", 'Write "-title": a "-" before a key means descending.'),
        ("-title:DESC", 'Write "-title"'),
        ("title+desc", 'Write "-title"'),
        ("title_desc", 'Write "-title"'),
        ("desc(title)", 'Write "-title"'),
        ("publishedAt.asc", 'Write "publishedAt": without "-", the order is ascending.'),
        ("title,desc", 'A "-" before a key means descending'),
        ("nope:desc", "There are: "),
    ],
)
def test_an_order_in_words(engines: list[Engine], key: str, said: str) -> None:
    with pytest.raises(InvalidQuery) as raised:
        bind(engines[0].reader, None, target_of(f"things?orders={key}"), {})
    assert said in str(raised.value)

"""The client of `cms types python --client`: a call of each kind, and what mypy must not let through."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, assert_type

from komugi import (
    BadRequest,
    Breads,
    BreadsDepth0,
    BreadsDepth2,
    BreadsSelected,
    Client,
    ContentError,
    JournalPart,
    KeyRefused,
    ListOf,
    NotFound,
    Shop,
    SnapshotGone,
    TooManyRequests,
    Unreachable,
)

URL, KEY, LIMITED_KEY, DRAFT_KEY = sys.argv[1:]


def failure(ask: Callable[[], object], kind: type[ContentError]) -> tuple[str, int, str]:
    try:
        ask()
    except kind as error:
        return type(error).__name__, error.status, str(error) if error.status else ""
    raise AssertionError(kind)


def results(content: Client) -> object:
    page = content.breads.list(
        fields=["name", "price"],
        orders=["-price", "name"],
        filters=("or", [("price", "less_than", 300), ("name", "contains", "a [or] b & c")]),
        limit=2,
    )
    again = content.breads.list(fields=["name", "price"], limit=2)
    names = [one["name"] for one in content.breads.all(orders=["name"], filters=("and", [("vegan", "equals", True)]))]
    rye = content.breads.entry("country-rye", depth=0)
    baker = content.breads.entry("country-rye", fields=["baker"])["baker"]
    japanese = content.breads.entry("melon-bread", lang="ja", fields=["name"], include="_langs")
    fallback = content.breads.list(lang="ja", lang_fallback=True, fields=["name"], limit=1)
    shop = content.shop.get(depth=2, fields=["seats", "todays_bread"])
    bread = shop["todays_bread"]
    draft = content.journal.draft("the-night-oven", DRAFT_KEY, fields=["title"])
    pinned = content.pin()
    total = pinned.breads.list()["totalCount"]
    pins = [pinned.snapshot == content.last_answer.snapshot, total]
    gone = failure(content.at("20200101T000000000Z-00000000@2020-01-01T00:00:00.000Z").schema, SnapshotGone)
    many = content.breads.entries(["milk-roll", "pizza", "country-rye"], fields=["name"])
    one = content.breads.list(filters=("name", "equals", "Milk roll"), fields=["name"])
    strict = Client(URL, KEY, strict=True)
    untyped: Any = strict.breads
    with strict, Client(URL, LIMITED_KEY, patience=0) as limited, Client(URL, "pq_wrong") as unknown:
        limited.stockists.list()
        failures = [
            failure(lambda: content.breads.entry("pizza"), NotFound),
            failure(lambda: content.breads.list(limit=200), BadRequest),
            failure(lambda: untyped.list(limt=3), BadRequest),
            failure(unknown.schema, KeyRefused),
            failure(limited.stockists.list, TooManyRequests),
            failure(Client("http://127.0.0.1:9", KEY, patience=0).schema, Unreachable),
        ]
    return {
        "page": page["contents"],
        "same": page["totalCount"] + len(again["contents"]),
        "names": names,
        "rye": rye["baker"],
        "baker": baker["name"] if isinstance(baker, dict) else baker,
        "langs": japanese["_langs"],
        "name": japanese["name"],
        "fallback": [one["name"] for one in fallback["contents"]],
        "seats": shop["seats"],
        "deep": "object" if isinstance(bread, dict) and isinstance(bread["baker"], dict) else None,
        "draft": draft["title"],
        "pins": pins,
        "gone": gone[1],
        "apis": [api["endpoint"] for api in content.schema()["apis"]],
        "views": content.views("breads", ["country-rye", "pizza"], 7)["views"],
        "failures": failures,
        "many": [bread["id"] for bread in many],
        "one": [bread["name"] for bread in one["contents"]],
    }


def typed(content: Client) -> None:
    assert_type(content.breads.list(), ListOf[Breads])
    assert_type(content.breads.list(depth=2, limit=3), ListOf[BreadsDepth2])
    selected = content.breads.list(fields=["name", "price", "baker"], depth=0)["contents"][0]
    assert_type(selected["name"], str)
    assert_type(selected["price"], float | None)
    assert_type(selected["baker"], str | None)
    assert_type(selected["id"], str)
    name_of(selected)
    name_of(content.breads.entry("x", fields=("name",)))
    assert_type(content.breads.entries(["x"]), list[Breads])
    assert_type(content.breads.all(depth=0), Iterator[BreadsDepth0])
    assert_type(content.breads.entry("x", lang="ja"), Breads)
    assert_type(content.journal.draft("x", "key"), JournalPart)
    assert_type(content.shop.get(), Shop)


def name_of(bread: BreadsSelected[Literal[0, 1], Literal["name"]]) -> str:
    return bread["name"]


def refused(content: Client) -> None:
    if TYPE_CHECKING:  # mypy complains of an ignore that has nothing to ignore
        _ = content.pizza  # type: ignore[attr-defined]
        content.shop.list()  # type: ignore[attr-defined]
        content.breads.list(orders=["story"])  # type: ignore[list-item]
        content.breads.list(fields=["pizza"])  # type: ignore[type-var]
        content.breads.list(filters=("and", [("price", "less_than", "300")]))  # type: ignore[list-item]
        content.breads.list(depth=3)  # type: ignore[call-overload]
        content.breads.list(lang="fr")  # type: ignore[call-overload]
        content.stockists.list(lang="ja")  # type: ignore[call-overload]
        content.breads.all(limit=3)  # type: ignore[call-overload]
        content.breads.entry("x", q="rye")  # type: ignore[call-overload]
        content.breads.entry("x")["pizza"]  # type: ignore[typeddict-item]
        content.breads.entry("x")["baker"]["name"]  # type: ignore[index]


if __name__ == "__main__":
    with Client(URL, KEY) as client:
        print(json.dumps(results(client)))

"""The types of `cms types python`: a query of each kind, and what mypy must not let through."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

from komugi import BreadsQuery, search

if TYPE_CHECKING:
    from komugi import Breads, BreadsPart, ListOf, ShopDepth2

URL, KEY = sys.argv[1:]


def get(target: str, query: str) -> bytes:
    request = Request(f"{URL}/v1/komugi/{target}?{query}", headers={"X-API-KEY": KEY})
    with urlopen(request) as answer:
        body: bytes = answer.read()
    return body


query: BreadsQuery = {
    "fields": ["name", "price", "baker"],
    "orders": ["-price", "name"],
    "filters": (
        "or",
        [
            ("price", "less_than", 300),
            ("name", "contains", "a [or] b & c"),
            ("vegan", "equals", True),
            ("photo", "exists"),
        ],
    ),
    "limit": 2,
    "lang_fallback": False,
}
some: ListOf[BreadsPart] = json.loads(get("breads", search(query)))
exact: BreadsQuery = {"filters": ("and", [("name", "equals", "a [and] b")])}
nothing: ListOf[Breads] = json.loads(get("breads", search(exact)))
shop: ShopDepth2 = json.loads(get("shop", search({"depth": 2})))

found = some["contents"][0].get("baker")
baker: str | None = found["name"] if isinstance(found, dict) else found
bread = shop["todays_bread"]
inside = bread["baker"] if isinstance(bread, dict) else None
deep: object = inside["favourite"] if isinstance(inside, dict) else None

if TYPE_CHECKING:  # mypy complains of an ignore that has nothing to ignore
    wrong: BreadsQuery = {"orders": ["story"]}  # type: ignore[list-item]  # rich text has no order
    wrong = {"filters": ("and", [("price", "less_than", "300")])}  # type: ignore[list-item]  # a text is no number
    wrong = {"filters": ("and", [("photo", "equals", "x")])}  # type: ignore[list-item]  # images are not compared
    shop["todays_bread"]["name"]  # type: ignore[index]  # an ID has no fields
    nothing["contents"][0]["pizza"]  # type: ignore[typeddict-item]  # no such field

ids = [one["id"] for one in some["contents"]]
print(
    json.dumps(
        {"query": search(query), "ids": ids, "baker": baker, "deep": deep, "nothing": nothing["totalCount"]},
        separators=(",", ":"),
    )
)

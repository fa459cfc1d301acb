"""Answers over snapshots written row by row: time, languages, order, totals, names that mean something in SQL."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.read.query.answers.bind import NotFound
from engine.read.query.invalid_query import InvalidQuery
from engine.read.reader.reader import Reader, open_reader
from engine.views.counting.totals import ViewTotals, next_generation
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from tests.generated.asked import asked
from tests.stores.snapshot_builder import ms, write_snapshot

POSTS = Api(
    "api_Posts",
    "Posts",
    "select",
    ApiKind.LIST,
    True,
    (
        Field("title", "Title", FieldType.TEXT, required=True),
        Field("from", "From", FieldType.RICHTEXT),
        Field("order", "Order", FieldType.NUMBER),
        Field("rowid", "Row", FieldType.BOOLEAN),
        Field("group", "Group", FieldType.DATETIME),
        Field("lang", "Lang", FieldType.SINGLE_SELECT, options=("a", "b")),
        Field("row", "Row", FieldType.MULTIPLE_SELECT),
        Field("t", "T", FieldType.IMAGE),
    ),
)
NOTES = Api("api_Notes", "Notes", "Notes-2", ApiKind.LIST, False, (Field("views_", "Text", FieldType.TEXTAREA),))
SITE = Api("api_Site", "Site", "site", ApiKind.OBJECT, True, (Field("name", "Name", FieldType.TEXT),))
WORKSPACE = Workspace("acme", "Acme", ("ja", "pt-BR", "at"), apis=(POSTS, NOTES, SITE))

NOW = ms("2026-06-15T12:00:00Z")
LATER = NOW + 1000


def post(entry_id: str, published: int, **values: Any) -> dict[str, Any]:
    return {"id": entry_id, "publishedAt": published, "createdAt": 1000 - published, **values}


PUBLISHED = {
    ("select", "ja"): [
        post("a", 40, title="Alpha", order=2, rowid=True, row=["x", "y"], lang="a", t={"url": "/a.png"}),
        post("b", 30, title="beta 100%", order=10, rowid=False, group=5, **{"from": "<p>Café</p>"}),
        post("c", 20, title="", order=None, live_until=LATER),
        post("d", 20, title="ガ", order=2, live_from=LATER),
        post("e", 10, title=None),
    ],
    ("select", "pt-BR"): [
        post("a", 5, title="Alfa", order=1),
        post("c", 50, title="Cê", order=7, live_from=LATER),
        post("only", 25, title="Só", order=2, live_until=LATER),
    ],
    ("Notes-2", "ja"): [{"id": f"n{n}", "publishedAt": n // 2} for n in range(7)],
    ("site", "ja"): [{"id": "site", "name": "Main"}],
    ("site", "pt-BR"): [{"id": "another", "name": "Other", "live_until": LATER}],
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    place: Path = tmp_path_factory.mktemp("snapshot")
    opened = open_reader(place, write_snapshot(place, WORKSPACE, PUBLISHED), place / "cache")
    yield opened
    opened.close()


def listed(reader: Reader, query: str, now: int = NOW, api: Api = POSTS, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asked(reader, f"{api.endpoint}?{query}", now, **more))
    return found


def ids(reader: Reader, query: str, now: int = NOW, api: Api = POSTS, **more: Any) -> str:
    return " ".join(entry["id"] for entry in listed(reader, query, now, api, **more)["contents"])


@pytest.mark.parametrize(
    ("query", "now", "expected", "total"),
    [
        ("", NOW, "a b c e", 4),
        ("", LATER - 1, "a b c e", 4),
        ("", LATER, "a b d e", 4),
        ("lang=ja", NOW, "a b c e", 4),
        ("lang=pt-BR", NOW, "only a", 2),
        ("lang=pt-BR", LATER, "c a", 2),
        ("lang=at", NOW, "", 0),
        ("lang=pt-BR&lang_fallback=true", NOW, "b only c e a", 5),
        ("lang=pt-BR&lang_fallback=true", LATER, "c b d e a", 5),
        ("lang=at&lang_fallback=true", NOW, "a b c e", 4),
        ("limit=2", NOW, "a b", 4),
        ("limit=2&offset=2", NOW, "c e", 4),
        ("offset=4", NOW, "", 4),
        ("offset=9007199254740991", NOW, "", 4),
        ("offset=9007199254740991&filters=order[exists]", NOW, "", 2),
        ("lang=pt-BR&lang_fallback=true&offset=2&limit=2", NOW, "c e", 5),
    ],
)
def test_which_entries_are_listed_when(reader: Reader, query: str, now: int, expected: str, total: int) -> None:
    found = listed(reader, query, now)
    assert (" ".join(entry["id"] for entry in found["contents"]), found["totalCount"]) == (expected, total)


def test_time_may_go_back_and_forth(reader: Reader) -> None:
    for now, expected in ((LATER, "a b d e"), (NOW, "a b c e"), (LATER, "a b d e"), (0, "a b c e")):
        found = listed(reader, "", now)
        assert (" ".join(entry["id"] for entry in found["contents"]), found["totalCount"]) == (expected, 4)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("orders=order", "a b c e"),
        ("orders=-order", "b a c e"),
        ("orders=title", "c a b e"),
        ("orders=-title", "b a c e"),
        ("orders=rowid", "b a c e"),
        ("orders=-rowid", "a b c e"),
        ("orders=-group", "b a c e"),
        ("orders=createdAt", "a b c e"),
        ("orders=-createdAt", "e c b a"),
        ("orders=publishedAt", "e c b a"),
        ("orders=updatedAt,-order", "b a c e"),
        ("orders=views", "a b c e"),
        ("lang=pt-BR&lang_fallback=true&orders=order", "a only b c e"),
        ("lang=pt-BR&lang_fallback=true&orders=-order", "b only a c e"),
        ("lang=pt-BR&lang_fallback=true&orders=updatedAt", "b only c e a"),
        ("orders=-order&limit=1&offset=1", "a"),
        ("orders=-order&filters=title[exists]", "b a"),
    ],
)
def test_orders(reader: Reader, query: str, expected: str) -> None:
    assert ids(reader, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("orders=-views", "e b a c"),
        ("orders=views", "c a b e"),
        ("orders=-views&limit=2&offset=1", "b a"),
        ("orders=views,order&filters=order[exists]", "a b"),
        ("orders=-views&lang=pt-BR&lang_fallback=true", "e b only a c"),
        ("orders=-views&filters=order[exists]", "b a"),
        ("orders=views&filters=order[exists]", "a b"),
        ("orders=views&filters=title[not_equals]Alpha&limit=2", "c b"),
        ("orders=views&filters=publishedAt[greater_than]1969-01-01&offset=3", "e"),
        ("orders=-views&filters=title[not_equals]Alpha&lang=pt-BR&lang_fallback=true", "e b only a c"),
    ],
)
def test_view_counts_sort_and_missing_ones_are_zero(reader: Reader, query: str, expected: str) -> None:
    counted = {"e": 9, "b": 5, "a": 1, "only": 1, "elsewhere": 100}
    assert ids(reader, query, views=ViewTotals.of(counted)) == expected


def test_every_list_is_ordered_by_the_view_counts_it_is_asked_with(reader: Reader) -> None:
    older, newer = ViewTotals.of({"a": 2, "b": 1}), ViewTotals.of({"b": 2, "a": 1})
    assert ids(reader, "orders=-views&limit=2", views=older) == "a b"
    assert ids(reader, "orders=-views&limit=2", views=newer) == "b a"
    assert ids(reader, "orders=-views&limit=2", views=older) == "a b"


def test_view_counts_are_the_sum_of_their_parts_of_which_one_may_stay(reader: Reader) -> None:
    base = (pa.array(["a", "b", "x"], pa.string()), memoryview(array("q", [3, 2, 90])))
    first = (pa.array(["e"], pa.string()), memoryview(array("q", [4])))
    second = (pa.array(["b", "e"], pa.string()), memoryview(array("q", [2, 1])))
    for query in ("orders=-views", "orders=-views,order", "orders=-views&filters=title[not_contains]nothing"):
        assert ids(reader, query, views=ViewTotals(lambda: [base, first], next_generation())) == "e a b c"
        assert ids(reader, query, views=ViewTotals(lambda: [base, second], next_generation())) == "b a e c"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("filters=title[contains]ALFA&lang=pt-BR", "a"),
        ("filters=title[contains]alpha&lang=pt-BR&lang_fallback=true", ""),
        ("filters=title[contains]100%25&lang=pt-BR&lang_fallback=true", "b"),
        ("filters=title[not_contains]beta", "a c e"),
        ("filters=title[equals]", "c"),
        ("filters=title[not_equals]Alpha", "b c e"),
        ("filters=title[exists]", "a b"),
        ("filters=title[not_exists]", "c e"),
        ("filters=order[equals]2.0", "a"),
        ("filters=order[not_equals]2", "b c e"),
        ("filters=order[greater_than]2", "b"),
        ("filters=rowid[equals]false", "b"),
        ("filters=rowid[not_equals]false", "a c e"),
        ("filters=rowid[exists]", "a b"),
        ("filters=group[less_than]1970-01-01T00:00:00.0051Z", "b"),
        ("filters=group[less_than]1970-01-01T00:00:00.005Z", ""),
        ("filters=lang[equals]a[or]row[contains]y", "a"),
        ("filters=row[not_contains]x", "b c e"),
        ("filters=row[exists]", "a"),
        ("filters=row[not_exists]", "b c e"),
        ("filters=t[exists][or]from[exists]", "a b"),
        ("filters=t[not_exists][and]from[not_exists]", "c e"),
        ("filters=from[contains]caf%C3%A9", "b"),
        ("filters=from[contains]%3Cp", ""),
        ("filters=id[equals]e", "e"),
        ("filters=id[not_equals]e", "a b c"),
        ("filters=publishedAt[greater_than]1970-01-01T00:00:00.020Z", "a b"),
        ("filters=id[equals]d", ""),
        ("q=%25", "b"),
        ("q=caf%C3%A9", "b"),
        ("q=caf%C3%A9&filters=order[less_than]3", ""),
        ("q=%00", ""),
        ("filters=title[equals]%00", ""),
        ("filters=title[equals]'%20OR%20true--", ""),
    ],
)
def test_filters_and_search(reader: Reader, query: str, expected: str) -> None:
    found = listed(reader, query)
    assert " ".join(entry["id"] for entry in found["contents"]) == expected
    assert found["totalCount"] == len(expected.split())


def test_an_api_without_text_fields_has_no_match_for_a_search(tmp_path: Path) -> None:
    api = Api("api_X", "X", "x", ApiKind.LIST, False, (Field("n", "N", FieldType.NUMBER),))
    manifest = write_snapshot(tmp_path, Workspace("w", "W", ("en",), apis=(api,)), {("x", "en"): [{"id": "a"}]})
    reader = open_reader(tmp_path, manifest, tmp_path / "cache")
    assert listed(reader, "q=a", api=api)["totalCount"] == 0
    assert listed(reader, "", api=api)["totalCount"] == 1
    reader.close()


def test_pages_never_overlap_where_many_are_published_at_once(reader: Reader) -> None:
    pages = [ids(reader, f"limit=2&offset={offset}", api=NOTES) for offset in (0, 2, 4, 6)]
    assert pages == ["n6 n4", "n5 n2", "n3 n0", "n1"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["ja"]),
        ("lang=pt-BR", None),
        ("lang=pt-BR&lang_fallback=true", ["ja"]),
    ],
)
def test_langs_tell_what_is_live_and_what_came(reader: Reader, query: str, expected: list[str] | None) -> None:
    query = f"fields=title&include=_langs&{query}"
    if expected is None:
        with pytest.raises(NotFound, match='There is no "c" in "select" published in "pt-BR" now'):
            asked(reader, f"select/c?{query}", NOW)
        return
    entry = json.loads(asked(reader, f"select/c?{query}", NOW))
    assert entry == {"id": "c", "title": "", "_langs": {"current": "ja", "available": expected}}


def test_langs_in_a_list_are_each_rows_own(reader: Reader) -> None:
    found = listed(reader, "lang=pt-BR&lang_fallback=true&include=_langs&fields=&orders=createdAt")
    langs = {entry["id"]: (entry["_langs"]["current"], entry["_langs"]["available"]) for entry in found["contents"]}
    assert langs == {
        "a": ("pt-BR", ["ja", "pt-BR"]),
        "b": ("ja", ["ja"]),
        "c": ("ja", ["ja"]),
        "e": ("ja", ["ja"]),
        "only": ("pt-BR", ["pt-BR"]),
    }


def test_a_body_is_whole_and_in_the_order_of_the_definition(reader: Reader) -> None:
    entry = json.loads(asked(reader, "select/b", NOW))
    assert list(entry) == ["id", "createdAt", "updatedAt", "publishedAt", *(field.id for field in POSTS.fields)]
    assert entry["publishedAt"] == "1970-01-01T00:00:00.030Z"
    assert entry["group"] == "1970-01-01T00:00:00.005Z"


@pytest.mark.parametrize("entry_id", ["d", "nothing", "", "A", "a'", "a\0", "x" * 1000, "東", "only"])
def test_no_entry_is_not_found(reader: Reader, entry_id: str) -> None:
    with pytest.raises(NotFound):
        asked(reader, f"select/{entry_id}", NOW)


def test_an_invalid_query_comes_before_a_missing_entry(reader: Reader) -> None:
    with pytest.raises(InvalidQuery, match="lang"):
        asked(reader, "select/nothing?lang=xx", NOW)


@pytest.mark.parametrize(
    ("query", "now", "expected"),
    [
        ("", NOW, "Main"),
        ("lang=pt-BR", NOW, "Other"),
        ("lang=pt-BR&lang_fallback=true", NOW, "Other"),
        ("lang=pt-BR&lang_fallback=true", LATER, "Main"),
        ("lang=pt-BR", LATER, None),
        ("lang=at&lang_fallback=true", NOW, "Main"),
    ],
)
def test_the_item_of_an_object_api(reader: Reader, query: str, now: int, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(NotFound, match="site"):
            asked(reader, f"site?{query}", now)
        return
    assert json.loads(asked(reader, f"site?{query}", now))["name"] == expected


@pytest.mark.parametrize(
    ("api", "query", "says"),
    [
        (POSTS, "lang=xx", 'workspace "acme" has no language "xx". There are: ja, pt-BR, at.'),
        (POSTS, "lang=pt-br", 'Did you mean "pt-BR"?'),
        (NOTES, "lang=pt-BR", 'the API "Notes-2" is not multilingual'),
        (POSTS, "orders=titel", 'has no sort key "titel". Did you mean "title"?'),
        (POSTS, "orders=lang", '"lang" is a single_select field, which cannot be sorted by'),
        (POSTS, "orders=id", 'has no sort key "id"'),
        (POSTS, "filters=titel[equals]x", 'has no field "titel". Did you mean "title"?'),
        (POSTS, "filters=Title[equals]x", 'Did you mean "title"?'),
        (POSTS, "filters=title__search[contains]x", "has no field"),
        (POSTS, "filters=_rn[exists]", "has no field"),
        (POSTS, "filters=publishedAt[equals]2020-01-01", "does not take equals. It takes greater_than, less_than"),
    ],
)
def test_what_the_api_does_not_have_is_explained(reader: Reader, api: Api, query: str, says: str) -> None:
    with pytest.raises(InvalidQuery) as raised:
        listed(reader, query, api=api)
    assert says in str(raised.value)


def test_the_schema_lists_the_apis_in_scope(reader: Reader) -> None:
    assert [api["endpoint"] for api in json.loads(asked(reader, "_schema", NOW))["apis"]] == [
        "select",
        "Notes-2",
        "site",
    ]
    only = json.loads(asked(reader, "_schema", NOW, scope=frozenset({"api_Site"})))
    fields = [{"id": "name", "name": "Name", "type": "text", "required": False}]
    assert only == {
        "workspace": "acme",
        "apis": [{"name": "Site", "endpoint": "site", "kind": "object", "fields": fields}],
    }

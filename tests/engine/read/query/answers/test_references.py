"""Reference expansion: depth, language, scope, and one statement per API and level (contract 4.8, 4.11, 2.7)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.access.drafts.keys import derived_draft_key
from engine.read.reader.reader import Reader, SnapshotUnusable, open_reader
from engine.read.reader.statement import Statement
from snapshots.columns import SEGMENT_ENTRIES
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from tests.generated.asked import asked
from tests.stores.snapshot_builder import write_snapshot

NOW, LATER = 1000, 2000
SECRET = b"secret"


def reference(field_id: str, target: str | None, many: bool = False) -> Field:
    return Field(field_id, field_id, FieldType.REFERENCES if many else FieldType.REFERENCE, target=target)


BLOG = Api(
    "api_Blog",
    "Blog",
    "blog",
    ApiKind.LIST,
    True,
    (reference("author", "api_Author"), reference("related", "api_Blog", True), reference("gone", None)),
)
AUTHOR = Api(
    "api_Author",
    "Authors",
    "authors",
    ApiKind.LIST,
    False,
    (Field("name", "Name", FieldType.TEXT), reference("best", "api_Blog"), reference("friends", "api_Author", True)),
)
WORKSPACE = Workspace("acme", "Acme", ("ja", "en"), apis=(BLOG, AUTHOR))
PUBLISHED = {
    ("blog", "ja"): [
        {"id": "a", "author": "mika", "related": ["b", "ghost", "c", "b"], "gone": "x"},
        {"id": "b", "author": "ghost", "related": ["a"]},
        {"id": "c", "author": "late", "live_until": LATER},
    ],
    ("blog", "en"): [
        {"id": "a", "author": "late", "related": ["c"], "live_from": LATER},
        {"id": "b", "author": "mika", "publishedAt": 5},
        {"id": "en-only", "related": ["a", "b"]},
    ],
    ("authors", "ja"): [
        {"id": "mika", "name": "Mika", "best": "a", "friends": ["late", "mika"]},
        {"id": "late", "name": "Late", "live_from": LATER},
    ],
}
DRAFTS = {
    ("blog", "ja"): [{"id": "a", "author": "late", "related": ["c", "new"], "publishedAt": 7, "draft_key": "own"}],
    ("blog", "en"): [{"id": "new", "author": "mika", "related": ["b"]}],
}


class Counting:
    """A reader that keeps the statements it runs."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.statements: list[Statement] = []

    def run(self, statement: Statement, deadline: float) -> list[tuple[Any, ...]]:
        self.statements.append(statement)
        return self.reader.run(statement, deadline)

    def run_for_columns(self, statement: Statement, deadline: float) -> dict[str, Any]:
        self.statements.append(statement)
        return self.reader.run_for_columns(statement, deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reader, name)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snapshot")


@pytest.fixture(scope="module")
def reader(place: Path) -> Iterator[Reader]:
    opened = open_reader(place, write_snapshot(place, WORKSPACE, PUBLISHED, DRAFTS), place / "cache")
    yield opened
    opened.close()


def shape(value: Any) -> Any:
    """An answer reduced to what was expanded: entries as their ID and reference fields, IDs as texts."""
    if isinstance(value, list):
        return [shape(one) for one in value]
    if isinstance(value, dict):
        names = ("author", "related", "best", "friends")
        return {"id": value["id"]} | {name: shape(value[name]) for name in names if name in value}
    return value


def entry(
    reader: Reader,
    query: str,
    entry_id: str = "a",
    now: int = NOW,
    scope: frozenset[str] | None = None,
    key: bytes | None = None,
) -> Any:
    headers = {} if key is None else {b"x-draft-key": key}
    return json.loads(
        asked(reader, f"{BLOG.endpoint}/{entry_id}?{query}", now, scope=scope, headers=headers, secret=SECRET)
    )


MIKA = {"id": "mika", "best": "a", "friends": ["late", "mika"]}


@pytest.mark.parametrize(
    ("query", "now", "expected"),
    [
        ("depth=0", NOW, {"id": "a", "author": "mika", "related": ["b", "ghost", "c", "b"]}),
        (
            "",
            NOW,
            {
                "id": "a",
                "author": MIKA,
                "related": [
                    {"id": "b", "author": "ghost", "related": ["a"]},
                    {"id": "c", "author": "late", "related": []},
                    {"id": "b", "author": "ghost", "related": ["a"]},
                ],
            },
        ),
        (
            "depth=1&fields=related",
            LATER,
            {"id": "a", "related": [{"id": "b", "author": "ghost", "related": ["a"]}] * 2},
        ),
        ("depth=1&fields=author", NOW, {"id": "a", "author": MIKA}),
        (
            "depth=2&fields=author",
            NOW,
            {
                "id": "a",
                "author": {
                    "id": "mika",
                    "best": {"id": "a", "author": "mika", "related": ["b", "ghost", "c", "b"]},
                    "friends": [MIKA],
                },
            },
        ),
        (
            "depth=2&fields=related",
            LATER,
            {
                "id": "a",
                "related": [
                    {
                        "id": "b",
                        "author": None,
                        "related": [{"id": "a", "author": "mika", "related": ["b", "ghost", "c", "b"]}],
                    }
                ]
                * 2,
            },
        ),
        # Main language asked of the entry itself, though other languages exist.
        ("lang=en&fields=author", LATER, {"id": "a", "author": {"id": "late", "best": None, "friends": []}}),
        ("lang=en&fields=related", LATER, {"id": "a", "related": []}),
        (
            "lang=en&lang_fallback=true&fields=related",
            NOW,
            {
                "id": "a",
                "related": [
                    {"id": "b", "author": "mika", "related": []},
                    {"id": "c", "author": "late", "related": []},
                    {"id": "b", "author": "mika", "related": []},
                ],
            },
        ),
    ],
)
def test_expansion(reader: Reader, query: str, now: int, expected: Any) -> None:
    assert shape(entry(reader, query, now=now)) == expected


def test_a_reference_without_a_target_stays_an_id(reader: Reader) -> None:
    assert entry(reader, "depth=2")["gone"] == "x"


def test_references_out_of_scope_stay_ids_at_every_level(reader: Reader) -> None:
    found = shape(entry(reader, "depth=2", scope=frozenset({"api_Blog"})))
    assert found["author"] == "mika"
    assert [one["author"] for one in found["related"]] == ["ghost", "late", "ghost"]
    found = shape(entry(reader, "depth=2", scope=frozenset({"api_Blog", "api_Author"})))
    assert found["author"]["friends"] == [MIKA]


def test_expanded_entries_are_whole_and_have_no_langs(reader: Reader) -> None:
    found = entry(reader, "fields=related&include=_langs")
    assert list(found) == ["id", "related", "_langs"]
    assert list(found["related"][0]) == ["id", "createdAt", "updatedAt", "publishedAt", "author", "related", "gone"]


@pytest.mark.parametrize("query", ["", "&filters=author[exists]", "&orders=createdAt&include=_langs"])
def test_expansion_needs_no_statement(place: Path, query: str) -> None:
    def statements(depth: int) -> int:
        opened = open_reader(place, write_snapshot(place, WORKSPACE, PUBLISHED, DRAFTS), place / "cache")
        counting = Counting(opened)
        target = f"{BLOG.endpoint}?depth={depth}{query}"
        asked(counting, target, NOW)  # type: ignore[arg-type]  # stands in for a reader
        opened.close()
        return len(counting.statements)

    assert statements(0) == statements(1) == statements(2) > 0


def test_a_list_expands_each_row_in_the_language_asked_for(reader: Reader) -> None:
    found = json.loads(asked(reader, f"{BLOG.endpoint}?lang=en&fields=related", NOW))
    assert shape(found["contents"]) == [
        {"id": "b", "related": []},
        {"id": "en-only", "related": [{"id": "b", "author": "mika", "related": []}]},
    ]


@pytest.mark.parametrize(
    ("query", "entry_id", "key", "expected"),
    [
        (
            "draftKey=own",
            "a",
            None,
            {"id": "a", "author": None, "related": [{"id": "c", "author": "late", "related": []}]},
        ),
        ("draftKey=own&depth=0", "a", None, {"id": "a", "author": "late", "related": ["c", "new"]}),
        ("", "a", b"own", {"id": "a", "author": None, "related": [{"id": "c", "author": "late", "related": []}]}),
        (
            "lang=en&fields=related",
            "new",
            "derived",
            {"id": "new", "related": [{"id": "b", "author": "mika", "related": []}]},
        ),
    ],
)
def test_a_draft_refers_to_published_content(
    reader: Reader, query: str, entry_id: str, key: bytes | str | None, expected: Any
) -> None:
    if key == "derived":
        key = derived_draft_key(SECRET, "acme", "api_Blog", "new", "en").encode()
    assert not isinstance(key, str)
    assert shape(entry(reader, query, entry_id, key=key)) == expected


def test_a_draft_has_its_own_dates_and_tells_the_live_languages(reader: Reader) -> None:
    found = entry(reader, "draftKey=own&depth=0&include=_langs&fields=publishedAt", now=LATER)
    langs = {"current": "ja", "available": ["ja", "en"]}
    assert found == {"id": "a", "publishedAt": "1970-01-01T00:00:00.007Z", "_langs": langs}


def test_altered_drafts_are_not_opened(tmp_path: Path) -> None:
    manifest = write_snapshot(tmp_path, WORKSPACE, PUBLISHED, DRAFTS, segment_entries=SEGMENT_ENTRIES)
    reader = open_reader(tmp_path, manifest, tmp_path / "cache")
    drafts = tmp_path / "_drafts/ja/blog/all.parquet"
    drafts.write_bytes(drafts.read_bytes()[:-1])
    assert entry(reader, "depth=0")["id"] == "a"
    with pytest.raises(SnapshotUnusable, match=r"_drafts/ja/blog/all\.parquet"):
        entry(reader, "draftKey=own")
    reader.close()

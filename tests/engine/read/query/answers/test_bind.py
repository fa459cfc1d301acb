"""Targets and headers → plans, by the path alone; what parameters do is told in the tests of plans and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.read.query.answers.bind import (
    ChangesPlan,
    NotFound,
    SchemaPlan,
    Target,
    UnknownApi,
    ViewsPlan,
    bind,
    target_of,
)
from engine.read.query.invalid_query import InvalidQuery
from engine.read.query.plan import EntryPlan, ListPlan
from engine.read.reader.reader import Reader, open_reader
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from tests.stores.snapshot_builder import write_snapshot

POSTS = Api(
    "api_Posts",
    "Posts",
    "posts",
    ApiKind.LIST,
    False,
    (Field("next", "Next", FieldType.REFERENCE, target="api_Posts"),),
)
SITE = Api("api_Site", "Site", "site", ApiKind.OBJECT, False, (Field("name", "Name", FieldType.TEXT),))
WORKSPACE = Workspace("acme", "Acme", ("en",), apis=(POSTS, SITE))
ONLY_POSTS = frozenset({"api_Posts"})


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    place: Path = tmp_path_factory.mktemp("snapshot")
    opened = open_reader(place, write_snapshot(place, WORKSPACE, {}), place / "cache")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("posts", ListPlan),
        ("/posts?limit=3", ListPlan),
        ("posts/a", EntryPlan),
        ("posts/", EntryPlan),
        ("site?depth=0", EntryPlan),
        ("_schema?limit=x", SchemaPlan),
        ("_views/posts?ids=a", ViewsPlan),
        ("_changes", ChangesPlan),
    ],
)
def test_the_path_decides_about_the_plan(reader: Reader, target: str, kind: type) -> None:
    assert type(bind(reader, None, target_of(target), {})) is kind


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("site/a", "is an object API"),
        ("posts/a/b", 'There is no "posts/a/b"'),
        ("_views/posts/a?ids=a", "There is no"),
        ("nothing", "no such API"),
        ("_views", "no such API"),
        ("_views/nothing", "no such API"),
        ("Posts", "no such API"),
        ("", "no such API"),
    ],
)
def test_other_paths_lead_nowhere(reader: Reader, target: str, says: str) -> None:
    with pytest.raises(NotFound, match=says):
        bind(reader, None, target_of(target), {})


def test_an_api_out_of_scope_is_not_there(reader: Reader) -> None:
    for target in ("site", "_views/site?ids=a"):
        with pytest.raises(UnknownApi) as raised:
            bind(reader, ONLY_POSTS, target_of(target), {})
        with pytest.raises(UnknownApi) as unknown:
            bind(reader, ONLY_POSTS, target_of(target.replace("site", "nothing")), {})
        assert str(raised.value) == str(unknown.value)


def test_the_header_of_a_preview_is_that_of_an_entry(reader: Reader) -> None:
    plan = bind(reader, None, Target(["posts", "a"], b""), {b"x-draft-key": b"key"})
    assert isinstance(plan, EntryPlan)
    assert plan.draft_key == "key"
    with pytest.raises(InvalidQuery, match="X-Draft-Key"):
        bind(reader, None, Target(["posts", "a"], b""), {b"x-draft-key": b"a key"})


def test_references_are_found_once_for_a_scope_and_a_language_rule(reader: Reader) -> None:
    plans = [
        bind(reader, scope, target_of("posts"), {}) for scope in (None, None, ONLY_POSTS, frozenset({"api_Posts"}))
    ]
    reaches = [plan.shape.reach for plan in plans if isinstance(plan, ListPlan)]
    assert reaches[0] is reaches[1] is not reaches[2] is reaches[3]

"""Two versions' definitions → what changed, and which of it breaks clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from snapshots.build.build import BreakingChanges, build
from snapshots.compare.compatibility import SchemaChange, breaking_changes, schema_changes
from snapshots.model import Api, ApiKind, Field, FieldType, Group, ReferenceTarget, SignalSettings, Workspace
from snapshots.store.store import Store, open_store
from tests.programs.command_line import BLOG, Cms, in_process, write_workspace

NOW = 1_780_000_000_000

TITLE = Field("title", "Title", FieldType.TEXT, required=True)
NUMBER = Field("title", "Title", FieldType.NUMBER, required=True)
KIND = Field("kind", "Kind", FieldType.SINGLE_SELECT, options=("news", "guide"))
AUTHOR = Field("author", "Author", FieldType.REFERENCE, target="u-authors")
BLOG_API = Api("u-blog", "Blog", "blog", ApiKind.LIST, True, (TITLE, KIND, AUTHOR))
AUTHORS_API = Api("u-authors", "Authors", "authors", ApiKind.LIST, False, (Field("name", "Name", FieldType.TEXT),))
SHOPS_API = Api("u-shops", "Shops", "shops", ApiKind.LIST, False, ())
SEO = Field("seo", "SEO", FieldType.GROUP, fields=(TITLE, KIND))
BLOCKS = Field(
    "blocks", "Blocks", FieldType.GROUPS, groups=(Group("hero", "Hero", (TITLE,)), Group("rule", "Rule", ()))
)
LINKS = Field(
    "links",
    "Links",
    FieldType.REFERENCES,
    targets=(ReferenceTarget("blog", "u-blog"), ReferenceTarget("authors", "u-authors")),
)
BLOG_API = replace(BLOG_API, fields=(*BLOG_API.fields, SEO, BLOCKS, LINKS))
OLD = Workspace("site", "Site", ("en", "de"), apis=(BLOG_API, AUTHORS_API, SHOPS_API))


def changed(**facts: Any) -> Workspace:
    return replace(OLD, **facts)


def with_api(**facts: Any) -> Workspace:
    return replace(OLD, apis=(replace(BLOG_API, **facts), AUTHORS_API, SHOPS_API))


def with_field(field: Field, **facts: Any) -> Workspace:
    fields = tuple(replace(one, **facts) if one.id == field.id else one for one in BLOG_API.fields)
    return with_api(fields=fields)


def slugs(changes: list[SchemaChange]) -> list[tuple[str, bool]]:
    return [(change.change, change.breaking) for change in changes]


BREAKING = {
    "language gone": (changed(languages=("en",)), ["language_removed"]),
    "main language another": (changed(languages=("de", "en")), ["main_language_changed"]),
    "API gone": (changed(apis=(BLOG_API, AUTHORS_API)), ["api_removed"]),
    "endpoint renamed": (with_api(endpoint="posts"), ["endpoint_changed"]),
    "uid another": (with_api(uid="u-new"), ["api_uid_changed"]),
    "list to object": (with_api(kind=ApiKind.OBJECT), ["kind_changed"]),
    "no longer multilingual": (with_api(multilingual=False), ["multilingual_off"]),
    "field gone": (with_api(fields=BLOG_API.fields[1:]), ["field_removed"]),
    "field of a group gone": (with_field(SEO, fields=(KIND,)), ["field_removed"]),
    "field of a group another type": (with_field(SEO, fields=(NUMBER, KIND)), ["type_changed"]),
    "option of a group's field gone": (
        with_field(SEO, fields=(TITLE, replace(KIND, options=("news",)))),
        ["option_removed"],
    ),
    "null in a group": (with_field(SEO, fields=(replace(TITLE, required=False), KIND)), ["required_loosened"]),
    "one group to many": (with_field(SEO, type=FieldType.GROUPS), ["multiplicity_changed"]),
    "kind gone": (with_field(BLOCKS, groups=BLOCKS.kinds[:1]), ["kind_removed"]),
    "several kinds to one": (with_field(BLOCKS, groups=UNSET, fields=(TITLE,)), ["kinds_changed"]),
    "field of a kind gone": (
        with_field(BLOCKS, groups=(Group("hero", "Hero", ()), BLOCKS.kinds[1])),
        ["field_removed"],
    ),
    "one image to many": (with_field(TITLE, type=FieldType.IMAGE), ["type_changed"]),
    "several targets to one": (with_field(LINKS, targets=UNSET, target="u-blog"), ["target_changed"]),
    "one target less": (with_field(LINKS, targets=(ReferenceTarget("blog", "u-blog"),)), ["target_changed"]),
    "text to number": (with_field(TITLE, type=FieldType.NUMBER), ["type_changed"]),
    "text can no longer be sorted by": (with_field(TITLE, type=FieldType.TEXTAREA), ["type_changed"]),
    "one option to many": (with_field(KIND, type=FieldType.MULTIPLE_SELECT), ["multiplicity_changed"]),
    "one reference to many": (with_field(AUTHOR, type=FieldType.REFERENCES), ["multiplicity_changed"]),
    "null becomes possible": (with_field(TITLE, required=False), ["required_loosened"]),
    "option gone": (with_field(KIND, options=("news",)), ["option_removed"]),
    "other target": (with_field(AUTHOR, target="u-shops"), ["target_changed"]),
    "objects to IDs": (with_field(AUTHOR, target=None), ["target_changed"]),
}
HARMLESS = {
    "language new": (changed(languages=("en", "de", "ja")), ["language_added"]),
    "setting": (changed(domains=("site.example",)), ["setting_changed"]),
    "signals off": (changed(signals=SignalSettings(next_change=False)), ["setting_changed"]),
    "sizes off": (changed(assets_sizes=False), ["setting_changed"]),
    "API new": (changed(apis=(*OLD.apis, replace(SHOPS_API, uid="u-2", endpoint="more"))), ["api_added"]),
    "API called otherwise": (with_api(name="Weblog"), ["api_name_changed"]),
    "field new": (with_api(fields=(*BLOG_API.fields, Field("x", "X", FieldType.NUMBER))), ["field_added"]),
    "field called otherwise": (with_field(TITLE, name="Heading"), ["field_name_changed"]),
    "API described": (with_api(description="Articles."), ["api_description_changed"]),
    "field described": (with_field(TITLE, description="A line."), ["field_description_changed"]),
    "field of a group described": (
        with_field(SEO, fields=(replace(TITLE, description="A line."), KIND)),
        ["field_description_changed"],
    ),
    "fields in another order": (with_api(fields=(KIND, TITLE, *BLOG_API.fields[2:])), ["fields_reordered"]),
    "field of a group new": (with_field(SEO, fields=(TITLE, KIND, replace(NUMBER, id="n"))), ["field_added"]),
    "kind new": (with_field(BLOCKS, groups=(*BLOCKS.kinds, Group("new", "New", ()))), ["kind_added"]),
    "required from now on": (with_field(KIND, required=True), ["required_tightened"]),
    "option new": (with_field(KIND, options=("news", "guide", "note")), ["option_added"]),
    "options open": (with_field(KIND, options=None), ["options_opened"]),
}


@pytest.mark.parametrize(("new", "expected"), BREAKING.values(), ids=BREAKING)
def test_what_breaks_clients(new: Workspace, expected: list[str]) -> None:
    assert slugs(schema_changes(OLD, new)) == [(slug, True) for slug in expected]
    assert slugs(breaking_changes(OLD, new)) == [(slug, True) for slug in expected]


@pytest.mark.parametrize(("new", "expected"), HARMLESS.values(), ids=HARMLESS)
def test_what_does_not(new: Workspace, expected: list[str]) -> None:
    assert slugs(schema_changes(OLD, new)) == [(slug, False) for slug in expected]
    assert breaking_changes(OLD, new) == []


def test_the_same_definitions_have_no_changes() -> None:
    assert schema_changes(OLD, replace(OLD)) == []


def test_a_target_that_only_moved_is_no_other_target() -> None:
    for facts, slug in (({"endpoint": "people"}, "endpoint_changed"), ({"uid": "u-people"}, "api_uid_changed")):
        target = replace(AUTHORS_API, **facts)
        links = replace(
            LINKS, targets=(ReferenceTarget("blog", "u-blog"), ReferenceTarget(target.endpoint, target.uid))
        )
        blog = replace(BLOG_API, fields=(TITLE, KIND, replace(AUTHOR, target=target.uid), SEO, BLOCKS, links))
        assert slugs(schema_changes(OLD, changed(apis=(blog, target, SHOPS_API)))) == [(slug, True)]


def test_a_target_behind_the_same_endpoint_can_be_another_api() -> None:
    """Authors move away, and shops take their endpoint and their place in the field."""
    blog = replace(BLOG_API, fields=(TITLE, KIND, replace(AUTHOR, target="u-shops"), SEO, BLOCKS, LINKS))
    new = changed(apis=(blog, replace(AUTHORS_API, endpoint="people"), replace(SHOPS_API, endpoint="authors")))
    assert [change.change for change in breaking_changes(OLD, new)] == [
        "target_changed",
        "endpoint_changed",
        "endpoint_changed",
    ]


def test_a_swap_of_two_languages_nobody_asks_for_by_default_is_no_change() -> None:
    three = changed(languages=("en", "de", "ja"))
    assert schema_changes(three, changed(languages=("en", "ja", "de"))) == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "site")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


def test_a_build_leaves_the_current_version_where_clients_would_break(root: Path, store: Store) -> None:
    first = build(root, store, now=NOW)
    definition = root / "apis/blog.yaml"
    definition.write_text(BLOG.replace(", required: true", ""), encoding="utf-8")
    place = store.workspace("site")
    for now in (NOW + 1, NOW + 2):  # again and again, until somebody decides
        with pytest.raises(BreakingChanges, match="--allow-breaking") as refused:
            build(root, store, now=now)
        [(change, file, line)] = refused.value.changes
        assert (change.change, file, line) == ("required_loosened", "apis/blog.yaml", 7)
        current = place.current()
        assert current is not None
        assert current.version == first.version
    second = refused.value.result
    assert place.versions() == [second.version, first.version]
    assert not second.activated

    accepted = build(root, store, now=NOW + 3, allow_breaking=True)
    assert (accepted.version, accepted.activated) == (second.version, True)


def test_a_build_that_activates_nothing_refuses_nothing(root: Path, store: Store) -> None:
    build(root, store, now=NOW)
    (root / "apis/blog.yaml").write_text(BLOG.replace(", required: true", ""), encoding="utf-8")
    assert not build(root, store, now=NOW + 1, activate=False).activated


def test_places_of_what_is_gone(root: Path, store: Store) -> None:
    build(root, store, now=NOW)
    (root / "workspace.yaml").write_text("id: site\ntimezone: Asia/Tokyo\nlanguages: [en]\n", encoding="utf-8")
    (root / "apis/authors.yaml").unlink()
    (root / "content/blog/one.de.md").unlink()
    (root / "apis/blog.yaml").write_text(
        BLOG.replace("  - {id: rating, name: Rating, type: number}\n", ""), encoding="utf-8"
    )
    with pytest.raises(BreakingChanges) as refused:
        build(root, store, now=NOW + 1)
    found = [(change.change, file, line) for change, file, line in refused.value.changes]
    assert found == [
        ("language_removed", "workspace.yaml", 3),
        ("field_removed", "apis/blog.yaml", 6),
        ("api_removed", "apis", 1),
    ]


def test_the_command_says_what_breaks_where_and_what_to_do(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(root)
    cms: Cms = in_process(monkeypatch, capsys)
    assert cms("snapshot", "build").status == 0
    (root / "apis/blog.yaml").write_text(BLOG.replace("type: number", "type: text"), encoding="utf-8")
    refused = cms("snapshot", "build")
    assert (refused.status, refused.out) == (1, "")
    first, last = refused.err.splitlines()
    assert first.startswith('apis/blog.yaml:8: breaking: blog: the field "rating" was number and is text')
    assert "cms snapshot build --allow-breaking" in last

    document = cms("snapshot", "build", "--json")
    assert document.status == 1
    assert document.json["activated"] is False
    [breaking] = document.json["breaking"]
    assert (breaking["change"], breaking["file"], breaking["line"]) == ("type_changed", "apis/blog.yaml", 8)

    assert cms("snapshot", "build", "--allow-breaking").status == 0
    back = cms("snapshot", "rollback")
    assert back.status == 0
    assert "this breaks clients: blog" in back.err

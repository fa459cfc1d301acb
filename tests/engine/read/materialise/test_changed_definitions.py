"""A version that follows another definition is, byte for byte and in every answer, what a build from nothing makes."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.read.query.answers.bind import NotFound
from engine.read.query.invalid_query import InvalidQuery
from engine.read.reader.reader import Reader, open_reader
from snapshots.build.build import build
from snapshots.columns import FileKind, stored_form
from snapshots.model import Api, ApiKind, Field, FieldType, Group, ReferenceTarget
from snapshots.problems import ParquetryError
from snapshots.store.manifest import Manifest
from snapshots.store.store import Store, open_store
from tests.generated.asked import asked
from tests.generated.budget import RANDOM, TIMES
from tests.generated.definitions import FORMS, VALUES, change, pairs, random_content, random_workspace, write

NOW = 1_780_000_000_000
SECRET = b"the same for all"
ENTRIES = 8
"""The most entries of a segment where there are very many APIs, of which some have several segments then."""
CONDITIONS = (
    *("[equals]red", '[equals]"red"', "[equals]3", "[equals]true", "[greater_than]2", "[greater_than]2026-01-01"),
    *("[contains]red", "[contains]bold", "[contains]strong", "[exists]"),
)


def forms_of(root: Path) -> dict[str, set[str]]:
    """The values, by number, that each form of a field takes."""
    defined = {f"form{number}": form for number, form in enumerate(FORMS.values())}
    write_apis(root, {name: [{"id": "value"} | form] for name, form in defined.items()})
    for name in defined:
        write_entries(root, name, {str(number): f"value: {value}" for number, value in enumerate(VALUES)})
    store = open_store(root.with_name("forms-store"))
    version = build(root, store, now=NOW, lenient=True).version
    directory = store.workspace("changed").snapshots / version
    found = [set(pq.read_table(directory / f"en/{name}", columns=["id"])["id"].to_pylist()) for name in defined]
    return dict(zip(FORMS, found, strict=True))


def write_apis(root: Path, fields: dict[str, list[dict[str, Any]]]) -> None:
    (root / "apis").mkdir(parents=True, exist_ok=True)
    (root / "workspace.yaml").write_text("id: changed\nlanguages: [en]\n")
    known = {"people": [], "things": [], **fields}
    for name, of_api in known.items():
        api = {"uid": f"api_{name:0>12}", "endpoint": name, "kind": "list", "fields": of_api}
        (root / f"apis/{name}.yaml").write_text(json.dumps(api))


def write_entries(root: Path, endpoint: str, entries: dict[str, str]) -> None:
    (root / "content" / endpoint).mkdir(parents=True, exist_ok=True)
    for name, text in entries.items():
        (root / f"content/{endpoint}/{name}.yaml").write_text(f"createdAt: 2026-01-01\n{text}\n")


@pytest.mark.slow
def test_a_field_of_any_type_becomes_one_of_another_with_the_same_content(tmp_path: Path) -> None:
    taken = forms_of(tmp_path / "forms")
    root = tmp_path / "workspace"
    changes = {f"pair{number}": pair for number, pair in enumerate(pairs(FORMS)) if taken[pair[0]] & taken[pair[1]]}
    assert len(changes) > 200
    for name, (before, after) in changes.items():
        common = sorted(taken[before] & taken[after], key=int)
        said = {one: f"value: {VALUES[int(one)]}" for one in common}
        write_entries(root, name, {one: f"{value}\nbox: {{{value}}}" for one, value in said.items()})

    def define(which: int) -> None:
        fields = {}
        for name, pair in changes.items():
            field = {"id": "value"} | FORMS[pair[which]]
            fields[name] = [field, {"id": "box", "type": "group", "fields": [field]}]
        write_apis(root, fields)

    store = open_store(tmp_path / "store")
    versions = []
    for which in (0, 1):
        define(which)
        versions.append(built(root, store, ENTRIES))
        reader_of(store, versions[-1]).close()
    fresh = open_store(tmp_path / "fresh")
    first, second = (manifest_of(store, version) for version in versions)
    expected = manifest_of(fresh, built(root, fresh, ENTRIES))
    assert rows_of(first) == rows_of(second)
    assert second.content == expected.content
    assert second.files == expected.files
    one, other = reader_of(store, versions[1]), reader_of(fresh, expected.version)
    found, wanted = answers(one), answers(other)
    one.close()
    other.close()
    assert [request for request in wanted if found[request] != wanted[request]] == []


@pytest.mark.parametrize("examples", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_any_changes_of_definitions_give_what_a_build_from_nothing_gives(
    tmp_path_factory: pytest.TempPathFactory, examples: int
) -> None:
    @settings(RANDOM, max_examples=examples * TIMES)
    @given(seed=st.integers(0, 2**32))
    def follows(seed: int) -> None:
        random, place = Random(seed), tmp_path_factory.mktemp("changed")
        root, store = place / "workspace", open_store(place / "store")
        defined, content = random_workspace(random), random_content(random)
        before: dict[str, dict[str, str]] = {}
        for number in range(5):
            write(root, defined, content)
            fresh = open_store(place / f"fresh-{number}")
            outcome, expected = outcome_of(root, store), outcome_of(root, fresh)
            assert outcome[:2] == expected[:2]
            if outcome[2] is not None and expected[2] is not None:
                one, other = reader_of(store, outcome[2]), reader_of(fresh, expected[2])
                before[outcome[2]] = answers(one)
                assert before[outcome[2]] == answers(other)
                one.close()
                other.close()
            change(random, defined, content)
        for version in random.sample([*before], len(before)):  # going back, and on
            reader = reader_of(store, version)
            assert answers(reader) == before[version]
            reader.close()

    follows()


def outcome_of(root: Path, store: Store) -> tuple[Any, Any, str | None]:
    """The content and the files of what a build makes, and its version; or what it is refused for."""
    try:
        version = built(root, store)
    except ParquetryError as error:
        return str(error), None, None
    manifest = manifest_of(store, version)
    return manifest.content, manifest.files, version


def built(root: Path, store: Store, segment_entries: int = 2) -> str:
    return build(root, store, now=NOW, lenient=True, allow_breaking=True, segment_entries=segment_entries).version


def rows_of(manifest: Manifest) -> dict[str, int]:
    return {one.path: one.rows for one in manifest.files if one.kind is not FileKind.SEARCH}


def manifest_of(store: Store, version: str) -> Manifest:
    return store.workspace("changed").manifest(version)


def reader_of(store: Store, version: str) -> Reader:
    workspace = store.workspace("changed")
    return open_reader(workspace.snapshots / version, workspace.manifest(version), store.cache)


def answers(reader: Reader) -> dict[str, str]:
    """What a reader says of everything that depends on a field: lists, filters, orders, searches, entries."""
    found = {}
    for api in reader.workspace.apis:
        for query in ["limit=100&depth=2", "lang=ja&lang_fallback=true", "q=red", *queries(api)]:
            found[f"{api.endpoint}?{query}"] = answer(reader, api, query)
        if api.kind is ApiKind.LIST:
            for entry in ("red", "3"):
                found[f"{api.endpoint}/{entry}"] = answer(reader, api, "depth=2", entry)
    return found


def queries(api: Api) -> list[str]:
    made = []
    for path in api.every_field():
        made += [f"filters={path.name}{condition}" for condition in CONDITIONS]
        made.append(f"orders={path.name}&limit=100&fields=id")
    return made


def answer(reader: Reader, api: Api, query: str, entry: str | None = None) -> str:
    path = api.endpoint if entry is None else f"{api.endpoint}/{entry}"
    try:
        return asked(reader, f"{path}?{query}", NOW, secret=SECRET).decode()
    except (InvalidQuery, NotFound) as error:
        return f"{type(error).__name__}: {error}"


def test_nothing_of_a_field_is_left_out_of_what_is_named_by_it_but_names_and_what_is_allowed() -> None:
    """A member that fields come to have is in the name, unless it is added to those that are left out on purpose."""
    inner = Field("b", "B", FieldType.REFERENCE, target="api_1")
    whole = {
        "id": "x",
        "name": "X",
        "type": FieldType.REFERENCES,
        "required": True,
        "options": ("red",),
        "target": "api_1",
        "targets": (ReferenceTarget("people", "api_1"),),
        "fields": (inner,),
        "groups": (Group("g", "G", (inner,)),),
        "renamed_from": "w",
        "description": "Says what X is.",
    }
    assert tuple(whole) == Field.__struct_fields__
    others = {
        "id": "y",
        "name": "Y",
        "type": FieldType.TEXT,
        "required": False,
        "options": None,
        "target": None,
        "targets": (ReferenceTarget("people", "api_2"),),
        "fields": (Field("b", "B", FieldType.TEXT),),
        "groups": (Group("g", "G", (Field("b", "B", FieldType.JSON),)),),
        "renamed_from": "v",
        "description": "Says what Y is.",
    }
    form = stored_form([Field(**whole)])  # type: ignore[arg-type]
    ignored = {name for name, value in others.items() if stored_form([Field(**whole | {name: value})]) == form}
    assert ignored == {"name", "required", "options", "renamed_from", "description"}

"""Light versions, as `cms dev` makes them: each says, and answers, what a full build of the same files does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from engine.read.reader.reader import open_reader
from snapshots.build.build import BuildResult, build
from snapshots.build.settings import FULL, LIGHT, WriteSettings
from snapshots.columns import FileKind
from snapshots.problems import WorkspaceRefused
from snapshots.store.manifest import Manifest, decode_manifest, encode_manifest
from snapshots.store.store import Store, WorkspaceStore, open_store
from tests.generated.budget import RANDOM, TIMES
from tests.generated.content import WORKSPACE as RANDOM_WORKSPACE
from tests.generated.content import many_versions
from tests.generated.content import write_workspace as write_versions
from tests.generated.engine import Engine, draft_key
from tests.generated.requests import Sent, requests
from tests.model.model import Model
from tests.programs.command_line import Cms, entry, in_process, write_workspace
from tests.snapshots.build.test_rebuild import EDITS, NOW, change, new_workspace


def said(place: WorkspaceStore, version: str) -> tuple[object, ...]:
    """All that a version says, row by row, but not in which bytes."""
    manifest = place.manifest(version)
    files = [file for file in manifest.files if file.kind is not FileKind.SEARCH]
    rows = [pq.read_table(place.path(version, file.path), partitioning=None).to_pylist() for file in files]
    facts = [(file.path, file.kind, file.rows, file.content, file.scheduled) for file in files]
    return manifest.content, manifest.workspace, facts, rows


def bytes_of(manifest: Manifest) -> list[tuple[str, str]]:
    return [(file.path, file.sha256) for file in manifest.files]


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


def tried(root: Path, store: Store, now: int, settings: WriteSettings) -> BuildResult | WorkspaceRefused:
    try:
        return build(root, store, now=now, lenient=True, allow_breaking=True, settings=settings)
    except WorkspaceRefused as refused:
        return refused


@pytest.mark.parametrize("seed", range(TIMES))
def test_any_edits_make_versions_that_say_what_full_builds_say(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    root = new_workspace(tmp_path, random, 90)
    light, full = open_store(tmp_path / "light"), open_store(tmp_path / "full")
    here, there = light.workspace("acme"), full.workspace("acme")
    built = 0
    for step in range(12):
        for path in root.glob("pages*/*/*"):
            if path.is_symlink():
                path.unlink()
        for _ in range(random.choice([0, 1, 1, 2])):
            random.choice([*EDITS, *[change] * 12])(root, random)
        expected = tried(root, full, NOW + step, FULL)
        result = tried(root, light, NOW + step, LIGHT)
        if isinstance(expected, WorkspaceRefused) or isinstance(result, WorkspaceRefused):
            assert type(result) is type(expected)
            assert result.problems.kept == expected.problems.kept
            continue
        assert result.problems.kept == expected.problems.kept
        assert result.entries == expected.entries
        assert said(here, result.version) == said(there, expected.version)
        assert here.verify(result.version) == []
        assert not here.manifest(result.version).full
        built += result.changed
        kinds = {file.kind for file in here.manifest(result.version).files}
        assert FileKind.SEARCH not in kinds
        here.prune(2)
    assert built > 5
    again = build(root, light, now=NOW + 100, lenient=True, allow_breaking=True)
    assert again.changed, "a light version is no stand-in for a full one"
    assert again.activated
    fresh = open_store(tmp_path / "fresh")
    nothing_known = build(root, fresh, now=NOW + 100, lenient=True, allow_breaking=True)
    assert bytes_of(here.manifest(again.version)) == bytes_of(fresh.workspace("acme").manifest(nothing_known.version))
    assert here.manifest(again.version).full
    assert not build(root, light, now=NOW + 200, lenient=True, allow_breaking=True, settings=LIGHT).changed


@pytest.mark.parametrize("lost", [True, False])
def test_a_damaged_build_cache_only_costs_time(tmp_path: Path, lost: bool) -> None:
    root = write_workspace(tmp_path / "site")
    store = open_store(tmp_path / "store")
    build(root, store, now=NOW, settings=LIGHT)
    for number, name in enumerate(("one", "again")):
        for chunk in store.cache.glob("build/*/*.rows"):
            chunk.write_bytes(b"")
            if lost:
                chunk.unlink()
        (root / "content/blog/one.md").write_text(entry(name))
        result = build(root, store, now=NOW + 1 + number, settings=LIGHT)
        full = open_store(tmp_path / f"full-{number}")
        expected = build(root, full, now=NOW)
        assert said(store.workspace("site"), result.version) == said(full.workspace("site"), expected.version)
        assert store.workspace("site").verify(result.version) == []


def test_full_manifests_are_written_as_before(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "site")
    store = open_store(tmp_path / "store")
    place = store.workspace("site")
    full = build(root, store, now=NOW)
    text = (place.snapshots / full.version / "manifest.json").read_bytes()
    assert "quick" not in json.loads(text)
    assert encode_manifest(decode_manifest(text, "")) == text


def test_commands_tell_light_versions_from_full_ones(tmp_path: Path, cms: Cms) -> None:
    root = write_workspace(tmp_path / "site")
    store = open_store(root / ".cms")
    place = store.workspace("site")
    light = build(root, store, now=NOW, settings=LIGHT).version
    assert cms("snapshot", "verify", "--store", root / ".cms").status == 0
    assert "quick" in cms("snapshot", "show", "--store", root / ".cms").out
    assert cms("snapshot", "build", root).status == 0
    current = place.current()
    assert current is not None
    assert current.version != light
    assert cms("snapshot", "diff", light, current.version, "--exit-code", "--store", root / ".cms").status == 0
    listed = json.loads(cms("snapshot", "list", "--json", "--store", root / ".cms").out)
    assert [(one["version"], one["quick"]) for one in listed] == [(current.version, False), (light, True)]
    assert cms("snapshot", "rollback", "--store", root / ".cms").status == 0
    current = place.current()
    assert current is not None
    assert current.version == light


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Over the last of three light versions of changing content."""
    directory = tmp_path_factory.mktemp("light")
    store = open_store(directory / "store")
    place = store.workspace(RANDOM_WORKSPACE["id"])
    random = Random(5)
    every = many_versions(11, 30)
    for step, share in enumerate((0.9, 0.97, 0.93)):
        versions = [one for one in every if random.random() < share]
        root = directory / f"workspace-{step}"
        write_versions(root, versions)
        version = build(root, store, now=step, settings=LIGHT).version
    reader = open_reader(place.snapshots / version, place.manifest(version), store.cache)
    try:
        yield Engine(reader, Model(RANDOM_WORKSPACE, versions, draft_key, {}))
    finally:
        reader.close()


@settings(RANDOM, max_examples=50 * TIMES)
@given(sent=requests())
def test_answers_are_those_that_the_content_has(engine: Engine, sent: Sent) -> None:
    engine.check(sent)

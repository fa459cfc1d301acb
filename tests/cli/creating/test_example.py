"""The workspaces that come with the program: they build without a word, and the example shows what there is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.creating.examples import EXAMPLE
from snapshots.build.build import build
from snapshots.columns import FileKind
from snapshots.model import NEVER, ApiKind, FieldType
from snapshots.store.store import WorkspaceStore, open_store
from tests.stores.data_files import stored_rows

BUNDLED = EXAMPLE.parent
AFTER_THE_SUMMER_MARKET = 1_770_000_000_000
YEAR_2040 = 2_208_988_800_000


@pytest.mark.parametrize("name", ["acme", "example", "starter"])
def test_builds_without_problems(name: str, tmp_path: Path) -> None:
    # As people get it: not in the git repository of the program.
    root = shutil.copytree(BUNDLED / name, tmp_path / name)
    result = build(root, open_store(tmp_path / "store"), now=AFTER_THE_SUMMER_MARKET, strict=True)
    assert [str(problem) for problem in result.problems.kept] == []
    assert result.entries >= 3


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceStore:
    store = open_store(tmp_path_factory.mktemp("store"))
    return store.workspace(build(BUNDLED / "example", store, now=AFTER_THE_SUMMER_MARKET).workspace)


def rows(store: WorkspaceStore, kind: FileKind) -> dict[tuple[str, str, str], tuple[int, int]]:
    """(endpoint, ID, language) of every version → its live window in UTC milliseconds."""
    current = store.current()
    assert current is not None
    manifest = store.manifest(current.version)
    found = {}
    for file in manifest.files:
        api = manifest.workspace.api_by_uid(file.api)
        assert api is not None
        if file.kind is kind:
            table = pq.read_table(store.path(current.version, file.path))
            windows = zip(*(table[name].cast("int64").to_pylist() for name in ("live_from", "live_until")), strict=True)
            for entry, window in zip(table["id"].to_pylist(), windows, strict=True):
                found[api.endpoint, entry, file.lang] = window
    return found


def test_the_example_shows_every_field_type_and_kind_of_api(example: WorkspaceStore) -> None:
    current = example.current()
    assert current is not None
    apis = example.manifest(current.version).workspace.apis
    assert {field.type for api in apis for field in api.fields} == set(FieldType)
    assert {api.kind for api in apis} == set(ApiKind)
    assert {path.suffix for path in (BUNDLED / "example" / "content").rglob("*.*")} == {
        *(".md", ".yaml", ".jsonl"),
        *(".jpg", ".png", ".webp", ".pdf"),
    }


def test_the_example_has_pictures_of_its_own(example: WorkspaceStore) -> None:
    current = example.current()
    assert current is not None
    manifest = example.manifest(current.version)
    pictures = [example.assets / name for name in manifest.asset_names if not name.endswith(".pdf")]
    assert len(pictures) >= 12
    assert all(5_000 < picture.stat().st_size < 50_000 for picture in pictures)
    assert {picture.suffix for picture in pictures} == {".jpg", ".png", ".webp"}
    for lang, words in (("en", "light in its windows"), ("ja", "窓に明かり")):
        rows = stored_rows(example.path(current.version, f"{lang}/journal/all.parquet"))
        night = next(row["json"] for row in rows if words in row["json"])
        assert "/assets/komugi/street-at-two." in night
        assert '"alt":"' in night


def test_the_example_shows_every_state_of_a_version(example: WorkspaceStore) -> None:
    published, drafts = rows(example, FileKind.PUBLISHED), rows(example, FileKind.DRAFTS)
    languages = {lang: {key[:2] for key in published if key[2] == lang} for lang in ("en", "ja")}
    assert languages["ja"] < languages["en"]
    assert any(live_from >= YEAR_2040 for live_from, _ in published.values())
    ends = {live_until for _, live_until in published.values()} - {NEVER}
    assert min(ends) < AFTER_THE_SUMMER_MARKET < max(ends)
    assert {key in published for key in drafts} == {True, False}

"""An import is all or nothing: into an empty folder, beside it until it is whole, and the same each time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from snapshots.importers.kinds.microcms.export import read
from snapshots.importers.run import NotImportable, import_export
from snapshots.locks import FileLock
from tests.programs.command_line import CMS
from tests.sites.imported import imported, write_files

FILES = {
    "posts.schema.json": {"apiFields": [{"fieldId": "title", "kind": "text"}]},
    "posts.json": {
        "contents": [{"id": "a", "title": "A"}, {"id": "A", "title": "Other case"}, {"id": "é/x", "title": "?"}]
    },
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_files(tmp_path / "export", FILES)


def test_a_folder_with_anything_in_it_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/.hidden").touch()
    with pytest.raises(NotImportable, match="already exists and is not empty"):
        import_export("microcms", read, source, tmp_path / "site", "site")
    assert [path.name for path in (tmp_path / "site").iterdir()] == [".hidden"]


def test_an_empty_folder_is_filled_and_one_that_is_not_there_is_made(source: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    imported("microcms", source, tmp_path / "empty")
    imported("microcms", source, tmp_path / "new/deep")
    assert list(tmp_path.rglob("*.importing")) == []


def test_importing_again_gives_the_same_files(source: Path, tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        root = imported("microcms", source, tmp_path / name).root
        texts.append({path.relative_to(root): path.read_bytes() for path in root.rglob("*.yaml")})
    assert texts[0] == texts[1]


def test_ids_that_are_not_valid_become_valid_and_names_in_another_case_get_a_folder(
    source: Path, tmp_path: Path
) -> None:
    made = imported("microcms", source, tmp_path / "site")
    assert [name.lower() for name in made.files()] == sorted({name.lower() for name in made.files()})
    assert "posts/a.yaml" in made.files()
    assert any(name.startswith("posts/e-x-") for name in made.files())
    assert made.lost("an ID of posts").places == ["posts.json: é/x"]


@pytest.mark.parametrize("folder", ["/etc", "../x", "content/x", "APIS", ".hidden", "a/../b", "", "a//b"])
def test_assets_go_into_the_workspace_only(source: Path, tmp_path: Path, folder: str) -> None:
    with pytest.raises(NotImportable, match="is not a folder to copy assets into"):
        import_export("microcms", read, source, tmp_path / "site", "site", assets=folder)


def test_a_killed_import_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    contents = "".join(f'{{"id": "e{number}", "title": "{"x" * 500}"}},' for number in range(20_000))
    files = {**FILES, "posts.json": f'{{"contents": [{contents}{{"id": "last"}}]}}'}
    source, root = write_files(tmp_path / "export", files), tmp_path / "site"
    process = subprocess.Popen([*CMS, "import", "microcms", str(source), str(root)], stderr=subprocess.DEVNULL)
    stage = tmp_path / ".site.importing/workspace/content/posts"
    until = time.monotonic() + 60
    while not stage.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert stage.exists()
    assert not root.exists()
    write_files(source, FILES)
    made = imported("microcms", source, root)
    assert len(made.files()) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["export", "site", "site-cache"]


def test_two_imports_into_one_folder_do_not_mix(source: Path, tmp_path: Path) -> None:
    stage = tmp_path / ".site.importing"
    stage.mkdir()
    lock = FileLock(stage / "lock")
    assert lock.take()
    with pytest.raises(NotImportable, match=r"Another import into .* is at work"):
        import_export("microcms", read, source, tmp_path / "site", "site")
    lock.leave()

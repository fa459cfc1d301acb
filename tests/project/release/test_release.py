"""``.ci/release.py``: what is built twice is the same, says its commit, and is listed; what cannot be is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from snapshots.version import VERSION
from tests.project.release.test_versions import REPOSITORY, git

HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.fixture
def release() -> Any:
    """The program, as a module."""
    spec = spec_from_file_location("release", REPOSITORY / ".ci/release.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path, release: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with nothing but a version and a changelog, which the program takes for its own."""
    folder = tmp_path / "checkout"
    (folder / "snapshots").mkdir(parents=True)
    (folder / "snapshots/version.py").write_text('VERSION = "1.2.3"\n')
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 - 2027-01-02\n")
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "One")
    monkeypatch.setattr(release, "REPOSITORY", folder)
    return folder


def test_the_last_commit_is_released(release: Any, checkout: Path) -> None:
    (checkout / "untracked").write_text("not part of it")
    commit, instant, named = release.released()
    assert (commit, named) == (git(checkout, "rev-parse", "HEAD"), "1.2.3")
    assert instant == int(git(checkout, "log", "-1", "--format=%ct"))


def test_changes_that_are_not_committed_are_no_release(
    release: Any, checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 - 2027-01-03\n")
    monkeypatch.setattr(sys, "argv", ["release.py", "--out", str(tmp_path / "out")])
    assert release.main() == 1
    told = capsys.readouterr().err
    assert "not committed" in told
    assert "CHANGELOG.md" in told
    assert not (tmp_path / "out").exists()


def test_a_release_has_its_own_section_in_the_changelog(release: Any, checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 1.2.2 - 2027-01-01\n")
    git(checkout, "commit", "-am", "Two")
    with pytest.raises(release.ReleaseError, match="begins with Unreleased, and snapshots"):
        release.released()


def test_what_is_not_the_same_twice_is_named(release: Any, tmp_path: Path) -> None:
    made = []
    for folder, text in (("first", "1"), ("second", "2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same").write_text("same")
        (tmp_path / folder / "other").write_text(text)
        made.append(sorted((tmp_path / folder).iterdir()))
    with pytest.raises(release.ReleaseError, match=r"not the same: other\."):
        release.compare(*made)
    with pytest.raises(release.ReleaseError, match="other files were made: same"):
        release.compare(made[0], [path for path in made[1] if path.name == "same"])
    release.compare(made[0], made[0])


def test_an_archive_depends_on_nothing_but_its_files(release: Any, tmp_path: Path) -> None:
    for folder, mode in (("first", 0o600), ("second", 0o664)):
        (tmp_path / folder / "blobs").mkdir(parents=True)
        for name in sorted(("b", "a"), reverse=folder == "second"):
            (tmp_path / folder / "blobs" / name).write_text(name)
            (tmp_path / folder / "blobs" / name).chmod(mode)
            os.utime(tmp_path / folder / "blobs" / name, (mode, mode))
        release.pack(tmp_path / folder, tmp_path / f"{folder}.tar", 1_700_000_000)
    assert (tmp_path / "first.tar").read_bytes() == (tmp_path / "second.tar").read_bytes()
    with tarfile.open(tmp_path / "first.tar") as archive:
        assert archive.getnames() == ["blobs", "blobs/a", "blobs/b"]


@pytest.mark.slow
def test_packages_are_the_same_twice_and_say_their_commit(release: Any, tmp_path: Path) -> None:
    tools = Path(sys.executable).parents[1]
    commit = git(REPOSITORY, "rev-parse", "HEAD")
    made = []
    for folder in ("first", "second elsewhere"):
        out = tmp_path / folder / "files"
        out.mkdir(parents=True)
        source = tmp_path / folder / "checkout"
        git(tmp_path, "clone", "-q", str(REPOSITORY), str(source))
        git(source, "checkout", "-q", commit)
        release.packages(tools, source, out, {"SOURCE_DATE_EPOCH": "1700000000"})
        made.append(sorted(out.iterdir()))
    release.compare(*made)
    wheel, distribution = made[0]
    with ZipFile(wheel) as archive:
        assert archive.read("snapshots/commit.txt").decode() == f"{commit}\n"
        assert "cli/creating/sites/astro/package.json" in archive.namelist()
    with tarfile.open(distribution) as archive:
        [recorded] = [name for name in archive.getnames() if name.endswith("/snapshots/commit.txt")]
        told = archive.extractfile(recorded)
        assert told is not None
        assert told.read().decode() == f"{commit}\n", "so that what is built of it knows it, without git"
        assert not [name for name in archive.getnames() if "/.git/" in name or name.endswith(".pyc")]


@pytest.mark.slow
def test_the_list_names_what_is_installed_in_its_version(release: Any, tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx_py", reason="cyclonedx-bom is not installed")
    tools = Path(sys.executable).parents[1]
    for name in ("first", "second"):
        release.listing(tools, Path(sys.executable), REPOSITORY, tmp_path / f"{name}.json")
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()
    listed = json.loads((tmp_path / "first.json").read_text(encoding="utf-8"))
    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["name"] == "parquetry"
    versions = {one["name"].lower(): one["version"] for one in listed["components"]}
    for package in ("duckdb", "pyarrow", "starlette", "uvicorn"):
        assert versions[package] == version(package)
    assert str(tmp_path) not in (tmp_path / "first.json").read_text(encoding="utf-8")


@pytest.mark.skipif(HADOLINT is None, reason="needs hadolint")
def test_the_recipe_of_the_image_has_no_complaint() -> None:
    command = [str(HADOLINT), "--no-color", REPOSITORY / "deploy/Containerfile"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_images_are_named_by_what_they_hold_and_run_as_nobody() -> None:
    """By digest: a tag may be another image tomorrow."""
    import yaml

    recipe = (REPOSITORY / "deploy/Containerfile").read_text(encoding="utf-8")
    [base] = [line.removeprefix("ARG BASE=") for line in recipe.splitlines() if line.startswith("ARG BASE=")]
    stages = [line for line in recipe.splitlines() if line.startswith("FROM ")]
    assert stages == ["FROM ${BASE} AS build", "FROM ${BASE}"]
    assert "\nUSER 65534:65534\n" in recipe
    compose = yaml.safe_load((REPOSITORY / "deploy/compose.yaml").read_text(encoding="utf-8"))["services"]
    kubernetes = [
        document
        for file in ("readers.yaml", "valkey.yaml", "build.yaml")
        for document in yaml.safe_load_all((REPOSITORY / "deploy/kubernetes" / file).read_text(encoding="utf-8"))
        if document["kind"] in {"StatefulSet", "Deployment", "Job"}
    ]
    pods = [document["spec"]["template"]["spec"] for document in kubernetes]
    containers = [one for pod in pods for one in (*pod.get("initContainers", ()), *pod["containers"])]
    images = [base, *(one["image"] for one in (*compose.values(), *containers))]
    for image in images:
        ours = image == "parquetry" or image.startswith("registry.example/parquetry:")
        assert ours or len(image.partition("@sha256:")[2]) == 64, image
    for name, one in compose.items():
        if one["image"] == "parquetry":
            assert one["read_only"], name
            assert (one["tmpfs"], one["cap_drop"]) == (["/tmp"], ["ALL"])
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"]
    for one in containers:
        assert one["securityContext"]["readOnlyRootFilesystem"], one["name"]
    assert {pod["securityContext"]["runAsUser"] for pod in pods if "valkey" not in str(pod)} == {65534}
    tags = [one["image"].partition(":")[2] for one in containers if one["image"].startswith("registry.example/")]
    assert set(tags) == {VERSION}

"""The jobs of ``deploy/github`` and ``deploy/gitlab``: their scripts, run in a repository with a changed branch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from snapshots.build.build import build
from snapshots.store.store import open_store
from snapshots.times import now_ms
from tests.cli.review.service import Service, running
from tests.programs.command_line import entry, write_workspace

DEPLOY = Path(__file__).parents[3] / "deploy"
CMS = Path(sys.executable).with_name("cms")


@pytest.fixture
def service() -> Iterator[Service]:
    with running() as started:
        yield started


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    """A repository whose branch changes a title, and the commit it was made from."""
    root = tmp_path / "repository"
    write_workspace(root / "content")
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *command], check=True)
    base = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (root / "content/content/blog/one.md").write_text(entry("Uno"), encoding="utf-8")
    subprocess.run([*git, "commit", "-qam", "Second"], check=True)
    return root, base


def run(script: str, cwd: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CI"))}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        check=False,
        cwd=cwd,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def install(folder: Path) -> None:
    """Put ``cms`` where a job's own environment has it."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/cms").symlink_to(CMS)


@pytest.mark.slow
def test_github(service: Service, repository: tuple[Path, str], tmp_path: Path) -> None:
    action: dict[str, Any] = yaml.safe_load((DEPLOY / "github/action.yml").read_text(encoding="utf-8"))
    steps = {step.get("name"): step for step in action["runs"]["steps"]}
    assert all("${{" not in step.get("run", "") for step in steps.values())  # text of others never becomes a command
    root, base = repository
    install(tmp_path / "parquetry")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7, "base": {"sha": base}}}), encoding="utf-8")
    variables = {
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "team/site",
        "GITHUB_API_URL": service.url,
        "GITHUB_TOKEN": "secret",
        "BASE": base,
        "WORKSPACE": "content",
        "LIVE": "",
        "CMS_KEY": "",
        "SITE": "",
        "FAIL_ON_BREAKING": "false",
    }
    assert set(steps["Review"]["env"]) <= set(variables)
    done = run(steps["Review"]["run"], root, variables)
    assert done.returncode == 0, done.stderr
    [comment] = service.comments
    assert "1 changed" in comment["body"]
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == comment["body"]
    # What is live has the same title already; a server cannot be asked without a key, as in a pull request from a fork.
    build(root / "content", open_store(tmp_path / "store"), now=now_ms())
    for live, told in ((str(tmp_path / "store"), "changes nothing"), ("https://cms.example/v1/site", "1 changed")):
        shutil.rmtree(tmp_path / "parquetry-base")
        done = run(steps["Review"]["run"], root, {**variables, "LIVE": live})
        assert done.returncode == 0, done.stderr
        [comment] = service.comments
        assert told in comment["body"]


@pytest.mark.slow
def test_gitlab(service: Service, repository: tuple[Path, str]) -> None:
    job: dict[str, Any] = yaml.safe_load((DEPLOY / "gitlab/content-review.yml").read_text(encoding="utf-8"))
    root, base = repository
    install(root / ".parquetry")
    install_line, *script = job["content-review"]["script"]
    assert "pip install" in install_line
    variables = {
        **job["content-review"]["variables"],
        "CI_API_V4_URL": service.url,
        "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "GITLAB_TOKEN": "secret",
        "WORKSPACE": "content",
    }
    done = run("\n".join(script), root, variables)
    assert done.returncode == 0, done.stderr
    [comment] = service.comments
    assert "1 changed" in comment["body"]
    build(root / "content", open_store(root / "store"), now=now_ms())
    live = run(script[-1], root, {**variables, "LIVE": "store"})
    assert live.returncode == 0, live.stderr
    [comment] = service.comments
    assert "changes nothing" in comment["body"]
    (root / "content/content/blog/one.md").write_text("---\nrating: many\n---\n", encoding="utf-8")
    again = run(script[-1], root, variables)
    assert again.returncode == 1
    assert len(service.comments) == 1

"""``cms review --post``: one comment, which later runs update, and what is said where there can be none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.review.service import Service, running
from tests.engine.webhooks.test_post import answering
from tests.programs.command_line import Cms, entry, in_process, write_workspace


@pytest.fixture
def service() -> Iterator[Service]:
    with running() as started:
        yield started


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


@pytest.fixture(params=["github", "gitlab"])
def job(
    request: pytest.FixtureRequest, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str]:
    """A service's name, and the path of its comments."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}), encoding="utf-8")
    variables = {
        "GITHUB_TOKEN": "secret",
        "GITHUB_REPOSITORY": "team/site",
        "GITHUB_API_URL": service.url,
        "GITHUB_EVENT_PATH": str(event),
        "GITLAB_TOKEN": "secret",
        "CI_API_V4_URL": f"{service.url}/api/v4",
        "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_URL": "https://gitlab.example/team/site",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    paths = {"github": "/repos/team/site/issues/7/comments", "gitlab": "/api/v4/projects/12/merge_requests/7/notes"}
    return request.param, paths[request.param]


@pytest.mark.parametrize("others", [0, 250])
def test_one_comment_is_made_and_then_updated(
    cms: Cms, service: Service, job: tuple[str, str], tmp_path: Path, others: int
) -> None:
    service.comments = [{"id": number, "body": "Looks good"} for number in range(others)]
    name, path = job
    site = write_workspace(tmp_path / "site")
    ran = cms("review", str(site), "--post", name)
    assert ran.status == 0, ran.err
    assert service.asked[-1] == ("POST", path)
    assert "7" in ran.err.partition("Commented: ")[2]
    assert "secret" not in ran.out + ran.err
    (site / "content/blog/one.md").write_text("---\nrating: many\n---\n", encoding="utf-8")
    assert cms("review", str(site), "--post", name).status == 1
    assert len(service.comments) == others + 1
    assert "Not publishable" in service.comments[-1]["body"]
    sent = {name.lower(): value for name, value in service.headers[-1].items()}
    assert "secret" in (sent.get("authorization", "") + sent.get("private-token", ""))


def test_two_workspaces_have_a_comment_each(cms: Cms, service: Service, job: tuple[str, str], tmp_path: Path) -> None:
    for name in ("one", "two"):
        site = write_workspace(tmp_path / name)
        definition = site / "workspace.yaml"
        definition.write_text(
            re.sub("id: site", f"id: {name}", definition.read_text(encoding="utf-8")), encoding="utf-8"
        )
        assert cms("review", str(site), "--post", job[0]).status == 0
    assert len(service.comments) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_that_may_not_comment_is_a_warning(
    cms: Cms, service: Service, job: tuple[str, str], tmp_path: Path, status: int
) -> None:
    service.refuses = status
    ran = cms("review", str(write_workspace(tmp_path / "site")), "--post", job[0])
    assert ran.status == 0
    assert f"({status})" in ran.err
    assert "### Content of" in ran.out


def test_what_goes_wrong_is_said(
    cms: Cms, service: Service, job: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = write_workspace(tmp_path / "site")
    service.refuses = 500
    assert "answered 500" in cms("review", str(site), "--post", job[0]).err
    api = ("GITHUB_API_URL", "CI_API_V4_URL")
    for sent in (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n["):
        with answering(sent) as port:
            for variable in api:
                monkeypatch.setenv(variable, f"http://127.0.0.1:{port}")
            assert "cannot be reached" in cms("review", str(site), "--post", job[0]).err
    for body in (b"{}", b"[1]", b'[{"body": 3}]', b"\xff"):
        with answering(b"HTTP/1.0 200 OK\r\n\r\n" + body) as port:
            for variable in api:
                monkeypatch.setenv(variable, f"http://127.0.0.1:{port}")
            assert "no list of comments" in cms("review", str(site), "--post", job[0]).err
    for variable in api:
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    assert "cannot be reached" in cms("review", str(site), "--post", job[0]).err
    for variable in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.delenv(variable)
    ran = cms("review", str(site), "--post", job[0])
    assert (ran.status, "_TOKEN is not set" in ran.err) == (1, True)
    assert cms("review", str(site), "--post", "gerrit").status == 2


def test_a_token_is_sent_along_redirects_of_the_same_service_only(
    cms: Cms, service: Service, job: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, path = write_workspace(tmp_path / "site"), job[1]
    service.moved = "/moved"
    assert cms("review", str(site), "--post", job[0]).status == 0
    assert [asked for asked in service.asked if asked[0] == "POST"] == [("POST", f"/moved{path}")]
    service.asked.clear()
    moved = "HTTP/1.1 307 Temporary Redirect\r\ncontent-length: 0\r\nlocation: {}\r\n\r\n"
    with answering(moved.format(f"{service.url}{path}?per_page=100&page=1").encode()) as port:
        for variable in ("GITHUB_API_URL", "CI_API_V4_URL"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{port}")
        ran = cms("review", str(site), "--post", job[0])
    assert (ran.status, service.asked) == (1, [])
    assert "redirects to 127.0.0.1, where the token is not sent" in " ".join(ran.err.split())


def test_entries_are_compared_before_anything_is_posted(
    cms: Cms, service: Service, job: tuple[str, str], tmp_path: Path
) -> None:
    base, head = write_workspace(tmp_path / "base"), write_workspace(tmp_path / "head")
    (head / "content/blog/one.md").write_text(entry("Uno"), encoding="utf-8")
    assert cms("review", str(head), "--base", str(base), "--post", job[0]).status == 0
    assert "0 added, 1 changed, 0 removed" in service.comments[-1]["body"]

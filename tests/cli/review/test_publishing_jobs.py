"""The jobs of ``deploy`` that publish: their scripts, run in clones of a bare repository, from merge to rollback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from snapshots.store.store import WorkspaceStore, open_store
from tests.programs.command_line import entry, write_workspace

DEPLOY = Path(__file__).parents[3] / "deploy"
CMS = Path(sys.executable).with_name("cms")
TITLE = "Content was not published"
WRONG = '---\ntitle: One\nrating: "::error::many"\ncreatedAt: 2026-01-01\n---\n'


def loaded(path: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))
    return found


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Ana", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Team:
    """A bare repository, the clone in which the team writes, and one in which jobs run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bare, self.desk, self.job = folder / "bare.git", folder / "desk", folder / "job"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)
        subprocess.run(["git", "clone", "-q", str(self.bare), str(self.desk)], check=True, capture_output=True)
        git(self.desk, "checkout", "-q", "-b", "main")
        write_workspace(self.desk / "content")
        (self.desk / "content/content/blog/undated.md").write_text("---\ntitle: Undated\n---\n")
        self.merge("First")
        subprocess.run(["git", "clone", "-q", str(self.bare), str(self.job)], check=True)
        self.temporary = folder / "temporary"
        (self.temporary / "parquetry/bin").mkdir(parents=True)
        (self.temporary / "parquetry/bin/cms").symlink_to(CMS)
        self.store = folder / "store"

    def merge(self, message: str) -> str:
        git(self.desk, "add", "-A")
        git(self.desk, "commit", "-qm", message)
        git(self.desk, "push", "-q", "origin", "main")
        return git(self.desk, "rev-parse", "HEAD")

    def write(self, text: str, message: str) -> str:
        (self.desk / "content/content/blog/one.md").write_text(text)
        return self.merge(message)

    def checks_out(self, commit: str = "origin/main") -> None:
        git(self.job, "fetch", "-q")
        git(self.job, "checkout", "-q", "--detach", commit)

    @property
    def place(self) -> WorkspaceStore:
        return open_store(self.store).workspace("site")

    def published(self) -> str:
        """The first line of the commit of the version that is current."""
        current = self.place.current()
        assert current is not None
        commit = self.place.manifest(current.version).described_commit
        assert commit is not None
        assert not commit.differs
        return commit.subject


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def run(script: str, cwd: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CI", "CMS"))}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        check=False,
        cwd=cwd,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


class GitHub:
    """Runs the steps of the action that publishes, with a ``gh`` that keeps issues in a file."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.steps = {step.get("name"): step for step in loaded("github/publish/action.yml")["runs"]["steps"]}
        self.issues = team.folder / "issues"
        self.issues.write_text("")
        programs = team.folder / "programs"
        programs.mkdir()
        (programs / "gh").write_text(
            '#!/bin/sh\necho "$*" >>"$ISSUES"\n'
            'case "$2" in list) cat "$ISSUES.open" 2>/dev/null ;; create) echo 7 >"$ISSUES.open" ;;'
            ' close) rm "$ISSUES.open" ;; esac\n'
            'for file; do case "$file" in *.md) cat "$file" >>"$ISSUES" ;; esac; done\n'
        )
        (programs / "gh").chmod(0o755)
        self.path = f"{programs}:{os.environ['PATH']}"

    def publishes(self, option: str = "") -> int:
        temporary = self.team.temporary
        for name in ("summary", "output"):
            (temporary / name).write_text("")
        (temporary / "build.txt").unlink(missing_ok=True)
        variables = {
            "PATH": self.path,
            "ISSUES": str(self.issues),
            "RUNNER_TEMP": str(temporary),
            "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
            "GITHUB_OUTPUT": str(temporary / "output"),
            "GITHUB_ACTION_PATH": str(DEPLOY / "github/publish"),
            "BRANCH": "main",
            "WORKSPACE": "content",
            "CMS_STORE": str(self.team.store),
            "CMS_PUBLIC_URL": "",
            "OPTION": option,
        }
        self.done = run(self.steps["Publish"]["run"], self.team.job, variables)
        told = {
            "GH_TOKEN": "secret",
            "STATUS": "failure" if self.done.returncode else "success",
            "BUILT": "true" if "built=true" in (temporary / "output").read_text() else "",
            "RUN": "https://github.example/run/1",
        }
        assert set(self.steps["Tell"]["env"]) == set(told)
        assert set(self.steps["Publish"]["env"]) <= set(variables)
        tell = run(self.steps["Tell"]["run"], self.team.job, {**variables, **told})
        assert tell.returncode == 0, tell.stderr
        self.printed = self.done.stdout
        return self.done.returncode

    def told(self) -> str:
        """What was told since this was asked last."""
        found = self.issues.read_text()
        self.issues.write_text("")
        return found


class GitLab:
    """Runs the scripts of the job that publishes, against the issues of GitLab's API."""

    def __init__(self, team: Team, api: str, issues: list[dict[str, Any]]) -> None:
        self.team, self.api, self.issues = team, api, issues
        self.job = loaded("gitlab/content-publish.yml")["content-publish"]
        self.seen = 0

    def publishes(self, option: str = "") -> int:
        clean, install, publish = self.job["script"]
        assert "pip" in install
        variables = {
            **self.job["variables"],
            "TMPDIR": str(self.team.temporary),
            "CI_COMMIT_BRANCH": "main",
            "CI_COMMIT_SHORT_SHA": "abcdef12",
            "CI_API_V4_URL": self.api,
            "CI_PROJECT_ID": "12",
            "CI_JOB_URL": "https://gitlab.example/job/1",
            "GITLAB_TOKEN": "secret",
            "WORKSPACE": "content",
            "CMS_STORE": str(self.team.store),
            "OPTION": option,
        }
        self.done = run(f"{clean}\n{publish}", self.team.job, variables)
        status = "failed" if self.done.returncode else "success"
        after = run("\n".join(self.job["after_script"]), self.team.job, {**variables, "CI_JOB_STATUS": status})
        assert after.returncode == 0, after.stderr
        self.printed = self.done.stdout
        return self.done.returncode

    def told(self) -> str:
        """What was told since this was asked last."""
        said = [text for issue in self.issues for text in issue["said"]]
        seen, self.seen = self.seen, len(said)
        return "\n".join(said[seen:])


@contextmanager
def gitlab_issues() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that keeps issues as GitLab's API is documented to: (its address, the issues)."""
    issues: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = parse_qs(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
            assert self.headers["PRIVATE-TOKEN"] == "secret"
            data = json.dumps(self.answer(body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def answer(self, body: dict[str, list[str]]) -> object:
            path = urlsplit(self.path).path
            if self.command == "GET":
                return [{"iid": n, "title": one["title"]} for n, one in enumerate(issues) if one["open"]]
            if path == "/projects/12/issues":
                issues.append({"title": body["title"][0], "open": True, "said": ["create", body["description"][0]]})
            elif path.endswith("/notes"):
                issues[int(path.split("/")[4])]["said"] += ["comment", body["body"][0]]
            else:
                assert (self.command, body) == ("PUT", {"state_event": ["close"]})
                issues[int(path.split("/")[4])]["said"].append("close")
                issues[int(path.split("/")[4])]["open"] = False
            return {}

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", issues
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(params=["github", "gitlab"])
def jobs(request: pytest.FixtureRequest, team: Team) -> Iterator[GitHub | GitLab]:
    if request.param == "github":
        yield GitHub(team)
        return
    with gitlab_issues() as (api, issues):
        yield GitLab(team, api, issues)


@pytest.mark.slow
def test_what_is_merged_is_published_and_what_is_not_is_told(jobs: GitHub | GitLab) -> None:
    team = jobs.team
    assert jobs.publishes() == 0
    assert team.published() == "First"
    assert jobs.told().replace("issue list", "").strip().count("issue") == 0
    # A mistake that came through: nothing changes, the team is told where, and once more in the same issue.
    team.write(WRONG, "A mistake")
    team.checks_out()
    for way in ("create", "comment"):
        assert jobs.publishes() == 1
        assert team.published() == "First"
        told = jobs.told()
        assert way in told
        assert "content/blog/one.md:3: error: rating" in told
    # Mended: published, and the issue closed.
    mended = team.write(entry("Mended"), "Mend it")
    team.checks_out()
    assert jobs.publishes() == 0
    assert team.published() == "Mend it"
    assert "close" in jobs.told()
    # A run of an older commit, started again, publishes nothing. Neither does it say that all is well.
    newest = team.write(entry("Newest"), "The newest")
    team.checks_out(mended)
    assert jobs.publishes() == 0
    assert newest in jobs.printed
    assert len(team.place.versions()) == 2
    team.checks_out()
    assert jobs.publishes() == 0
    # What was rolled back from is not put back by the run of the night, but when somebody asks for it.
    team.place.rollback(by="ana@host", now=1)
    before = team.place.current()
    assert jobs.publishes() == 0
    assert team.place.current() == before
    assert "was not made current: its content was rolled back from" in jobs.printed
    assert jobs.publishes("--store=/tmp") == 2
    assert jobs.publishes("--again") == 0
    assert team.place.holds() == ()


@pytest.mark.slow
def test_a_job_without_the_history_publishes_nothing(jobs: GitHub | GitLab) -> None:
    team = jobs.team
    assert jobs.publishes() == 0
    (team.desk / "README.md").write_text("x")
    team.merge("Second")
    shallow = team.folder / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", team.bare.as_uri(), str(shallow)], check=True)
    team.job = shallow
    assert jobs.publishes() == 1
    assert "fetch-depth: 0 or GIT_DEPTH: 0" in jobs.told()


def test_github_s_runner_obeys_nothing_that_content_says() -> None:
    """The output of the build stands between two marks that nobody can know before."""
    script = (DEPLOY / "github/publish.sh").read_text(encoding="utf-8")
    before, build, after = script.partition('"$RUNNER_TEMP/parquetry/bin/cms" snapshot build')
    assert build
    assert 'echo "::stop-commands::$mark"' in before
    assert 'echo "::$mark::"' in after
    assert "secrets.token_hex" in before


def test_the_workflow_and_the_actions_fit_together() -> None:
    workflow = loaded("github/publish.yml")
    events = workflow[True]  # YAML's word `on`
    assert set(events) == {"pull_request", "push", "schedule", "workflow_dispatch"}
    assert workflow["permissions"] == {"contents": "read"}
    review, publish = workflow["jobs"]["review"], workflow["jobs"]["publish"]
    assert publish["concurrency"] == {"group": "content", "cancel-in-progress": False}
    assert publish["environment"] == "content"
    assert "secrets." not in json.dumps(review)
    for job, name in ((review, "action.yml"), (publish, "publish/action.yml")):
        checkout, used = job["steps"]
        assert checkout["with"]["fetch-depth"] == 0
        assert used["uses"].split("@")[0] == str(Path("parquetry/parquetry/deploy/github") / name).removesuffix(
            "/action.yml"
        )
        inputs = loaded(f"github/{name}")["inputs"]
        assert set(used["with"]) <= set(inputs)
        assert all(one in used["with"] for one, about in inputs.items() if about.get("required"))
    for action in ("action.yml", "publish/action.yml"):
        steps = loaded(f"github/{action}")["runs"]["steps"]
        # Text of others never becomes a command, and every script that is named is there and may be run.
        assert all("${{" not in step.get("run", "") for step in steps)
        folder = (DEPLOY / "github" / action).parent
        for name in re.findall(r'"\$GITHUB_ACTION_PATH/([^"]+)"', "\n".join(step.get("run", "") for step in steps)):
            assert os.access(folder / name, os.X_OK), name
    options = set(events["workflow_dispatch"]["inputs"]["option"]["options"])
    assert options == {"", "--again", "--allow-breaking", "--without-history"}


def test_gitlab_s_job_runs_on_the_default_branch_alone_and_one_at_a_time() -> None:
    job = loaded("gitlab/content-publish.yml")["content-publish"]
    assert job["rules"] == [
        {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"', "when": "never"},
        {"if": "$CI_COMMIT_BRANCH && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"},
    ]
    assert (job["resource_group"], job["interruptible"]) == ("content", False)
    assert (job["environment"], job["variables"]["GIT_DEPTH"]) == ({"name": "content"}, "0")
    review = loaded("gitlab/content-review.yml")["content-review"]
    assert review["variables"]["PACKAGE"] == job["variables"]["PACKAGE"]


@pytest.mark.parametrize("package", ["", "https://packages.acme.example/parquetry-1.0-py3-none-any.whl"])
def test_the_action_installs_itself_or_what_the_team_names(package: str, tmp_path: Path) -> None:
    """Never a name that a registry may not know, or know as another program."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\n'
        'for name in pip cms; do printf \'#!/bin/sh\\necho "$*"\\n\' >"$3/bin/$name"; chmod +x "$3/bin/$name"; done\n'
    )
    (programs / "python3").chmod(0o755)
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path), "PACKAGE": package}
    done = run(f'"{DEPLOY}/github/install.sh"', tmp_path, variables)
    assert done.returncode == 0, done.stderr
    installed, asked = done.stdout.splitlines()
    source = DEPLOY.parent
    itself = f"--constraint {source}/constraints.txt {source}[objects]"
    assert installed == f"install --quiet {package or itself}"
    assert (source / "pyproject.toml").exists()
    assert asked == "--version"

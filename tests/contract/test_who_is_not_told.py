"""Nobody who has a public key, or none, learns who wrote content, or what its author said of it (decision 67).

Two servers of the same files, committed by others with other messages, whose contents were rolled back from by others:
their answers on every route are the same, byte for byte, and so are the events that webhooks carry.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from engine.access.keys.access import AccessFile, issue_key
from engine.timeline.points import Point
from engine.webhooks.published import published_event
from server.http.routes import ExactRoute
from server.settings import Settings
from snapshots.build import build as building
from snapshots.build.build import build
from snapshots.store.store import Store, open_store
from snapshots.times import format_datetime
from tests.programs.command_line import entry, write_workspace
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import eventually

NOW = 1_790_000_000_000
AT = 1_700_000_000
OF_REQUEST = ("x-request-id", "date", "ratelimit")
SECRETS = ("Zerelda Quillfeather", "quillfeather@example.org", "Sack the treasurer", "zq@secret-host")
KNOWN = ("Ana", "ana@example.org", "Edit", "ana@host")


def commit(root: Path, who: tuple[str, ...]) -> None:
    name, address, message, _ = who
    environment = {
        **os.environ,
        **{f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in
           (("NAME", name), ("EMAIL", address), ("DATE", f"@{AT} +0000"))},
    }  # fmt: skip
    git = ["git", "-C", str(root), "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "add", "-A"], env=environment, check=True)
    subprocess.run([*git, "commit", "-qm", message], env=environment, check=True)


class Served:
    """A server in this process, over a store that was built from commits."""

    def __init__(self, folder: Path, who: tuple[str, ...], opened: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(building, "whoami", lambda: who[3])
        root = write_workspace(folder / "site")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        self.store: Store = open_store(folder / "store")
        self.place = self.store.workspace("site")
        self.versions = []
        for number, title in enumerate(("One", "Two", "Bad", "Three")):
            (root / "content/blog/one.md").write_text(entry(title))
            (root / "content/blog/undated.md").write_text(f"---\ntitle: {title}\n---\n")
            commit(root, who)
            self.versions.append(build(root, self.store, now=NOW + number).version)
            if title == "Bad":
                self.place.rollback(by=who[3], now=NOW + number)
        _, self.key = issue_key(AccessFile(self.place), name="App", now=NOW, zone=UTC, scope=None, rate_limit=1_000_000)
        settings = Settings(store=str(self.store.root), cache=str(folder / "cache"))
        self.app = quiet_app(settings, clock=lambda: NOW + 60_000)
        self.client = opened.enter_context(TestClient(self.app))
        eventually(lambda: self.client.get("/readyz").status_code == 200)

    def told(self, method: str, target: str, key: bool) -> tuple[int, dict[str, str], bytes]:
        """What an answer says, but for what is of the request."""
        headers = {"X-API-KEY": self.key} if key else {}
        answer = self.client.request(method, target, headers={**headers, "Accept-Encoding": "identity"})
        kept = {name: value for name, value in answer.headers.items() if name not in OF_REQUEST}
        return answer.status_code, kept, answer.content


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Served]]:
    with ExitStack() as opened, pytest.MonkeyPatch.context() as patch:
        yield [Served(tmp_path_factory.mktemp("who"), who, opened, patch) for who in (SECRETS, KNOWN)]


def targets(served: Served) -> list[str]:
    """Targets of every route, each with what there is for its parts, and what there is not."""
    since = f"{served.versions[0]}@{format_datetime(NOW)}"
    values = {
        "workspace": ["site", "none"],
        "endpoint": ["blog", "none"],
        "entryId": ["undated", "none"],
        "language": ["typescript", "python"],
        "name": ["none.png"],
        "file": ["none.js"],
    }
    queries = ("", "?limit=2&include=_langs", f"?since={since}", "?ids=one&days=7", "?q=One", "?lang=xx", "?limit=no")
    found: list[str] = []
    for route in served.app.routes:
        assert isinstance(route, ExactRoute)
        paths = [route.path]
        for name in re.findall(r"{(\w+)}", route.path):
            paths = [path.replace(f"{{{name}}}", value) for path in paths for value in values[name]]
        found += [path + query for path in paths for query in queries]
    return found


def test_no_answer_tells_who_wrote_what(served: list[Served]) -> None:
    secret, known = served
    assert secret.versions == known.versions
    committed = secret.place.manifest(secret.versions[0]).described_commit
    assert committed is not None
    assert (committed.author, committed.subject) == (SECRETS[0], SECRETS[2])  # it is there to be told
    assert secret.place.holds()[0].by == SECRETS[3]
    answered = set()
    asked = [("GET", target, True) for target in targets(secret)]
    asked += [(method, target, False) for method in ("GET", "POST") for target in targets(secret) if "?" not in target]
    for method, target, key in asked:
        answers = [one.told(method, target, key) for one in served]
        assert answers[0] == answers[1], (method, target)
        status, headers, body = answers[0]
        answered.add(status)
        for word in SECRETS:
            assert word.encode() not in body
            assert word not in str(headers)
    assert {200, 204, 400, 401, 404, 405} <= answered


def test_no_event_tells_it_either(served: list[Served]) -> None:
    bodies = [published_event(one.place, one.versions[1], Point(one.versions[3], NOW + 10)).decode() for one in served]
    assert re.sub(r'"id":"[^"]+"', "", bodies[0]) == re.sub(r'"id":"[^"]+"', "", bodies[1])
    assert not any(word in bodies[0] for word in SECRETS)

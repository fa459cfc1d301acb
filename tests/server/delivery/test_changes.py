"""``GET /v1/{workspace}/_changes``: what a client that cannot be called asks, and gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from server.settings import Settings
from snapshots.build.build import build
from snapshots.times import format_datetime, now_ms
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Site, eventually

DAY = 86_400_000
DATE = "2026-01-01T00:00:00Z"
GONE = "20200101T000000000Z-00000000@2020-01-01T00:00:00.000Z"


class Client:
    """A server in this process, asked as of any instant, with keys of two scopes."""

    def __init__(self, client: TestClient, site: Site, clock: list[int]) -> None:
        self.client = client
        self.site = site
        self.clock = clock
        self.keys = {
            "all": site.key(validity="none")[1],
            "site only": site.key(validity="none", scope=frozenset({"api_site00000001"}))[1],
        }

    def ask(self, target: str, *, key: str = "all", **headers: str) -> httpx.Response:
        sent = {"X-API-KEY": self.keys[key], **headers} if key else headers
        return self.client.get(f"/v1/acme/{target}", headers=sent)

    def changes(self, since: str | None = None, *, key: str = "all", limit: int | None = None) -> Any:
        given = {"since": since, "limit": limit}
        query = "&".join(f"{name}={value}" for name, value in given.items() if value is not None)
        answer = self.ask(f"_changes?{query}", key=key)
        assert answer.status_code == 200, answer.text
        assert list(answer.json()) == ["changes", "next", "nextChange", "previous"]
        return answer.json()

    def publish(self, *posts: dict[str, str], title: str = "x", drafts: tuple[str, ...] = ()) -> str:
        """Publish posts and the site's title, and wait until they are served."""
        content = self.site.source / "content"
        lines = [{"createdAt": DATE, "title": "x", **post} for post in posts]
        (content / "posts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (content / "site.yaml").write_text(f"title: {title}\ncreatedAt: {DATE}\n")
        (content / "posts").mkdir(exist_ok=True)
        for name in drafts:
            (content / "posts" / f"{name}.draft.yaml").write_text(f"title: unpublished\ncreatedAt: {DATE}\n")
        version = build(self.site.source, self.site.store, now=now_ms()).version
        eventually(lambda: self.ask("_schema").headers["x-snapshot"] == version)
        return version


@contextmanager
def asking(directory: Path) -> Iterator[Client]:
    site = Site(directory)
    site.publish("one")
    clock = [now_ms() + DAY]
    with TestClient(quiet_app(Settings(store=str(site.store.root)), clock=lambda: clock[0])) as found:
        client = Client(found, site, clock)
        eventually(lambda: client.ask("_schema").status_code == 200)
        yield client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with asking(tmp_path) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One for the tests that change nothing of what is served."""
    with asking(tmp_path_factory.mktemp("shared")) as client:
        yield client


def told(answer: Any) -> set[tuple[str, str, str]]:
    return {(one["api"], one["id"], one["change"]) for one in answer["changes"]}


def test_a_client_begins_and_goes_on(client: Client) -> None:
    client.publish({"id": "a"}, {"id": "b"})
    first = client.changes()
    assert first["changes"] == []
    assert first["nextChange"] is None
    version = client.publish({"id": "b", "title": "y"}, {"id": "c"})
    second = client.changes(first["next"])
    assert told(second) == {("posts", "a", "unpublished"), ("posts", "b", "updated"), ("posts", "c", "published")}
    assert {one["lang"] for one in second["changes"]} == {"en"}
    assert second["previous"] == first["next"].partition("@")[0]
    assert second["next"] == f"{version}@{format_datetime(client.clock[0])}"
    assert client.changes(second["next"])["changes"] == []


def test_what_headers_of_an_answer_name_is_a_beginning(client: Client) -> None:
    client.publish({"id": "a"})
    headers = client.ask("posts").headers
    client.publish({"id": "a"}, {"id": "b"})
    assert told(client.changes(f"{headers['x-snapshot']}@{headers['x-snapshot-at']}")) == {("posts", "b", "published")}


def test_flips_and_rollbacks_are_told_as_activations_are(client: Client) -> None:
    start, end = client.clock[0] + 1_000, client.clock[0] + 2_000
    client.publish({"id": "a"})
    client.publish({"id": "a", "publishEnd": format_datetime(end)}, {"id": "b", "publishStart": format_datetime(start)})
    answer = client.changes()
    assert answer["nextChange"] == format_datetime(start)
    client.clock[0] = start - 1
    assert client.changes(answer["next"])["changes"] == []
    client.clock[0] = start
    answer = client.changes(answer["next"])
    assert told(answer) == {("posts", "b", "published")}
    assert answer["nextChange"] == format_datetime(end)
    before = client.site.place.rollback(by="test", now=now_ms()).version
    eventually(lambda: client.ask("_schema").headers["x-snapshot"] == before)
    client.clock[0] = end + 5
    answer = client.changes(answer["next"])
    assert told(answer) == {("posts", "b", "unpublished")}
    assert answer["nextChange"] is None


def test_a_workspace_need_not_tell_what_comes_next(client: Client) -> None:
    with (client.site.source / "workspace.yaml").open("a") as file:
        file.write("signals: {next_change: false}\n")
    start, end = client.clock[0] + 1_000, client.clock[0] + 2_000
    client.publish({"id": "a"}, {"id": "b", "publishStart": format_datetime(start), "publishEnd": format_datetime(end)})
    point = client.changes()["next"]
    for now, total in ((start - 1, 1), (start, 2), (end - 1, 2), (end, 1)):
        client.clock[0] = now
        for _ in range(3):  # made, kept and remembered
            answers = [client.ask(target) for target in ("posts", "posts/a", f"_changes?since={point}", "_changes")]
            assert [answer.status_code for answer in answers] == [200] * 4
            assert not any("x-next-change" in answer.headers for answer in answers)
            assert [answer.json()["nextChange"] for answer in answers[2:]] == [None, None]
            # What is kept is given up at the flips that nobody is told of.
            assert answers[0].json()["totalCount"] == total
            assert len(answers[2].json()["changes"]) == total - 1


def test_a_key_is_told_of_its_apis_alone(client: Client) -> None:
    client.publish({"id": "a"})
    first = client.changes(key="site only")
    client.publish({"id": "b", "publishEnd": format_datetime(client.clock[0] + 5)}, title="y")
    second = client.changes(first["next"], key="site only")
    assert told(second) == {("site", "site", "updated")}
    assert second["nextChange"] is None
    assert told(client.changes(first["next"])) == {
        ("site", "site", "updated"),
        ("posts", "a", "unpublished"),
        ("posts", "b", "published"),
    }


def test_drafts_never_appear(client: Client) -> None:
    client.publish({"id": "a"})
    first = client.changes()
    client.publish({"id": "a"}, drafts=("a", "new"))
    assert client.changes(first["next"])["changes"] == []


def test_a_version_that_was_never_current_is_not_told_of(client: Client) -> None:
    version = client.site.publish("never", activate=False)
    answer = client.ask(f"_changes?since={version}@{format_datetime(client.clock[0])}")
    assert answer.status_code == 410
    unknown = client.ask(f"_changes?since=20200101T000000000Z-00000000@{format_datetime(client.clock[0])}")
    said = answer.json()["message"].replace(version, "20200101T000000000Z-00000000")
    assert (answer.status_code, said) == (unknown.status_code, unknown.json()["message"])


def test_nothing_is_told_of_what_a_version_showed_before_it_was_current(client: Client) -> None:
    """An entry that had ended by then was perhaps never visible to anybody."""
    client.publish({"id": "ended", "publishStart": "2020-01-01T00:00:00Z", "publishEnd": "2020-02-01T00:00:00Z"})
    current = client.site.place.current()
    assert current is not None
    for at in ("2019-06-01T00:00:00.000Z", "2020-01-15T00:00:00.000Z", format_datetime(current.activated_at - 1)):
        assert client.ask(f"_changes?since={current.version}@{at}").status_code == 410
    assert client.changes(f"{current.version}@{format_datetime(current.activated_at)}")["changes"] == []
    client.clock[0] += 400 * DAY
    assert client.changes(f"{current.version}@{format_datetime(current.activated_at)}")["changes"] == []


def test_what_was_withdrawn_before_it_appeared_is_not_told(client: Client) -> None:
    client.publish({"id": "here"}, {"id": "secret", "publishStart": format_datetime(client.clock[0] + DAY)})
    scheduled = client.ask("_schema").headers["x-snapshot"]
    client.publish({"id": "here"})
    client.clock[0] += 2 * DAY
    assert client.changes(f"{scheduled}@{format_datetime(client.clock[0])}")["changes"] == []


def test_pages_are_those_of_one_list(client: Client) -> None:
    client.publish()
    first = client.changes()
    client.publish(*({"id": f"e{number}"} for number in range(25)))
    found, since = [], first["next"]
    for _ in range(3):
        answer = client.changes(since, limit=10)
        found += answer["changes"]
        since = answer["next"]
        client.publish({"id": "e3"}, {"id": f"other-{len(found)}"})
    assert [one["id"] for one in found] == [f"e{number}" for number in sorted(range(25), key=lambda n: f"e{n}")]
    assert {one["change"] for one in found} == {"published"}
    rest = client.changes(since, limit=1000)
    assert len(told(rest)) == 25
    assert client.changes(rest["next"])["changes"] == []


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("since=", 400, "since: expected <version>@<instant>, such as "),
        ("since=x", 400, "since: expected <version>@<instant>, such as "),
        ("limit=0", 400, 'limit: expected an integer from 1 to 1000, got "0".'),
        ("limit=1001", 400, 'limit: expected an integer from 1 to 1000, got "1001".'),
        (
            f"since={GONE}",
            410,
            "Snapshot version 20200101T000000000Z-00000000 is no longer kept as of 2020-01-01T00:00:00.000Z. "
            "Begin again without since.",
        ),
        ("since={version}@9999-01-01T00:00:00.000Z", 400, "since: 9999-01-01T00:00:00.000Z is in the future."),
        ("since={version}@2026-01-01T00:00:00.000Z~{version}@2026-01-01T00:00:00.000Z~0", 400, "since: expected"),
        (
            f"since={{version}}@{{now}}~{GONE}~5",
            410,
            "Snapshot version 20200101T000000000Z-00000000 is no",
        ),
    ],
)
def test_what_is_refused(shared: Client, query: str, status: int, message: str) -> None:
    version = shared.ask("_schema").headers["x-snapshot"]
    answer = shared.ask(f"_changes?{query.format(version=version, now=format_datetime(shared.clock[0]))}")
    assert (answer.status_code, list(answer.json())) == (status, ["message"])
    assert answer.json()["message"].startswith(message)
    assert answer.headers["cache-control"] == "private, no-store"


def test_a_pruned_version_is_gone(client: Client) -> None:
    first = client.changes()
    client.publish({"id": "a"})
    client.publish({"id": "b"})
    client.site.place.prune(1)
    answer = client.ask(f"_changes?since={first['next']}")
    assert answer.status_code == 410


def test_it_is_an_answer_as_any_other(client: Client) -> None:
    client.publish({"id": "a", "publishEnd": format_datetime(client.clock[0] + 500)})
    assert client.ask("_changes", key="").status_code == 401
    since = client.changes()["next"]
    client.clock[0] += 100
    whole = client.ask(f"_changes?since={since}&other=1")
    assert whole.headers["x-next-change"] == format_datetime(client.clock[0] + 400)
    assert whole.headers["x-content-tags"] == "acme, acme:posts, acme:site"
    assert whole.headers["x-ignored-parameters"] == "other"
    again = client.ask(f"_changes?since={since}&other=1", **{"If-None-Match": whole.headers["etag"]})
    assert again.status_code == 304
    assert client.client.head("/v1/acme/_changes", headers={"X-API-KEY": client.keys["all"]}).status_code == 200
    assert client.client.post("/v1/acme/_changes").status_code == 405
    assert client.client.options("/v1/acme/_changes").status_code == 204
    client.clock[0] += 400
    assert told(client.changes(since)) == {("posts", "a", "unpublished")}, "a kept answer ends with the flip"


def test_it_can_be_pinned(client: Client) -> None:
    client.publish({"id": "a"})
    first = client.changes()["next"]
    client.publish({"id": "a"}, {"id": "b"})
    second = client.changes()["next"]
    client.publish({"id": "c"})
    answer = client.ask(f"_changes?since={first}", **{"X-Snapshot": second})
    assert told(answer.json()) == {("posts", "b", "published")}
    assert answer.json()["next"] == second

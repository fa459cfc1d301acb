"""Requests that are pinned to a version and an instant by ``X-Snapshot`` (decision 60)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from engine.access.keys.access import KeyChange, delete_key, edit_key
from server.settings import Settings
from server.workspaces.workspaces import Workspaces
from snapshots.build.build import build
from snapshots.store.current import FOLLOWED_MS
from snapshots.store.store import ANY
from snapshots.times import format_datetime, now_ms, parse_datetime
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import Running, Site, eventually, serving

HOUR = 3_600_000
DAY = 86_400_000


class Client:
    """A server in this process, with one key, which is asked as of any instant."""

    def __init__(self, client: TestClient, site: Site, key: str, clock: list[int]) -> None:
        self.client = client
        self.site = site
        self.key = key
        self.clock = clock

    def get(self, target: str, pinned: str | None = None, **headers: str) -> httpx.Response:
        sent = {"X-API-KEY": self.key, **({"X-Snapshot": pinned} if pinned is not None else {}), **headers}
        return self.client.get(f"/v1/acme/{target}", headers=sent)

    def point(self) -> str:
        """What an answer gives now."""
        told = self.get("posts").headers
        return f"{told['x-snapshot']}@{told['x-snapshot-at']}"

    def publish(self, text: str) -> str:
        """Publish a version and wait until it is served."""
        version = self.site.publish(text)
        eventually(lambda: self.get("_schema").headers["x-snapshot"] == version)
        return version


@contextmanager
def asking(directory: Path, versions: int = 3) -> Iterator[Client]:
    site = Site(directory)
    site.publish("one")
    _, text = site.key(validity="none")
    clock = [now_ms() + DAY]
    settings = Settings(store=str(site.store.root), pinned_versions=versions)
    with TestClient(quiet_app(settings, clock=lambda: clock[0])) as found:
        client = Client(found, site, text, clock)
        eventually(lambda: client.get("_schema").status_code == 200)
        yield client


@pytest.fixture
def client(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Client]:
    with asking(tmp_path, getattr(request, "param", 3)) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One for the tests that change nothing of what is served."""
    with asking(tmp_path_factory.mktemp("shared")) as client:
        yield client


def workspaces(client: Client) -> Workspaces:
    app = client.client.app
    found: Workspaces = app.state.workspaces  # type: ignore[attr-defined]
    return found


def titles(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 200, answer.text
    return {entry["title"] for entry in answer.json()["contents"]}


def test_a_pinned_request_gets_what_was_there(client: Client) -> None:
    first = client.point()
    client.publish("two")
    assert titles(client.get("posts")) == {"two"}
    for _ in range(3):
        answer = client.get("posts", first)
        assert titles(answer) == {"one"}
        assert f"{answer.headers['x-snapshot']}@{answer.headers['x-snapshot-at']}" == first
        assert answer.headers["cache-control"] == "private, no-store"
        same = client.get("posts", first, **{"If-None-Match": answer.headers["etag"]})
        assert (same.status_code, same.headers["x-snapshot"]) == (304, answer.headers["x-snapshot"])
    assert titles(client.get("posts")) == {"two"}


def test_every_endpoint_is_pinned(client: Client) -> None:
    targets = ["posts/post-1", "site", "_schema", "_views/posts?ids=post-1", "posts?orders=-views"]
    before, first = {target: client.get(target) for target in targets}, client.point()
    client.publish("two")
    for target, answer in before.items():
        pinned = client.get(target, first)
        assert (pinned.status_code, pinned.content) == (answer.status_code, answer.content), target
        assert pinned.headers["x-snapshot"] == answer.headers["x-snapshot"], target


def test_an_instant_pins_what_is_on_schedule(client: Client) -> None:
    start = client.clock[0] + 5_000
    entries = [
        {"id": "here", "createdAt": "2026-01-01", "title": "x"},
        {"id": "coming", "createdAt": "2026-01-01", "title": "x", "publishStart": format_datetime(start)},
    ]
    content = client.site.source / "content" / "posts.jsonl"
    content.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    version = build(client.site.source, client.site.store, now=now_ms()).version
    eventually(lambda: client.get("_schema").headers["x-snapshot"] == version)
    before = client.point()
    client.clock[0] = start
    after = client.point()
    for _ in range(2):  # in turns, kept ones too
        assert client.get("posts", before).json()["totalCount"] == 1
        assert client.get("posts/coming", before).status_code == 404
        assert client.get("posts").json()["totalCount"] == 2
        assert client.get("posts", after).json()["totalCount"] == 2
        assert client.get("posts/coming", after).status_code == 200


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", 'X-Snapshot: expected <version>@<instant>, such as …, got "".'),
        ("{version}", "X-Snapshot: expected <version>@<instant>, such as …, got …"),
        ("{version}@", "X-Snapshot: expected <version>@<instant>, such as …, got …"),
        ("{version}@now", "X-Snapshot: expected <version>@<instant>, such as …, got …"),
        ("{version}@2026-13-01T00:00:00.000Z", "X-Snapshot: no such date-time: …"),
        ("{version}@{now}, {version}@{now}", "X-Snapshot: expected <version>@<instant>, such as …, got …"),
        ("../{version}@{now}", "X-Snapshot: expected <version>@<instant>, such as …, got …"),
        ("{version}@{later}", "X-Snapshot: {later} is in the future. Send what an answer gave."),
    ],
)
def test_what_no_answer_gave_is_refused(shared: Client, header: str, message: str) -> None:
    names = {
        "version": shared.point().split("@")[0],
        "now": format_datetime(shared.clock[0]),
        "later": format_datetime(shared.clock[0] + 1_001),
    }
    answer = shared.get("posts", header.format(**names))
    assert answer.status_code == 400
    said, expected = answer.json()["message"], message.format(**names).split("…")
    assert said.startswith(expected[0])
    assert all(part in said for part in expected)
    assert answer.headers["x-snapshot"] == names["version"]


def test_two_such_headers_are_none(shared: Client) -> None:
    point = shared.point()
    answer = shared.client.get(
        "/v1/acme/posts", headers=[("X-API-KEY", shared.key), ("X-Snapshot", point), ("X-Snapshot", point)]
    )
    assert answer.status_code == 400


def test_clocks_of_machines_may_differ_a_little(shared: Client) -> None:
    version, _ = shared.point().split("@")
    assert shared.get("posts", f"{version}@{format_datetime(shared.clock[0] + 20)}").status_code == 200


@pytest.mark.parametrize("version", ["20200101T000000000Z-00000000", "20991231T235959999Z-ffffffff"])
def test_an_unknown_version_is_gone(shared: Client, version: str) -> None:
    answer = shared.get("posts", f"{version}@{format_datetime(shared.clock[0])}")
    assert answer.status_code == 410
    at = format_datetime(shared.clock[0])
    assert answer.json() == {
        "message": f"Snapshot version {version} is no longer kept as of {at}. Begin again without X-Snapshot."
    }


def test_a_version_that_was_never_current_is_answered_like_one_that_never_was(shared: Client) -> None:
    never, none = shared.site.publish("never", activate=False), "20200101T000000000Z-00000000"
    for at in (shared.clock[0], shared.clock[0] - 2 * HOUR):
        answers = [shared.get("posts", f"{version}@{format_datetime(at)}") for version in (never, none)]
        assert [answer.status_code for answer in answers] == [410, 410]
        assert answers[0].json()["message"].replace(never, none) == answers[1].json()["message"]
        names = {"etag", "x-snapshot", "x-content-tags", "x-next-change", "content-type", "content-encoding"}
        one, other = ({n: v for n, v in answer.headers.items() if n in names} for answer in answers)
        assert one == other


def schedule(client: Client, **posts: tuple[int | None, int | None]) -> str:
    """Publish posts, each visible between two instants, and wait until they are served."""
    lines = []
    for name, bounds in posts.items():
        fields = {"id": name, "createdAt": "2026-01-01", "title": "x"}
        for field, at in zip(("publishStart", "publishEnd"), bounds, strict=True):
            if at is not None:
                fields[field] = format_datetime(at)
        lines.append(json.dumps(fields) + "\n")
    (client.site.source / "content" / "posts.jsonl").write_text("".join(lines))
    version = build(client.site.source, client.site.store, now=now_ms()).version
    eventually(lambda: client.get("_schema").headers["x-snapshot"] == version)
    return version


def ids(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 200, answer.text
    return {entry["id"] for entry in answer.json()["contents"]}


def test_nothing_is_read_as_of_before_the_version_was_current(client: Client) -> None:
    """What had ended by then was perhaps never visible to anybody."""
    version = schedule(client, ended=(0, 86_400_000 * 365), here=(None, None))
    current = client.site.place.current()
    assert current is not None
    for at in (DAY, current.activated_at - HOUR, current.activated_at - 1):
        for target in ("posts", "posts/ended", "posts/here", "_schema"):
            assert client.get(target, f"{version}@{format_datetime(at)}").status_code == 410
    client.clock[0] = current.activated_at
    assert ids(client.get("posts", f"{version}@{format_datetime(current.activated_at)}")) == {"here"}


def test_a_pin_is_short(client: Client) -> None:
    end = client.clock[0] + 10_000
    schedule(client, ending=(None, end), here=(None, None))
    first = client.point()
    client.clock[0] = end
    assert ids(client.get("posts")) == {"here"}
    client.clock[0] = end - 10_000 + HOUR
    for _ in range(2):  # the second one is a kept answer
        assert ids(client.get("posts", first)) == {"ending", "here"}
    client.clock[0] += 1
    for target in ("posts", "posts/ending", "_schema", "_changes", "_views/posts?ids=ending"):
        assert client.get(target, first).status_code == 410
    assert ids(client.get("posts", client.point())) == {"here"}


def test_what_was_withdrawn_before_it_appeared_is_never_read(client: Client) -> None:
    scheduled = schedule(client, secret=(client.clock[0] + 60_000, None), here=(None, None))
    assert ids(client.get("posts")) == {"here"}
    schedule(client, here=(None, None))
    until = client.clock[0]
    client.clock[0] += 120_000
    answer = client.get("posts", f"{scheduled}@{format_datetime(client.clock[0])}")
    assert ids(answer) == {"here"}, "as it was last visible"
    assert until <= parse_datetime(answer.headers["x-snapshot-at"], UTC) <= until + FOLLOWED_MS
    client.clock[0] += HOUR
    gone = client.get("posts", f"{scheduled}@{format_datetime(client.clock[0])}")
    assert gone.status_code == 410, "it was withdrawn longer ago, however late the instant"


def test_what_was_not_served_between_two_terms_is_not_read(client: Client) -> None:
    first = schedule(client, here=(None, None), short=(client.clock[0] + 60_000, client.clock[0] + 120_000))
    schedule(client, here=(None, None))
    client.clock[0] += 90_000
    between = client.clock[0]
    client.clock[0] += 60_000
    client.site.place.rollback(by="test", now=client.clock[0])
    eventually(lambda: client.get("_schema").headers["x-snapshot"] == first)
    assert ids(client.get("posts", f"{first}@{format_datetime(between)}")) == {"here"}
    assert ids(client.get("posts", f"{first}@{format_datetime(client.clock[0])}")) == {"here"}


def test_pins_end_with_a_version_that_is_open(client: Client) -> None:
    first = client.point()
    client.publish("two")
    assert titles(client.get("posts", first)) == {"one"}
    version = first.split("@")[0]
    assert version in workspaces(client).of("acme").snapshots.kept.versions
    assert client.site.place.withdraw(version)[0] == [version]
    eventually(lambda: client.get("posts", first).status_code == 410)
    assert client.get(f"_changes?since={first}").status_code == 410
    assert titles(client.get("posts")) == {"two"}


def test_a_program_that_knows_of_no_terms_ends_them(client: Client) -> None:
    """The release before writes `current` without: what it leaves is read, and nothing is told that is not recorded."""
    first = client.point()
    client.publish("two")
    second = client.point()
    path = client.site.place.directory / "current"
    document = json.loads(path.read_text())
    del document["terms"]
    path.write_text(json.dumps(document))
    with TestClient(quiet_app(Settings(store=str(client.site.store.root)), clock=lambda: client.clock[0])) as other:
        asked = Client(other, client.site, client.key, client.clock)
        eventually(lambda: asked.get("_schema").status_code == 200)
        assert asked.get("posts", first).status_code == 410
        assert titles(asked.get("posts", second)) == {"two"}
    assert titles(client.get("posts", first)) == {"one"}, "this process showed it itself"


def test_a_pruned_version_is_gone(client: Client) -> None:
    first = client.point()
    client.publish("two")
    assert titles(client.get("posts", first)) == {"one"}
    client.publish("three")
    client.site.place.prune(1)
    eventually(lambda: client.get("posts", first).status_code == 410)
    assert workspaces(client).of("acme").snapshots.kept.versions != []


def test_a_version_that_was_rolled_back_from_was_current(client: Client) -> None:
    client.publish("two")
    second = client.point()
    before = client.site.place.rollback(by="test", now=now_ms()).version
    eventually(lambda: client.get("_schema").headers["x-snapshot"] == before)
    assert titles(client.get("posts", second)) == {"two"}
    assert titles(client.get("posts")) == {"one"}


@pytest.mark.slow
@pytest.mark.parametrize("client", [1], indirect=True)
def test_few_are_open_and_others_are_opened_again(client: Client) -> None:
    points = {client.point(): "one"}
    for text in ("two", "three", "four"):
        client.publish(text)
        points[client.point()] = text
    kept = workspaces(client).of("acme").snapshots.kept
    for _ in range(2):
        for point, text in points.items():
            assert titles(client.get("posts", point)) == {text}
            assert len(kept.versions) == 1


@pytest.mark.slow
def test_the_one_not_asked_for_the_longest_is_closed(client: Client) -> None:
    kept = workspaces(client).of("acme").snapshots.kept
    first = client.point()
    for text in ("two", "three", "four", "five", "six"):
        client.publish(text)
        assert titles(client.get("posts", first)) == {"one"}
    assert len(kept.versions) == 3
    assert first.split("@")[0] in kept.versions


@pytest.mark.parametrize("client", [0], indirect=True)
def test_none_may_be_kept(client: Client) -> None:
    first = client.point()
    assert titles(client.get("posts", first)) == {"one"}, "the current one is always there"
    client.publish("two")
    assert client.get("posts", first).status_code == 410


@pytest.mark.slow
def test_a_version_that_has_to_be_made_first_is_gone(client: Client, tmp_path: Path) -> None:
    first = client.point()
    for text in ("two", "three", "four", "five"):
        client.publish(text)
    for parts in (client.site.store.cache / "acme").glob("layout-*/tables/*/tables.duckdb"):
        parts.unlink()
    assert client.get("posts", first).status_code == 410
    assert titles(client.get("posts")) == {"five"}


def test_keys_and_scopes_are_those_of_now(client: Client) -> None:
    first = client.point()
    client.publish("two")
    file = client.site.access
    prefix = client.key[:11]
    edit_key(file, prefix, KeyChange(scope=frozenset({"api_site00000001"})), now=now_ms(), zone=UTC)
    eventually(lambda: client.get("posts").status_code == 404)
    assert client.get("posts", first).status_code == 404
    assert client.get("site", first).status_code == 200
    delete_key(file, prefix)
    eventually(lambda: client.get("site").status_code == 401)
    refused = client.get("site", first)
    assert refused.status_code == 401
    assert "x-snapshot" not in refused.headers


def test_a_pinned_request_is_counted(client: Client) -> None:
    first = client.point()
    client.publish("two")
    left = [int(client.get("posts", first).headers["ratelimit"].split(";")[1][2:]) for _ in range(3)]
    assert left == [left[0], left[0] - 1, left[0] - 2]


@pytest.mark.slow
def test_many_ask_for_a_version_at_once(client: Client) -> None:
    first = client.point()
    for text in ("two", "three", "four", "five"):
        client.publish(text)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: client.get(f"posts?offset={number}", first), range(40)))
    assert [answer.status_code for answer in answers] == [200] * 40


def served(server: Running) -> str:
    return server.get("/v1/acme/posts?limit=1").headers["x-snapshot"]


@pytest.mark.slow
def test_paging_gives_each_entry_once_whatever_is_published_meanwhile(tmp_path: Path) -> None:
    """10,000 entries in pages of 100, over two processes; between any two pages another version is activated, and all
    the while entries come and go by their schedule."""
    site = Site(tmp_path)
    chance = random.Random(7)
    begun = now_ms()
    versions = []
    lines: list[dict[str, str]] = []
    for number in range(3):
        lines = [line for line in lines if chance.random() < 0.9]
        known = {line["id"] for line in lines}
        for entry in range(10_000):
            if f"post-{entry}" not in known and (number == 0 or chance.random() < 0.5):
                date = f"2026-01-{chance.randrange(1, 28):02}T00:00:00Z"
                lines.append({"id": f"post-{entry}", "createdAt": date, "title": f"of {number}"})
        for line in chance.sample(lines, 2_000):
            for bound in ("publishStart", "publishEnd"):
                line.pop(bound, None)
            line[chance.choice(("publishStart", "publishEnd"))] = format_datetime(begun + chance.randrange(60_000))
        (site.source / "content" / "posts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        versions.append((build(site.source, site.store, now=now_ms(), activate=not number).version, list(lines)))
        lines = [dict(line) for line in lines]
    _, text = site.key(validity="none")
    with serving(site.store, tmp_path / "log", key=text, workers=2, CMS_PINNED_VERSIONS="1") as server:
        eventually(lambda: server.log().count("serving snapshot version") == 2)
        first = server.get("/v1/acme/posts?limit=1")
        point = f"{first.headers['x-snapshot']}@{first.headers['x-snapshot-at']}"
        found: list[str] = []
        answered = set()
        for page in range(100):
            version = versions[page % 3][0]
            site.place.activate(version, expected=ANY, by="test", now=now_ms())
            if page % 10 == 1:  # some are served before the next page, others are passed over
                eventually(lambda wanted=version: served(server) == wanted)
            answer = server.get(f"/v1/acme/posts?limit=100&offset={len(found)}", headers={"X-Snapshot": point})
            assert answer.status == 200, answer.body
            found += [entry["id"] for entry in answer.json["contents"]]
            answered.add(served(server))
            if len(found) == answer.json["totalCount"]:
                break
    at = point.split("@")[1]
    expected = {
        line["id"]
        for line in versions[0][1]
        if line.get("publishStart", "") <= at < line.get("publishEnd", "9999")  # of one form, so that text compares
    }
    assert page > 80
    assert len(found) == len(set(found)) > 8_000
    assert set(found) == expected
    assert len(answered) == 3, "versions changed meanwhile"

"""What an endpoint is told of a step, in each format, and what becomes of it when it is not accepted."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.access.keys.keys import Key, Period
from engine.timeline.compared_files import ComparedFiles
from engine.webhooks.dispatcher import LONGEST_TURN_MS, ActiveVersion, Dispatcher
from engine.webhooks.editing import add_endpoint, enable_endpoint, replay
from engine.webhooks.endpoint import Endpoint, EndpointState, Reason
from engine.webhooks.events import LONGEST_BODY
from engine.webhooks.post import Post, PostResult
from engine.webhooks.schedule import LONGEST_WISH, PAUSES, next_try
from engine.webhooks.webhooks_file import WebhooksFile
from snapshots.model import Api, ApiKind, Field, FieldType, Workspace
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.durable import StoreError
from snapshots.store.objects import ANY
from snapshots.store.store import new_version, open_store
from tests.stores.small_disk import fill, small_disk
from tests.stores.snapshot_builder import Rows, write_snapshot

TITLE = (Field("title", "Title", FieldType.TEXT),)
BLOG = Api("api_blog", "Blog", "blog", ApiKind.LIST, True, TITLE)
NEWS = Api("api_news", "News", "news", ApiKind.LIST, False, TITLE)
ACME = Workspace(id="acme", name="Acme", languages=("ja", "en"), timezone="Asia/Tokyo", apis=(BLOG, NEWS))
NOW = 1_800_000_000_000
DAY = 86_400_000
OK = PostResult(200)


class World:
    """A store with two versions, one endpoint, and a receiver that answers as told."""

    def __init__(
        self, folder: Path, old: Rows, new: Rows, after: Workspace = ACME, segment_entries: int = 2, **settings: Any
    ) -> None:
        self.now = NOW
        self.segment_entries = segment_entries
        self.place = open_store(folder).workspace("acme")
        self.file = WebhooksFile(DirectoryObjects(folder), "acme")
        self.keys: tuple[Key, ...] = ()
        self.versions = [self.put(1, old), self.put(2, new, after)]
        given = {"form": "standard", "token": None, "apis": None, "langs": None, "reasons": None, **settings}
        _, self.secret = add_endpoint(
            self.file,
            "https://receiver.example/hook",
            current=self.versions[0],
            allow_loopback=False,
            now=NOW,
            **given,
        )
        self.got: list[Post] = []
        self.answer: Callable[[Post], PostResult] = lambda _: OK
        self.place.activate(self.versions[0], expected=None, by="test", now=NOW - DAY)
        self.served = ActiveVersion(self.versions[0], NOW - DAY)
        self.dispatcher = Dispatcher(
            self.place, self.file, lambda: self.keys, ComparedFiles(), clock=lambda: self.now, chance=lambda: 0.0
        )

    def put(self, number: int, rows: Rows, workspace: Workspace = ACME) -> str:
        version = new_version(NOW - DAY + number, f"{abs(number):08x}")
        (self.place.snapshots / version).mkdir(parents=True)
        write_snapshot(
            self.place.snapshots / version, workspace, rows, version=version, segment_entries=self.segment_entries
        )
        return version

    def activate(self, number: int = 1) -> None:
        self.now += 1000
        self.place.activate(self.versions[number], expected=ANY, by="test", now=self.now)
        self.served = ActiveVersion(self.versions[number], self.now)

    @property
    def endpoint(self) -> Endpoint:
        return self.file.read()[0]

    def tell(self) -> list[Any]:
        """Make one try if one is due; return the documents sent in it."""
        before = len(self.got)
        due = self.dispatcher.due_at(self.endpoint, self.served, self.now)
        if due is not None and due <= self.now:
            self.dispatcher.deliver(self.endpoint, self.served, self._send)
        return [json.loads(request.body) for request in self.got[before:]]

    def _send(self, request: Post, _now: int) -> PostResult:
        self.got.append(request)
        return self.answer(request)


def many(count: int, title: str = "x") -> Rows:
    return {("blog", "ja"): [{"id": f"entry-number-{n}", "title": title} for n in range(count)]}


ONE = {("blog", "ja"): [{"id": "a", "title": "x"}], ("blog", "en"): [{"id": "a", "title": "x"}]}
TWO = {("blog", "ja"): [{"id": "a", "title": "y"}, {"id": "b"}], ("blog", "en"): [{"id": "a", "title": "x"}]}


def test_an_event_is_thin_and_says_what_was_left_out(tmp_path: Path) -> None:
    world = World(tmp_path, {}, many(3000), segment_entries=100)
    world.activate()
    (event,) = world.tell()
    assert len(world.got[0].body) < LONGEST_BODY
    data = event["data"]
    assert (data["truncated"], data["total"], data["tags"]) == (True, 3000, ["acme"])
    assert len(data["changes"]) > 150
    assert data["changes"][0] == {"api": "blog", "id": "entry-number-0", "lang": "ja", "change": "published"}


def test_as_many_changes_as_fit_are_told_whole(tmp_path: Path) -> None:
    world = World(tmp_path, {}, many(100))
    world.activate()
    (event,) = world.tell()
    assert "truncated" not in event["data"]
    assert len(event["data"]["changes"]) == 100
    assert len(event["data"]["tags"]) == 101


def test_drafts_and_equal_content_are_not_told(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, ONE)
    world.activate()
    assert world.tell() == []
    assert world.endpoint.cursor is not None
    assert world.endpoint.cursor.version == world.versions[1]


def test_a_version_that_is_gone_means_that_all_may_have_changed(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    (world.place.snapshots / world.versions[0] / "manifest.json").unlink()
    world.activate()
    (event,) = world.tell()
    data = event["data"]
    assert (data["changes"], data["truncated"], data["total"], data["tags"]) == ([], True, None, ["acme"])


@pytest.mark.parametrize("noticed", [2_000, -3_000], ids=["by the same clock", "by one that is slow"])
def test_an_activation_takes_back_no_flip_that_was_told_before_it_was_noticed(tmp_path: Path, noticed: int) -> None:
    begin = NOW + 10_000
    scheduled = {("blog", "ja"): [{"id": "a", "title": "x"}, {"id": "soon", "live_from": begin}]}
    changed = {("blog", "ja"): [{"id": "a", "title": "y"}, {"id": "soon", "live_from": begin}]}
    world = World(tmp_path, scheduled, changed)
    world.now = begin
    (flip,) = world.tell()
    world.now = begin + noticed
    world.served = ActiveVersion(world.versions[1], begin - 5_000)
    (activation,) = world.tell()
    world.now = begin + 60_000
    assert world.tell() == []
    assert [(one["id"], one["change"]) for one in flip["data"]["changes"]] == [("soon", "published")]
    assert [(one["id"], one["change"]) for one in activation["data"]["changes"]] == [("a", "updated")]


def test_definitions_are_told_first(tmp_path: Path) -> None:
    more = Workspace(
        id="acme", name="Acme, Inc.", languages=("ja", "en"), timezone="Asia/Tokyo",
        apis=(Api("api_blog", "Blog", "blog", ApiKind.LIST, True, (*TITLE, Field("size", "Size", FieldType.NUMBER))),),
    )  # fmt: skip
    world = World(tmp_path, ONE, TWO, more)
    world.activate()
    schema, content = world.tell()
    assert (schema["type"], content["type"]) == ("schema.changed", "content.changed")
    assert [one["change"] for one in schema["data"]["changes"]] == ["field_added", "api_removed"]
    assert schema["data"]["tags"] == ["acme"]
    first, second = (request.headers["webhook-id"] for request in world.got)
    assert first != second
    assert world.endpoint.pending is None


def test_what_was_accepted_of_a_step_is_not_sent_again(tmp_path: Path) -> None:
    more = Workspace(id="acme", name="Acme", languages=("ja", "en"), apis=(BLOG,))
    world = World(tmp_path, ONE, TWO, more)
    world.answer = lambda _: OK if len(world.got) == 1 else PostResult(500, "it answered 500")
    world.activate()
    assert [one["type"] for one in world.tell()] == ["schema.changed", "content.changed"]
    world.answer = lambda _: OK
    world.now += PAUSES[0]
    assert [one["type"] for one in world.tell()] == ["content.changed"]


def test_limits_to_reasons_leave_out_all_else(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO, reasons=frozenset({Reason.ROLLBACK}))
    world.activate()
    assert world.tell() == []
    world.activate(0)
    (event,) = world.tell()
    assert event["data"]["reason"] == "rollback"


def test_a_version_built_while_the_clock_was_behind_is_an_activation(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    world.versions.append(world.put(-5, {**TWO, ("blog", "ja"): [{"id": "c"}]}))
    assert world.versions[2] < world.versions[0]
    for number, reason in ((1, "activation"), (2, "activation"), (1, "rollback"), (2, "activation"), (0, "rollback")):
        world.activate(number)
        (event,) = world.tell()
        assert event["data"]["reason"] == reason, number


def key(number: int, until: date | None, created: int = NOW - 30 * DAY, *, disabled: bool = False) -> Key:
    return Key(
        id=f"key_{number}", prefix=f"pq_0000000{number}", name=f"Key {number}", hash="0" * 64, scope=None,
        period=Period(date(2026, 1, 1), until), disabled=disabled, rate_limit=None, created_at=created,
    )  # fmt: skip


def test_keys_are_told_when_their_day_comes_in_the_workspaces_zone(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    # NOW is 2027-01-15T08:00Z; a day of Tokyo begins at 15:00Z.
    world.keys = (
        key(1, date(2027, 1, 23)),
        key(2, None),
        key(3, date(2027, 1, 23), disabled=True),
        key(4, date(2027, 1, 20), created=NOW),
        key(5, date(2027, 1, 10)),
    )
    assert world.tell() == []
    near = NOW + 7 * 3_600_000  # 0:00 of the 16th in Tokyo, seven days before the 23rd
    assert world.dispatcher.due_at(world.endpoint, world.served, world.now) == near
    world.now = near - 1
    assert world.tell() == []
    world.now = near
    (expiring,) = world.tell()
    assert (expiring["type"], expiring["timestamp"]) == ("key.expiring", "2027-01-15T15:00:00.000Z")
    assert expiring["data"] == {"id": "key_1", "prefix": "pq_00000001", "name": "Key 1", "until": "2027-01-23"}
    world.now = near + 8 * DAY
    assert [(one["type"], one["data"]["id"]) for one in world.tell()] == [
        ("key.expired", "key_4"),
        ("key.expired", "key_1"),
    ]
    assert world.tell() == []


def test_microcms_gets_a_request_for_each_entry(tmp_path: Path) -> None:
    world = World(tmp_path, {**ONE, ("news", "ja"): [{"id": "n"}]}, TWO, form="microcms")
    world.activate()
    documents = world.tell()
    told = [(one["service"], one["api"], one["id"], one["type"]) for one in documents]
    assert told == [
        ("acme", "blog", "a", "edit"),
        ("acme", "blog", "b", "new"),
        ("acme", "news", "n", "delete"),
    ]
    edited, new, deleted = (one["contents"] for one in documents)
    assert new["old"] is None
    assert deleted["new"] is None
    assert edited["old"] == edited["new"]
    assert new["new"] == {
        "id": "b", "status": ["PUBLISH"], "draftKey": None, "publishValue": {"id": "b"}, "draftValue": None,
    }  # fmt: skip
    for request in world.got:
        expected = hmac.new((world.secret or "").encode(), request.body, hashlib.sha256).hexdigest()
        assert request.headers == {"x-microcms-signature": expected}


@pytest.mark.parametrize(
    ("form", "size", "header", "member"),
    [
        ("fastly", 256, ("fastly-key", "tell-nobody"), "surrogate_keys"),
        ("cloudflare", 100, ("authorization", "Bearer tell-nobody"), "tags"),
    ],
)
def test_caches_are_purged_by_tag_in_as_many_requests_as_it_takes(
    tmp_path: Path, form: str, size: int, header: tuple[str, str], member: str
) -> None:
    world = World(tmp_path, {}, many(600), segment_entries=20, form=form, token="tell-nobody")
    world.activate()
    documents = world.tell()
    tags = [tag for document in documents for tag in document[member]]
    assert tags == ["acme:blog", *sorted(f"acme:blog:entry-number-{n}" for n in range(600))]
    assert [len(document[member]) for document in documents[:-1]] == [size] * (len(documents) - 1)
    assert all(request.headers[header[0]] == header[1] for request in world.got)
    assert all(("fastly-soft-purge" in request.headers) == (form == "fastly") for request in world.got)


def test_a_cache_is_purged_whole_when_definitions_change(tmp_path: Path) -> None:
    fewer = Workspace(id="acme", name="Acme", languages=("ja", "en"), apis=(BLOG,))
    world = World(tmp_path, ONE, TWO, fewer, form="fastly", token="x")
    world.activate()
    assert world.tell() == [{"surrogate_keys": ["acme"]}]


def test_ten_tries_are_made_and_then_it_is_given_up_until_somebody_enables_it(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    world.answer = lambda _: PostResult(503, "it answered 503")
    world.activate()
    tried = []
    while world.endpoint.stopped is None:
        due = world.dispatcher.due_at(world.endpoint, world.served, world.now)
        assert due is not None
        world.now = max(world.now, due)
        tried.append(world.now)
        assert len(world.tell()) == 1
    hour = 3_600_000
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses == [5_000, 300_000, 1_800_000, *(n * hour for n in (2, 5, 10, 14, 20, 24))]
    assert len({request.headers["webhook-id"] for request in world.got}) == 1
    assert (world.endpoint.state, world.endpoint.stopped.told) == (EndpointState.GIVEN_UP, False)
    assert world.dispatcher.due_at(world.endpoint, world.served, world.now) is None
    enable_endpoint(world.file, world.endpoint.id, world.now)
    world.answer = lambda _: OK
    assert len(world.tell()) == 1
    assert (world.endpoint.state, world.endpoint.pending) == (EndpointState.ACTIVE, None)


def test_what_there_is_to_tell_is_due_when_it_is_asked_for_however_slow_the_disk(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    world.activate()
    world.now += 1000
    assert world.dispatcher.due_at(world.endpoint, world.served, world.now - 500) == world.now - 500


@pytest.mark.parametrize("place", ["the request", "what is told"])
def test_an_error_that_nobody_foresaw_is_a_failed_try_of_this_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    world = World(tmp_path, ONE, TWO)

    def fail(*_: object) -> PostResult:
        raise LookupError("unforeseen")

    if place == "the request":
        world.answer = fail
    else:
        monkeypatch.setattr("engine.webhooks.dispatcher.events", fail)
    world.activate()
    while world.endpoint.stopped is None:
        due = world.dispatcher.due_at(world.endpoint, world.served, world.now)
        assert due is not None
        world.now = max(world.now, due)
        world.tell()
    assert (world.endpoint.state, world.endpoint.stopped.told) == (EndpointState.GIVEN_UP, False)
    said = {(one.status, one.refusal) for one in world.endpoint.attempts}
    assert said == {(None, "the request failed unexpectedly: LookupError")}


def test_a_step_of_many_requests_lets_others_have_their_turn(tmp_path: Path) -> None:
    world = World(tmp_path, {}, many(10), form="microcms")

    def slow(_: Post) -> PostResult:
        world.now += LONGEST_TURN_MS // 4
        return OK

    world.answer = slow
    world.activate()
    turns = [len(world.tell()) for _ in range(3)]
    assert turns == [4, 4, 2]
    assert len({request.body for request in world.got}) == 10
    assert (world.endpoint.pending, len(world.endpoint.attempts)) == (None, 1)


@pytest.mark.parametrize(
    ("failures", "retry_after", "chance", "pause"),
    [
        (1, None, 0.0, 5_000),
        (1, None, 1.0, 5_500),
        (1, 3.0, 0.0, 5_000),
        (1, 60.0, 1.0, 60_000),
        (1, 1e9, 0.0, LONGEST_WISH),
        (9, None, 0.0, 86_400_000),
        (10, None, 0.0, None),
        (10, 60.0, 0.0, None),
    ],
)
def test_the_next_try(failures: int, retry_after: float | None, chance: float, pause: int | None) -> None:
    assert next_try(failures, NOW, retry_after, chance) == (None if pause is None else NOW + pause)


def test_the_last_event_is_sent_again_as_it_was(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    world.activate()
    (event,) = world.tell()
    world.now += DAY
    replay(world.file, world.endpoint.id, None, world.now)
    assert world.tell() == [event]
    first, again = world.got
    assert first.headers["webhook-id"] == again.headers["webhook-id"]
    assert world.tell() == []


def test_a_pending_step_whose_version_was_pruned_becomes_one_that_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    world.answer = lambda _: PostResult(500, "it answered 500")
    world.activate()
    world.tell()
    (world.place.snapshots / world.versions[1] / "manifest.json").unlink()
    world.activate(0)
    world.now += PAUSES[0]
    world.answer = lambda _: OK
    assert world.tell() == []
    (event,) = world.tell()
    assert (event["data"]["truncated"], event["data"]["snapshot"][:28]) == (True, world.versions[0])
    assert world.endpoint.pending is None


def test_a_full_disk_stops_the_sending_and_repeats_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4 << 20) as disk:
        world = World(disk, ONE, TWO)
        world.activate()
        filler = fill(disk)
        with pytest.raises(StoreError, match="disk is full"):
            world.tell()
        assert world.got == []
        filler.unlink()
        fillers: list[Path] = []

        def accept_as_the_disk_fills(_: Post) -> PostResult:
            fillers.append(fill(disk))
            return OK

        world.answer = accept_as_the_disk_fills
        with pytest.raises(StoreError, match="disk is full"):
            world.tell()
        for _ in range(3):  # the outcome is known, and is all that is tried to be written
            with pytest.raises(StoreError, match="disk is full"):
                world.tell()
        assert len(world.got) == 1
        fillers[0].unlink()
        world.tell()
        assert (world.endpoint.pending, len(world.got)) == (None, 1)
        assert world.tell() == []

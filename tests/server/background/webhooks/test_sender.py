"""Webhooks from a real server to a real receiver over TLS: what it hears, when, and what happens when it does not."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from standardwebhooks.webhooks import Webhook

from engine.webhooks.editing import (
    add_endpoint,
    change_endpoint,
    delete_endpoint,
    disable_endpoint,
    enable_endpoint,
    rotate_secret,
)
from engine.webhooks.endpoint import Endpoint, EndpointState, Reason
from engine.webhooks.post import SECONDS
from engine.webhooks.webhooks_file import WebhooksFile
from server.background.webhooks.sender import MOST_OF_ONE
from snapshots.build.build import build
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.times import format_datetime, now_ms
from tests.engine.webhooks.test_post import answering
from tests.servers.mail_server import mail_server
from tests.servers.webhook_receiver import Received, Receiver, Reply, receiver
from tests.sites.served_site import Site, eventually, serving

pytestmark = pytest.mark.slow

LOOPBACK = "CMS_WEBHOOK_ALLOW_LOOPBACK"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.publish("first")
    return made


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Receiver]:
    with receiver(tmp_path) as running:
        yield running


def webhooks_of(site: Site) -> WebhooksFile:
    return WebhooksFile(DirectoryObjects(site.store.root), site.workspace)


def add(site: Site, url: str, form: str = "standard", **limits: Any) -> tuple[Endpoint, str | None]:
    current = site.place.current()
    settings: dict[str, Any] = {"token": None, "apis": None, "langs": None, "reasons": None, **limits}
    return add_endpoint(
        webhooks_of(site),
        url,
        form=form,
        current=current.version if current else None,
        allow_loopback=True,
        now=now_ms(),
        **settings,
    )


def endpoint_of(site: Site, number: int = 0) -> Endpoint:
    return webhooks_of(site).read()[number]


Sender = Callable[..., Any]


@pytest.fixture
def sending(tmp_path: Path, site: Site, hooked: Receiver) -> Sender:
    def run(log: str = "log", **settings: object) -> Any:
        variables = {LOOPBACK: "1", "SSL_CERT_FILE": str(hooked.ca), **settings}
        return serving(site.store, tmp_path / log, **variables)

    return run


def entries(event: Received) -> list[tuple[str, str, str, str]]:
    return [(one["api"], one["id"], one["lang"], one["change"]) for one in event.json["data"]["changes"]]


def test_an_activation_is_one_event_that_says_what_changed_and_is_signed(
    site: Site, hooked: Receiver, sending: Sender
) -> None:
    _, secret = add(site, hooked.url())
    with sending() as running:
        before = now_ms()
        version = site.publish("second")
        (event,) = hooked.wait_for(1)
        assert Webhook(secret or "").verify(event.body, event.headers)
        eventually(lambda: endpoint_of(site).pending is None)
        eventually(lambda: "told: content.changed (200)" in running.log())
        assert (secret or "?") not in running.log()
    data = event.json["data"]
    assert set(event.json) == {"type", "timestamp", "workspace", "data"}
    assert (event.json["type"], event.json["workspace"]) == ("content.changed", "acme")
    assert set(data) == {"reason", "snapshot", "at", "changes", "tags", "nextChange"}
    assert (data["reason"], data["nextChange"]) == ("activation", None)
    assert data["snapshot"] == f"{version}@{data['at']}"
    assert format_datetime(before) <= data["at"] <= format_datetime(now_ms())
    assert entries(event) == [("posts", f"post-{n}", "en", "updated") for n in range(3)] + [
        ("site", "site", "en", "updated")
    ]
    assert data["tags"] == ["acme:posts", "acme:site"] + [f"acme:posts:post-{n}" for n in range(3)] + ["acme:site:site"]
    assert endpoint_of(site).cursor is not None
    assert str(endpoint_of(site).cursor) == data["snapshot"]


def test_what_is_due_in_months_keeps_nothing_from_being_told_now(site: Site, hooked: Receiver, sending: Sender) -> None:
    site.key(validity="90d")  # its end is told, too
    add(site, hooked.url())
    with sending():
        for number, text in enumerate(("second", "third", "fourth"), 1):
            site.publish(text)
            hooked.wait_for(number)
            eventually(lambda: endpoint_of(site).pending is None)


def test_a_rollback_is_told_as_one_and_content_that_says_the_same_is_not_told(
    site: Site, hooked: Receiver, sending: Sender
) -> None:
    add(site, hooked.url())
    with sending():
        first = site.place.current()
        site.publish("second")
        hooked.wait_for(1)
        site.place.rollback(by="test", now=now_ms())
        back = hooked.wait_for(2)[1]
        assert back.json["data"]["reason"] == "rollback"
        assert first is not None
        assert back.json["data"]["snapshot"].startswith(first.version)
        # Another version with the same visible content moves the cursor and is no event.
        (site.source / "content" / "posts.jsonl").write_text(
            "".join(f'{{"id": "post-{n}", "createdAt": "2026-01-01T00:00:00Z", "title": "first"}}\n' for n in range(3))
            + '{"id": "draft", "createdAt": "2026-01-01T00:00:00Z", "title": "x", "status": "draft"}\n'
        )
        (site.source / "content" / "site.yaml").write_text('title: "first"\ncreatedAt: 2026-01-01T00:00:00Z\n')
        third = build(site.source, site.store, now=now_ms(), activate=True).version
        eventually(lambda: str(endpoint_of(site).cursor).startswith(third))
        assert len(hooked.received) == 2


def test_a_schedule_is_told_when_its_instant_comes(site: Site, hooked: Receiver, sending: Sender) -> None:
    add(site, hooked.url())
    with sending():
        soon = 2_000
        while True:
            flip = now_ms() + soon
            (site.source / "content" / "posts.jsonl").write_text(
                '{"id": "new", "createdAt": "2026-01-01T00:00:00Z", "title": "x", "status": "scheduled", '
                f'"publishStart": "{format_datetime(flip)}"}}\n'
            )
            version = build(site.source, site.store, now=now_ms(), activate=False).version
            if now_ms() < flip - soon // 2:
                break
            soon *= 2  # a busy machine took long to build it
        site.activate(version)
        activation, begun = hooked.wait_for(2)
    assert activation.json["data"]["nextChange"] == format_datetime(flip)
    data = begun.json["data"]
    assert (data["reason"], data["at"], data["nextChange"]) == ("flip", format_datetime(flip), None)
    assert entries(begun) == [("posts", "new", "en", "published")]
    assert begun.at * 1000 >= flip


def test_a_new_webhook_hears_nothing_from_before_and_limits_are_kept(
    site: Site, hooked: Receiver, sending: Sender
) -> None:
    posts = frozenset({"api_posts0000001"})
    add(site, hooked.url("/all"))
    add(site, hooked.url("/posts"), apis=posts)
    add(site, hooked.url("/flips"), reasons=frozenset({Reason.FLIP}))
    with sending():
        site.publish("second")
        hooked.wait_for(2)
        add(site, hooked.url("/late"))
        site.publish("third")
        hooked.wait_for(5)
        eventually(lambda: all(one.pending is None for one in webhooks_of(site).read()))
    heard = [(one.path, len(one.json["data"]["changes"])) for one in hooked.received]
    assert sorted(heard) == [("/all", 4), ("/all", 4), ("/late", 4), ("/posts", 3), ("/posts", 3)]


def test_a_failed_try_is_made_again_with_the_same_id_and_holds_up_no_other(
    site: Site, hooked: Receiver, sending: Sender
) -> None:
    add(site, hooked.url("/hangs"))
    add(site, hooked.url("/fails"))
    add(site, hooked.url("/works"))
    replies = {"/hangs": Reply(wait=60), "/fails": Reply(500), "/works": Reply()}
    hooked.reply = lambda got: replies[got.path]
    with sending():
        site.publish("second")
        hooked.wait_for(3)
        hooked.reply = lambda got: Reply(wait=60) if got.path == "/hangs" else Reply()
        eventually(lambda: sum(one.path == "/fails" for one in hooked.received) == 2)
        first, again = (one for one in hooked.received if one.path == "/fails")
        assert first.headers["webhook-id"] == again.headers["webhook-id"]
        assert first.body == again.body
        assert again.at - first.at >= 5
        eventually(lambda: endpoint_of(site, 1).pending is None)
        tries = endpoint_of(site, 1).attempts
        assert [(one.status, one.refusal) for one in tries] == [(200, None), (500, "it answered 500")]


def test_receivers_of_one_workspace_that_hang_leave_places_to_the_others(
    tmp_path: Path, site: Site, hooked: Receiver, sending: Sender
) -> None:
    (tmp_path / "other").mkdir()
    other = Site(tmp_path / "other", "aaa")
    other.store, other.place = site.store, site.store.workspace("aaa")
    other.publish("first")
    for number in range(MOST_OF_ONE + 3):
        add(other, hooked.url(f"/hangs/{number}"))
    add(site, hooked.url("/works"))
    hooked.reply = lambda got: Reply(wait=60) if "hangs" in got.path else Reply()
    with sending() as running:
        began = time.monotonic()
        other.publish("second")
        hooked.wait_for(MOST_OF_ONE)
        for number in range(1, 4):
            site.publish(f"version {number}")
            eventually(lambda number=number: sum(one.path == "/works" for one in hooked.received) == number)
            eventually(lambda: endpoint_of(site).pending is None)
        told = {one.path for one in hooked.received}
        if time.monotonic() - began < SECONDS:  # until then none of them is given up, whose place the next one takes
            assert len(told) == MOST_OF_ONE + 1
        hooked.stopping.set()  # they answer now
        hooked.wait_for(MOST_OF_ONE + 3 + 3)
        eventually(lambda: all(one.pending is None for one in webhooks_of(other).read()))
        assert "Traceback" not in running.log()


def test_a_receiver_that_changes_the_protocol_is_given_up_as_others_are(
    tmp_path: Path, site: Site, sending: Sender
) -> None:
    switching = b"HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    with answering(switching) as port:
        endpoint, _ = add(site, f"http://localhost:{port}/")
        with sending("first"):
            site.publish("second")
            eventually(lambda: endpoint_of(site).state is EndpointState.RETRYING)
        change_endpoint(
            webhooks_of(site),
            endpoint.id,
            lambda one: replace(one, pending=one.pending and replace(one.pending, failures=9, next_at=now_ms())),
        )
        with sending("log") as running:
            eventually(lambda: endpoint_of(site).state is EndpointState.GIVEN_UP)
            eventually(lambda: "is given up and disabled: it answered 101" in running.log())
            assert "Traceback" not in running.log()


def test_410_disables_and_enabling_tells_what_was_missed(site: Site, hooked: Receiver, sending: Sender) -> None:
    add(site, hooked.url())
    hooked.reply = lambda _: Reply(410)
    with sending() as running:
        site.publish("second")
        eventually(lambda: endpoint_of(site).state is EndpointState.GONE)
        site.publish("third")
        eventually(lambda: "answered 410 and is disabled" in running.log())
        hooked.reply = lambda _: Reply()
        enable_endpoint(webhooks_of(site), "wh_", now_ms())
        hooked.wait_for(3)
        eventually(lambda: endpoint_of(site).pending is None)
    assert len(hooked.received) == 3


def test_a_redirect_is_a_failure_and_retry_after_is_honoured(site: Site, hooked: Receiver, sending: Sender) -> None:
    add(site, hooked.url("/moved"))
    add(site, hooked.url("/busy"))
    replies = {
        "/moved": Reply(301, (("location", hooked.url("/other")),)),
        "/busy": Reply(429, (("retry-after", "3600"),)),
    }
    hooked.reply = lambda got: replies[got.path]
    with sending():
        site.publish("second")
        hooked.wait_for(2)
        eventually(lambda: all(one.attempts for one in webhooks_of(site).read()))
    moved, busy = webhooks_of(site).read()
    assert moved.attempts[0].refusal == "it answered 301: redirects are not followed"
    assert {one.path for one in hooked.received} == {"/moved", "/busy"}
    assert busy.pending is not None
    assert busy.pending.next_at - busy.attempts[0].at >= 3_600_000


def test_one_of_several_workers_sends_and_another_takes_over(site: Site, hooked: Receiver, sending: Sender) -> None:
    add(site, hooked.url())
    with sending(workers=3), sending("other", workers=2):
        site.publish("second")
        hooked.wait_for(1)
        eventually(lambda: endpoint_of(site).pending is None)
        site.publish("third")
        hooked.wait_for(2)
        eventually(lambda: endpoint_of(site).pending is None)
    assert len(hooked.received) == 2


def test_a_server_killed_while_it_tells_tells_it_again(site: Site, hooked: Receiver, sending: Sender) -> None:
    add(site, hooked.url())
    hooked.reply = lambda _: Reply(wait=60)
    with sending() as running:
        site.publish("second")
        hooked.wait_for(1)
        running.stop(signal.SIGKILL)
    hooked.reply = lambda _: Reply()
    with sending("again"):
        first, again = hooked.wait_for(2)
        eventually(lambda: endpoint_of(site).pending is None)
    assert first.headers["webhook-id"] == again.headers["webhook-id"]
    assert first.body == again.body


def test_a_secret_is_exchanged_with_an_overlap(site: Site, hooked: Receiver, sending: Sender) -> None:
    endpoint, old = add(site, hooked.url())
    _, new = rotate_secret(webhooks_of(site), endpoint.id, overlap=3_600_000, now=now_ms())
    with sending():
        site.publish("second")
        (event,) = hooked.wait_for(1)
    assert old is not None
    for secret in (old, new):
        Webhook(secret).verify(event.body, event.headers)
    assert len(event.headers["webhook-signature"].split()) == 2


def test_a_webhook_that_was_deleted_or_disabled_hears_nothing(site: Site, hooked: Receiver, sending: Sender) -> None:
    gone, _ = add(site, hooked.url("/gone"))
    quiet, _ = add(site, hooked.url("/quiet"))
    add(site, hooked.url("/there"))
    with sending():
        delete_endpoint(webhooks_of(site), gone.id)
        disable_endpoint(webhooks_of(site), quiet.id, now_ms())
        time.sleep(1.1)  # LOOK_MS
        site.publish("second")
        hooked.wait_for(1)
        eventually(lambda: endpoint_of(site, 1).pending is None)
    assert [one.path for one in hooked.received] == ["/there"]


def test_a_damaged_file_of_one_workspace_holds_up_no_other(
    tmp_path: Path, site: Site, hooked: Receiver, sending: Sender
) -> None:
    (tmp_path / "other").mkdir()
    other = Site(tmp_path / "other", "aaa")
    other.store = site.store
    other.place = site.store.workspace("aaa")
    other.publish("first")
    (other.place.directory / "webhooks.json").write_text("{")
    add(site, hooked.url())
    with sending() as running:
        for number in (1, 2, 3):  # it is looked at once a second, and complained of once
            site.publish(f"version {number}")
            hooked.wait_for(number)
            eventually(lambda: endpoint_of(site).pending is None)
        eventually(lambda: running.log().count("aaa: webhooks wait") == 1)
        eventually(lambda: running.get("/readyz").status == 200)


def test_owners_get_a_mail_when_a_webhook_is_given_up(
    tmp_path: Path, site: Site, hooked: Receiver, sending: Sender
) -> None:
    members = "members:\n" + "".join(
        f"  - {{name: {role.title()}, email: {role}@acme.example, role: {role}}}\n" for role in ("owner", "editor")
    )
    (site.source / "workspace.yaml").write_text(f"id: acme\nname: Acme\nlanguages: [en]\n{members}")
    site.publish("with members")
    endpoint, secret = add(site, hooked.url("/hook?token=tell-nobody"))
    hooked.reply = lambda _: Reply(500)
    with mail_server(tmp_path / "mail") as mail:
        with sending("first"):
            site.publish("second")
            eventually(lambda: endpoint_of(site).state is EndpointState.RETRYING)
        # Three days later:
        change_endpoint(
            webhooks_of(site),
            endpoint.id,
            lambda one: replace(one, pending=one.pending and replace(one.pending, failures=9, next_at=now_ms())),
        )
        with sending("log", CMS_SMTP_URL=mail.url()) as running:
            eventually(mail.mails)
            eventually(lambda: (stopped := endpoint_of(site).stopped) is not None and stopped.told)
            eventually(lambda: "is given up and disabled: it answered 500" in running.log())
    (letter,) = mail.mails()
    assert letter["X-Recipient"] == "owner@acme.example"
    assert letter["Subject"] == "Acme: the webhook to localhost has been disabled"
    text = letter.get_body(("plain",))
    assert text is not None
    said = text.get_content()
    assert f"cms webhook enable {endpoint.id} -w acme" in said
    assert "it answered 500" in said
    assert "tell-nobody" not in letter.as_string() + running.log()
    assert (secret or "?") not in letter.as_string()


def test_a_server_killed_again_and_again_loses_nothing(tmp_path: Path, site: Site, hooked: Receiver) -> None:
    """The receiver applies what it hears, and in the end holds what the list returns."""
    random = Random(7)
    _, key = site.key()
    first = site.place.current()
    assert first is not None
    titles = {first.version: {f"post-{n}": "first" for n in range(3)}}
    holds: dict[str, str] = dict(titles[first.version])
    seen: set[str] = set()
    failing = {"now and then"}
    add(site, hooked.url(), apis=frozenset({"api_posts0000001"}))

    def apply(got: Received) -> Reply:
        if failing and random.random() < 0.3:
            return Reply(500, (("retry-after", "0"),))
        if got.headers["webhook-id"] not in seen:
            seen.add(got.headers["webhook-id"])
            data = got.json["data"]
            there = titles[data["snapshot"].partition("@")[0]]
            for change in data["changes"]:
                holds.pop(change["id"], None)
                if change["change"] != "unpublished":
                    holds[change["id"]] = there[change["id"]]
        return Reply(200, wait=random.choice([0, 0, 0.5]))

    hooked.reply = apply
    variables = {LOOPBACK: "1", "SSL_CERT_FILE": str(hooked.ca)}

    def soon() -> None:
        """Have the next try made now, as if hours had passed."""
        change_endpoint(
            webhooks_of(site),
            "wh_",
            lambda one: replace(one, pending=one.pending and replace(one.pending, next_at=now_ms())),
        )

    for round_number in range(12):
        soon()
        heard = len(hooked.received)
        with serving(site.store, tmp_path / "log", **variables) as running:
            for _ in range(random.randrange(1, 4)):
                # In this order: a round that ends with what it began with would have nothing to tell.
                if round_number and random.random() < 0.2:
                    site.place.rollback(by="test", now=now_ms())
                site.entries = random.randrange(1, 6)
                text = f"round {round_number}, {random.randrange(3)}"
                version = site.publish(text, activate=False)
                titles[version] = {f"post-{n}": text for n in range(site.entries)}
                site.activate(version)
                time.sleep(random.choice([0, 0.2, 0.6]))
            hooked.wait_for(heard + 1)
            time.sleep(random.choice([0, 0, 0.05, 0.3, 0.8]))
            running.stop(signal.SIGKILL)
    failing.clear()
    with serving(site.store, tmp_path / "log", key=key, **variables) as running:
        current = site.place.current()
        assert current is not None
        soon()
        eventually(lambda: endpoint_of(site).pending is None and str(endpoint_of(site).cursor)[:28] == current.version)
        listed = running.get("/v1/acme/posts?limit=100").json["contents"]
    assert holds == {one["id"]: one["title"] for one in listed}
    assert len(seen) >= 5

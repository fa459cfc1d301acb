"""The tab *Webhooks*, beside a server that really sends: what is shown, what may be pressed by whom, and that no secret
is told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace

from engine.access.audit.log import AuditLog
from engine.timeline.points import Point
from engine.webhooks.editing import add_endpoint, change_endpoint, delete_endpoint
from engine.webhooks.endpoint import Attempt, Endpoint, EndpointState, Pending, Reason, Stop
from engine.webhooks.webhooks_file import WEBHOOKS, WebhooksFile
from snapshots.times import now_ms
from tests.server.console.browsing import EDITOR, OWNER, Answer, Browser, console, site_with_members
from tests.servers.webhook_receiver import Receiver, Reply, receiver
from tests.sites.served_site import Running, Site, eventually

PAGE = "/console/acme/webhooks"
HOSTILE = "https://hooks.example/<script>alert(1)</script>?s=%22'><img%20src=x%20onerror=alert(1)>"


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with receiver(tmp_path_factory.mktemp("receiver")) as running:
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def server(site: Site, hooked: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {"CMS_WEBHOOK_ALLOW_LOOPBACK": "1", "SSL_CERT_FILE": str(hooked.ca)}
    with console(site, tmp_path_factory.mktemp("log") / "log", **settings) as running:
        yield running


@pytest.fixture(autouse=True)
def fresh(site: Site, hooked: Receiver, server: Running) -> None:
    # What another test has published would else be told to an endpoint that is added before it is served.
    eventually(lambda: server.get("/readyz").json["workspaces"][0]["version"] == point(site).version)
    # Each by itself, under the lock: a server that writes the outcome of a try would bring a file back that is removed.
    for endpoint in webhooks_of(site).read():
        delete_endpoint(webhooks_of(site), endpoint.id)
    hooked.reply = lambda _: Reply()
    hooked.received.clear()


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, OWNER)
    return browser


@pytest.fixture
def editor(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, EDITOR)
    return browser


def webhooks_of(site: Site) -> WebhooksFile:
    return WebhooksFile(site.place.objects, "acme")


def add(site: Site, url: str, **settings: Any) -> tuple[Endpoint, str | None]:
    current = site.place.current()
    given: dict[str, Any] = {"form": "standard", "token": None, "apis": None, "langs": None, "reasons": None}
    return add_endpoint(
        webhooks_of(site),
        url,
        **{**given, **settings},
        current=current.version if current else None,
        allow_loopback=True,
        now=now_ms(),
    )


def change(site: Site, endpoint: Endpoint, **values: Any) -> None:
    change_endpoint(webhooks_of(site), endpoint.id, lambda one: replace(one, **values))


def point(site: Site) -> Point:
    current = site.place.current()
    assert current is not None
    return Point(current.version, current.activated_at)


def note(answer: Answer) -> str:
    found = answer.page.css_first("[role=status]")
    return "" if found is None else " ".join(found.text().split())


def test_without_webhooks_there_is_no_tab_but_a_page_that_tells_how(site: Site, browser: Browser) -> None:
    assert "Webhooks" not in browser.get("/console/acme").text
    page = browser.get(PAGE)
    assert "cms webhook add https://site.example/hooks/content -w acme" in page.text
    add(site, "https://hooks.example/path")
    assert "Webhooks" in browser.get("/console/acme").text


def test_a_test_event_is_sent_from_the_page(site: Site, hooked: Receiver, browser: Browser) -> None:
    endpoint, secret = add(site, hooked.url())
    page = browser.post(f"{PAGE}/{endpoint.id}/test")
    assert page.status == 200
    assert note(page).startswith("The receiver accepted a test event: 200, in ")
    assert hooked.received[-1].json["type"] == "webhook.test"
    hooked.reply = lambda _: Reply(418)
    assert "did not accept a test event: it answered 418" in note(browser.post(f"{PAGE}/{endpoint.id}/test"))
    assert str(secret) not in page.body.decode()


def test_a_receiver_that_hangs_holds_up_no_other_page(site: Site, hooked: Receiver, browser: Browser) -> None:
    endpoint, _ = add(site, hooked.url())
    hooked.reply = lambda _: Reply(wait=60)
    trials = [Thread(target=browser.post, args=(f"{PAGE}/{endpoint.id}/test",), daemon=True) for _ in range(3)]
    for trial in trials:
        trial.start()
    eventually(lambda: len(hooked.received) == 3)
    assert browser.get(PAGE).status == 200  # which would wait for 15 s behind them
    assert all(trial.is_alive() for trial in trials)
    hooked.stopping.set()
    for trial in trials:
        trial.join()
    hooked.stopping.clear()


def test_the_last_event_is_sent_again_from_the_page(site: Site, hooked: Receiver, browser: Browser) -> None:
    endpoint, _ = add(site, hooked.url())
    assert "Send the last event again" not in browser.get(f"{PAGE}/{endpoint.id}").text
    refused = browser.post(f"{PAGE}/{endpoint.id}/replay")
    assert refused.status == 409
    assert "No event has been sent yet" in refused.text
    site.publish(f"told {time.time()}")
    [first] = hooked.wait_for(1)
    eventually(lambda: webhooks_of(site).read()[0].attempts)
    shown = browser.get(f"{PAGE}/{endpoint.id}")
    [row] = shown.page.css("tbody tr")
    assert row.css_first(".badge").text() == "200"
    assert "s" in row.css("td")[-1].text()  # how long it took
    assert str(point(site).version) in shown.text
    answer = browser.follow(browser.post(f"{PAGE}/{endpoint.id}/replay"))
    assert "sends the event within a few seconds" in note(answer)
    second = hooked.wait_for(2)[1]
    assert second.json["data"] == first.json["data"]
    log = AuditLog(site.place.objects, "acme")
    said = log.entries(log.months()[0])[0].sentence
    assert said.startswith(f"Had its last event sent again to the webhook {endpoint.id}")


def test_it_is_disabled_and_enabled_and_told_what_it_missed(site: Site, hooked: Receiver, browser: Browser) -> None:
    endpoint, _ = add(site, hooked.url())
    assert "is disabled" in note(browser.follow(browser.post(f"{PAGE}/{endpoint.id}/state", {"to": "disabled"})))
    assert "Nothing, while it is disabled" in browser.get(PAGE).text
    time.sleep(1.2)  # the server looks at webhooks once a second
    version = site.publish(f"missed {time.time()}")
    assert "is enabled" in note(browser.follow(browser.post(f"{PAGE}/{endpoint.id}/state", {"to": "enabled"})))
    assert hooked.wait_for(1)[0].json["data"]["snapshot"].startswith(version)


def test_what_is_due_next(site: Site, browser: Browser) -> None:
    """Of receivers that the server cannot reach, in every state."""

    def shown(endpoint: Endpoint, **values: Any) -> str:
        change(site, endpoint, **values)
        return " ".join(browser.get(f"{PAGE}/{endpoint.id}").page.css_first("dl").text(separator=" ").split())

    endpoint, _ = add(site, "https://receiver.invalid/", reasons=frozenset({Reason.FLIP}), langs=frozenset({"en"}))
    here = point(site)
    change(site, endpoint, cursor=here)
    assert "all APIs in en (flip only)" in browser.get(PAGE).text
    assert "Nothing is due until somebody publishes" in shown(endpoint, cursor=Point(here.version, now_ms()))
    later = now_ms() + 3_600_000
    failed = Attempt(now_ms(), here, here, 0, None, "its name cannot be resolved", 1234)
    text = shown(endpoint, pending=Pending(here, now_ms(), 3, later), attempts=(failed,))
    assert "Try 4 of 10: " in text
    page = browser.get(f"{PAGE}/{endpoint.id}")
    assert "no answer its name cannot be resolved" in page.text
    assert "1.23 s" in page.text
    assert "Try again now" in page.text
    for state, words in (
        (EndpointState.GONE, "the receiver answered 410"),
        (EndpointState.GIVEN_UP, "the server gave up after 10 failed tries"),
    ):
        assert words in shown(endpoint, stopped=Stop(state, now_ms()))


def test_the_next_change_on_schedule_stands_there(site: Site, browser: Browser) -> None:
    content = site.source / "content" / "posts.jsonl"
    before = content.read_text()
    line = '{"id": "later", "status": "scheduled", "publishStart": "2031-05-06T07:08:00+09:00", "title": "Later"}\n'
    try:
        site.publish("with a schedule")
        content.write_text(content.read_text() + line)
        from snapshots.build.build import build

        build(site.source, site.store, now=now_ms())
        endpoint, _ = add(site, "https://receiver.invalid/")
        assert "The next change on schedule: 2031-05-06 07:08" in browser.get(f"{PAGE}/{endpoint.id}").text
    finally:
        content.write_text(before)
        site.publish("without")


def test_an_editor_sees_how_it_goes_and_can_press_nothing(site: Site, editor: Browser) -> None:
    endpoint, secret = add(site, "https://hooks.example/services/T0KEN-in-the-path")
    here = point(site)
    change(site, endpoint, attempts=(Attempt(now_ms(), here, here, 0, None, "10.1.2.3 is no public address", 5),))
    for path in (PAGE, f"{PAGE}/{endpoint.id}"):
        page = editor.get(path)
        assert page.status == 200
        assert "hooks.example" in page.text
        for hidden in ("T0KEN", str(secret), "10.1.2.3", '<button class="secondary"'):
            assert hidden not in page.body.decode(), path
    (before,) = webhooks_of(site).read()
    for action in ("state", "replay", "test"):
        assert editor.post(f"{PAGE}/{endpoint.id}/{action}", {"to": "disabled"}).status == 403
    (after,) = webhooks_of(site).read()
    # The server itself may have something to tell meanwhile: another test has just published.
    assert replace(after, cursor=before.cursor, pending=before.pending, attempts=before.attempts) == before
    log = AuditLog(site.place.objects, "acme")
    assert [one.sentence for month in log.months() for one in log.entries(month) if endpoint.id in one.sentence] == []


def test_urls_and_answers_are_text(site: Site, browser: Browser) -> None:
    endpoint, secret = add(site, HOSTILE.split("?", maxsplit=1)[0].replace("<", "%3C").replace(">", "%3E"))
    here = point(site)
    tried = Attempt(now_ms(), here, here, 0, 500, "<img src=x onerror=alert(1)> & more", 5)
    change(site, endpoint, url=HOSTILE, attempts=(tried,))  # as somebody who can write the file would
    for path in (PAGE, f"{PAGE}/{endpoint.id}"):
        page = browser.get(path)
        assert page.status == 200
        assert not page.page.css("main script, main img")
        assert "default-src 'none'" in (page.header("content-security-policy") or "")
        assert str(secret) not in page.body.decode()
    assert "<img src=x onerror=alert(1)> & more" in browser.get(f"{PAGE}/{endpoint.id}").text


def test_wrong_addresses_and_other_sites(site: Site, server: Running, browser: Browser) -> None:
    endpoint, _ = add(site, "https://hooks.example/")
    for name in ("wh_none", endpoint.id[:6], "..%2Fx", "%00"):
        assert browser.get(f"{PAGE}/{name}").status == 404, name
        assert browser.post(f"{PAGE}/{name}/state", {"to": "disabled"}).status == 404, name
    for action in ("state", "replay", "test"):
        path = f"{PAGE}/{endpoint.id}/{action}"
        looked = browser.get(path)
        assert (looked.status, looked.header("allow")) == (405, "POST")
        assert "Go to the console" in looked.text
        assert browser.post(path, {"to": "disabled"}, {"Sec-Fetch-Site": "cross-site"}).status == 403
        assert Browser(server).post(path, {"to": "disabled"}).status == 303  # to the sign-in page
    assert webhooks_of(site).read()[0].stopped is None


def test_a_damaged_file_is_told_and_other_pages_go_on(site: Site, browser: Browser) -> None:
    file = site.place.directory / WEBHOOKS
    try:
        file.write_text("{")
        assert browser.get(PAGE).status == 503
        assert "Webhooks" in browser.get("/console/acme").text
    finally:
        file.unlink()

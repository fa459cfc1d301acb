"""The tab *API keys*, sentence by sentence of the contract (2.7, 3.2, 5.7, 5.9, 5.11, 6.2)."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from engine.access.audit.log import AuditLog, Author, Entry, Via
from engine.access.expiry.letter import edit_url
from engine.access.keys.access import KeyChange, delete_key, disable_key, edit_key, issue_key
from engine.access.keys.keys import Key, key_hash, local_date
from engine.access.keys.last_use import LastUse
from snapshots.store.locations import open_objects
from snapshots.times import now_ms
from tests.server.console.browsing import KEYS, MAINTAINER, Answer, Browser, site_with_members
from tests.sites.served_site import Running, Site, eventually

TOKYO = ZoneInfo("Asia/Tokyo")
DAY = 86_400_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return site_with_members(tmp_path_factory.mktemp("console"))


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, MAINTAINER)
    return browser


@pytest.fixture(autouse=True)
def no_keys(site: Site) -> None:
    access = site.access.read()
    for key in access.keys if access else ():
        delete_key(site.access, key.prefix)


def today() -> date:
    return local_date(now_ms(), TOKYO)


def keys(site: Site) -> tuple[Key, ...]:
    access = site.access.read()
    return access.keys if access else ()


def issue(browser: Browser, **fields: Any) -> Answer:
    """Fill in the form for a new key and send it."""
    form = browser.get(f"{KEYS}/new").page
    number = form.css_first("input[name=id]").attributes["value"]
    return browser.post(f"{KEYS}/issue", {"id": number, "name": "Web", "scope": "all", "validity": "90d", **fields})


def shown_key(answer: Answer) -> str:
    return str(answer.page.css_first("#key").attributes["value"])


def test_there_are_none_at_first(browser: Browser) -> None:
    assert "No API keys yet" in browser.get(KEYS).text


def test_a_new_key_works_and_is_shown_this_once(site: Site, browser: Browser) -> None:
    answer = issue(browser)
    assert answer.status == 200
    text = shown_key(answer)
    [key] = keys(site)
    assert key.hash == key_hash(text.encode())
    assert key.period.start == today()
    assert key.period.end == today() + timedelta(days=90)
    eventually(lambda: browser.server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 200)
    for page in (KEYS, f"{KEYS}/{key.id}/validity", f"{KEYS}/{key.id}/delete", "/console/acme/settings/audit-log"):
        assert text.encode() not in browser.get(page).body
        assert key.hash.encode() not in browser.get(page).body
    assert f"{key.prefix}…" in browser.get(KEYS).text


def test_the_dialog_has_no_way_out_but_having_copied(browser: Browser) -> None:
    page = issue(browser).page
    assert page.css_first("header") is None  # nothing to go to
    assert page.css("dialog[open] a") == []
    [box] = page.css("dialog form input")
    assert {"type": "checkbox", "required": None}.items() <= box.attributes.items()


def test_ninety_days_is_chosen_of_five_choices(browser: Browser) -> None:
    form = browser.get(f"{KEYS}/new").page
    labels = [" ".join(one.parent.text().split()) for one in form.css("input[name=validity]")]  # type: ignore[union-attr]
    assert labels == ["30 days", "90 days", "1 year", "No expiry", "Custom period"]
    [chosen] = form.css("input[name=validity][checked]")
    assert chosen.attributes["value"] == "90d"


@pytest.mark.parametrize(
    ("fields", "days"),
    [
        ({"validity": "30d"}, (0, 30)),
        ({"validity": "90d"}, (0, 90)),
        ({"validity": "none"}, (0, None)),
        ({"validity": "custom", "start": 0, "end": 0}, (0, 0)),
        ({"validity": "custom", "start": 5, "end": 8}, (5, 8)),
    ],
    ids=str,
)
def test_each_choice(site: Site, browser: Browser, fields: dict[str, Any], days: tuple[int, int | None]) -> None:
    first, last = days
    sent = {
        name: str(today() + timedelta(value)) if isinstance(value, int) else value for name, value in fields.items()
    }
    assert issue(browser, **sent).status == 200
    [key] = keys(site)
    assert key.period.start == today() + timedelta(first)
    assert key.period.end == (None if last is None else today() + timedelta(last))


def test_a_year(site: Site, browser: Browser) -> None:
    issue(browser, validity="1y")
    [key] = keys(site)
    assert key.period.end is not None
    assert 365 <= (key.period.end - today()).days <= 366


REFUSED = [
    ({"name": " "}, "A key needs a name."),
    ({"name": "x" * 101}, "The name has 101 characters"),
    ({"name": "a\nb"}, "line break"),
    ({"scope": "selected"}, "at least one API"),
    ({"scope": "selected", "api": "nothing"}, 'has no API "nothing"'),
    ({"validity": "custom", "start": "", "end": ""}, "needs a start date and an end date"),
    ({"validity": "custom", "start": "2026-02-30", "end": "2026-03-01"}, '"2026-02-30" is not a date'),
    ({"validity": "custom", "start": "2020-01-01", "end": "2020-02-01"}, "is already past"),
    ({"validity": "custom", "start": "2026-01-02", "end": "2050-01-01"}, "more than 5 years from today"),
    ({"validity": "keep"}, "Choose how long"),
    ({"validity": ""}, "Choose how long"),
    ({"rate_limit": "many"}, "is not a number of requests"),
    ({"rate_limit": "0"}, "is not possible"),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED, ids=str)
def test_what_cannot_be_issued_is_marked_and_kept(
    site: Site, browser: Browser, fields: dict[str, str], message: str
) -> None:
    answer = issue(browser, **{"name": "Kept", **fields})
    assert answer.status == 422
    page = answer.page
    assert message in " ".join(one.text() for one in page.css(".wrong"))
    for wrong in page.css("[aria-invalid]"):
        described = wrong.attributes["aria-describedby"]
        assert page.css_first(f"#{described}") is not None
    assert page.css_first("#name").attributes["value"] == fields.get("name", "Kept").replace("\n", " ") or "\n" in str(
        fields.get("name")
    )
    assert keys(site) == ()


def test_the_same_form_sent_twice_issues_one_key(site: Site, browser: Browser) -> None:
    fields = {"id": "key_0123456789ab", "name": "Once", "scope": "all", "validity": "90d"}
    assert browser.post(f"{KEYS}/issue", fields).status == 200
    again = browser.follow(browser.post(f"{KEYS}/issue", fields))
    assert "“Once” was issued when the form was sent first" in again.text
    assert len(keys(site)) == 1
    assert browser.post(f"{KEYS}/issue", {**fields, "id": "../x"}).status == 400


def key_with(site: Site, first: int | None, last: int | None, **settings: Any) -> Key:
    """A key whose days are counted from today, one that is over too."""
    begun = now_ms() + (first or 0) * DAY
    key, _ = issue_key(
        site.access,
        name=settings.pop("name", "Key"),
        scope=None,
        now=min(begun, now_ms()),
        zone=TOKYO,
        validity="none" if last is None else None,
        start=today() + timedelta(first or 0),
        end=None if last is None else today() + timedelta(last),
    )
    return key


def test_the_labels_are_those_of_the_contract(site: Site, browser: Browser) -> None:
    expected = []
    for name, (first, last, label) in {
        "A": (3, 5, f"From {today() + timedelta(3)}"),
        "B": (0, None, "No expiry"),
        "C": (0, 8, f"Until {today() + timedelta(8)}"),
        "D": (0, 7, "7 days left"),
        "E": (0, 1, "1 days left"),
        "F": (0, 0, "Expires today"),
        "G": (-9, -1, "Expired"),
    }.items():
        key_with(site, first, last, name=name)
        expected.append((name, label))
    disable_key(site.access, key_with(site, 0, None, name="H").prefix)
    expected.append(("H", "Disabled"))
    rows = browser.get(KEYS).page.css("tbody tr")
    found = [(row.css_first("th").text().strip(), row.css_first(".badge").text()) for row in rows]
    assert found == expected[::-1]


def test_a_row_shows_all_attributes_and_offers_all_actions(site: Site, browser: Browser) -> None:
    text = shown_key(issue(browser, name="Shop", scope="selected", api="posts"))
    uses = LastUse(site.store.root)
    uses.note("acme", keys(site)[0].id, 1_790_000_000_000)
    uses.write()
    [row] = browser.get(KEYS).page.css("tbody tr")
    cells = {td.attributes.get("data-label"): " ".join(td.text().split()) for td in row.css("td")}
    assert cells["Access"] == "posts"
    assert cells["Created"] == str(today())
    assert cells["Last used"] == "2026-09-21 23:13"
    assert cells["Validity"] == f"Until {today() + timedelta(90)}"
    edit, delete = (one.attributes["href"] for one in row.css("td a"))
    assert edit == f"{KEYS}/{keys(site)[0].id}/validity"
    assert delete == f"{KEYS}/{keys(site)[0].id}/delete"
    assert row.css_first("button").attributes["data-copy"] == text[:11]


def test_do_not_change_leaves_the_period_and_all_else_can_change(site: Site, browser: Browser) -> None:
    key = key_with(site, -9, -1)
    form = browser.get(f"{KEYS}/{key.id}/validity").page
    choices = [" ".join(one.parent.text().split()) for one in form.css("input[name=validity]")]  # type: ignore[union-attr]
    assert choices == ["Do not change", "30 days", "90 days", "1 year", "No expiry", "Custom period"]
    [chosen] = form.css("input[name=validity][checked]")
    assert chosen.attributes["value"] == "keep"
    fields = {"name": "Renamed", "scope": "selected", "api": ["posts", "site"], "validity": "keep", "rate_limit": "7"}
    answer = browser.follow(browser.post(f"{KEYS}/{key.id}/save", fields))
    assert "“Renamed” is saved. Its end date is past" in answer.text
    [after] = keys(site)
    assert (after.period, after.hash) == (key.period, key.hash)
    assert (after.name, after.rate_limit) == ("Renamed", 7)
    assert after.scope == {"api_posts0000001", "api_site00000001"}


def test_a_new_period_makes_an_expired_key_valid_with_the_same_value(site: Site, browser: Browser) -> None:
    key, text = issue_key(
        site.access, name="Old", scope=None, now=now_ms() - 40 * DAY, zone=TOKYO, validity="30d", rate_limit=1000
    )
    eventually(lambda: "expired" in browser.server.get("/v1/acme/posts", headers={"X-API-KEY": text}).body.decode())
    assert "there is nothing to change in applications" in browser.get(f"{KEYS}/{key.id}/validity").text
    fields = {"name": "Old", "scope": "all", "validity": "90d"}
    assert "is saved" in browser.follow(browser.post(f"{KEYS}/{key.id}/save", fields)).text
    eventually(lambda: browser.server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 200)


def test_disabling_and_enabling(site: Site, browser: Browser) -> None:
    text = shown_key(issue(browser))
    [key] = keys(site)
    eventually(lambda: browser.server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 200)
    assert "is disabled" in browser.follow(browser.post(f"{KEYS}/{key.id}/state", {"to": "disabled"})).text
    eventually(lambda: browser.server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 401)
    assert "is enabled" in browser.follow(browser.post(f"{KEYS}/{key.id}/state", {"to": "enabled"})).text
    eventually(lambda: browser.server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 200)


def test_deleting_asks_first_and_explains_a_rotation(site: Site, browser: Browser) -> None:
    text = shown_key(issue(browser))
    [key] = keys(site)
    asked = browser.get(f"{KEYS}/{key.id}/delete")
    steps = [" ".join(one.text().split()) for one in asked.page.css("ol li")]
    assert steps == [
        "Issue a new key in this workspace.",
        "Set it in every environment.",
        "Deploy again, and check that everything works.",
        "Then delete this one.",
    ]
    assert "leaked, delete it first" in asked.text
    assert browser.post(f"{KEYS}/{key.id}/delete").status == 200  # asks again
    assert keys(site) == (key,)
    answer = browser.follow(browser.post(f"{KEYS}/{key.id}/delete", {"confirmed": "1"}))
    assert "The key is deleted" in answer.text
    assert keys(site) == ()
    eventually(lambda: browser.server.get("/v1/acme/posts", headers={"X-API-KEY": text}).status == 401)


def test_the_letter_s_link_opens_the_form_or_says_that_the_key_is_gone(site: Site, browser: Browser) -> None:
    key = key_with(site, 0, 7)
    workspace = site.place.manifest(site.place.current().version).workspace  # type: ignore[union-attr]
    there = msgspec.structs.replace(workspace, dashboard_url=f"http://{browser.server.host}/console")
    link = edit_url(there, key)
    assert link is not None
    path = link.removeprefix(f"http://{browser.server.host}")
    assert browser.get(path).page.css_first("fieldset#validity") is not None
    delete_key(site.access, key.prefix)
    gone = browser.get(path)
    assert gone.status == 404
    assert "This API key was deleted" in gone.text
    for action in ("save", "state"):
        answer = browser.post(f"{KEYS}/{key.id}/{action}", {"name": "x", "scope": "all", "validity": "keep"})
        assert "This API key was deleted" in answer.text


def test_a_key_called_as_another_s_prefix_is_not_in_its_way(site: Site, browser: Browser) -> None:
    key = key_with(site, 0, None)
    edit_key(site.access, key_with(site, 0, None).prefix, KeyChange(name=key.prefix), now=now_ms(), zone=TOKYO)
    browser.post(f"{KEYS}/{key.id}/delete", {"confirmed": "1"})
    assert [one.name for one in keys(site)] == [key.prefix]


def test_names_are_text(site: Site, browser: Browser) -> None:
    nasty = """"><script>alert(1)</script><img src=x onerror=alert(1)> ' {{ 7*7 }}"""
    key = key_with(site, 0, None, name=nasty)
    for path in ("", f"/{key.id}/validity", f"/{key.id}/delete"):
        page = browser.get(f"{KEYS}{path}").page
        assert len(page.css("script")) == 1
        assert page.css("img") == []
        assert nasty in page.css_first("main").text(separator="") or nasty in str(
            page.css_first("#name").attributes["value"]
        )
    answer = issue(browser, name=nasty)
    assert len(answer.page.css("script")) == 1
    assert nasty in answer.page.css_first("label").text()


def log_entries(site: Site) -> list[Entry]:
    log = AuditLog(open_objects(site.store.root), "acme")
    return [entry for month in log.months() for entry in log.entries(month)]


def test_every_change_is_in_the_audit_log(site: Site, browser: Browser) -> None:
    before = len(log_entries(site))
    issue(browser, name="Logged")
    [key] = keys(site)
    browser.post(f"{KEYS}/{key.id}/save", {"name": "Noted", "scope": "selected", "api": "posts", "validity": "none"})
    browser.post(f"{KEYS}/{key.id}/state", {"to": "disabled"})
    browser.post(f"{KEYS}/{key.id}/state", {"to": "enabled"})
    browser.post(f"{KEYS}/{key.id}/delete", {"confirmed": "1"})
    entries = log_entries(site)
    found = entries[: len(entries) - before][::-1]
    assert [one.action for one in found] == ["key_issued", "key_changed", "key_disabled", "key_enabled", "key_deleted"]
    maintainer = Author(MAINTAINER, "maintainer", Via.CONSOLE)
    assert {(one.author, one.failure) for one in found} == {(maintainer, None)}
    assert found[1].sentence == (
        f"Changed the key “Logged” ({key.prefix}): called “Noted” now; for posts; valid from {today()} without end."
    )
    page = browser.get("/console/acme/settings/audit-log")
    for one in found:
        assert one.sentence in page.text


def test_no_change_is_made_that_cannot_be_logged(site: Site, browser: Browser, tmp_path: Path) -> None:
    path = site.place.directory / "audit"
    path.mkdir(exist_ok=True)
    path.rename(tmp_path / "aside")
    path.touch()
    try:
        answer = issue(browser, name="Unlogged")
        assert answer.status == 503
        assert str(site.place.directory) not in answer.body.decode()
        assert keys(site) == ()
    finally:
        path.unlink()
        (tmp_path / "aside").rename(path)

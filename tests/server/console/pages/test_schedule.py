"""The tab *Schedule*: a month in the workspace's time zone, by API and language, and as a calendar file."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from server.console.pages.schedule import MOST
from snapshots.times import now_ms
from tests.server.console.browsing import EDITOR, Answer, Browser, site_with_members
from tests.sites.served_site import Running, Site

SCHEDULE = "/console/acme/schedule"
TOKYO = ZoneInfo("Asia/Tokyo")
TOMORROW = datetime.fromtimestamp(now_ms() // 1000, TOKYO).replace(hour=9, minute=30, second=0) + timedelta(days=1)
ENTRIES = {
    # The first instant of a month in Tokyo, the last of the month before in UTC.
    "midnight": "title: At midnight\nstatus: scheduled\npublishStart: 2040-02-01T00:00:00+09:00",
    "leap": "title: 'A, long; title \\ with ☃ '\npublishStart: 2040-02-29T23:59:59+09:00\npublishEnd: 2040-03-05",
    "past": "title: Gone\npublishStart: 2020-05-01\npublishEnd: 2020-05-02T12:00:00+09:00",
    "soon": f"title: Tomorrow\nstatus: scheduled\npublishStart: {TOMORROW.isoformat()}",
    "draft": "title: Draft\nstatus: draft\npublishStart: 2040-02-02",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = site_with_members(tmp_path_factory.mktemp("console"))
    (site.source / "workspace.yaml").write_text(
        (site.source / "workspace.yaml").read_text().replace("languages: [en]", "languages: [en, de]")
    )
    posts = site.source / "apis" / "posts.yaml"
    posts.write_text(posts.read_text().replace("kind: list\n", "kind: list\nmultilingual: true\n"))
    folder = site.source / "content" / "posts"
    folder.mkdir()
    for name, text in ENTRIES.items():
        (folder / f"{name}.yaml").write_text(f"{text}\ncreatedAt: 2020-01-01\n")
    (folder / "midnight.de.yaml").write_text("title: Auf Deutsch\npublishStart: 2040-02-03\ncreatedAt: 2020-01-01\n")
    (site.source / "apis" / "pages.yaml").write_text(
        "uid: api_pages0000001\nname: Pages\nendpoint: pages\nkind: list\nfields:\n  - {id: title, type: text}\n"
    )
    never = '{"id": "never", "status": "scheduled", "publishStart": "9999-12-31T20:00:00Z"}\n'
    many = [f'{{"id": "p{number}", "status": "scheduled", "publishStart": "2050-01-01"}}\n' for number in range(MOST)]
    (site.source / "content" / "pages.jsonl").write_text(never + "".join(many))
    (folder / "here.yaml").write_text("title: Here\ncreatedAt: 2020-01-01\n")
    (folder / "here.de.yaml").write_text("title: Hier\npublishStart: 2040-04-01\ncreatedAt: 2020-01-01\n")
    site.publish("one")
    return site


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, EDITOR)
    return browser


def flips(answer: Answer) -> dict[str, list[str]]:
    return {
        section.css_first("h2").text(): [
            " ".join(item.text(separator=" ").split()).replace(" ,", ",") for item in section.css("li")
        ]
        for section in answer.page.css("section")
    }


def test_one_with_only_a_browser_sees_what_goes_live_tomorrow(browser: Browser) -> None:
    answer = browser.get(f"{SCHEDULE}?month={TOMORROW:%Y-%m}")
    [shown] = [items for title, items in flips(answer).items() if f" {TOMORROW.day} " in title]
    assert shown == ["09:30 Tomorrow Posts, en goes live"]
    assert f"day-{TOMORROW:%Y-%m-%d}" in str(answer.page.css_first(".month a").attributes["href"])


def test_a_month_is_that_of_the_time_zone(browser: Browser) -> None:
    answer = browser.get(f"{SCHEDULE}?month=2040-02")
    assert flips(answer) == {
        "Wed 1 February 2040": ["00:00 At midnight Posts, en goes live"],
        "Fri 3 February 2040": ["00:00 Auf Deutsch Posts, de goes live"],
        "Wed 29 February 2040": ["23:59:59 A, long; title \\ with ☃ Posts, en goes live"],
    }
    assert len(answer.page.css("td:not(.outside)")) == 29
    assert flips(browser.get(f"{SCHEDULE}?month=2040-01")) == {}
    march = browser.get(f"{SCHEDULE}?month=2040-03")
    assert flips(march) == {"Mon 5 March 2040": ["00:00 A, long; title \\ with ☃ Posts, en ends"]}


def test_past_flips_are_told_as_past(browser: Browser) -> None:
    assert flips(browser.get(f"{SCHEDULE}?month=2020-05")) == {
        "Fri 1 May 2020": ["00:00 Gone Posts, en went live"],
        "Sat 2 May 2020": ["12:00 Gone Posts, en ended"],
    }


def test_an_empty_month_says_so_and_where_the_next_is(browser: Browser) -> None:
    answer = browser.get(f"{SCHEDULE}?month=2039-01")
    assert "Nothing goes live or ends this month" in answer.text
    assert "The next one after this month is on 2040-02-01 00:00" in answer.text
    assert [one.text() for one in answer.page.css("nav.pager a")] == ["December 2038", "Today", "February 2039"]


def test_by_api_and_language(browser: Browser) -> None:
    german = browser.get(f"{SCHEDULE}?month=2040-02&lang=de&api=posts")
    assert list(flips(german)) == ["Fri 3 February 2040"]
    assert flips(browser.get(f"{SCHEDULE}?month=2040-02&api=site")) == {}
    everything = browser.get(f"{SCHEDULE}?month=2040-02")
    for unknown in ("api=%3Cscript%3E", "lang=xx"):  # the fields say "all"
        assert flips(browser.get(f"{SCHEDULE}?month=2040-02&{unknown}")) == flips(everything)


def test_a_flip_leads_to_what_goes_live(browser: Browser) -> None:
    """In its own language, though the entry is live in another by then, and as of the flip."""
    answer = browser.get(f"{SCHEDULE}?month=2040-04")
    [link] = answer.page.css(".flips a")
    assert link.text() == "Hier"
    page = browser.get(str(link.attributes["href"]))
    assert "As of 2040-04-01 00:00 (Asia/Tokyo)" in page.text
    assert "State live Language de" in page.text
    [other] = browser.get("/console/acme").page.css(".flips a")[-1:]
    assert browser.get(str(other.attributes["href"])).status == 200


def test_a_month_that_no_page_can_show(browser: Browser) -> None:
    """The evening of that day in UTC is in the year 10000 in Tokyo."""
    answer = browser.get(f"{SCHEDULE}?month=2051-01&api=pages")
    assert answer.status == 200
    assert "The next one after this month is on 9999-12-31 20:00" in answer.text
    for month in ("9998-12", "0002-01"):
        links = browser.get(f"{SCHEDULE}?month={month}").page.css("nav.pager a")
        assert len(links) == 2, "no link to a month that would not be shown"


@pytest.mark.parametrize("month", ["", "2040-13", "0000-01", "9999-12", "x", "2040-1", "-1"])
def test_no_month_is_this_month(browser: Browser, month: str) -> None:
    now = datetime.fromtimestamp(now_ms() // 1000, TOKYO)
    assert f"{now:%B %Y}" in browser.get(f"{SCHEDULE}?month={month}").text


def test_the_calendar_file(browser: Browser) -> None:
    answer = browser.get(f"{SCHEDULE}.ics?api=posts")
    assert answer.header("content-type") == "text/calendar; charset=utf-8"
    assert answer.header("content-disposition") == 'attachment; filename="acme-schedule.ics"'
    assert all(len(line) <= 75 for line in answer.body.split(b"\r\n"))
    lines = answer.body.replace(b"\r\n ", b"").decode().split("\r\n")
    assert (lines[0], lines[-2], lines[-1]) == ("BEGIN:VCALENDAR", "END:VCALENDAR", "")
    summaries = [line.removeprefix("SUMMARY:") for line in lines if line.startswith("SUMMARY:")]
    assert summaries == [
        "Tomorrow goes live",
        "At midnight goes live",
        "Auf Deutsch goes live",
        "A\\, long\\; title \\\\ with ☃ goes live",
        "A\\, long\\; title \\\\ with ☃ ends",
        "Hier goes live",
    ]
    starts = [line for line in lines if line.startswith("DTSTART:")]
    assert starts[1] == "DTSTART:20400131T150000Z"
    assert len({line for line in lines if line.startswith("UID:")}) == 6
    german = browser.get(f"{SCHEDULE}.ics?lang=de").body
    assert german.count(b"BEGIN:VEVENT") == 2
    everything = browser.get(f"{SCHEDULE}.ics?api=pages").body
    assert everything.count(b"BEGIN:VEVENT") == MOST + 1, "more than a page lists"

"""The tab *Views*: what was viewed, by day, week and month, and as CSV files that no program runs."""

from __future__ import annotations

import csv
import io
from datetime import date

import duckdb
import pytest

from engine.views.collecting.spool import VIEWS, SpoolWriter, View
from engine.views.collecting.targets import Kind, day_of, jst_day
from engine.views.gathering.writer import ViewWriter
from snapshots.times import now_ms
from tests.server.console.browsing import EDITOR, Browser, site_with_members
from tests.sites.served_site import Running, Site

PAGE = "/console/acme/views"
DAY = 86_400_000
NOW = now_ms()
VIEWED = [("post-1", Kind.ENTRY, 0, 3), ("post-2", Kind.ENTRY, 1, 1), ("post-1", Kind.ENTRY, 40, 5)]
VIEWED += [("/a", Kind.PATH, 0, 2), ("/<script>alert(1)</script>", Kind.PATH, 2, 1), ("/old", Kind.PATH, 200, 4)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    site = site_with_members(tmp_path_factory.mktemp("console"))
    site.publish("=HYPERLINK(1)")
    views = site.place.directory / VIEWS
    spool = SpoolWriter(views, NOW)
    for key, kind, age, count in VIEWED:
        for _ in range(count):
            spool.append(View(NOW - age * DAY, kind, key, "www.acme.example" if kind is Kind.ENTRY else "acme.example"))
    spool.close()
    ViewWriter(views).round(NOW, 0.0, flush=True)
    return site


@pytest.fixture
def browser(site: Site, server: Running) -> Browser:
    browser = Browser(server)
    browser.sign_in(site.store.root, EDITOR)
    return browser


def table(browser: Browser, name: str, query: str = "") -> list[list[str]]:
    answer = browser.get(f"{PAGE}/{name}.csv{query}")
    assert answer.status == 200
    assert answer.header("content-type") == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(answer.body.decode())))


def test_days_weeks_and_months(browser: Browser) -> None:
    today = day_of(jst_day(NOW))
    days = table(browser, "by-time", "?days=30&by=day")
    assert days[0] == ["day from", "entry views", "path views"]
    assert len(days) == 31
    assert days[-1] == [str(today), "3", "2"]
    assert days[-3][2] == "1"
    for unit in ("week", "month"):
        rows = table(browser, "by-time", f"?days=365&by={unit}")[1:]
        assert sum(int(row[1]) for row in rows) == 9
        assert sum(int(row[2]) for row in rows) == 7
        begins = [date.fromisoformat(row[0]) for row in rows]
        assert all(one.weekday() == 0 if unit == "week" else one.day == 1 for one in begins)
        assert len(begins) in (range(52, 55) if unit == "week" else range(12, 14))


def test_what_was_viewed_most_with_titles(browser: Browser) -> None:
    assert table(browser, "entries") == [
        ["entry", "title", "views", "all time"],
        ["post-1", "'=HYPERLINK(1)", "3", "8"],  # a text, not a formula
        ["post-2", "'=HYPERLINK(1)", "1", "1"],
    ]
    assert table(browser, "paths", "?days=365")[1:] == [
        ["/old", "4", "4"],
        ["/a", "2", "2"],
        ["/<script>alert(1)</script>", "1", "1"],
    ]
    assert table(browser, "origins", "?days=90") == [
        ["host", "views"],
        ["www.acme.example", "9"],
        ["acme.example", "3"],
    ]


def test_the_page_has_the_numbers_of_its_chart(browser: Browser) -> None:
    answer = browser.get(f"{PAGE}?days=7")
    rows = answer.page.css("#by-time tbody tr")
    assert len(rows) == 7
    assert [cell.attributes["data-value"] for cell in rows[-1].css("td")] == ["3", "2"]
    totals = [" ".join(one.text(separator=" ").split()) for one in answer.page.css(".effect li")]
    assert totals == ["4 entry views", "3 path views"]
    assert "alert(1)" in answer.text
    assert all("src" in script.attributes for script in answer.page.css("script"))


@pytest.mark.parametrize("query", ["?days=x", "?days=0", "?days=99999999", "?by=second", "?days=30&by=%3Cb%3E"])
def test_what_is_no_period_is_a_month(browser: Browser, query: str) -> None:
    assert browser.get(f"{PAGE}{query}").page.css_first("option[selected]").text() == "30 days"


def test_while_the_file_is_written_the_rest_is_shown(site: Site, browser: Browser) -> None:
    with duckdb.connect(site.place.directory / VIEWS / "views.duckdb"):
        answer = browser.get(PAGE)
        assert answer.status == 200
        assert "being written. Reload" in answer.text
        assert browser.get(f"{PAGE}/origins.csv").status == 503
    assert "www.acme.example" in browser.get(PAGE).text


def test_before_the_first_view(site: Site, browser: Browser) -> None:
    views = site.place.directory / VIEWS
    aside = views.rename(views.with_name("aside"))
    try:
        assert "No page views yet" in browser.get(PAGE).text
        for name in ("by-time", "entries", "paths", "origins"):
            assert len(table(browser, name)) in (1, 31)
    finally:
        if views.exists():
            views.rename(views.with_name("made meanwhile"))
        aside.rename(views)

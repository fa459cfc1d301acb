"""The report: its numbers, its page in a browser, and texts from outside that must stay texts."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine.views.collecting.spool import SpoolWriter, View
from engine.views.collecting.targets import OTHERS, Kind, jst_day
from engine.views.gathering.writer import ViewWriter
from engine.views.reporting.charts import bars, unit
from engine.views.reporting.page import report_page
from engine.views.reporting.report import daily_counts, make_report
from tests.programs.accessibility import violations

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NOW = 1_763_700_000_000
DAY = 86_400_000
TODAY = jst_day(NOW)


def counted(directory: Path, *rows: tuple[Kind, str, int, int]) -> Path:
    """The views of a workspace: (kind, key, views, days ago)."""
    views = directory / "acme" / "views"
    spool = SpoolWriter(views, NOW)
    for kind, key, count, age in rows:
        spool.append(*[View(NOW - age * DAY, kind, key, "acme.example")] * count)
    spool.close()
    ViewWriter(views).round(NOW, 0)
    return views


def test_a_report_tells_a_period_and_the_one_before(tmp_path: Path) -> None:
    views = counted(
        tmp_path,
        (Kind.ENTRY, "one", 3, 0), (Kind.ENTRY, "one", 2, 6), (Kind.ENTRY, "one", 4, 7), (Kind.ENTRY, "one", 9, 14),
        (Kind.ENTRY, "two", 1, 1), (Kind.PATH, "/", 7, 2), (Kind.OTHER, OTHERS, 5, 1), (Kind.OTHER, OTHERS, 5, 8),
    )  # fmt: skip
    report = make_report(views, "Acme", TODAY - 6, TODAY, 10)
    entries = report.sections[Kind.ENTRY]
    assert entries.by_day == (2, 0, 0, 0, 0, 1, 3)
    assert (entries.views, entries.before) == (6, 4)
    assert [(one.key, one.views, one.before, one.total) for one in entries.ranked] == [
        ("one", 5, 4, 18),
        ("two", 1, 0, 1),
    ]
    assert (report.sections[Kind.PATH].views, report.others) == (7, 5)
    assert [tuple(row) for row in daily_counts(views, TODAY - 1, TODAY)] == [
        (TODAY - 1, Kind.ENTRY, "two", 1), (TODAY - 1, Kind.OTHER, OTHERS, 5), (TODAY, Kind.ENTRY, "one", 3),
    ]  # fmt: skip
    page = report_page(report)
    assert "<strong>6</strong> views, +50% compared with the 7 days before" in page
    assert "5 more views are of paths and entries beyond" in page


@pytest.mark.parametrize(
    ("days", "name"), [(1, "day"), (8, "day"), (92, "day"), (93, "week"), (728, "week"), (3650, "month")]
)
def test_the_bars_of_a_chart_add_up_to_its_days(days: int, name: str) -> None:
    by_day = [number % 5 for number in range(days)]
    drawn = bars(by_day, TODAY - days + 1)
    assert sum(bar.views for bar in drawn) == sum(by_day)
    assert len(drawn) <= 122
    assert unit(days) == name
    assert any(bar.label for bar in drawn)


def test_nothing_viewed_is_a_page_that_says_so(tmp_path: Path) -> None:
    page = report_page(make_report(tmp_path, "Acme", TODAY - 29, TODAY, 10))
    assert "Nothing was viewed in this time." in page
    assert list(daily_counts(tmp_path, TODAY - 29, TODAY)) == []


class Parsed(HTMLParser):
    """The elements and addresses of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.addresses: list[str | None] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src", "action", "data")]
        assert not any(name.startswith("on") for name, _ in attrs)


HOSTILE = '<script src="https://evil.example/x.js"></script>&quot;\'"><img src=x onerror=alert(1)>'


def test_texts_of_visitors_and_content_stay_texts(tmp_path: Path) -> None:
    views = counted(tmp_path, (Kind.PATH, f"/{HOSTILE}", 3, 0), (Kind.ENTRY, "one", 1, 0))
    page = report_page(make_report(views, HOSTILE, TODAY - 29, TODAY, 10, {"one": HOSTILE}))
    parsed = Parsed(page)
    assert not parsed.elements & {"script", "img", "iframe", "object"}
    assert parsed.addresses == ["data:,"]
    assert not re.search(r"url\(|@import", page)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.slow
def test_the_page_is_accessible_and_loads_nothing(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    rows = [(Kind.ENTRY, f"entry-{n}", 9 - n, age) for n in range(6) for age in range(0, 40, n + 1)]
    views = counted(tmp_path, *rows, (Kind.PATH, "/" + "very-long-" * 60, 4, 1), (Kind.PATH, "/", 12, 3))
    file = tmp_path / "views.html"
    file.write_text(report_page(make_report(views, "Acme & Söhne", TODAY - 29, TODAY, 10)), encoding="utf-8")
    asked: list[str] = []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 360, "height": 700})
            page.on("request", lambda request: asked.append(request.url))
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert violations(page) == []
            page.close()
        browser.close()
    assert {url.split(":")[0] for url in asked} <= {"file", "data"}

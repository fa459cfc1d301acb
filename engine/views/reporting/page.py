"""Write a report as one HTML page that needs no other file, no script and no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from engine.views.collecting.targets import Kind, day_of
from engine.views.counting.ranking import Ranked
from engine.views.reporting.charts import bars, chart_of_weekdays, chart_over_time, sparkline, unit
from engine.views.reporting.report import REPORTED, ReportSection, ViewsReport

_STYLE: Final = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
_NAMES: Final = {Kind.ENTRY: "Entries", Kind.PATH: "Paths"}
_NAMES_OF_ONE: Final = {Kind.ENTRY: "Entry", Kind.PATH: "Path"}
_LEAST_WEEKS: Final = 2
"""Weeks of a period from which on an average of each day of the week says something."""


def report_page(report: ViewsReport) -> str:
    """The page as text. Everything on it that comes from content or visitors is escaped."""
    days = report.until - report.since + 1
    sections = [_section(report, kind, report.sections[kind]) for kind in REPORTED]
    main = "".join(sections) or "<p>Nothing was viewed in this time.</p>\n"
    if report.others:
        main += (
            f"<p>{report.others:,} more views are of paths and entries beyond <code>views.max_keys</code>, which are "
            "counted together.</p>\n"
        )
    title = f"Page views of {report.workspace}"
    period = f"{_day(report.since)} to {_day(report.until)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}, {period}</title>\n"
        f'<link rel="icon" href="data:,">\n<style>\n{_STYLE}</style>\n</head>\n<body>\n'
        f"<header><h1>{escape(title)}</h1>\n<p>{period} · {_plural(days, 'day')}, as days are in Japan</p></header>\n"
        f"<main>\n{main}</main>\n</body>\n</html>\n"
    )


def _section(report: ViewsReport, kind: Kind, section: ReportSection) -> str:
    if not section.views:
        return ""
    days = len(section.by_day)
    over_time = bars(section.by_day, report.since)
    most = max(over_time, key=lambda bar: bar.views)
    said = f"{section.views:,} views in {_plural(days, 'day')}; most on {most.title}: {most.views:,}."
    weekend = "; Saturdays and Sundays are lighter" if any(bar.weekend for bar in over_time) else ""
    parts = [
        f"<section>\n<h2>{_NAMES[kind]}</h2>\n"
        f'<p class="sum"><strong>{section.views:,}</strong> views{_compared(section, days)}</p>\n'
        f"<figure>{chart_over_time(over_time, said)}\n"
        f"<figcaption>Views a {unit(days)}{weekend}</figcaption></figure>\n",
        _ranking(report, kind, section.ranked),
    ]
    if days >= 7 * _LEAST_WEEKS:
        parts.append(
            f"<figure>{chart_of_weekdays(section.by_day, report.since)}\n"
            "<figcaption>Views on an average day of the week</figcaption></figure>\n"
        )
    parts.append(_every_bar(unit(days), [(bar.title, bar.views) for bar in over_time]))
    return "".join(parts) + "</section>\n"


def _ranking(report: ViewsReport, kind: Kind, ranked: Sequence[Ranked]) -> str:
    rows = []
    for one in ranked:
        title = report.titles.get(one.key, "") if kind is Kind.ENTRY else ""
        named = f"{escape(title)} <code>{escape(one.key)}</code>" if title else f"<code>{escape(one.key)}</code>"
        rows.append(
            f'<tr><th scope="row">{named}</th><td class="number">{one.views:,}</td>'
            f'<td class="number">{_change(one.views, one.before)}</td><td class="number">{one.total:,}</td>'
            f"<td>{sparkline(one.by_day)}</td></tr>\n"
        )
    head = "".join(
        f'<th scope="col"{numbers}>{name}</th>'
        for name, numbers in (
            (_NAMES_OF_ONE[kind], ""),
            ("Views", ' class="number"'),
            ("Change", ' class="number"'),
            ("All time", ' class="number"'),
            ("Days", ""),
        )
    )
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Most viewed">'
        f"<table>\n<caption>Most viewed</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{''.join(rows)}</tbody>\n</table></div>\n"
    )


def _every_bar(name: str, counts: Sequence[tuple[str, int]]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(title)}</th><td class="number">{views:,}</td></tr>\n' for title, views in counts
    )
    head = f'<th scope="col">{name.capitalize()}</th><th scope="col" class="number">Views</th>'
    return (
        f"<details><summary>Every {name} as a number</summary>\n<table>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></details>\n"
    )


def _compared(section: ReportSection, days: int) -> str:
    if not section.before:
        return ""
    return f", {_change(section.views, section.before)} compared with the {_plural(days, 'day')} before"


def _change(now: int, before: int) -> str:
    """``+12%``; a word where there was nothing to compare with."""
    if not before:
        return "new"
    percent = round(100 * (now - before) / before)
    return f"{percent:+,}%".replace("-", "−") if percent else "±0%"


def _day(number: int) -> str:
    day = day_of(number)
    return f"{day.day} {day:%B %Y}"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

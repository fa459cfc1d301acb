"""Draw numbers as charts in SVG, which take their colours from the page around them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape
from typing import Final, NamedTuple

from engine.views.collecting.targets import day_of

WIDTH: Final = 720
_HEIGHT: Final = 180
_LEFT: Final = 46
_TOP: Final = 12
_BOTTOM: Final = 24
_MOST_DAYS: Final = 92
"""Days that have a bar each; a longer period has bars of weeks."""
_MOST_WEEKS: Final = 104
"""Weeks that have a bar each; a longer period has bars of months."""
_LABELLED_DAYS: Final = 8
"""Days that all have a text below their bars; in a longer period only Mondays have."""
_LABEL_WIDTH: Final = 44
_SPARK_WIDTH: Final = 120
_SPARK_HEIGHT: Final = 22
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Bar(NamedTuple):
    """One bar of a chart over time."""

    title: str
    """The days it stands for."""
    label: str
    """The text below it; empty for most."""
    views: int
    weekend: bool


def bars(by_day: Sequence[int], since: int) -> list[Bar]:
    """Join the views of each day, from the JST day ``since`` on, to bars of days, of weeks or of months."""
    days = [day_of(since + number) for number in range(len(by_day))]
    if len(days) <= _MOST_DAYS:
        few = len(days) <= _LABELLED_DAYS
        return [
            Bar(_long(day), _short(day) if few or day.weekday() == 0 else "", count, day.weekday() > 4)
            for day, count in zip(days, by_day, strict=True)
        ]
    by_week = len(days) <= 7 * _MOST_WEEKS
    found: list[Bar] = []
    last: tuple[int, int] | None = None
    for day, count in zip(days, by_day, strict=True):
        key = day.isocalendar()[:2] if by_week else (day.year, day.month)
        if key == last:
            found[-1] = found[-1]._replace(views=found[-1].views + count)
            continue
        last = key
        title = f"Week from {_long(day)}" if by_week else f"{day:%B %Y}"
        label = f"{day:%b %Y}" if (day.day <= 7 if by_week else day.month in (1, 7)) else ""
        found.append(Bar(title, label, count, weekend=False))
    return found


def unit(days: int) -> str:
    """Return the period of one bar in a chart of ``days`` days: ``day``, ``week`` or ``month``."""
    return "day" if days <= _MOST_DAYS else "week" if days <= 7 * _MOST_WEEKS else "month"


def chart_over_time(over_time: Sequence[Bar], described: str) -> str:
    """Return a chart of bars side by side, with a scale, as SVG. ``described`` is its text for screen readers."""
    top = _scale(max((bar.views for bar in over_time), default=0))
    room, height = WIDTH - _LEFT - 4, _HEIGHT - _TOP - _BOTTOM
    step = room / max(1, len(over_time))
    parts = [f'<svg viewBox="0 0 {WIDTH} {_HEIGHT}" role="img" aria-label="{escape(described, quote=True)}">']
    for share in (0.0, 0.5, 1.0):
        y = _TOP + height * (1 - share)
        value = top * share
        parts.append(f'<path class="rule" d="M{_LEFT} {y:g}H{WIDTH - 4}"/>')
        parts.append(f'<text class="scale" x="{_LEFT - 6}" y="{y + 4:g}">{value:,.0f}</text>')
    free_from = 0.0
    for number, bar in enumerate(over_time):
        x = _LEFT + number * step
        tall = height * bar.views / top
        shape = f'x="{x + step * 0.1:.2f}" y="{_TOP + height - tall:.2f}" width="{step * 0.8:.2f}" height="{tall:.2f}"'
        told = f"{escape(bar.title)}: {bar.views:,}"
        parts.append(f'<rect class="{"weekend" if bar.weekend else "bar"}" {shape}><title>{told}</title></rect>')
        if bar.label and free_from <= x <= WIDTH - _LABEL_WIDTH:
            parts.append(f'<text class="when" x="{x:.1f}" y="{_HEIGHT - 6}">{escape(bar.label)}</text>')
            free_from = x + _LABEL_WIDTH * (1.3 if len(bar.label) > 6 else 1.0)
    return "".join(parts) + "</svg>"


def chart_of_weekdays(by_day: Sequence[int], since: int) -> str:
    """The average of each day of the week, as lying bars."""
    sums, counted = [0] * 7, [0] * 7
    for number, count in enumerate(by_day):
        weekday = day_of(since + number).weekday()
        sums[weekday] += count
        counted[weekday] += 1
    averages = [total / number if number else 0.0 for total, number in zip(sums, counted, strict=True)]
    most = max(averages) or 1.0
    said = ", ".join(f"{name} {average:,.1f}" for name, average in zip(WEEKDAYS, averages, strict=True))
    parts = [f'<svg viewBox="0 0 {WIDTH} 168" role="img" aria-label="Average views by day of the week: {said}">']
    for number, (name, average) in enumerate(zip(WEEKDAYS, averages, strict=True)):
        y = number * 24
        width = (WIDTH - 170) * average / most
        parts.append(
            f'<text x="0" y="{y + 16}">{name}</text>'
            f'<rect class="{"weekend" if number > 4 else "bar"}" x="90" y="{y + 4}" width="{width:.2f}" height="16"/>'
            f'<text x="{96 + width:.1f}" y="{y + 16}">{average:,.1f}</text>'
        )
    return "".join(parts) + "</svg>"


def sparkline(by_day: Sequence[int]) -> str:
    """A line so small that it fits into a table; the numbers beside it say the rest."""
    most = max(by_day, default=0) or 1
    step = _SPARK_WIDTH / max(1, len(by_day) - 1)
    points = " ".join(
        f"{number * step:.1f},{_SPARK_HEIGHT - 2 - (_SPARK_HEIGHT - 4) * count / most:.1f}"
        for number, count in enumerate(by_day)
    )
    size = f'width="{_SPARK_WIDTH}" height="{_SPARK_HEIGHT}" viewBox="0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}"'
    return f'<svg class="spark" {size} aria-hidden="true"><polyline points="{points}"/></svg>'


def _scale(most: int) -> int:
    """The top of a scale: the first of 2, 4, 6, 10, 20, 40, … that is high enough; its half is a round number too."""
    power = 1
    while True:
        for first in (2, 4, 6, 10):
            if first * power >= most:
                return first * power
        power *= 10


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _long(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"

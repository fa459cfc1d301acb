"""The result of the last build, as a section of the pages of ``cms dev``."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from zoneinfo import ZoneInfo

from server.dev.builds import Built
from server.dev.layout import local
from snapshots.problems import Problem
from snapshots.times import format_datetime

PROBLEMS_SHOWN = 100


def build_status(built: Built, zone: ZoneInfo) -> Iterator[str]:
    """The section with the result of the last build and its problems."""
    if not built.serial:
        yield '<section aria-label="Last build"><p class="status">Building for the first time …</p></section>\n'
        return
    problems = built.problems
    yield '<section id="built" aria-label="Last build">\n'
    when = f'<time datetime="{format_datetime(built.at)}">{local(built.at, zone)[11:]}</time>'
    if built.result is not None and built.failure is None:
        yield (
            f'<p class="status good"><strong>Built and served</strong> {when}, in {built.seconds:.2f} s: '
            f"{built.result.entries:,} entry versions.</p>\n"
        )
    else:
        keeps = "The last good version stays served." if built.version else "Nothing is served yet."
        yield f'<p class="status bad"><strong>Not built</strong> {when}. {keeps}</p>\n'
    if built.failure is not None:
        yield f'<p class="trouble">{escape(built.failure)}</p>\n'
    if problems.errors or problems.warnings:
        yield f'<details class="problems"{" open" if problems.errors else ""}><summary>'
        yield f"{_plural(problems.errors, 'error')}, {_plural(problems.warnings, 'warning')}</summary>\n<ul>\n"
        kept = sorted(problems.kept, key=lambda problem: problem.severity)
        yield from map(_problem, kept[:PROBLEMS_SHOWN])
        rest = problems.errors + problems.warnings - min(len(kept), PROBLEMS_SHOWN)
        yield f"{f'<li>… and {rest:,} more</li>' if rest else ''}</ul></details>\n"
    if built.breaking:
        yield '<details class="problems" open><summary>'
        yield f"{_plural(len(built.breaking), 'change')} would break clients of what was published</summary>\n<ul>\n"
        for change, file, line in built.breaking:
            yield _located(file, line, "breaking", str(change))
        yield "</ul></details>\n"
    yield "</section>\n"


def _problem(problem: Problem) -> str:
    return _located(problem.file, problem.line, problem.severity, problem.message)


def _located(file: str, line: int, label: str, message: str) -> str:
    return f'<li><code>{escape(file)}:{line}</code> <span class="badge {label}">{label}</span> {escape(message)}</li>\n'


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

"""A review for people at a terminal, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.changes.documents import endings_document
from cli.changes.schema import show_schema
from cli.output import lines
from cli.output.passages import print_passages
from cli.output.problems import problem_lines
from cli.output.translations import language_documents, language_sentences
from cli.review.comment import Review, verdict
from snapshots.times import format_datetime

if TYPE_CHECKING:
    from cli.changes.report import Report


def print_review(review: Review) -> None:
    """Print a review on standard output."""
    lines.answer(f"Content of {review.workspace}", style="bold")
    stands_out, rest = verdict(review)
    lines.print_line((stands_out, "bold red"), (" " if stands_out and rest else "", ""), (rest, ""), stderr=False)
    if review.problems.errors or review.problems.warnings:
        lines.answer("")
        problem_lines(review.problems, stderr=False)
    if language_sentences(review.translations):
        lines.answer("")
        lines.answer("Translations", style="bold")
        for text in language_sentences(review.translations):
            lines.answer(f"  {text}")
    if review.report is None:
        return
    if review.report.changes.schema:
        lines.answer("")
        show_schema(review.report.changes.schema)
    for section in review.report.sections:
        lines.answer("")
        lines.answer(f"{section.title}: {section.counts}" if section.counts else section.title, style="bold")
        print_passages(section.passages)


def review_document(review: Review) -> dict[str, object]:
    """Return a review as ``--json`` prints it, but for the comment."""
    report = review.report
    changes = None if report is None else report.changes
    return {
        "workspace": review.workspace,
        "errors": review.problems.errors,
        "warnings": review.problems.warnings,
        "breaking": 0 if changes is None else changes.breaking,
        "entries": None
        if changes is None
        else {"added": changes.added, "changed": changes.changed, "removed": changes.removed},
        "languages": language_documents(review.translations),
        **endings_document(report),
        "instants": [] if report is None else _instants(report),
    }


def _instants(report: Report) -> list[dict[str, object]]:
    return [
        {
            "at": format_datetime(event.at),
            "live": event.live,
            "before": None if event.before is None else format_datetime(event.before),
            "launches": [launch for launch, at in report.launches.items() if at == event.at and event.live],
            "entries": [
                {"api": api, "id": entry, "title": doer.title, "languages": doer.languages}
                for (api, entry), doer in doers.items()
            ],
        }
        for event, doers in sorted(report.events.items(), key=lambda item: (item[0].at, item[0].live))
    ]

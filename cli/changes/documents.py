"""Renamed and removed entries, and what ends with them, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.changes.report import Report
from snapshots.problems import Problems

if TYPE_CHECKING:
    from snapshots.compare.endings import EndedReference


def endings_document(report: Report | None) -> dict[str, object]:
    """Return the renamed and the removed entries, with the addresses and references that end."""
    if report is None:
        return {"renamed": [], "removed": []}
    return {"renamed": _renamed(report), "removed": _removed(report)}


def _renamed(report: Report) -> list[dict[str, object]]:
    return [
        {
            "api": one.api,
            "from": one.before,
            "to": one.after,
            "languages": [lang for lang, draft in one.places if not draft],
            "drafts": [lang for lang, draft in one.places if draft],
            "exact": one.exact,
            **_endings(report, one.api, one.before, [lang for lang, draft in one.places if not draft]),
        }
        for one in report.changes.renames
    ]


def _removed(report: Report) -> list[dict[str, object]]:
    renamed = {(one.api, one.before) for one in report.renames}
    return [
        {
            "api": endpoint,
            "id": entry,
            "languages": [one.lang for one in versions if not one.draft],
            "drafts": [one.lang for one in versions if one.draft],
            **_endings(report, endpoint, entry, [one.lang for one in versions if not one.draft]),
        }
        for (endpoint, entry), versions in report.gone.items()
        if (endpoint, entry) not in renamed
    ]


def _endings(report: Report, endpoint: str, entry: str, languages: list[str]) -> dict[str, object]:
    return {
        "addresses": report.ended_addresses(endpoint, entry, languages),
        "references": [_reference(one) for one in report.ended.get((endpoint, entry), ())],
    }


def _reference(one: EndedReference) -> dict[str, object]:
    return {"api": one.api, "id": one.id, "lang": one.lang, "draft": one.draft, "field": one.field}


def page_urls(directory: Path | None) -> dict[str, str]:
    """Return the ``page_url`` of each API by endpoint, as the workspace in a directory defines them now."""
    if directory is None:
        return {}
    from snapshots.definitions.workspace import load_workspace

    definitions = load_workspace(directory, Problems())
    return {} if definitions is None else definitions.page_urls

"""The parts that the pages of ``cms dev`` share: the frame around a page, instants, states, the instant asked for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from html import escape
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import msgspec

from engine.drafts.listing import Draft
from engine.overview.entries import Listed, State
from snapshots.model import Api, Workspace
from snapshots.times import format_datetime, parse_datetime

ENTRY_PATH = "/_dev/entry"
NOTHING = '<span class="none">–</span>'


class Instant(msgspec.Struct, frozen=True):
    """The instant that a page shows the content at."""

    at: int
    """UTC milliseconds."""
    asked: str = ""
    """The instant as the page's address has it; empty for the present."""
    wrong: str | None = None
    """The reason why the instant asked for cannot be used, in which case ``at`` is the present."""

    @classmethod
    def read(cls, asked: str, zone: ZoneInfo, now: int) -> Instant:
        """A date-time as people or a browser write it, in the time zone ``zone`` where it has no offset."""
        if not asked:
            return cls(now)
        try:
            return cls(parse_datetime(asked, zone), asked)
        except ValueError as error:
            return cls(now, wrong=f"As of: {error}.")


def document(title: str, heading: str, below: str, serial: int, main: str) -> str:
    """Return a page. ``heading`` and ``main`` are HTML; ``title`` and the line ``below`` it are text."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · cms dev</title>\n"
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/_dev/dev.css">\n'
        '<script src="/_dev/dev.js" defer></script>\n</head>\n<body>\n'
        '<a class="skip" href="#entries">Skip to the content</a>\n'
        f"<header>{heading}<p>{escape(below)}</p></header>\n"
        f'<main data-build="{serial}">\n{main}</main>\n'
        '<p id="news" role="status" aria-live="polite"></p>\n</body>\n</html>\n'
    )


def as_of(instant: Instant, zone: ZoneInfo) -> str:
    """The field of a form that asks for an instant."""
    value = local(instant.at, zone).replace(" ", "T") if instant.asked else ""
    return (
        f'<label>As of <input type="datetime-local" step="any" name="at" value="{escape(value, quote=True)}" '
        f'aria-describedby="zone"></label><span id="zone" class="hint">{escape(str(zone))}; empty for now</span>\n'
    )


def instant_note(instant: Instant, zone: ZoneInfo, now_address: str) -> str:
    """A remark about the instant shown, where it is not the present."""
    if instant.wrong is not None:
        return f'<p class="trouble">{escape(instant.wrong)}</p>\n'
    if not instant.asked:
        return ""
    back = f'<a href="{escape(now_address, quote=True)}">Back to now</a>'
    return (
        f'<p class="status as-of">As of <strong>{time(instant.at, zone)}</strong> ({escape(str(zone))}). {back}</p>\n'
    )


def local(at: int, zone: ZoneInfo) -> str:
    """``2026-02-01 09:30``, with seconds where they are not zero; years that no calendar of a zone has stay UTC."""
    text = format_datetime(at)
    try:
        moment = datetime.fromisoformat(text).astimezone(zone)
    except (ValueError, OverflowError):
        return text[:16].replace("T", " ")
    return moment.isoformat(" ", "seconds" if moment.second else "minutes")[: 19 if moment.second else 16]


def time(at: int | None, zone: ZoneInfo) -> str:
    """An instant in a zone, or a dash."""
    return NOTHING if at is None else f'<time datetime="{format_datetime(at)}">{local(at, zone)}</time>'


def badge(state: State) -> str:
    return f'<span class="badge {state.value}">{state.value}</span>'


def entry_address(api: Api, version: Listed, at: str) -> str:
    """The address of the page that shows a version."""
    draft = {"draft": "1"} if version.state is State.DRAFT else {}
    return address(ENTRY_PATH, {"api": api.endpoint, "id": version.id, "lang": version.lang, **draft, "at": at})


def address(path: str, parameters: Mapping[str, str]) -> str:
    """A path with those parameters that have a value."""
    given = urlencode({name: value for name, value in parameters.items() if value})
    return f"{path}?{given}" if given else path


def open_links(workspace: Workspace, place: str, version: Listed, instant: Instant) -> str:
    """Links to a version: on the site, where the API has a ``preview_url``, and as programs get it.

    ``place`` is the path of the entry below the workspace. What programs get is of the present alone.
    """
    base = f"/_dev/v1/{workspace.id}/"
    named = escape(f"{version.id}, {version.lang}", quote=True)
    if version.state is State.DRAFT:
        return _draft_links(base, named, version.draft, workspace.main_language)
    if version.state is not State.LIVE or instant.asked:
        return ""
    lang = "" if version.lang == workspace.main_language else f"?lang={version.lang}"
    return f'<a href="{escape(base + place + lang, quote=True)}" aria-label="JSON of {named}">JSON</a>'


def _draft_links(base: str, named: str, draft: Draft | None, main_language: str) -> str:
    if draft is None or draft.key is None:
        return "no draft key yet"
    json = escape(base + draft.path(main_language), quote=True)
    links = f'<a href="{json}" aria-label="JSON of the draft of {named}">JSON</a>'
    page = draft.page()
    if page is not None:
        page = escape(page, quote=True)
        links = f'<a href="{page}" aria-label="Preview of {named} on the site">Preview</a> {links}'
    return links

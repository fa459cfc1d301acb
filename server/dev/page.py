"""The page of ``cms dev``: the last build and the entries of what is served → HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from html import escape
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from engine.overview.entries import STATES, EntryOverview, Listed, Page, State
from server.dev.builds import Built
from snapshots.model import Api, ApiKind, Workspace
from snapshots.problems import Problem
from snapshots.times import format_datetime

PER_PAGE = 50
PROBLEMS_SHOWN = 100
TITLE_LENGTH = 120


class Asked(msgspec.Struct, frozen=True):
    """What the page was asked to show."""

    api: str | None = None
    lang: str | None = None
    state: State | None = None
    text: str = ""
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, list[str]]) -> Asked:
        """The parameters of the page; what makes no sense is left out."""
        given = {name: values[-1] for name, values in query.items()}
        number = given.get("page", "")
        page = int(number) if re.fullmatch("[0-9]{1,6}", number) else 1
        state = given.get("state")
        return cls(
            api=given.get("api"),
            lang=given.get("lang"),
            state=State(state) if state in set(STATES) else None,
            text=given.get("id", ""),
            page=max(1, page),
        )

    def address(self) -> str:
        """The page's address that asks for this."""
        given = {"api": self.api, "lang": self.lang, "state": self.state, "id": self.text}
        values = {name: str(value) for name, value in given.items() if value}
        if self.page > 1:
            values["page"] = str(self.page)
        return f"/?{urlencode(values)}" if values else "/"


class Access(msgspec.Struct, frozen=True):
    """How clients ask for what the page shows."""

    address: str
    """The server's, such as ``http://127.0.0.1:8787``."""
    key: str


def render(
    built: Built,
    overview: EntryOverview | None,
    access: Access | None,
    asked: Asked,
    now: int,
    *,
    trouble: str | None = None,
) -> str:
    """The whole page. ``trouble`` is why the entries cannot be shown. Raises ``StoreError``."""
    name = overview.manifest.workspace.name if overview is not None else built.workspace or "cms dev"
    main = "".join(_main(built, overview, access, asked, now, trouble))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)} · cms dev</title>\n"
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/_dev/dev.css">\n'
        '<script src="/_dev/dev.js" defer></script>\n</head>\n<body>\n'
        '<a class="skip" href="#entries">Skip to the entries</a>\n'
        f"<header><h1>{escape(name)}</h1><p>as it would be published; only this machine sees this page</p></header>\n"
        f'<main data-build="{built.serial}">\n{main}</main>\n'
        '<p id="news" role="status" aria-live="polite"></p>\n</body>\n</html>\n'
    )


def _main(
    built: Built, overview: EntryOverview | None, access: Access | None, asked: Asked, now: int, trouble: str | None
) -> Iterator[str]:
    zone = ZoneInfo(overview.manifest.workspace.timezone) if overview is not None else ZoneInfo("UTC")
    yield from _status(built, zone)
    if trouble is not None:
        yield f'<p class="trouble">{escape(trouble)}</p>\n'
    if overview is None:
        return
    workspace = overview.manifest.workspace
    api = next((one for one in workspace.apis if one.endpoint == asked.api), None)
    if api is None:
        api = next(iter(workspace.apis), None)
    if api is None:
        return
    asked = replace(asked, api=api.endpoint, lang=asked.lang if asked.lang in workspace.languages_of(api) else None)
    yield from _apis(overview, api, now)
    yield from _entries(overview, api, asked, zone, now)
    if access is not None:
        yield from _requests(workspace, api, access)


def _status(built: Built, zone: ZoneInfo) -> Iterator[str]:
    if not built.serial:
        yield '<section aria-label="Last build"><p class="status">Building for the first time …</p></section>\n'
        return
    problems = built.problems
    yield '<section aria-label="Last build">\n'
    when = f"{_time(built.at, zone, seconds=True)}"
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


def _apis(overview: EntryOverview, shown: Api, now: int) -> Iterator[str]:
    heads = "".join(f'<th scope="col" class="number">{state.value}</th>' for state in STATES)
    yield (
        '<section aria-labelledby="apis-title">\n<h2 id="apis-title">APIs</h2>\n'
        f'<div class="scroll"><table class="apis"><thead><tr><th scope="col">API</th>{heads}</tr></thead><tbody>\n'
    )
    for api in overview.manifest.workspace.apis:
        counts = overview.counts(api, now)
        current = ' aria-current="true"' if api is shown else ""
        name = f'<a href="{_href(Asked(api=api.endpoint))}"{current}>{escape(api.name)}</a>'
        kind = "" if api.kind is ApiKind.LIST else ' <span class="kind">object</span>'
        yield f'<tr><th scope="row">{name} <code>{escape(api.endpoint)}</code>{kind}</th>'
        for state in STATES:
            number = f"{counts[state]:,}" if counts[state] else '<span class="none">0</span>'
            if counts[state]:
                number = f'<a href="{_href(Asked(api=api.endpoint, state=state))}">{number}</a>'
            yield f'<td class="number">{number}</td>'
        yield "</tr>\n"
    yield "</tbody></table></div>\n</section>\n"


def _entries(overview: EntryOverview, api: Api, asked: Asked, zone: ZoneInfo, now: int) -> Iterator[str]:
    found = _page_of(overview, api, asked, now)
    pages = max(1, -(-found.total // PER_PAGE))
    if asked.page > pages:
        asked = replace(asked, page=pages)
        found = _page_of(overview, api, asked, now)
    workspace = overview.manifest.workspace
    yield f'<section id="entries" aria-labelledby="entries-title">\n<h2 id="entries-title">{escape(api.name)}</h2>\n'
    yield from _form(workspace, api, asked)
    first = (asked.page - 1) * PER_PAGE
    shown = f"{first + 1:,} to {first + len(found.entries):,} of {found.total:,}" if found.total else "none"
    zone_name = escape(str(zone))
    yield (
        f'<div class="scroll"><table class="entries"><caption>Entry versions: {shown}, those changed last first. '
        f"Times are {zone_name}.</caption>\n<thead><tr>"
        '<th scope="col">Entry</th><th scope="col">State</th><th scope="col">Language</th>'
        '<th scope="col">Live from</th><th scope="col">Live until</th><th scope="col">Changed</th>'
        '<th scope="col">Open</th></tr></thead>\n<tbody>\n'
    )
    for entry in found.entries:
        yield _row(workspace, api, entry, zone)
    yield "</tbody></table></div>\n"
    if pages > 1:
        yield from _pager(asked, pages)
    yield "</section>\n"


def _page_of(overview: EntryOverview, api: Api, asked: Asked, now: int) -> Page:
    first = (asked.page - 1) * PER_PAGE
    return overview.page(api, now, lang=asked.lang, state=asked.state, text=asked.text, first=first, count=PER_PAGE)


def _form(workspace: Workspace, api: Api, asked: Asked) -> Iterator[str]:
    languages = workspace.languages_of(api)
    yield f'<form method="get" action="/"><input type="hidden" name="api" value="{escape(api.endpoint)}">\n'
    yield _select("state", "State", [state.value for state in STATES], asked.state)
    if len(languages) > 1:
        yield _select("lang", "Language", languages, asked.lang)
    yield f'<label>ID holds <input type="search" name="id" value="{escape(asked.text)}"></label>\n'
    yield "<button>Show</button></form>\n"


def _select(name: str, label: str, values: Iterable[str], chosen: str | None) -> str:
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(value)}</option>'
        for value in values
    )
    return f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select></label>\n'


def _row(workspace: Workspace, api: Api, entry: Listed, zone: ZoneInfo) -> str:
    title = " ".join((entry.title or "").split())
    title = f"{title[:TITLE_LENGTH]}…" if len(title) > TITLE_LENGTH else title
    lang = escape(entry.lang)
    cells = [
        f'<th scope="row"><span lang="{lang}">{escape(title or entry.id)}</span> <code>{escape(entry.id)}</code></th>',
        f'<td data-label="State"><span class="badge {entry.state.value}">{entry.state.value}</span></td>',
        f'<td data-label="Language">{lang}</td>',
        f'<td data-label="Live from">{_time(entry.live_from, zone)}</td>',
        f'<td data-label="Live until">{_time(entry.live_until, zone)}</td>',
        f'<td data-label="Changed">{_time(entry.updated_at, zone)}</td>',
        f'<td data-label="Open">{_links(workspace, api, entry)}</td>',
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


def _links(workspace: Workspace, api: Api, entry: Listed) -> str:
    base = f"/_dev/v1/{workspace.id}/"
    named = escape(f"{entry.id}, {entry.lang}", quote=True)
    if entry.state is State.DRAFT:
        if entry.draft is None or entry.draft.key is None:
            return "no draft key yet"
        address = escape(base + entry.draft.path(workspace.main_language), quote=True)
        return f'<a href="{address}" aria-label="Preview of {named}">Preview</a>'
    if entry.state is not State.LIVE:
        return '<span class="none">not served</span>'
    place = api.endpoint if api.kind is ApiKind.OBJECT else f"{api.endpoint}/{quote(entry.id)}"
    lang = "" if entry.lang == workspace.main_language else f"?lang={quote(entry.lang)}"
    return f'<a href="{escape(base + place + lang, quote=True)}" aria-label="JSON of {named}">JSON</a>'


def _pager(asked: Asked, pages: int) -> Iterator[str]:
    yield '<nav aria-label="Pages of entries" class="pager">'
    for label, number in (("First", 1), ("Previous", asked.page - 1), ("Next", asked.page + 1), ("Last", pages)):
        if 1 <= number <= pages and number != asked.page:
            yield f'<a href="{_href(replace(asked, page=number))}">{label}</a> '
        else:
            yield f'<span class="none">{label}</span> '
    yield f"<span>Page {asked.page:,} of {pages:,}</span></nav>\n"


def _requests(workspace: Workspace, api: Api, access: Access) -> Iterator[str]:
    base = f"/_dev/v1/{workspace.id}"
    yield (
        '<section aria-labelledby="requests-title">\n<h2 id="requests-title">Requests</h2>\n<p>Open '
        f'<a href="{base}/{escape(api.endpoint)}">what clients get of {escape(api.name)}</a>, '
        f'<a href="{base}/_schema">the definitions</a>, or <a href="/docs">the reference</a>. '
        "Everything under <code>/_dev/v1</code> is answered with the key of this session, which ends with it:</p>\n"
        f"<details><summary>Show the key</summary><pre>curl -g '{escape(access.address)}/v1/{workspace.id}/"
        f"{escape(api.endpoint)}' -H 'X-API-KEY: {escape(access.key)}'</pre></details>\n</section>\n"
    )


def _time(at: int | None, zone: ZoneInfo, *, seconds: bool = False) -> str:
    """An instant in a zone, or a dash; years that no calendar of it has stay as they are."""
    if at is None:
        return '<span class="none">–</span>'
    text = format_datetime(at)
    try:
        local = datetime.fromisoformat(text).astimezone(zone)
        shown = local.strftime("%H:%M:%S" if seconds else "%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        shown = text[:16].replace("T", " ")
    return f'<time datetime="{text}">{shown}</time>'


def _href(asked: Asked) -> str:
    return escape(asked.address(), quote=True)


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

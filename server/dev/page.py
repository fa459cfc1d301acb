"""The page of ``cms dev``: the last build and the entries of the version served → HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from engine.overview.entries import STATES, EntryOverview, Listed, Page, State
from server.dev.build_status import build_status
from server.dev.builds import Built
from server.dev.layout import (
    NOTHING,
    Instant,
    address,
    as_of,
    badge,
    document,
    entry_address,
    instant_note,
    open_links,
    time,
)
from snapshots.model import Api, ApiKind, Workspace

PER_PAGE = 50
TITLE_LENGTH = 120


class Asked(msgspec.Struct, frozen=True):
    """The choices in the page's address."""

    api: str | None = None
    lang: str | None = None
    state: State | None = None
    text: str = ""
    page: int = 1
    at: str = ""
    """The instant to show, as people write it; empty for the present."""

    @classmethod
    def read(cls, query: Mapping[str, list[str]]) -> Asked:
        """The parameters of the page; invalid ones are left out."""
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
            at=given.get("at", ""),
        )

    def address(self) -> str:
        """The page's address that asks for this."""
        page = str(self.page) if self.page > 1 else ""
        given = {"api": self.api, "lang": self.lang, "state": self.state, "id": self.text, "page": page, "at": self.at}
        return address("/", {name: value or "" for name, value in given.items()})


class Access(msgspec.Struct, frozen=True):
    """The request with which clients get what the page shows."""

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
    below = "as it would be published; only this machine sees this page"
    return document(name, f"<h1>{escape(name)}</h1>", below, built.serial, main)


def _main(
    built: Built, overview: EntryOverview | None, access: Access | None, asked: Asked, now: int, trouble: str | None
) -> Iterator[str]:
    zone = ZoneInfo(overview.manifest.workspace.timezone) if overview is not None else ZoneInfo("UTC")
    yield from build_status(built, zone)
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
    instant = Instant.read(asked.at, zone, now)
    lang = asked.lang if asked.lang in workspace.languages_of(api) else None
    asked = replace(asked, api=api.endpoint, lang=lang, at=instant.asked)
    yield instant_note(instant, zone, replace(asked, at="").address())
    yield from _apis(overview, api, instant)
    yield from _entries(overview, api, asked, zone, instant)
    if access is not None:
        yield from _requests(workspace, api, access)


def _apis(overview: EntryOverview, shown: Api, instant: Instant) -> Iterator[str]:
    heads = "".join(f'<th scope="col" class="number">{state.value}</th>' for state in STATES)
    yield (
        '<section aria-labelledby="apis-title">\n<h2 id="apis-title">APIs</h2>\n'
        f'<div class="scroll"><table class="apis"><thead><tr><th scope="col">API</th>{heads}</tr></thead><tbody>\n'
    )
    for api in overview.manifest.workspace.apis:
        counts = overview.counts(api, instant.at)
        current = ' aria-current="true"' if api is shown else ""
        name = f'<a href="{_href(Asked(api=api.endpoint, at=instant.asked))}"{current}>{escape(api.name)}</a>'
        kind = "" if api.kind is ApiKind.LIST else ' <span class="kind">object</span>'
        yield f'<tr><th scope="row">{name} <code>{escape(api.endpoint)}</code>{kind}</th>'
        for state in STATES:
            number = f"{counts[state]:,}" if counts[state] else '<span class="none">0</span>'
            if counts[state]:
                number = f'<a href="{_href(Asked(api=api.endpoint, state=state, at=instant.asked))}">{number}</a>'
            yield f'<td class="number">{number}</td>'
        yield "</tr>\n"
    yield "</tbody></table></div>\n</section>\n"


def _entries(overview: EntryOverview, api: Api, asked: Asked, zone: ZoneInfo, instant: Instant) -> Iterator[str]:
    found = _page_of(overview, api, asked, instant.at)
    pages = max(1, -(-found.total // PER_PAGE))
    if asked.page > pages:
        asked = replace(asked, page=pages)
        found = _page_of(overview, api, asked, instant.at)
    workspace = overview.manifest.workspace
    yield f'<section id="entries" aria-labelledby="entries-title">\n<h2 id="entries-title">{escape(api.name)}</h2>\n'
    yield from _form(workspace, api, asked, instant, zone)
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
        yield _row(workspace, api, entry, zone, instant)
    yield "</tbody></table></div>\n"
    if pages > 1:
        yield from _pager(asked, pages)
    yield "</section>\n"


def _page_of(overview: EntryOverview, api: Api, asked: Asked, now: int) -> Page:
    first = (asked.page - 1) * PER_PAGE
    return overview.page(api, now, lang=asked.lang, state=asked.state, text=asked.text, first=first, count=PER_PAGE)


def _form(workspace: Workspace, api: Api, asked: Asked, instant: Instant, zone: ZoneInfo) -> Iterator[str]:
    languages = workspace.languages_of(api)
    yield f'<form method="get" action="/"><input type="hidden" name="api" value="{escape(api.endpoint)}">\n'
    yield _select("state", "State", [state.value for state in STATES], asked.state)
    if len(languages) > 1:
        yield _select("lang", "Language", languages, asked.lang)
    yield f'<label>ID holds <input type="search" name="id" value="{escape(asked.text)}"></label>\n'
    yield as_of(instant, zone)
    yield "<button>Show</button></form>\n"


def _select(name: str, label: str, values: Iterable[str], chosen: str | None) -> str:
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(value)}</option>'
        for value in values
    )
    return f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select></label>\n'


def _row(workspace: Workspace, api: Api, entry: Listed, zone: ZoneInfo, instant: Instant) -> str:
    title = " ".join((entry.title or "").split())
    title = f"{title[:TITLE_LENGTH]}…" if len(title) > TITLE_LENGTH else title
    lang = escape(entry.lang)
    href = escape(entry_address(api, entry, instant.asked), quote=True)
    place = api.endpoint if api.kind is ApiKind.OBJECT else f"{api.endpoint}/{entry.id}"
    cells = [
        f'<th scope="row"><a href="{href}" lang="{lang}">{escape(title or entry.id)}</a> '
        f"<code>{escape(entry.id)}</code></th>",
        f'<td data-label="State">{badge(entry.state)}</td>',
        f'<td data-label="Language">{lang}</td>',
        f'<td data-label="Live from">{time(entry.live_from, zone)}</td>',
        f'<td data-label="Live until">{time(entry.live_until, zone)}</td>',
        f'<td data-label="Changed">{time(entry.updated_at, zone)}</td>',
        f'<td data-label="Open">{open_links(workspace, place, entry, instant) or NOTHING}</td>',
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


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


def _href(asked: Asked) -> str:
    return escape(asked.address(), quote=True)

"""One entry version → a page with its fields as people read them, at any instant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import urljoin, urlsplit
from zoneinfo import ZoneInfo

import msgspec

from engine.drafts.listing import preview_page
from engine.overview.entries import EntryOverview, Listed, State
from server.dev.build_status import build_status
from server.dev.builds import Built
from server.dev.layout import (
    ENTRY_PATH,
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
from snapshots.model import ARRAY_TYPES, IMAGE, REFERENCE_TYPES, Api, ApiKind, Field, FieldType, ValueKind
from snapshots.times import parse_datetime

_ORIGIN = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+")


class AskedEntry(msgspec.Struct, frozen=True):
    """The version that a page was asked to show."""

    api: str
    id: str
    lang: str
    draft: bool
    at: str

    @classmethod
    def read(cls, query: Mapping[str, list[str]]) -> AskedEntry:
        """The parameters of the page."""
        given = {name: values[-1] for name, values in query.items()}
        lang, at = given.get("lang", ""), given.get("at", "")
        return cls(given.get("api", ""), given.get("id", ""), lang, given.get("draft") == "1", at)


class EntryPage(msgspec.Struct, frozen=True):
    """A page, and the site on the web that its entry belongs to."""

    body: str
    found: bool
    site: str | None = None
    """The origin of the site, against which relative addresses in the content are read."""


def render_entry(built: Built, overview: EntryOverview | None, asked: AskedEntry, now: int, origin: str) -> EntryPage:
    """The page of a version, or one that says that there is none. Raises ``StoreError``.

    ``origin`` is that of ``cms dev`` itself, from which assets come.
    """
    workspace = overview.manifest.workspace if overview is not None else None
    api = workspace.api(asked.api) if workspace is not None else None
    if overview is None or workspace is None or api is None:
        return _nothing(built, "There is no such API.", "/", ZoneInfo("UTC"))
    zone = ZoneInfo(workspace.timezone)
    instant = Instant.read(asked.at, zone, now)
    versions = overview.versions(api, asked.id, instant.at)
    version = next((one for one in versions if (one.lang, one.state is State.DRAFT) == (asked.lang, asked.draft)), None)
    back = address("/", {"api": api.endpoint, "at": instant.asked})
    if version is None:
        return _nothing(built, "There is no such version.", back, zone)
    site = _site(api, version)
    title = " ".join((version.title or "").split()) or version.id
    shown = _Shown(overview, api, version, versions, instant, zone, site, origin)
    heading = f'<h1 lang="{escape(version.lang)}">{escape(title)}</h1>'
    main = "".join((*build_status(built, zone), *shown.parts(back)))
    body = document(title, heading, f"{api.name} · {workspace.name}", built.serial, main)
    return EntryPage(body, True, site)


def _nothing(built: Built, why: str, back: str, zone: ZoneInfo) -> EntryPage:
    status = "".join(build_status(built, zone))
    said = f'<p class="trouble" id="entries">{why} <a href="{escape(back, quote=True)}">All entries</a></p>\n'
    return EntryPage(document("Not there", "<h1>Not there</h1>", "", built.serial, status + said), False)


def _site(api: Api, version: Listed) -> str | None:
    page = preview_page(api, version.id, version.lang, "")
    if page is None:
        return None
    parts = urlsplit(page)
    origin = f"{parts.scheme}://{parts.netloc}"
    # It becomes part of a header.
    return origin if _ORIGIN.fullmatch(origin) else None


class _Shown(msgspec.Struct, frozen=True):
    """A version with everything that its page needs."""

    overview: EntryOverview
    api: Api
    version: Listed
    versions: tuple[Listed, ...]
    instant: Instant
    zone: ZoneInfo
    site: str | None
    origin: str

    @property
    def _assets(self) -> str:
        """The beginning of the addresses of the workspace's own assets."""
        return f"/assets/{self.overview.manifest.workspace.id}/"

    def parts(self, back: str) -> Iterator[str]:
        """The HTML of ``main``."""
        workspace, version = self.overview.manifest.workspace, self.version
        content = self.overview.content(self.api, version)
        link = f'<a href="{escape(back, quote=True)}">All of {escape(self.api.name)}</a>'
        yield f'<nav aria-label="All entries">{link}</nav>\n'
        yield instant_note(self.instant, self.zone, entry_address(self.api, version, ""))
        yield '<section aria-label="About this version">\n<dl class="facts">\n'
        place = self.api.endpoint if self.api.kind is ApiKind.OBJECT else f"{self.api.endpoint}/{version.id}"
        facts = [
            ("ID", f"<code>{escape(version.id)}</code>"),
            ("State", badge(version.state)),
            ("Language", escape(version.lang)),
            ("Live from", time(version.live_from, self.zone)),
            ("Live until", time(version.live_until, self.zone)),
            ("Published", time(content.published_at, self.zone)),
            ("Changed", time(version.updated_at, self.zone)),
            ("Created", time(content.created_at, self.zone)),
            ("Open", open_links(workspace, place, version, self.instant)),
        ]
        yield from (f"<div><dt>{name}</dt><dd>{value}</dd></div>\n" for name, value in facts if value)
        yield "</dl>\n"
        yield from self._other_versions()
        yield from self._form()
        yield '</section>\n<section id="entries" aria-label="Content">\n<dl class="fields">\n'
        yield from self._fields(self.api.fields, content.values)
        yield "</dl>\n"
        yield f'<p class="hint">Times are {escape(str(self.zone))}.</p>\n</section>\n'

    def _fields(self, fields: Iterable[Field], values: Mapping[str, Any]) -> Iterator[str]:
        """Fields and their values as the items of a list."""
        for field in fields:
            name = f"{escape(field.name)} <code>{escape(field.id)}</code>"
            yield f"<dt>{name}</dt>\n<dd>{self._value(field, values.get(field.id))}</dd>\n"

    def _other_versions(self) -> Iterator[str]:
        if len(self.versions) < 2:
            return
        yield '<nav aria-label="Versions of this entry"><ul class="versions">\n'
        for one in self.versions:
            current = ' aria-current="page"' if one == self.version else ""
            href = escape(entry_address(self.api, one, self.instant.asked), quote=True)
            yield f'<li><a href="{href}"{current}>{escape(one.lang)}</a> {badge(one.state)}</li>\n'
        yield "</ul></nav>\n"

    def _form(self) -> Iterator[str]:
        yield f'<form method="get" action="{ENTRY_PATH}">'
        kept = {"api": self.api.endpoint, "id": self.version.id, "lang": self.version.lang}
        if self.version.state is State.DRAFT:
            kept["draft"] = "1"
        for name, value in kept.items():
            yield f'<input type="hidden" name="{name}" value="{escape(value, quote=True)}">'
        yield f"\n{as_of(self.instant, self.zone)}<button>Show</button></form>\n"

    def _value(self, field: Field, value: Any) -> str:
        if field.lacks(value):
            return NOTHING
        many = value if field.type in ARRAY_TYPES else [value]
        if field.type in REFERENCE_TYPES:
            return self._references(field, many)
        return " ".join(self._one(field, one) for one in many)

    def _one(self, field: Field, value: Any) -> str:
        """One value of a field that refers to no entry."""
        facts = field.type.facts
        match facts.kind:
            case ValueKind.TEXT:
                if field.type is FieldType.RICHTEXT:
                    return self._rich_text(field, value)
                return f'<p class="text" lang="{escape(self.version.lang)}">{escape(value)}</p>'
            case ValueKind.RECORD:
                return self._image(value) if facts.record is IMAGE else self._link(value)
            case ValueKind.ENTRY:
                return self._references(field, [value])
            case ValueKind.INSTANT:
                return time(parse_datetime(value, self.zone), self.zone)
            case ValueKind.BOOLEAN:
                return "yes" if value else "no"
            case ValueKind.NUMBER:
                return json.dumps(value)
            case ValueKind.OPTION:
                return f'<span class="option">{escape(value)}</span>'
            case ValueKind.GROUP:
                kind = field.kind_of(value)
                name = f"<strong>{escape(kind.name)}</strong>\n" if kind.id else ""
                return f'{name}<dl class="fields">\n{"".join(self._fields(kind.fields, value))}</dl>\n'
            case ValueKind.JSON:
                return f'<pre class="text">{escape(json.dumps(value, ensure_ascii=False, indent=2))}</pre>'

    def _references(self, field: Field, named: list[Any]) -> str:
        """References, each an ID or, to one of several APIs, an API and an ID."""
        workspace = self.overview.manifest.workspace
        targets = [
            api for uid in field.target_uids if uid is not None and (api := workspace.api_by_uid(uid)) is not None
        ]
        pairs = [(one["api"], one["id"]) if isinstance(one, dict) else (None, one) for one in named]
        if not targets:
            return " ".join(f"<code>{escape(one)}</code>" for _, one in pairs)
        ids = [one for _, one in pairs]
        found = {api.endpoint: self.overview.referred(api, ids, self.version.lang, self.instant.at) for api in targets}
        items = []
        for endpoint, one in pairs:
            candidates = [api for api in targets if endpoint in (None, api.endpoint)]
            target = next((api for api in candidates if one in found[api.endpoint]), (candidates or targets)[0])
            version = found[target.endpoint].get(one) if candidates else None
            items.append(f"<li>{self._reference(target, one, version)}</li>")
        return f'<ul class="references">{"".join(items)}</ul>'

    def _reference(self, target: Api, entry: str, version: Listed | None) -> str:
        if version is None:
            return f'<code>{escape(entry)}</code> <span class="badge error">not there</span>'
        title = " ".join((version.title or "").split()) or entry
        href = escape(entry_address(target, version, self.instant.asked), quote=True)
        state = "" if version.state is State.LIVE else f" {badge(version.state)}"
        link = f'<a href="{href}" lang="{escape(version.lang)}">{escape(title)}</a>'
        return f"{link} <code>{escape(entry)}</code>{state}"

    def _rich_text(self, field: Field, html: str) -> str:
        html = html.replace(f'="{self._assets}', f'="{self.origin}{self._assets}')
        # No script runs in the frame. It has this site's origin, so that the style sheet and its height can be read.
        base = "" if self.site is None else f' href="{escape(self.site, quote=True)}/"'
        inside = (
            f'<!doctype html><html lang="{escape(self.version.lang)}"><head><meta charset="utf-8">'
            '<meta name="color-scheme" content="light dark"><title>Rich text</title>'
            f'<link rel="stylesheet" href="/_dev/rich.css"><base{base} target="_blank"></head>'
            f"<body>{html}</body></html>"
        )
        return (
            '<iframe class="rich" sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox" '
            f'title="{escape(field.name, quote=True)}" srcdoc="{escape(inside, quote=True)}"></iframe>'
        )

    def _image(self, image: dict[str, Any]) -> str:
        url = str(image["url"])
        width, height, alt = image.get("width"), image.get("height"), image.get("alt")
        size = f", {width} × {height}" if width and height else ""
        words = f", “{escape(alt)}”" if alt else ", without a text for those who do not see it"
        whole = self.origin + url if url.startswith(self._assets) else _web_address(url, self.site)
        if whole is None:
            return f"<figure><figcaption><code>{escape(url)}</code>{size}{words}</figcaption></figure>"
        href = escape(whole, quote=True)
        return (
            f'<figure><img src="{href}" alt="{escape(alt or "", quote=True)}" loading="lazy">'
            f'<figcaption><a href="{href}">{escape(url)}</a>{size}{words}</figcaption></figure>'
        )

    def _link(self, record: dict[str, Any]) -> str:
        """An address and what else is known of what is there."""
        url, *others = record.items()
        known = "".join(f", {escape(name)} {escape(str(value))}" for name, value in others if value is not None)
        whole = _web_address(str(url[1]), self.site)
        shown = escape(str(url[1]))
        link = f"<code>{shown}</code>" if whole is None else f'<a href="{escape(whole, quote=True)}">{shown}</a>'
        return f"{link}{known}"


def _web_address(url: str, site: str | None) -> str | None:
    """An address on the web, a relative one on the site; ``None`` where there is none."""
    try:
        whole = url if site is None else urljoin(f"{site}/", url)
        parts = urlsplit(whole)
    except ValueError:
        return None
    return whole if parts.scheme in ("http", "https") and parts.netloc else None

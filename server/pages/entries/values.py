"""Choose what a page shows of each field of a language version, for a template to write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit
from zoneinfo import ZoneInfo

import msgspec
from rich.filesize import decimal

from engine.access.drafts.draft import preview_page
from engine.read.all_versions.all_versions import AllVersions, Listed
from engine.timeline.states import State
from server.pages.entries.entry_links import EntryLinks
from server.pages.entries.listing import short_title
from snapshots.model import ARRAY_TYPES, FILE, IMAGE, REFERENCE_TYPES, Api, Field, FieldType, ValueKind
from snapshots.times import parse_datetime

_SRCSET: Final = re.compile(r' srcset="[^"]*"')
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+")


class ShownValue(msgspec.Struct, frozen=True):
    """One value: the members that its ``kind`` has are told by ``values.html``."""

    kind: str
    text: str = ""
    href: str | None = None
    note: str = ""
    state: State | None = None
    at: int | None = None
    lang: str = ""
    fields: tuple[ShownField, ...] = ()


class ShownField(msgspec.Struct, frozen=True):
    """A field and its values; none where it has no value."""

    id: str
    name: str
    values: tuple[ShownValue, ...]
    is_list: bool = False
    """Whether the values are the items of a list."""


class EntryValues(msgspec.Struct, frozen=True):
    """Makes what a page shows of a version's fields."""

    all_versions: AllVersions
    version: Listed
    at: int
    """The instant at which references lead somewhere, UTC milliseconds."""
    asked_at: str
    """The instant as written in the page's address."""
    zone: ZoneInfo
    site: str | None
    """The origin of the site on the web that the entry belongs to: relative addresses in it are read there."""
    assets: str
    """The whole address below which the server's own assets are, such as ``https://content.example``."""
    links: EntryLinks
    frame: Callable[[str, str, str | None], str]
    """Returns the page inside the frame that shows a rich text, given its language and the site."""

    def shown(self, fields: Iterable[Field], values: Mapping[str, Any]) -> tuple[ShownField, ...]:
        """Return what to show of fields. Raises ``SnapshotUnusable``."""
        return tuple(self._field(field, values.get(field.id)) for field in fields)

    def _field(self, field: Field, value: Any) -> ShownField:
        if field.lacks(value):
            return ShownField(field.id, field.name, ())
        many = value if field.type in ARRAY_TYPES else [value]
        if field.type in REFERENCE_TYPES:
            return ShownField(field.id, field.name, self._references(field, many), is_list=True)
        is_list = field.type.facts.kind is ValueKind.GROUP and field.type in ARRAY_TYPES
        return ShownField(field.id, field.name, tuple(self._one(field, one) for one in many), is_list)

    def _one(self, field: Field, value: Any) -> ShownValue:
        """One value of a field that refers to no entry."""
        facts, lang = field.type.facts, self.version.lang
        match facts.kind:
            case ValueKind.TEXT if field.type is FieldType.RICHTEXT:
                html = _SRCSET.sub(
                    lambda found: found[0].replace(f", {self._own}", f", {self.assets}{self._own}"), value
                )
                html = html.replace(f'="{self._own}', f'="{self.assets}{self._own}')
                return ShownValue("rich", self.frame(html, lang, self.site), note=field.name)
            case ValueKind.TEXT:
                return ShownValue("text", value, lang=lang)
            case ValueKind.RECORD:
                return self._image(value) if facts.record is IMAGE else self._link(value)
            case ValueKind.ENTRY:
                return self._references(field, [value])[0]
            case ValueKind.INSTANT:
                return ShownValue("instant", at=parse_datetime(value, self.zone))
            case ValueKind.BOOLEAN:
                return ShownValue("plain", "yes" if value else "no")
            case ValueKind.NUMBER:
                return ShownValue("plain", json.dumps(value))
            case ValueKind.OPTION:
                return ShownValue("option", value)
            case ValueKind.GROUP:
                kind = field.kind_of(value)
                return ShownValue("group", kind.name if kind.id else "", fields=self.shown(kind.fields, value))
            case ValueKind.JSON:
                return ShownValue("json", json.dumps(value, ensure_ascii=False, indent=2))

    def _references(self, field: Field, named: list[Any]) -> tuple[ShownValue, ...]:
        """References, each an ID or, to one of several APIs, an API and an ID."""
        workspace = self.all_versions.manifest.workspace
        found_apis = (workspace.api_by_uid(uid) for uid in field.target_uids if uid is not None)
        targets = [api for api in found_apis if api is not None]
        pairs = [(one["api"], one["id"]) if isinstance(one, dict) else (None, one) for one in named]
        if not targets:
            return tuple(ShownValue("code", one) for _, one in pairs)
        ids = [one for _, one in pairs]
        found = {api.endpoint: self.all_versions.referred(api, ids, self.version.lang, self.at) for api in targets}
        values = []
        for endpoint, one in pairs:
            candidates = [api for api in targets if endpoint in (None, api.endpoint)]
            target = next((api for api in candidates if one in found[api.endpoint]), (candidates or targets)[0])
            version = found[target.endpoint].get(one) if candidates else None
            values.append(self._reference(target, one, version))
        return tuple(values)

    def _reference(self, target: Api, entry: str, version: Listed | None) -> ShownValue:
        if version is None:
            return ShownValue("missing", entry)
        href = self.links.entry(target, version, self.asked_at)
        state = None if version.state is State.LIVE else version.state
        return ShownValue("reference", short_title(version), href, entry, state, lang=version.lang)

    @property
    def _own(self) -> str:
        """The beginning of the addresses of the workspace's own assets."""
        return f"/assets/{self.all_versions.manifest.workspace.id}/"

    def _image(self, image: dict[str, Any]) -> ShownValue:
        url, alt = str(image["url"]), image.get("alt")
        width, height = image.get("width"), image.get("height")
        size = f", {width} × {height}" if width and height else ""
        words = f", “{alt}”" if alt else ", without a text for those who do not see it"
        whole = f"{self.assets}{url}" if url.startswith(self._own) else _web_address(url, self.site)
        return ShownValue("image", url, whole, f"{size}{words}", lang=alt or "")

    def _link(self, record: dict[str, Any]) -> ShownValue:
        """An address and what else is known of what is there."""
        url, *others = record.items()
        units = {member.name: member.unit for member in FILE.members}
        known = "".join(
            f", {decimal(value) if units.get(name) == 'bytes' else f'{name} {value}'}"
            for name, value in others
            if value is not None
        )
        return ShownValue("link", str(url[1]), _web_address(str(url[1]), self.site), known)


def site_of(api: Api, version: Listed) -> str | None:
    """Return the origin of the site that an API's entries belong to, as its ``preview_url`` tells; ``None`` without."""
    page = preview_page(api, version.id, version.lang, "")
    if page is None:
        return None
    parts = urlsplit(page)
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin if _ORIGIN.fullmatch(origin) else None  # it becomes part of a header


def _web_address(url: str, site: str | None) -> str | None:
    """An address on the web, a relative one on the site; ``None`` where there is none."""
    try:
        whole = url if site is None else urljoin(f"{site}/", url)
        parts = urlsplit(whole)
    except ValueError:
        return None
    return whole if parts.scheme in ("http", "https") and parts.netloc else None

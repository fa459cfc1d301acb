"""Contentful: the JSON file of ``contentful space export``, with the assets that ``--download-assets`` put beside it.

It has each field in each locale, and of a published entry with changes only the changes. The file is gone through
several times, item by item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from snapshots.importers.export import Export
from snapshots.importers.kinds.contentful.fields import Model, Type, value_of
from snapshots.importers.losses import Unreadable
from snapshots.importers.model import Imported, ImportedVersion
from snapshots.importers.names import language
from snapshots.importers.reading.json_items import members
from snapshots.importers.reading.shapes import at, listed, mapping
from snapshots.model import Status


class _Locales(msgspec.Struct):
    default: str
    fallbacks: dict[str, str | None]

    def chain(self, code: str) -> Iterator[str]:
        """Return a locale and those whose values it shows where it has none of its own."""
        seen: set[str] = set()
        at: str | None = code
        while at is not None and at not in seen:
            yield at
            seen.add(at)
            at = self.fallbacks.get(at)


def read(export: Export) -> Imported:
    """Return the entries of a Contentful export."""
    if export.path.is_dir():
        raise Unreadable(f"{export.path} is a folder. Name the JSON file in it.")
    locales: dict[str, Mapping[str, Any]] = {}
    model = Model(export.losses)
    found = False
    for key, value in members(export.path):
        if not isinstance(value, Mapping):
            continue
        match key:
            case "locales":
                locales[str(value.get("code"))] = value
            case "contentTypes":
                model.note_type(value)
                found = True
            case "editorInterfaces":
                model.note_editor(value)
            case "entries":
                model.note_entry(value)
                found = True
            case "assets":
                model.note_asset(value)
    if not found:
        raise Unreadable(
            f"{export.path.name}: not an export of Contentful: it has neither 'contentTypes' nor 'entries'."
        )
    codes = {code: made for code in locales if (made := language(code)) is not None}
    default = next((code for code, one in locales.items() if one.get("default")), next(iter(codes), "en-US"))
    codes.setdefault(default, language(default) or "en")
    fallbacks = {code: str(one["fallbackCode"]) if one.get("fallbackCode") else None for code, one in locales.items()}
    spaces = _Locales(default, fallbacks)
    for asset in model.assets.values():
        asset.copied = lambda url, name, where: _copied(export, url, name, where)
    languages = list(dict.fromkeys([codes[default], *codes.values()]))
    plans = model.plans()
    return Imported(plans, _versions(export, model, spaces, codes), languages)


def _copied(export: Export, url: str, name: str, where: str) -> str:
    """Return the address of an asset: that of its copy where the export has the file, beside the JSON."""
    parts = urlsplit(url)
    folder = export.path.absolute().parent
    inside = parts.path.lstrip("/")
    sources = [folder / parts.netloc / path for path in (unquote(inside), inside)]
    return export.copies.address(sources, folder, name, url, where)


def _versions(export: Export, model: Model, locales: _Locales, codes: Mapping[str, str]) -> Iterator[ImportedVersion]:
    for key, entry in members(export.path):
        if key != "entries" or not isinstance(entry, Mapping):
            continue
        sys = mapping(entry.get("sys"))
        made = model.type_of(entry)
        where = f"entry {sys.get('id')}"
        if made is None or not sys.get("id"):
            export.losses.add(where, "an entry", "the export does not have its content type")
            continue
        if sys.get("archivedVersion") or sys.get("archivedAt"):
            export.losses.add(
                where, "an archived entry", "what is archived is not carried over", scope=made.plan.endpoint
            )
            continue
        tags = listed(at(entry, "metadata", "tags"))
        if tags:
            export.losses.add(
                where, "tags of an entry", "write them as a field", scope=made.plan.endpoint, count=len(tags)
            )
        yield from _of_entry(export, model, made, entry, sys, where, locales, codes)


def _of_entry(
    export: Export,
    model: Model,
    made: Type,
    entry: Mapping[str, Any],
    sys: Mapping[str, Any],
    where: str,
    locales: _Locales,
    codes: Mapping[str, str],
) -> Iterator[ImportedVersion]:
    fields = mapping(entry.get("fields"))
    status = _status(export, made, sys, where)
    present = {locales.default: None}
    for name, by_locale in fields.items():
        if made.is_localized(name):
            present |= dict.fromkeys(mapping(by_locale))
    for code in present:
        if code not in codes:
            export.losses.add(
                where, f"the locale {code[:60]!r}", "the export does not list it", scope=made.plan.endpoint
            )
            continue
        values: dict[str, Any] = {}
        for name, field in made.fields.items():
            by_locale = mapping(fields.get(name))
            own = next((one for one in (*locales.chain(code), locales.default) if one in by_locale), None)
            if not made.is_localized(name):
                own = locales.default if locales.default in by_locale else next(iter(by_locale), None)
            elif own == locales.default and own not in locales.chain(code):
                own = None  # a locale without a fallback shows nothing
            if own is not None:
                values |= value_of(field, by_locale[own], model, locales.default, f"{where}: {name} ({code})")
        for name in fields:
            if name not in made.fields and not made.is_omitted(name):
                export.losses.add(
                    where, f"the values of {name!r}", "the content type has no such field", scope=made.plan.endpoint
                )
        yield ImportedVersion(
            made.plan.endpoint,
            str(sys["id"]),
            values,
            lang=codes[code],
            status=status,
            created=sys.get("createdAt"),
            updated=sys.get("updatedAt"),
            published=(sys.get("firstPublishedAt") or sys.get("publishedAt")) if status is Status.PUBLISHED else None,
            where=where,
        )


def _status(export: Export, made: Type, sys: Mapping[str, Any], where: str) -> Status:
    """Return the status of an entry: that of one with changes is draft, since the export lacks what is published."""
    version, published = sys.get("version"), sys.get("publishedVersion")
    if "version" not in sys and sys.get("revision"):
        return Status.PUBLISHED  # an export of the delivery API, which has nothing else
    if not isinstance(published, int):
        return Status.DRAFT
    if isinstance(version, int) and version > published + 1:
        why = (
            "the export has its changes only, so it is a draft: publish or discard them and export again, or "
            "export with a delivery token"
        )
        export.losses.add(where, "the published state of an entry", why, scope=made.plan.endpoint)
        return Status.DRAFT
    return Status.PUBLISHED

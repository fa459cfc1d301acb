"""Strapi: what ``strapi export --no-encrypt`` writes, an archive or a folder, of version 4 or 5.

Schemas, entities and links are lines of JSON in files of their own. Components stand inside the entities; relations,
those of components too, and media are links between rows. In version 5 a document has a row for its draft and one for
what is published; in version 4 the locales of an entry are rows that are linked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from snapshots.importers.export import Export
from snapshots.importers.kinds.strapi.fields import Files, Model
from snapshots.importers.kinds.strapi.links import ExportLinks
from snapshots.importers.losses import Unreadable
from snapshots.importers.model import Imported, ImportedVersion
from snapshots.importers.names import language
from snapshots.importers.reading.archive import opened
from snapshots.importers.reading.json_items import lines
from snapshots.importers.reading.shapes import at, mapping, text
from snapshots.model import Status

_FOLDERS = frozenset({"schemas", "entities", "links", "configuration"})
_DEFAULT_LOCALE = "plugin_i18n_default_locale"
_FILE, _LOCALE = "plugin::upload.file", "plugin::i18n.locale"


class _Row(msgspec.Struct):
    """The facts about a row that other rows need."""

    document: str
    locale: str
    is_published: bool


class _Rows(msgspec.Struct):
    """The facts that the first reading of the entities gathers."""

    of_type: dict[str, dict[str, _Row]] = {}
    """The rows by type and number."""
    files: dict[str, Mapping[str, Any]] = {}
    locales: dict[str, None] = {}
    published: set[tuple[str, str, str]] = set()
    """(Type, document, locale) of rows that are published."""

    def document(self, kind: str, ref: str) -> str | None:
        row = self.of_type.get(kind, {}).get(ref)
        return None if row is None else row.document


def read(export: Export) -> Imported:
    """Return the content of a Strapi export."""
    if export.path.suffix == ".enc":
        raise Unreadable(f"{export.path.name} is encrypted. Export with `strapi export --no-encrypt`.")
    root = opened(export.path, export.work, lambda name: _is_wanted(name, export.copies.wanted))
    if not (root / "schemas").is_dir():
        raise Unreadable(f"{export.path.name}: not an export of Strapi: it has no folder 'schemas'.")
    schemas = {text(one.get("uid")): one for one in _lines(root, "schemas")}
    links = ExportLinks(schemas, _lines(root, "links"))
    rows = _first_reading(root, schemas, links)
    model = Model(schemas, links, Files(export, root, rows.files), rows.document, export.losses)
    default = export.language or _default_locale(root) or next(iter(rows.locales), None) or "en"
    languages = list(dict.fromkeys([default, *rows.locales]))

    def address(url: str) -> str | None:
        return model.files.address(urlsplit(url).path) if export.copies.wanted else None

    versions = _versions(root, model, rows, default, export)
    return Imported(model.plans(), versions, languages, address=address, has_empty_texts=True)


def _is_wanted(name: str, with_assets: bool) -> bool:
    folder, _, rest = name.partition("/")
    return (folder in _FOLDERS and name.endswith(".jsonl")) or (
        with_assets and name.startswith("assets/uploads/") and bool(rest)
    )


def _lines(root: Path, folder: str) -> Iterator[dict[str, Any]]:
    for path in sorted((root / folder).glob("*.jsonl")):
        for _, line in lines(path):
            yield line


def _default_locale(root: Path) -> str | None:
    for line in _lines(root, "configuration"):
        if at(line, "value", "key") == _DEFAULT_LOCALE:
            said = text(at(line, "value", "value"))
            try:
                said = text(json.loads(said))
            except ValueError:
                continue
            return language(said)
    return None


def _first_reading(root: Path, schemas: Mapping[str, Any], links: ExportLinks) -> _Rows:
    rows = _Rows()
    for line in _lines(root, "entities"):
        kind, number, data = text(line.get("type")), text(line.get("id")), mapping(line.get("data"))
        if kind == _FILE:
            rows.files[number] = data
        elif kind == _LOCALE:
            code = language(text(data.get("code")))
            rows.locales |= {code: None} if code else {}
        elif kind.startswith("api::") and kind in schemas and number:
            document = text(data.get("documentId")) or links.first_of_localizations(kind, number)
            row = _Row(document, text(data.get("locale")), _is_published(schemas[kind], data))
            rows.of_type.setdefault(kind, {})[number] = row
            if row.is_published:
                rows.published.add((kind, row.document, row.locale))
            if (code := language(row.locale)) is not None:
                rows.locales[code] = None
    return rows


def _is_published(schema: Any, data: Mapping[str, Any]) -> bool:
    said = at(schema, "options", "draftAndPublish")
    return said is False or (said is not True and "publishedAt" not in data) or bool(data.get("publishedAt"))


def _versions(root: Path, model: Model, rows: _Rows, default: str, export: Export) -> Iterator[ImportedVersion]:
    for line in _lines(root, "entities"):
        kind, number, data = text(line.get("type")), text(line.get("id")), mapping(line.get("data"))
        row = rows.of_type.get(kind, {}).get(number)
        if row is None:
            if kind.startswith("api::"):
                export.losses.add(f"{kind} {number}", "an entry", "the export does not have its schema")
            elif kind not in (_FILE, _LOCALE):
                why = "data of plugins and of Strapi itself is not content"
                export.losses.add(f"{kind} {number}", f"an entry of {kind[:60]}", why)
            continue
        made = model.type(kind)
        where = f"{kind} {number}"
        is_draft = not row.is_published and (kind, row.document, row.locale) in rows.published
        is_live = row.is_published or is_draft
        yield ImportedVersion(
            made.plan.endpoint,
            row.document,
            model.values(made, data, kind, number, where),
            lang=language(row.locale) or default,
            is_draft=is_draft,
            status=Status.PUBLISHED if is_live else Status.DRAFT,
            created=data.get("createdAt"),
            updated=data.get("updatedAt"),
            published=data.get("publishedAt"),
            where=where,
        )

"""Sanity: what ``sanity dataset export`` writes, an archive, the folder in it or its ``data.ndjson`` alone.

The schema is not in it: fields follow from the values, which are read once for that. Languages are those of documents
that a ``translation.metadata`` joins, and those inside of fields (``localeString``, ``internationalizedArrayString``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from snapshots.adoption.languages import is_language
from snapshots.importers.export import Export
from snapshots.importers.kinds.sanity.shapes import SchemaField, TypeShape, fields_of
from snapshots.importers.kinds.sanity.values import Values
from snapshots.importers.losses import Unreadable
from snapshots.importers.model import ApiPlan, Imported, ImportedVersion
from snapshots.importers.names import endpoints, language
from snapshots.importers.reading import json_items
from snapshots.importers.reading.archive import opened
from snapshots.importers.reading.json_items import lines
from snapshots.importers.reading.shapes import at, mapping, mappings, text
from snapshots.importers.writing.values import instant
from snapshots.model import Status

_DRAFT, _RELEASE = "drafts.", "versions."
_OLD_LANGUAGES = (
    re.compile(r"i18n\.(.+)\.([A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?)"),
    re.compile(r"(.+)__i18n_([A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?)"),
)
_NOT_CONTENT = ("sanity.", "system.", "translation.metadata", "assist.", "media.tag")
_LANGUAGE_KEYS = ("__i18n_lang", "_lang", "language", "lang")
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")


class _Documents(msgspec.Struct):
    """The facts about documents that the first reading gathers."""

    kinds: dict[str, str] = {}
    """The type of each document, by ID."""
    published: set[str] = set()
    entries: dict[str, tuple[str, str]] = {}
    """The ID of the entry and the language of each translated document, by the document's ID."""
    assets: dict[str, Mapping[str, Any]] = {}
    languages: dict[str, None] = {}
    """Languages inside of fields, and of documents."""


def read(export: Export) -> Imported:
    """Return the documents of a Sanity dataset."""
    data = _data_file(export)
    documents = _first_reading(data)
    if not documents.kinds and not documents.assets:
        raise Unreadable(f"{export.path.name}: not a dataset of Sanity: no line has an '_id' and a '_type'.")
    _join_translations(documents, export)
    names = endpoints(dict.fromkeys(documents.kinds.values()))
    shapes: dict[str, dict[str, TypeShape]] = {kind: {} for kind in names}
    for document in _contents(data, documents):
        for key, value in document.items():
            for one in _variants(value):
                shapes[document["_type"]].setdefault(key, TypeShape()).note(
                    one, lambda ref: documents.kinds.get(_plain(ref))
                )
    fields = {kind: fields_of(_own(shapes[kind]), names[kind], names, export.losses) for kind in names}
    plans = [ApiPlan(names[kind], kind, [one.plan for one in fields[kind].values()]) for kind in names]
    main = export.language or _main(documents)
    languages = list(dict.fromkeys([main, *documents.languages]))

    def target(ref: str) -> tuple[str, str] | None:
        plain = _plain(ref)
        kind = documents.kinds.get(plain)
        return None if kind is None else (names[kind], documents.entries.get(plain, (plain, ""))[0])

    documents.assets |= _assets_beside(data)
    values = Values(export, data.parent, documents.assets, target)
    return Imported(plans, _versions(data, documents, names, fields, values, main, export), languages)


def _data_file(export: Export) -> Path:
    if export.path.suffix in (".ndjson", ".jsonl"):
        return export.path
    root = opened(
        export.path,
        export.work,
        lambda name: (
            name.endswith((".ndjson", "assets.json"))
            or (export.copies.wanted and ("/images/" in name or "/files/" in name))
        ),
    )
    found = sorted([*root.glob("*.ndjson"), *root.glob("*/*.ndjson")])
    if not found:
        raise Unreadable(f"{export.path.name}: not an export of Sanity: it has no data.ndjson.")
    return found[0]


def _assets_beside(data: Path) -> dict[str, Mapping[str, Any]]:
    """Return what an export that is not raw says of its files, by kind and hash."""
    path = data.with_name("assets.json")
    found = mapping(json_items.document(path)) if path.is_file() else {}
    return {key: mapping(value) for key, value in found.items()}


def _plain(wanted: str) -> str:
    return wanted.removeprefix(_DRAFT)


def _first_reading(data: Path) -> _Documents:
    made = _Documents()
    for _, document in lines(data):
        wanted, kind = text(document.get("_id")), text(document.get("_type"))
        if not wanted or not kind or wanted.startswith(_RELEASE):
            continue
        if kind in ("sanity.imageAsset", "sanity.fileAsset"):
            made.assets[wanted] = document
        elif not kind.startswith(_NOT_CONTENT):
            made.kinds[_plain(wanted)] = kind
            made.published |= {wanted} if not wanted.startswith(_DRAFT) else set()
            made.languages |= dict.fromkeys(one for value in document.values() for one in _languages_in(value))
            old = next((match for one in _OLD_LANGUAGES if (match := one.fullmatch(_plain(wanted)))), None)
            if old is not None:
                made.entries[_plain(wanted)] = (old[1], old[2])
            elif (own := _own_language(document)) is not None:
                made.entries.setdefault(_plain(wanted), (_plain(wanted), own))
    for _, document in lines(data):
        if document.get("_type") == "translation.metadata" and not text(document.get("_id")).startswith(_DRAFT):
            found = [
                (text(at(one, "value", "_ref")), language(text(one.get("language")) or text(one.get("_key"))))
                for one in mappings(document.get("translations"))
            ]
            known = [(_plain(ref), code) for ref, code in found if code is not None and _plain(ref) in made.kinds]
            made.entries |= {ref: (known[0][0], code) for ref, code in known}
    return made


def _join_translations(documents: _Documents, export: Export) -> None:
    """Give the entry of joined documents the ID of the one in the main language."""
    documents.languages |= dict.fromkeys(code for _, code in documents.entries.values())
    main = export.language or _main(documents)
    leading = {entry: wanted for wanted, (entry, code) in documents.entries.items() if code == main}
    documents.entries = {
        wanted: (leading.get(entry, entry), code) for wanted, (entry, code) in documents.entries.items()
    }


def _main(documents: _Documents) -> str:
    """Return the language that most translated documents are in; without any, the first inside of fields."""
    codes = [code for _, code in documents.entries.values()]
    return max(codes, key=codes.count) if codes else next(iter(documents.languages), "en")


def _own_language(document: Mapping[str, Any]) -> str | None:
    """Return the language that a document says it is in; ``None`` where it names none by its code."""
    said = (text(document.get(key)) for key in _LANGUAGE_KEYS)
    return next((one for one in said if is_language(one)), None)


def _contents(data: Path, documents: _Documents) -> Iterator[dict[str, Any]]:
    """Return the documents without the language that they are in, which is no field."""
    codes = {code for _, code in documents.entries.values()}
    for _, document in lines(data):
        wanted, kind = text(document.get("_id")), text(document.get("_type"))
        if documents.kinds.get(_plain(wanted)) == kind and not wanted.startswith(_RELEASE):
            yield {
                key: value for key, value in document.items() if key not in _LANGUAGE_KEYS or text(value) not in codes
            }


def _own(shapes: Mapping[str, TypeShape]) -> dict[str, TypeShape]:
    """Return the fields of a type without Sanity's own."""
    return {
        key: shape
        for key, shape in shapes.items()
        if not key.startswith("_") and not (key == "publishedAt" and shape.is_date)
    }


def _is_by_language(value: Any) -> bool:
    """Return whether a value is in several languages: an object of type ``locale…``, or an internationalised array."""
    if isinstance(value, Mapping):
        keys = [key for key in value if not key.startswith("_")]
        return text(value.get("_type")).startswith("locale") and all(map(_LANGUAGE_CODE.fullmatch, keys))
    kinds = [text(one.get("_type")) for one in mappings(value)]
    return bool(kinds) and all(kind.startswith("internationalizedArray") for kind in kinds)


def _by_language(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        pairs = ((key, one) for key, one in value.items() if not key.startswith("_"))
    else:
        pairs = ((text(one.get("language")) or text(one.get("_key")), one.get("value")) for one in mappings(value))
    return {made: one for code, one in pairs if (made := language(code)) is not None and one is not None}


def _variants(value: Any) -> list[Any]:
    return list(_by_language(value).values()) if _is_by_language(value) else [value]


def _languages_in(value: Any) -> list[str]:
    return list(_by_language(value)) if _is_by_language(value) else []


def _versions(
    data: Path,
    documents: _Documents,
    names: Mapping[str, str],
    fields: Mapping[str, Mapping[str, SchemaField]],
    values: Values,
    main: str,
    export: Export,
) -> Iterator[ImportedVersion]:
    for number, document in lines(data):
        if text(document.get("_id")).startswith(_RELEASE):
            export.losses.add(f"{data.name}:{number}", "a version of a release", "releases are not carried over")
    for document in _contents(data, documents):
        wanted = text(document["_id"])
        plain, kind, where = _plain(wanted), text(document["_type"]), f"document {wanted}"
        for key in _LANGUAGE_KEYS:
            if said := text(document.get(key)):
                why = "it is not the code of a language: the document is in the main language, or that of its ID"
                export.losses.add(where, f"the language {said[:60]!r}", why)
        entry, own = documents.entries.get(plain, (plain, ""))
        present = {own or main: None} | dict.fromkeys(
            code for key in fields[kind] for code in _languages_in(document.get(key))
        )
        is_draft = wanted.startswith(_DRAFT)
        published = document.get("publishedAt") if instant(document.get("publishedAt")) is not None else None
        for code in present:
            here = {key: _in_language(value, code, main) for key, value in document.items()}
            yield ImportedVersion(
                names[kind],
                entry,
                values.of_document(fields[kind], mapping(here), where),
                lang=code,
                is_draft=is_draft and plain in documents.published,
                status=Status.DRAFT if is_draft and plain not in documents.published else Status.PUBLISHED,
                created=document.get("_createdAt"),
                updated=document.get("_updatedAt"),
                published=published,
                where=where,
            )


def _in_language(value: Any, code: str, main: str) -> Any:
    if not _is_by_language(value):
        return value
    found = _by_language(value)
    return found.get(code, found.get(main))

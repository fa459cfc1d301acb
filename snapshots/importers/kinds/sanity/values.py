"""Turn the values of Sanity documents into values of fields: references, pictures, Portable Text and groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from snapshots.importers.export import Export
from snapshots.importers.kinds.sanity.portable_text import portable_text_html
from snapshots.importers.kinds.sanity.shapes import SchemaField, form_of
from snapshots.importers.reading.shapes import at, listed, mapping, text
from snapshots.model import GROUP_KIND, FieldType

_IN_EXPORT = re.compile(r"(?:image|file)@file://\./((?:images|files)/[^/\\]+)")
_FILE_KEY = re.compile(r"(image|file)@file://\./(?:images|files)/([^/\\.-]+)")
_ELSEWHERE = re.compile(r"(?:image|file)@(https?://.+)")
_OF_AN_IMAGE = frozenset(
    {"_type", "_key", "_sanityAsset", "asset", "alt", "altText", "caption", "hotspot", "crop", "media"}
)

Target = Callable[[str], tuple[str, str] | None]
"""Returns the endpoint and the entry's ID of a document, given the document's ID."""


def asset_key(said: str) -> str:
    """Return the key in ``assets.json`` of a file that a value names: its kind, and its name up to the size."""
    found = _FILE_KEY.match(said)
    return "" if found is None else f"{found[1]}-{found[2]}"


class Values:
    """Makes values of documents into values of fields."""

    def __init__(self, export: Export, root: Path, assets: Mapping[str, Mapping[str, Any]], target: Target) -> None:
        """``assets`` is what the export says of its files: by ID in raw exports, by ``asset_key`` in others."""
        self._export, self._root, self._assets, self._target = export, root, assets, target

    def of_document(self, fields: Mapping[str, SchemaField], document: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the values of a document or an object, by field ID."""
        return {
            field.plan.id: self._value(field, document.get(key), f"{where}: {key}") for key, field in fields.items()
        }

    def _value(self, field: SchemaField, raw: Any, where: str) -> Any:
        if raw is None:
            return None
        match field.plan.type:
            case FieldType.RICHTEXT:
                return portable_text_html(
                    raw, lambda block: self._file(block, where), lambda *loss: self._tell(where, *loss)
                )
            case FieldType.REFERENCE | FieldType.REFERENCES:
                return [self._reference(one, where) for one in listed(raw)]
            case FieldType.IMAGE | FieldType.IMAGES | FieldType.FILE:
                return [found for one in listed(raw) if (found := self._file(mapping(one), where)) is not None]
            case FieldType.GROUP | FieldType.GROUPS:
                return [self._group(field, one, where) for one in listed(raw)]
        return raw.get("current") if isinstance(raw, Mapping) and form_of(raw) == "text" else raw

    def _group(self, field: SchemaField, raw: Any, where: str) -> Any:
        if not isinstance(raw, Mapping):
            return raw
        if not field.inside:
            return {"file": self._file(raw, where)}
        kind = text(raw.get("_type"))
        inside = field.inside.get(kind) or next(iter(field.inside.values()))
        made = self.of_document(inside, raw, where)
        group = dict(zip(field.inside, field.plan.groups, strict=False)).get(kind)
        return {GROUP_KIND: group.id, **made} if group is not None and group.id else made

    def _reference(self, raw: Any, where: str) -> Any:
        wanted = text(at(raw, "_ref"))
        found = self._target(wanted)
        if found is None:
            self._tell(where, "a reference", "the export does not have the document that it leads to")
            return None
        return {"api": found[0], "id": found[1]}

    def _file(self, value: Mapping[str, Any], where: str) -> dict[str, Any] | None:
        """Return the address of an image or a file, and its alternative text."""
        for name in ("hotspot", "crop", "caption"):
            if value.get(name):
                self._tell(where, f"the {name} of a picture", "an image has none here")
        for name in value:
            if name not in _OF_AN_IMAGE and not name.startswith("_"):
                self._tell(where, f"the value {name!r} of a picture", "an image has no such value here: add a field")
        said = text(value.get("_sanityAsset"))
        asset = mapping(self._assets.get(text(at(value, "asset", "_ref")) or asset_key(said)))
        alt = text(value.get("alt")) or text(value.get("altText")) or text(asset.get("altText")) or None
        size = mapping(at(asset, "metadata", "dimensions"))
        made = {"alt": alt, "width": size.get("width"), "height": size.get("height"), "fileSize": asset.get("size")}
        found = _ELSEWHERE.fullmatch(said)
        if text(asset.get("url")):
            return {**made, "url": text(asset.get("url"))}
        if found is not None:
            return {**made, "url": found[1]}
        inside = _IN_EXPORT.fullmatch(said)
        if inside is None:
            self._tell(where, "a picture or file", "the export does not contain its address")
            return None
        name = inside[1].rpartition("/")[2]
        url = self._export.copies.address([self._root / inside[1]], self._root, name, "", where)
        if url:
            return {**made, "url": url}
        if not self._export.copies.wanted:
            self._tell(where, "a picture or file", "the export has the file and not its address: --assets copies it")
        return None

    def _tell(self, where: str, what: str, why: str) -> None:
        self._export.losses.add(where, what, why)

"""The documents of a collection → the fields and dates of an API, as far as values tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC
from pathlib import Path

import msgspec

from snapshots.adoption.sites import Collection, Site
from snapshots.compile.values import valid_id
from snapshots.documents.document import SYSTEM_KEYS, Document, Plain, RawValue, format_of
from snapshots.documents.read import read_documents
from snapshots.model import META_DATES, FieldType, Status
from snapshots.problems import Problems
from snapshots.times import parse_written_datetime

_MAX_FILES = 1_000
_MAX_BYTES = 1 << 20
_DATES = {
    "date": ("createdAt", "publishedAt"),
    "pubDate": ("createdAt", "publishedAt"),
    "pubDatetime": ("createdAt", "publishedAt"),
    "created": ("createdAt",),
    "lastmod": ("updatedAt",),
    "last_modified_at": ("updatedAt",),
    "updated": ("updatedAt",),
    "updatedDate": ("updatedAt",),
    "modDatetime": ("updatedAt",),
    "publishDate": ("publishStart",),
    "expiryDate": ("publishEnd",),
}
"""Keys by which sites write dates → the dates they give."""
_IMAGE = re.compile(r"\S+\.(?:png|jpe?g|gif|webp|avif|svg)(?:\?\S*)?", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]+)?")
_RESERVED = frozenset(name.lower() for name in ("id", "views", "live_from", "live_until", "draft_key", *META_DATES))


class InferredField(msgspec.Struct, frozen=True):
    """A field to define, or with ``type`` ``None`` a key that a person has to decide about."""

    id: str
    key: str
    type: FieldType | None
    required: bool = False
    note: str = ""


class Inferred(msgspec.Struct):
    """What the documents of a collection have in common."""

    fields: list[InferredField] = msgspec.field(default_factory=list)
    meta: dict[str, str | None] = msgspec.field(default_factory=dict)
    notes: list[str] = msgspec.field(default_factory=list)
    has_body: bool = False
    id: str | None = None
    """The template of the IDs, where the files' names give none."""


def infer(root: Path, site: Site, collection: Collection) -> Inferred:
    """Return the fields of a collection."""
    documents = list(_documents(root, collection))
    values: dict[str, list[RawValue]] = {}
    for document in documents:
        for key, value in document.values.items():
            values.setdefault(key, []).append(value)
    result = Inferred(has_body=any(document.body is not None for document in documents))
    if any(document.item is not None for document in documents) and "id" not in values:
        name = next(
            (key for key in ("slug", "key", "name", "title") if len(values.get(key, ())) == len(documents)), None
        )
        result.id = None if name is None else f"{{{name}}}"
        result.notes.append(
            "these items have no ID of their own: choose a key for the 'id' template that never changes"
        )
    used: set[str] = set(_RESERVED) | ({"body"} if result.has_body else set())
    for key, given in values.items():
        present = [value for value in given if not _is_nothing(value)]
        every = len(present) == len(documents)
        if key in _DATES and present and _all_dates(present):
            for name in _DATES[key]:
                if name not in values:
                    result.meta.setdefault(name, key)
            continue
        if key in SYSTEM_KEYS and not _means_otherwise(key, present, site):
            continue
        if key in SYSTEM_KEYS:
            result.meta[key] = None
            result.notes.append(f"'{key}' means something else here, so it is a field and says nothing of the version")
        name = _field_id(key, used)
        if name is not None:
            used.add(name.lower())
            result.fields.append(_field(name, key, present, required=every and key == "title"))
    if "date" in values and "publishStart" not in result.meta and "createdAt" in result.meta:
        result.notes.append("if a date in the future means that a page waits for it, add 'publishStart: date' to meta")
    if collection.date is not None:
        result.meta["publishedAt"] = collection.date
        result.meta.setdefault("createdAt", collection.date)
    return result


def _documents(root: Path, collection: Collection) -> Iterable[Document]:
    leads_to = None if collection.collection is None else tuple(collection.collection.split(".")[1:])
    for file in collection.files[:_MAX_FILES]:
        kind, path = format_of(file.rpartition(".")[2]), root / file
        try:
            if kind is not None and path.stat().st_size <= _MAX_BYTES:
                yield from read_documents(file, kind, path.read_bytes(), Problems(), leads_to)
        except OSError:
            continue  # which the first check reports


def _field(name: str, key: str, present: list[RawValue], *, required: bool) -> InferredField:
    def made(kind: FieldType | None, note: str = "") -> InferredField:
        return InferredField(name, key, kind, required and kind is not None, note)

    if key.startswith("$") or "{" in key or "}" in key:
        return made(None, "no 'from' can name this key: rename it in the content")
    if not present:
        return made(FieldType.TEXT, "never has a value: is it a text?")
    if all(isinstance(value, str) for value in present):
        texts = [str(value) for value in present]
        plain = all(isinstance(value, Plain) for value in present)
        if plain and all(text in ("true", "True", "TRUE", "false", "False", "FALSE") for text in texts):
            return made(FieldType.BOOLEAN)
        if plain and all(_NUMBER.fullmatch(text) for text in texts):
            return made(FieldType.NUMBER)
        if _all_dates(present):
            return made(FieldType.DATETIME)
        if all(_IMAGE.fullmatch(text) for text in texts):
            return made(FieldType.IMAGE)
        if key in _DATES:
            return made(FieldType.TEXT, "not all of these are dates that can be read: mend them, then use 'meta'")
        return made(FieldType.TEXTAREA if any("\n" in text for text in texts) else FieldType.TEXT)
    if all(isinstance(value, bool) for value in present):
        return made(FieldType.BOOLEAN)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return made(FieldType.NUMBER)
    if all(_is_texts(value) for value in present):
        return made(FieldType.MULTIPLE_SELECT, "or references to entries of another API?")
    if all(isinstance(value, dict) for value in present):
        return made(None, f"a mapping: read its keys one by one, such as 'from: {key}.name'")
    return made(None, "its values have several forms")


def _is_texts(value: RawValue) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(item, str) and not _is_nothing(item) for item in value)
    )


def _is_nothing(value: RawValue) -> bool:
    return value is None or (isinstance(value, Plain) and value in ("", "~", "null", "Null", "NULL"))


def _all_dates(values: list[RawValue]) -> bool:
    for value in values:
        if not isinstance(value, str):
            return False
        try:
            parse_written_datetime(str(value), UTC)
        except ValueError:
            return False
    return True


def _means_otherwise(key: str, present: list[RawValue], site: Site) -> bool:
    """Return whether a key that says what a version is has values here that cannot say it."""
    texts = [str(value) for value in present]
    if key == "lang":
        return not all(text in site.languages or text in site.lang_map for text in texts)
    if key == "id":
        return not all(isinstance(value, str) and valid_id(value) for value in present)
    if key == "status":
        return not all(text in {status.value for status in Status} for text in texts)
    if key == "draftKey":
        return not all(valid_id(text) for text in texts)
    return key in (*META_DATES, "publishStart", "publishEnd") and not _all_dates(present)


def _field_id(key: str, used: set[str]) -> str | None:
    """Return a field ID after a key, one that is not taken; ``None`` where the key gives none."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", key).strip("_")[:60]
    if not name or not name[0].isalpha():
        name = f"field_{name}".rstrip("_")
    if name.lower() not in used:
        return name
    other = f"{name}_{'value' if name.lower() in _RESERVED else '2'}"
    return None if other.lower() in used else other

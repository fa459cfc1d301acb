"""Derive the fields and dates of an API from the documents of a collection, as far as values tell them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from typing import TypeAlias

import msgspec

from snapshots.adoption.data import NAMES
from snapshots.adoption.references import leads_to
from snapshots.adoption.seen import PICTURE, Seen
from snapshots.adoption.site import Collection, Site
from snapshots.compile.values import described
from snapshots.definitions.fields import MAX_GROUPS
from snapshots.definitions.model import HiddenKey
from snapshots.definitions.names import RESERVED_FIELD_IDS
from snapshots.documents.document import SYSTEM_KEYS, Plain, RawValue, is_null
from snapshots.documents.publicity import (
    ends_by,
    is_for_everybody,
    is_truth,
    plain_truth,
    word_of,
)
from snapshots.ids import slug_id, valid_id
from snapshots.model import GROUP_KIND, META_DATES, FieldType, Status
from snapshots.times import parse_written_datetime

_NO_FILES = "pictures that are not beside the files which name them: write their addresses, or deliver their names"
_DATES = {
    "date": ("createdAt", "publishedAt"),
    "pubdate": ("createdAt", "publishedAt"),
    "pubdatetime": ("createdAt", "publishedAt"),
    "created": ("createdAt",),
    "lastmod": ("updatedAt",),
    "last_modified_at": ("updatedAt",),
    "updated": ("updatedAt",),
    "modified": ("updatedAt",),
    "updateddate": ("updatedAt",),
    "moddatetime": ("updatedAt",),
    "publishdate": ("publishStart",),
    "published": ("createdAt", "publishStart"),
    "expirydate": ("publishEnd",),
}
"""The dates that sites' keys give, by key in lower case."""
Entries: TypeAlias = Mapping[str, frozenset[str]]
"""The names of entries, by the endpoint of their collection."""
_WORDS = frozenset({"tags", "categories"})
"""Keys in which Jekyll takes a text for words, each a value."""
_OF_WORDS = frozenset({FieldType.TEXT, FieldType.MULTIPLE_SELECT})
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]+)?")


_DATED = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:$|[T ]\d)")
_OFFSET = re.compile(r"(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})$", re.IGNORECASE)
_MEMBER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class InferredField(msgspec.Struct, frozen=True):
    """A field to define, or with ``type`` ``None`` a key that a person has to decide about."""

    id: str
    key: str
    type: FieldType | None
    required: bool = False
    note: str = ""
    api: str | None = None
    """The endpoint that a reference leads to."""
    fields: tuple[InferredField, ...] = ()
    """Of a group."""


class Doubt(msgspec.Struct, frozen=True):
    """A key by which the site may keep pages back."""

    hiding: int
    """Files whose value may mean that."""
    files: int
    """All files of the collection."""
    values: tuple[str, ...]
    """The first of those values, for people."""
    is_truth: bool
    """Whether all of them are plainly false."""


class Inferred(msgspec.Struct):
    """The fields and settings inferred from the documents of a collection."""

    fields: list[InferredField] = msgspec.field(default_factory=list)
    meta: dict[str, str | None] = msgspec.field(default_factory=dict)
    notes: list[str] = msgspec.field(default_factory=list)
    has_body: bool = False
    id: str | None = None
    """The template of the IDs, where the files' names give none."""
    hidden: list[HiddenKey] = msgspec.field(default_factory=list)
    """Keys that keep pages back in a way which is no status here."""
    doubts: dict[str, Doubt] = msgspec.field(default_factory=dict)
    """What is known of those keys."""
    count: int = 0
    """Documents of the collection."""
    dates: int = 0
    dates_without_offset: int = 0
    may_start: bool = False
    """Whether a date in the future could mean that a page is to be seen from then on."""
    id_keys: list[str] = msgspec.field(default_factory=list)
    """The keys of items that could give IDs."""


_ADDRESSES = frozenset({"slug", "permalink"})
"""The keys that join translations and say where a page is besides."""


class _Known(msgspec.Struct):
    """The entries that the values of fields can lead to."""

    entries: Entries
    absent: set[str]
    """Relative addresses that lead from their file to none."""


def infer(site: Site, collection: Collection, seen: Seen, entries: Entries) -> Inferred:
    """Return the fields of a collection, of which ``seen`` is what its files hold. ``entries`` has the names of the
    entries of all, by endpoint."""
    result = Inferred(id=collection.id)
    known = _Known(entries, seen.absent)
    values = dict(seen.values)
    result.has_body, result.count = seen.has_body, seen.count
    if seen.has_items and "id" not in values:
        result.id_keys = [key for key in NAMES if key in values and _are_names(values[key], seen.count)]
    if seen.count and not values and seen.all_keyed:
        kind = FieldType.TEXT if seen.all_texts else FieldType.JSON
        result.fields.append(InferredField(kind.value, "$value", kind))
    joined = [key for key in collection.translation_keys if collection.multilingual and key in values]
    if joined:
        path = "path" if any("{path}" in pattern for pattern in collection.source) else "name"
        keys = "|".join(joined)
        result.id = f"{{{keys}|{path}}}" if collection.id is None else f"{{{keys}}} || {collection.id}"
        result.notes += [
            f"'{key}' joins translations, and is the ID of the {len(values[key])} of {seen.count} files that have it; "
            "the others are joined by path"
            for key in joined
        ]
        for key in set(joined) - _ADDRESSES:
            del values[key]
    settled = _add_period(result, values, site, collection)
    used: set[str] = set(RESERVED_FIELD_IDS) | ({"body"} if result.has_body else set())
    for key, given in values.items():
        if key in settled:
            continue
        present = [value for value in given if not is_null(value)]
        every = len(present) == seen.count
        if key.lower() in _DATES and present and _all_dates(present):
            for name in _DATES[key.lower()]:
                if name not in values:
                    result.meta.setdefault(name, key)
            if word_of(key) is None or key in result.meta.values():
                continue
        if key in SYSTEM_KEYS and not _means_otherwise(key, present, site):
            continue
        if word_of(key) is not None:
            if word_of(key) != "draft" or _means_otherwise("draft", present, site):
                result.hidden.append(HiddenKey(key, _previewed(key, present)))
                if (doubt := _doubt(key, present, seen.count)) is not None:
                    result.doubts[key] = doubt
            if is_truth(key) or key in SYSTEM_KEYS or ends_by(key):
                continue
        if key in SYSTEM_KEYS:
            result.meta[key] = None
            result.notes.append(f"'{key}' means something else here, so it is read as a field only")
        made = _field_id(key, used)
        if made is not None:
            used.add(made.lower())
            field = _field(made, key, present, known, required=every and key == "title")
            if site.kind == "Jekyll" and key in _WORDS and field.type in _OF_WORDS and present:
                field = _of_words(field, present)
            result.fields.append(field)
    if site.titles_by_heading and seen.headings:
        _add_titles(result, seen)
    start = result.meta.get("publishStart")
    for name in ("createdAt", "publishedAt") if start is not None and "createdAt" not in result.meta else ():
        if name not in values:
            result.meta.setdefault(name, start)
    result.may_start = "date" in values and "publishStart" not in result.meta and "createdAt" in result.meta
    if collection.date is not None:
        named = [key for key in values if key.lower() == "date" and any(map(_is_date, values[key]))]
        stated = " || ".join([*(f"{{{key}}}" for key in named), collection.date])
        result.meta["publishedAt"] = stated
        result.meta["createdAt"] = stated
    dated = [value for given in values.values() for value in given if isinstance(value, str) and _DATED.match(value)]
    result.dates = len(dated)
    result.dates_without_offset = sum(_OFFSET.search(value) is None for value in dated)
    return result


def _add_titles(result: Inferred, seen: Seen) -> None:
    """Have headings be the titles of the texts whose front matter has none."""
    at = next((at for at, one in enumerate(result.fields) if one.key == "title"), None)
    if at is None and "title" not in {one.id.lower() for one in result.fields}:
        every = seen.headings == seen.count
        result.fields.insert(0, InferredField("title", "$heading", FieldType.TEXT, every))
    elif at is not None and result.fields[at].type in (FieldType.TEXT, FieldType.TEXTAREA):
        every = len([value for value in seen.values["title"] if not is_null(value)]) + seen.headings == seen.count
        result.fields[at] = msgspec.structs.replace(
            result.fields[at], key="{title} || $heading", type=FieldType.TEXT, required=every
        )


def _are_names(values: list[RawValue], count: int) -> bool:
    """Return whether these are the values of all of ``count`` items, and could be their IDs: texts, no two alike."""
    ids = {slug_id(value) for value in values if isinstance(value, str) and value}
    return len(ids) == len(values) == count


def _add_period(
    result: Inferred, values: Mapping[str, list[RawValue]], site: Site, collection: Collection
) -> frozenset[str]:
    """Add the dates from and until which the site's generator shows a page, whatever the case of their keys.

    Return the words among those keys: what they say is read.
    """

    def spelled(names: tuple[str, ...]) -> list[str]:
        every = [key for name in names for key in values if key.lower() == name]
        dated = {key: [_is_date(value) for value in values[key] if not is_null(value)] for key in every}
        return [key for key in every if (all if word_of(key) else any)(dated[key]) and dated[key]]

    starts, ends = spelled(site.starts), spelled(site.ends)
    if site.starts and (starts or collection.date is not None):
        either = [f"{{{'|'.join(starts)}}}"] if starts else []
        either += [collection.date] if collection.date is not None else []
        result.meta["publishStart"] = " || ".join(either) if len(either) > 1 or len(starts) != 1 else starts[0]
    if ends:
        result.meta["publishEnd"] = ends[0] if len(ends) == 1 else f"{{{'|'.join(ends)}}}"
    return frozenset(key for key in (*starts, *ends) if word_of(key) is not None)


def _is_date(value: RawValue) -> bool:
    return not is_null(value) and _all_dates([value])


def _previewed(key: str, present: list[RawValue]) -> tuple[str, ...]:
    """Return the values of ``status`` that are read: those versions are drafts, not left out."""
    return ("draft",) if key == "status" and any(value == Status.DRAFT for value in present) else ()


def _doubt(key: str, present: list[RawValue], count: int) -> Doubt | None:
    """Return what is known of a key by which the site may keep pages back; ``None`` where all say that they are
    public."""
    hiding = [value for value in present if not is_for_everybody(key, value)]
    if not hiding:
        return None
    few = tuple(dict.fromkeys(described(value) for value in hiding[:3]))
    return Doubt(len(hiding), count, few, all(plain_truth(value) is False for value in hiding))


def _of_words(field: InferredField, present: list[RawValue]) -> InferredField:
    """Return the field of a key with texts that Jekyll takes for lists of words."""
    several = next((str(value) for value in present if isinstance(value, str) and len(value.split()) > 1), None)
    note = field.note
    if several is not None:
        written = f"[{', '.join(several.split())}]"
        note = f"to Jekyll, {several!r} is several, divided by spaces; it is one here: write {written} in such files"
    return msgspec.structs.replace(field, type=FieldType.MULTIPLE_SELECT, note=note)


def _field(name: str, key: str, present: list[RawValue], known: _Known, *, required: bool = False) -> InferredField:
    def made(kind: FieldType | None, note: str = "", api: str | None = None) -> InferredField:
        return InferredField(name, key, kind, required and kind is not None, note, api)

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
        if all(PICTURE.fullmatch(text) for text in texts):
            return made(FieldType.TEXT, _NO_FILES) if known.absent.intersection(texts) else made(FieldType.IMAGE)
        api = leads_to(key, texts, known.entries)
        if api is not None:
            return made(FieldType.REFERENCE, api=api)
        if key.lower() in _DATES:
            return made(FieldType.TEXT, _not_all_dates(present))
        return made(FieldType.TEXTAREA if any("\n" in text for text in texts) else FieldType.TEXT)
    if all(isinstance(value, bool) for value in present):
        return made(FieldType.BOOLEAN)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return made(FieldType.NUMBER)
    if all(_is_texts(value) for value in present):
        every = [str(item) for value in present for item in (value if isinstance(value, list) else [value])]
        api = leads_to(key, every, known.entries)
        if api is not None:
            return made(FieldType.REFERENCES, api=api)
        if every and all(PICTURE.fullmatch(text) for text in every):
            is_absent = bool(known.absent.intersection(every))
            return made(FieldType.MULTIPLE_SELECT, _NO_FILES) if is_absent else made(FieldType.IMAGES)
        return made(FieldType.MULTIPLE_SELECT)
    items = [item for value in present for item in (value if isinstance(value, list) else [value])]
    fields = _members(items, known)
    if fields:
        several = any(isinstance(value, list) for value in present)
        return InferredField(name, key, FieldType.GROUPS if several else FieldType.GROUP, False, "", None, fields)
    if all(isinstance(value, dict) for value in present):
        return made(None, f"a mapping: read its keys one by one, such as 'from: {key}.name'")
    return made(None, "its values have several forms")


def _not_all_dates(present: list[RawValue]) -> str:
    """Return the note on a key that would be a date, if all of its values were some."""
    others = list(dict.fromkeys(str(value) for value in present if not _is_date(value)))
    few = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
    dates = sum(map(_is_date, present))
    return f"{dates:,} of {len(present):,} are dates; the others: {few}. Correct them, then read it with 'meta'"


def _members(items: list[RawValue], known: _Known, depth: int = 1) -> tuple[InferredField, ...]:
    """Return the fields of groups; none where these are no groups that a definition can have."""
    values: dict[str, list[RawValue]] = {}
    for item in items:
        if not isinstance(item, dict):
            return ()
        for key, value in item.items():
            values.setdefault(key, []).append(value)
    names = [key.lower() for key in values]
    if depth > MAX_GROUPS or len(set(names)) < len(names) or GROUP_KIND.lower() in names:
        return ()
    if not all(map(_MEMBER.fullmatch, values)):
        return ()
    fields = []
    for key, given in values.items():
        present = [value for value in given if not is_null(value)]
        if any(isinstance(value, dict) or (isinstance(value, list) and not _is_texts(value)) for value in present):
            inside = [item for value in present for item in (value if isinstance(value, list) else [value])]
            members = _members(inside, known, depth + 1)
            several = any(isinstance(value, list) for value in present)
            kind = FieldType.JSON if not members else FieldType.GROUPS if several else FieldType.GROUP
            fields.append(InferredField(key, key, kind, fields=members))
        else:
            made = _field(key, key, present, known)
            fields.append(made if made.type is not None else InferredField(key, key, FieldType.JSON))
    return tuple(fields)


def _is_texts(value: RawValue) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(item, str) and not is_null(item) for item in value)
    )


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
        return site.ids_are_names or not all(isinstance(value, str) and valid_id(value) for value in present)
    if key == "status":
        return not all(text in {status.value for status in Status} for text in texts)
    if key == "draft":
        return any(plain_truth(value) is None for value in present)
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
    other = f"{name}_{'value' if name.lower() in RESERVED_FIELD_IDS else '2'}"
    return None if other.lower() in used else other

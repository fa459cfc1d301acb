"""Language versions that came or went: their titles, windows and contents, by which renamed entries are found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from blake3 import blake3

from snapshots.compile.richtext import visible_text
from snapshots.model import ALWAYS, NEVER, Api, FieldType

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode
_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {})
_ITSELF: Final = "\0"
"""Stands for the ID of an entry in its own values."""
MOST_TEXT: Final = 20_000
"""Characters of a version that are compared with those of others."""


class Version(msgspec.Struct, frozen=True):
    """A language version, published or a draft, that one of two states of a workspace has."""

    id: str
    lang: str
    draft: bool
    title: str
    """Its first text; the ID where it has none."""
    content: bytes
    """A digest, equal where all values are; empty where there is no value."""
    text: str
    """The beginning of all texts, as readers see them."""
    live_from: int = ALWAYS
    """UTC milliseconds."""
    live_until: int = NEVER


def version_of(
    api: Api | None, entry: str, lang: str, fields: str, *, draft: bool, live: tuple[int, int] = (ALWAYS, NEVER)
) -> Version:
    """Return a version of the JSON of its fields; members that are no field of ``api`` count as values too."""
    values: dict[str, Any] = {name: value for name, value in _decode(fields).items() if value not in _NOTHING}
    content = blake3(_encode(_without(values, entry))).digest(16) if values else b""
    text = " ".join(_texts(api, values))[:MOST_TEXT]
    return Version(entry, lang, draft, title_of(api, values) or entry, content, text, *live)


def title_of(api: Api | None, values: dict[str, Any]) -> str:
    """Return the first text field of an entry's values on one line, an empty text where there is none."""
    for field in () if api is None else api.fields:
        if field.type is FieldType.TEXT:
            return " ".join(str(values.get(field.id) or "").split())
    return ""


def _texts(api: Api | None, values: dict[str, Any]) -> Iterable[str]:
    fields = () if api is None else api.fields
    rich = {field.id for field in fields if field.type is FieldType.RICHTEXT}
    for name, value in values.items():
        for text in _strings(value):
            yield visible_text(text) if name in rich else text


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _without(value: Any, entry: str) -> Any:
    """Return a value in which the entry's own ID does not show."""
    if isinstance(value, dict):
        return {name: _without(one, entry) for name, one in value.items()}
    if isinstance(value, list):
        return [_without(one, entry) for one in value]
    return _ITSELF if value == entry else value

"""Rows → entries as JSON: a compiled body passed through, or taken apart where something in it must change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from snapshots.model import Api, Workspace

EntryNumbers = int | list[int] | None
"""What a reference field names, as entry numbers: one or none, or a list for ``references``."""
Documents = Mapping[str, Mapping[int, bytes]]
"""Entries as JSON: by the ``uid`` of their API, then by entry number; only those that are live are in it."""

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode: Final = msgspec.json.Encoder().encode
_NULL: Final = msgspec.Raw(b"null")


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an entry, as read."""

    body: bytes
    """The whole entry as JSON, references as IDs."""
    references: tuple[EntryNumbers, ...]
    """One item an expansion of the plan, in its order."""
    langs: bytes | None = None
    """``_langs`` as JSON, where it was asked for."""


def langs_document(workspace: Workspace, api: Api) -> Callable[[int, Sequence[bool]], bytes]:
    """The function from a version's language (its index) and which languages are live to ``_langs`` (decision 24)."""
    languages = workspace.languages_of(api)
    made: dict[tuple[int, tuple[bool, ...]], bytes] = {}

    def document(current: int, live: Sequence[bool]) -> bytes:
        key = (current, tuple(live))
        if key not in made:
            available = [lang for lang, is_live in zip(languages, live, strict=True) if is_live]
            made[key] = _encode({"current": workspace.languages[current], "available": available})
        return made[key]

    return document


def versions(
    rows: Iterable[Sequence[Any]], body: Callable[[int], bytes], workspace: Workspace, api: Api, references: int
) -> list[Version]:
    """Rows with the columns of ``sql.row_columns`` as versions; more columns after those are not looked at."""
    document = langs_document(workspace, api)
    flags = len(workspace.languages_of(api))
    end = 1 + references
    return [
        Version(body(row[0]), tuple(row[1:end]), document(row[end], row[end + 1 : end + 1 + flags])) for row in rows
    ]


def plain_versions(rows: Iterable[Sequence[Any]], body: Callable[[int], bytes], references: int) -> list[Version]:
    """The same for rows without the columns of ``_langs``."""
    end = 1 + references
    return [Version(body(row[0]), tuple(row[1:end])) for row in rows]


def expanded_value(numbers: EntryNumbers, documents: Mapping[int, bytes]) -> msgspec.Raw:
    """A reference field's value with its entries in place of IDs: ``null``, or left out, where not live (4.8)."""
    if isinstance(numbers, list):
        return msgspec.Raw(b"[" + b",".join(documents[n] for n in numbers if n in documents) + b"]")
    found = None if numbers is None else documents.get(numbers)
    return _NULL if found is None else msgspec.Raw(found)


def with_values(body: bytes, values: Mapping[str, msgspec.Raw]) -> bytes:
    """An entry with some of its fields' values replaced."""
    return _encode({**_members(body), **values}) if values else body


def with_fields(body: bytes, values: Mapping[str, msgspec.Raw], fields: frozenset[str]) -> bytes:
    """The same, reduced to ``id`` and the fields selected (contract 4.9)."""
    members = _members(body)
    kept = {name: value for name, value in members.items() if name in fields or name == "id"}
    return _encode(kept | {name: value for name, value in values.items() if name in kept})


def with_langs(body: bytes, langs: bytes | None) -> bytes:
    """An entry with ``_langs`` as its last member."""
    return body if langs is None else body[:-1] + b',"_langs":' + langs + b"}"

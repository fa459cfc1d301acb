"""Rows → entries as JSON: a compiled body passed through, or taken apart where something in it must change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from engine.plan import Expansion
from engine.positions import EntryNumbers, Positions

Documents = Mapping[str, Mapping[int, bytes]]
"""Entries as JSON: by the ``uid`` of their API, then by entry number; only those that are live are in it."""

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_MEMBERS_OF_IMAGES: Final = frozenset(("url", "width", "height", "alt"))
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an entry, as read."""

    body: bytes
    """The whole entry as JSON, references as IDs."""
    references: tuple[EntryNumbers, ...]
    """One item an expansion of the plan, in its order."""
    langs: bytes | None = None
    """``_langs`` as JSON, where it was asked for."""


def langs_document(current: str, available: Sequence[str]) -> bytes:
    """A version's language and those its entry is live in as ``_langs`` (decision 24)."""
    return _encode({"current": current, "available": available})


def versions(
    rows: Iterable[int],
    positions: Positions,
    expansions: Sequence[Expansion],
    langs: Callable[[int], bytes] | None = None,
) -> list[Version]:
    """Rows as versions; ``langs`` is the function from a row to its ``_langs``, where they were asked for."""
    body, references = positions.body, positions.references(expansions)
    if langs is None:
        return [Version(body(row), references(row)) for row in rows]
    return [Version(body(row), references(row), langs(row)) for row in rows]


def expanded_value(numbers: EntryNumbers, documents: Mapping[int, bytes]) -> bytes:
    """A reference field's value with its entries in place of IDs: ``null``, or left out, where not live (4.8)."""
    if isinstance(numbers, list):
        return b"[" + b",".join([documents[n] for n in numbers if n in documents]) + b"]"
    found = None if numbers is None else documents.get(numbers)
    return b"null" if found is None else found


def with_values(body: bytes, values: Mapping[str, bytes]) -> bytes:
    """An entry with some of its reference fields' values, IDs so far, replaced."""
    parts: list[bytes] = []
    end = 0
    for name, value in values.items():
        # No text holds these bytes, since a quote in it is escaped; only an image's member could be named the same.
        mark = b',"%b":' % name.encode()
        found = body.find(mark, end)
        if found < 0 or name in _MEMBERS_OF_IMAGES:
            return _encode({**_members(body), **{name: msgspec.Raw(value) for name, value in values.items()}})
        start = found + len(mark)
        parts += (body[end:start], value)
        end = _after_reference(body, start)
    parts.append(body[end:])
    return b"".join(parts)


def _after_reference(body: bytes, start: int) -> int:
    """Where a reference field's value ends that begins at ``start``: an ID, a list of IDs, or ``null``."""
    match body[start]:
        case 0x22:  # a quote; IDs hold none
            return body.index(b'"', start + 1) + 1
        case 0x5B:  # a bracket
            return body.index(b"]", start) + 1
    return start + 4


def with_fields(body: bytes, values: Mapping[str, bytes], fields: frozenset[str]) -> bytes:
    """The same, reduced to ``id`` and the fields selected (contract 4.9)."""
    members = _members(body)
    kept = {name: value for name, value in members.items() if name in fields or name == "id"}
    return _encode(kept | {name: msgspec.Raw(value) for name, value in values.items() if name in kept})


def with_langs(body: bytes, langs: bytes | None) -> bytes:
    """An entry with ``_langs`` as its last member."""
    return body if langs is None else body[:-1] + b',"_langs":' + langs + b"}"

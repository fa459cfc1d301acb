"""Write rows as entries in JSON: a compiled body is passed through, or taken apart where something in it must change.

An entry stays in pieces until the whole answer is joined: with references expanded it may have megabytes, which every
level would copy again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, cast

import msgspec

from engine.read.query.answers.group_values import STAYS, Pieces, with_entries
from engine.read.reader.reach import Candidates, Expansion
from engine.read.reader.rows import EntryNumbers, Rows
from snapshots.model import field_path

Documents = Mapping[str, Mapping[int, Pieces]]
"""Live entries by the ``uid`` of their API, then by entry number."""

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode: Final = msgspec.json.Encoder().encode
_NULL: Final = (b"null",)


class Version(msgspec.Struct, frozen=True):
    """One version of an entry as it was read."""

    body: bytes
    """The whole entry as JSON, references as IDs."""
    references: tuple[EntryNumbers, ...]
    """The entries named by the fields of the plan's expansions, in their order."""
    langs: bytes | None = None
    """``_langs`` as JSON, where it was asked for."""


def langs_document(current: str, available: Sequence[str]) -> bytes:
    """A version's language and those its entry is live in as ``_langs`` (decision 24)."""
    return _encode({"current": current, "available": available})


def versions(
    rows: Sequence[int],
    stored: Rows,
    expansions: Sequence[Expansion],
    langs: Callable[[int], bytes] | None = None,
) -> list[Version]:
    """Rows as versions. ``langs`` turns a row into its ``_langs``; ``None`` where these are not asked for."""
    bodies, references = stored.bodies(rows), stored.references([expansion.path for expansion in expansions], rows)
    if langs is None:
        return [Version(body, named) for body, named in zip(bodies, references, strict=True)]
    return [Version(body, named, langs(row)) for row, body, named in zip(rows, bodies, references, strict=True)]


def expanded_values(version: Version, expansions: Sequence[Expansion], documents: Documents) -> dict[str, Pieces]:
    """The values of a version's fields in which references are expanded, by field ID."""
    values: dict[str, Pieces] = {}
    inside: dict[str, Iterator[Pieces | None]] = {}
    for expansion, numbers in zip(expansions, version.references, strict=True):
        if expansion.several is None and len(expansion.path.steps) == 1:
            values[expansion.path.field.id] = _expanded_value(numbers, documents[expansion.apis[0].uid])
        else:
            inside[expansion.path.name] = _in_turn(expansion, numbers, documents)
    if inside:
        members = _members(version.body)
        for field in {one.field.id: one.field for one in expansions if one.path.name in inside}.values():
            values[field.id] = (with_entries(field_path(field), members[field.id], inside),)
    return values


def _in_turn(expansion: Expansion, numbers: EntryNumbers, documents: Documents) -> Iterator[Pieces | None]:
    """Return an iterator of the JSON that replaces each ID of a reference field; ``None`` for an ID that is dropped."""
    if expansion.several is None:
        of_api = documents[expansion.apis[0].uid]
        return (of_api.get(number) for number in cast("list[int]", numbers))
    return (
        _of_several(expansion.several[api], number, documents) for api, number in cast("list[tuple[int, int]]", numbers)
    )


def _of_several(candidates: Candidates, number: int, documents: Documents) -> Pieces | None:
    for api in candidates.apis:
        found = documents[api.uid].get(number)
        if found is not None:
            return (*found[:-1], found[-1][:-1], b',"_api":"%b"}' % api.endpoint.encode())
    return STAYS if candidates.stays_id else None


def _expanded_value(numbers: EntryNumbers, documents: Mapping[int, Pieces]) -> Pieces:
    """A reference field's value with its entries in place of IDs: ``null``, or left out, where not live (4.8)."""
    if not isinstance(numbers, list):
        return _NULL if numbers is None else documents.get(numbers, _NULL)
    pieces = [b"["]
    for number in cast("list[int]", numbers):
        found = documents.get(number)
        if found is not None:
            pieces += found
            pieces.append(b",")
    if len(pieces) > 1:
        pieces.pop()
    pieces.append(b"]")
    return pieces


def with_values(body: bytes, values: Mapping[str, Pieces], *, spliced: bool) -> Pieces:
    """An entry with the values of these reference fields, which are IDs, replaced.

    ``spliced``: whether the name of each stands in the entry's JSON once.
    """
    if not spliced:
        return (_encode(_members(body) | _joined(values)),)
    pieces: list[bytes] = []
    end = 0
    for name, value in values.items():
        mark = _mark(name)
        found = body.find(mark, end)
        if found < 0:
            return (_encode(_members(body) | _joined(values)),)
        start = found + len(mark)
        pieces.append(body[end:start])
        pieces += value
        end = _after_reference(body, start)
    pieces.append(body[end:])
    return pieces


@lru_cache(4096)
def _mark(name: str) -> bytes:
    """The bytes before a field's value. No text holds these bytes, since a quote in it is escaped."""
    return b',"%b":' % name.encode()


def _after_reference(body: bytes, start: int) -> int:
    """Return the end of the reference field's value that begins at ``start``: an ID, a list of IDs, or ``null``."""
    match body[start]:
        case 0x22:  # a quote; IDs hold none
            return body.index(b'"', start + 1) + 1
        case 0x5B:  # a bracket
            return body.index(b"]", start) + 1
    return start + 4


def with_fields(body: bytes, values: Mapping[str, Pieces], fields: frozenset[str]) -> bytes:
    """An entry with these values replaced, reduced to ``id`` and the fields selected (contract 4.9)."""
    replaced = _joined(values)
    members = _members(body).items()
    return _encode({name: replaced.get(name, value) for name, value in members if name in fields or name == "id"})


def with_langs(pieces: Pieces, langs: bytes) -> Pieces:
    """An entry with ``_langs`` as its last member."""
    return (*pieces[:-1], pieces[-1][:-1], b',"_langs":', langs, b"}")


def _joined(values: Mapping[str, Pieces]) -> dict[str, msgspec.Raw]:
    return {name: msgspec.Raw(b"".join(pieces)) for name, pieces in values.items()}

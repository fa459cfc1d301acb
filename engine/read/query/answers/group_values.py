"""Entries in place of IDs inside a field's value, however deep in its groups (contract 4.8).

A value is taken apart only on the way to references; all else in it keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from snapshots.model import GROUP_KIND, FieldPath, ValueKind

Pieces: TypeAlias = Sequence[bytes]
"""JSON, not joined yet."""
STAYS: Final[Pieces] = ()
"""Stands for an entry whose ID stays."""
InTurn: TypeAlias = Mapping[str, Iterator[Pieces | None]]
"""By the name of a reference field's path, what comes in place of its IDs, in their order: an entry, ``None`` for one
that is not live, or ``STAYS``."""

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_kind: Final = msgspec.json.Decoder(str).decode
_encode: Final = msgspec.json.Encoder().encode
_NULL: Final = b"null"


def with_entries(path: FieldPath, value: msgspec.Raw, in_turn: InTurn) -> bytes:
    """Return the JSON of a field's value with entries in place of the IDs."""
    if bytes(value) == _NULL or not any(name == path.name or name.startswith(f"{path.name}.") for name in in_turn):
        return bytes(value)
    facts = path.field.type.facts
    if facts.kind is ValueKind.ENTRY:
        found = in_turn[path.name]
        if not facts.is_array:
            return _of_one(value, next(found)) or _NULL
        return _array(one for raw in _items(value) if (one := _of_one(raw, next(found))) is not None)
    if facts.is_array:
        return _array(_group(path, raw, in_turn) for raw in _items(value))
    return _group(path, value, in_turn)


def _of_one(raw: msgspec.Raw, entry: Pieces | None) -> bytes | None:
    if entry is None:
        return None
    return b"".join(entry) or bytes(raw)


def _group(path: FieldPath, value: msgspec.Raw, in_turn: InTurn) -> bytes:
    members = _members(value)
    kind = path.field.kind_of({name: _kind(said) for name, said in members.items() if name == GROUP_KIND})
    for inner in path.of_kind(kind):
        name = inner.field.id
        members[name] = msgspec.Raw(with_entries(inner, members[name], in_turn))
    return _encode(members)


def _array(items: Iterator[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"

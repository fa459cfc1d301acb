"""Reference expansion, by position: no statement, however many rows refer to an entry (contract 4.8 and 4.11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

import msgspec

from engine.read.query.answers.entries import Documents, Version, expanded_values, with_values
from engine.read.query.answers.group_values import Pieces
from engine.read.query.plan import Shape
from engine.read.reader.reach import Expansion, Reach, are_spliced
from engine.read.reader.reader import Reader

Wanted = dict[str, set[int]]
"""The numbers of the entries to read, by the ``uid`` of their API."""
Rows = dict[str, dict[int, int]]
"""The rows of the live entries, by the ``uid`` of their API and entry number."""


class Expanded(msgspec.Struct, frozen=True):
    """The entries that versions refer to, at every level that is expanded."""

    documents: Documents
    """The entries of the first level that are live in the language that the request's rule chooses, as JSON."""
    reached: Wanted
    """All entries that were looked up, whether they exist or not."""
    named: Mapping[str, Mapping[int, Pieces]]
    """The entries of ``reached`` that are live, as JSON that begins with the ID."""


def expand(reader: Reader, versions: Iterable[Version], shape: Shape, now: int, deadline: float) -> Expanded:
    """Return the entries that versions refer to, as JSON, with their own references expanded at depth 2."""
    if not shape.expansions:
        return _NOTHING
    wanted = _wanted(versions, shape.expansions)
    rows = _live_rows(reader, wanted, shape.reach, now, deadline)
    documents = _documents(reader, rows)
    if shape.depth == 1:
        return Expanded(documents, wanted, documents)
    expansions = {uid: shape.reach.expansions(reader.api(uid)) for uid in rows}
    found = {uid: _versions(reader, uid, rows[uid], documents[uid], expansions[uid]) for uid in rows}
    reached, below = _second_level(reader, wanted, found, documents, expansions, shape.reach, now, deadline)
    whole = {uid: _with_values(of_api, expansions[uid], below) for uid, of_api in found.items()}
    return Expanded(whole, reached, {**documents, **below})


_NOTHING: Final = Expanded({}, {}, {})


def _with_values(
    versions: Mapping[int, Version], expansions: Sequence[Expansion], documents: Documents
) -> dict[int, Pieces]:
    """Entries, by number, with their references expanded."""
    spliced = are_spliced(expansions)
    return {
        number: with_values(version.body, expanded_values(version, expansions, documents), spliced=spliced)
        for number, version in versions.items()
    }


def _second_level(
    reader: Reader,
    asked: Wanted,
    found: Mapping[str, Mapping[int, Version]],
    documents: Documents,
    expansions: Mapping[str, Sequence[Expansion]],
    reach: Reach,
    now: int,
    deadline: float,
) -> tuple[Wanted, Documents]:
    """The entries of both levels, by number, and those that the first level refers to as JSON; entries that were read
    already are not read again."""
    wanted: Wanted = {}
    for uid, of_api in found.items():
        for target, numbers in _wanted(of_api.values(), expansions[uid]).items():
            wanted.setdefault(target, set()).update(numbers)
    missing = {uid: numbers - asked.get(uid, set()) for uid, numbers in wanted.items()}
    more = _documents(reader, _live_rows(reader, missing, reach, now, deadline))
    both = {uid: asked.get(uid, set()) | wanted.get(uid, set()) for uid in {**asked, **wanted}}
    return both, {uid: {**documents.get(uid, {}), **more[uid]} for uid in wanted}


def _wanted(versions: Iterable[Version], expansions: Sequence[Expansion]) -> Wanted:
    wanted: Wanted = {api.uid: set() for expansion in expansions for api in expansion.apis}
    for version in versions:
        for expansion, numbers in zip(expansions, version.references, strict=True):
            if expansion.several is not None:
                for endpoint, number in cast("list[tuple[int, int]]", numbers):
                    for api in expansion.several[endpoint].apis:
                        wanted[api.uid].add(number)
            elif isinstance(numbers, list):
                wanted[expansion.apis[0].uid].update(cast("list[int]", numbers))
            elif numbers is not None:
                wanted[expansion.apis[0].uid].add(numbers)
    return wanted


def _live_rows(reader: Reader, wanted: Wanted, reach: Reach, now: int, deadline: float) -> Rows:
    rows = {}
    for uid, numbers in wanted.items():
        reader.check(deadline)
        target = reader.api(uid)
        rows[uid] = reader.rows(target).live_rows(numbers, reach.visibility_in(target), now) if numbers else {}
    return rows


def _documents(reader: Reader, rows: Rows) -> dict[str, dict[int, Pieces]]:
    """Rows as they are stored: whole entries, references as IDs."""
    documents: dict[str, dict[int, Pieces]] = {}
    for uid, found in rows.items():
        bodies = reader.rows(reader.api(uid)).bodies(found.values())
        documents[uid] = {number: (body,) for number, body in zip(found, bodies, strict=True)}
    return documents


def _versions(
    reader: Reader,
    uid: str,
    rows: Mapping[int, int],
    documents: Mapping[int, Pieces],
    expansions: Sequence[Expansion],
) -> dict[int, Version]:
    """The entries in these rows as versions, with the numbers of the entries they refer to."""
    references = reader.rows(reader.api(uid)).references([one.path for one in expansions], list(rows.values()))
    return {number: Version(documents[number][0], named) for number, named in zip(rows, references, strict=True)}

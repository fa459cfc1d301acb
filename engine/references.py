"""Reference expansion, by position: no statement, however many rows refer to an entry (contract 4.8 and 4.11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.entries import Documents, Version, expanded_value, with_values
from engine.plan import Expansion, Reach, Shape
from engine.reader import Reader
from snapshots.model import Api

Wanted = dict[str, set[int]]
"""The numbers of the entries to read, by the ``uid`` of their API."""
Loaded = dict[str, dict[int, Version]]


def expand(reader: Reader, versions: Iterable[Version], shape: Shape, now: int, deadline: float) -> Documents:
    """The entries that versions refer to, as JSON, with their own references expanded at depth 2.

    Entries that are not live, in the language that the request's rule chooses, are not in the result.
    """
    if not shape.expansions:
        return {}
    second = shape.depth > 1
    wanted = _wanted(versions, shape.expansions)
    loaded = _load(reader, wanted, shape.reach, now, deadline, linked=second)
    if not second:
        return {uid: {n: version.body for n, version in found.items()} for uid, found in loaded.items()}
    expansions = {uid: shape.reach.expansions(_api(reader, uid)) for uid in loaded}
    below = _second_level(reader, wanted, loaded, expansions, shape.reach, now, deadline)
    return {
        uid: {n: with_values(v.body, expanded_values(v, expansions[uid], below)) for n, v in found.items()}
        for uid, found in loaded.items()
    }


def expanded_values(version: Version, expansions: Sequence[Expansion], documents: Documents) -> dict[str, bytes]:
    """The values of a version's expanded fields, by field ID."""
    return {
        expansion.field.id: expanded_value(numbers, documents[expansion.target.uid])
        for expansion, numbers in zip(expansions, version.references, strict=True)
    }


def _second_level(
    reader: Reader,
    asked: Wanted,
    loaded: Loaded,
    expansions: Mapping[str, Sequence[Expansion]],
    reach: Reach,
    now: int,
    deadline: float,
) -> Documents:
    """What the entries of the first level refer to; those asked for already are not asked for again."""
    wanted: Wanted = {}
    for uid, found in loaded.items():
        for target, numbers in _wanted(found.values(), expansions[uid]).items():
            wanted.setdefault(target, set()).update(numbers)
    missing = {uid: numbers - asked.get(uid, set()) for uid, numbers in wanted.items()}
    read = _load(reader, missing, reach, now, deadline, linked=False)
    return {uid: {n: v.body for n, v in (loaded.get(uid, {}) | read[uid]).items()} for uid in wanted}


def _wanted(versions: Iterable[Version], expansions: Sequence[Expansion]) -> Wanted:
    wanted: Wanted = {expansion.target.uid: set() for expansion in expansions}
    sets = [wanted[expansion.target.uid] for expansion in expansions]
    for version in versions:
        for found, numbers in zip(sets, version.references, strict=True):
            if isinstance(numbers, list):
                found.update(numbers)
            elif numbers is not None:
                found.add(numbers)
    return wanted


def _load(
    reader: Reader, wanted: Mapping[str, set[int]], reach: Reach, now: int, deadline: float, *, linked: bool
) -> Loaded:
    """The live versions of the wanted entries; ``linked``: with the entries that they in turn refer to."""
    loaded: Loaded = {}
    for uid, numbers in wanted.items():
        reader.check(deadline)
        found = loaded[uid] = {}
        if not numbers:
            continue
        target = _api(reader, uid)
        positions = reader.positions(target)
        row_of = positions.by_number(reach.visibility_in(target), now)
        references = positions.references(reach.expansions(target) if linked else ())
        for number in numbers:
            row = row_of(number)
            if row is not None:
                found[number] = Version(positions.body(row), references(row))
    return loaded


def _api(reader: Reader, uid: str) -> Api:
    api = reader.workspace.api_by_uid(uid)
    assert api is not None  # noqa: S101 - expansions only hold APIs of this workspace
    return api

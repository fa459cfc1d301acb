"""Find renamed entries among those that came and those that went: the same content under another ID."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Final, TypeAlias

import msgspec

from snapshots.compare.versions import Version

Place: TypeAlias = tuple[str, bool]
"""A language, and whether it is the draft."""
Entries: TypeAlias = Mapping[str, Mapping[Place, Version]]

LIKENESS: Final = 0.9
"""The least likeness, from 0 to 1, of the words of two entries of which one is probably the other one renamed."""
MOST_LIKENED: Final = 20
"""Entries that went, and entries that came, of an API up to which they are likened to each other."""
FEWEST_WORDS: Final = 8
"""Entries with fewer words in all say too little to be likened."""


class Rename(msgspec.Struct, frozen=True):
    """An entry that has another ID than before."""

    api: str
    """The endpoint."""
    before: str
    after: str
    places: tuple[Place, ...]
    """Its language versions and drafts that were renamed."""
    title: str
    exact: bool
    """Whether the content is the same; otherwise it is nearly so."""
    left: tuple[str, ...] = ()
    """The languages that still have the old ID."""


def find_renames(
    endpoint: str, went: Iterable[Version], came: Iterable[Version], left: Mapping[str, Iterable[str]], new: set[str]
) -> list[Rename]:
    """Return the entries of an API that were renamed, by their old IDs.

    ``went`` and ``came`` are the versions that are there no more, or that were not there before; ``left`` are the
    languages, by ID, in which entries of ``went`` are still there, ``new`` the IDs of ``came`` that were not there
    before in any language. An entry is another one renamed where the same versions went as came, each with the same
    content, and no other entry that went or came has that content. What is still there as well is copied, not renamed.
    """
    gone = _by_entry(went)
    come = {entry: places for entry, places in _by_entry(came).items() if entry in new}
    found = [_rename(endpoint, *pair, gone, come, left, exact=True) for pair in _same(gone, come)]
    paired = {one.before for one in found} | {one.after for one in found}
    rest = [{entry: places for entry, places in entries.items() if entry not in paired} for entries in (gone, come)]
    found += [_rename(endpoint, *pair, gone, come, left, exact=False) for pair in _alike(*rest)]
    return sorted(found, key=lambda one: one.before)


def _by_entry(versions: Iterable[Version]) -> dict[str, dict[Place, Version]]:
    found: dict[str, dict[Place, Version]] = defaultdict(dict)
    for one in versions:
        found[one.id][one.lang, one.draft] = one
    return found


def _rename(
    endpoint: str,
    before: str,
    after: str,
    gone: Entries,
    come: Entries,
    left: Mapping[str, Iterable[str]],
    *,
    exact: bool,
) -> Rename:
    places = tuple(place for place in come[after] if place in gone[before])
    title = next(iter(come[after].values())).title
    return Rename(endpoint, before, after, places, title, exact, tuple(left.get(before, ())))


def _same(gone: Entries, come: Entries) -> list[tuple[str, str]]:
    """Return the pairs of entries with the same versions of the same content, where it is nobody else's."""
    sides = [_by_content(entries) for entries in (gone, come)]
    return [
        (entries[0], sides[1][content][0])
        for content, entries in sides[0].items()
        if len(entries) == 1 and len(sides[1].get(content, ())) == 1
    ]


def _by_content(entries: Entries) -> dict[frozenset[tuple[Place, bytes]], list[str]]:
    found: dict[frozenset[tuple[Place, bytes]], list[str]] = defaultdict(list)
    for entry, places in entries.items():
        if any(one.content for one in places.values()):
            found[frozenset((place, one.content) for place, one in places.items())].append(entry)
    return found


def _alike(gone: Entries, come: Entries) -> list[tuple[str, str]]:
    """Return the pairs of entries that have most of their words in common, and with no other entry."""
    if max(len(gone), len(come), 1) > MOST_LIKENED:
        return []
    likings = [(one, other) for one in gone for other in come if _likeness(gone[one], come[other]) >= LIKENESS]
    return [pair for pair in likings if sum(pair[0] == one or pair[1] == other for one, other in likings) == 1]


def _likeness(before: Mapping[Place, Version], after: Mapping[Place, Version]) -> float:
    if before.keys() != after.keys():
        return 0
    words = [[word for place in sorted(places) for word in places[place].text.split()] for places in (before, after)]
    if min(map(len, words)) < FEWEST_WORDS:
        words = [list("".join(one)) for one in words]  # scripts without spaces
        if min(map(len, words)) < FEWEST_WORDS * 5:
            return 0
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    return matcher.quick_ratio() if matcher.real_quick_ratio() >= LIKENESS else 0

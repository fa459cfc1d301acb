"""Gather the aliases of all entries, and find the files that refer to entries by an old ID."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.aliases.reading import NewName, Renamed
from snapshots.build.old_ids.redirects import Page, Redirect, redirects
from snapshots.compile.links import page_address
from snapshots.compile.rows import ALIAS, FIRST_LINK, LEFT_OUT, LIVE
from snapshots.definitions.model import Definitions
from snapshots.groups import reference_checks
from snapshots.model import Api, Workspace


class Refers(msgspec.Struct, frozen=True):
    """The compiled references of one API, and the IDs of its versions."""

    api: Api
    index: pa.Table
    """Rows as ``CachedRows.rows`` has them."""
    references: pa.Table
    """Rows as ``CachedRows.references`` has them."""


class Claim(msgspec.Struct, frozen=True):
    """An old ID or address, and the entry that had it, as one version's file says."""

    name: str
    entry_id: str
    lang: int
    """The position of the version's language in the workspace."""
    file: int
    line: int
    item: str

    @property
    def is_address(self) -> bool:
        return self.name.startswith("/")


def claims(references: pa.Table) -> list[Claim]:
    """Return the aliases among an API's references, by name, then by entry."""
    rows = references.filter(pc.equal(references["field"], ALIAS)).to_pylist()
    found = []
    for row in rows:
        found.append(Claim(row["target"], row["written"], row["lang"], row["file"], row["line"], row["item"]))
    return sorted(found, key=lambda claim: (claim.name, claim.entry_id, claim.file, claim.line))


def clashes(of_api: list[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Return each claim to an old ID that another entry claims too, after the claim that holds."""
    for one, other in pairwise(of_api):
        if one.name == other.name and one.entry_id != other.entry_id and not one.is_address:
            yield one, other


def renamed_entries(workspace: Workspace, every: Sequence[Refers]) -> Renamed:
    """Return the entries that old IDs lead to, for all APIs that references are looked for in.

    An ID that an entry has is no old one; of two entries that claim one, the first by ID has it.
    """
    names: dict[str, dict[str, str]] = {}
    by_uid = {one.api.uid: one for one in every}
    for one in every:
        mine: dict[str, str] = {}
        for claim in claims(one.references):
            if not claim.is_address:
                mine.setdefault(claim.name, claim.entry_id)
        taken = _taken(one, list(mine))
        if left := {name: entry_id for name, entry_id in mine.items() if name not in taken}:
            names[one.api.uid] = left
    if not names:
        return {}
    looked_for = {check.targets for one in every for check in reference_checks(one.api)}
    looked_for |= {(uid,) for uid in names}
    found = {targets: _names_in(workspace, targets, names, by_uid) for targets in looked_for if {*targets} & {*names}}
    return {targets: entries for targets, entries in found.items() if entries}


def redirects_of(definitions: Definitions, every: Sequence[Refers]) -> tuple[list[Redirect], list[str]]:
    """Return the redirects from old IDs and addresses to the pages of entries, and why others are none."""
    pages: list[Page] = []
    lacking: list[str] = []
    for one in every:
        page_url = definitions.sources[one.api.uid].page_url
        of_api = claims(one.references)
        if page_url is not None:
            pages += _pages(definitions.workspace, one, page_url, of_api)
        elif of_api:
            lacking.append(f"{one.api.endpoint} has aliases and no 'page_url', so nothing tells where its pages are.")
    found, refused = redirects(pages, _is_page(definitions, every))
    return found, [*lacking, *refused]


def _pages(workspace: Workspace, one: Refers, page_url: str, of_api: list[Claim]) -> Iterator[Page]:
    published = one.index.filter(pc.equal(one.index["state"], LIVE))
    by_entry: dict[str, list[Claim]] = {}
    twice = {other.name for first, other in clashes(of_api)}
    held = {first.name: first.entry_id for first, _ in clashes(of_api)}
    for claim in of_api:
        if claim.name not in twice or held.get(claim.name, claim.entry_id) == claim.entry_id:
            by_entry.setdefault(claim.entry_id, []).append(claim)
    rows = published.filter(pc.is_in(published["id"], value_set=pa.array(list(by_entry), pa.string())))
    languages: dict[str, set[int]] = {}
    for row in rows.select(["id", "lang"]).to_pylist():
        languages.setdefault(row["id"], set()).add(row["lang"])
    for entry_id, mine in sorted(by_entry.items()):
        spoken = tuple(workspace.languages[number] for number in sorted(languages.get(entry_id, ())))
        old_ids = tuple(dict.fromkeys(claim.name for claim in mine if not claim.is_address))
        addresses = tuple(
            dict.fromkeys((claim.name, workspace.languages[claim.lang]) for claim in mine if claim.is_address)
        )
        yield Page(one.api.endpoint, page_url, entry_id, spoken, old_ids, addresses)


def _is_page(definitions: Definitions, every: Sequence[Refers]) -> Callable[[str], bool]:
    """Return the function that tells of a path on the site whether an entry has its page there now."""
    taken: set[str] = set()
    workspace = definitions.workspace
    for one in every:
        page_url = definitions.sources[one.api.uid].page_url
        if page_url is None:
            continue
        live = one.index.filter(pc.equal(one.index["state"], LIVE)).select(["id", "lang"])
        for row in live.to_pylist():
            address = page_address(page_url, row["id"], workspace.languages[row["lang"]])
            taken.add(unquote(urlsplit(address).path).rstrip("/"))
    return lambda path: path.rstrip("/") in taken


def _names_in(
    workspace: Workspace, targets: tuple[str, ...], names: dict[str, dict[str, str]], by_uid: dict[str, Refers]
) -> dict[str, NewName]:
    """Return the entries that old IDs lead to where a reference is looked for in several APIs, one after the other."""
    found: dict[str, NewName] = {}
    for at, uid in enumerate(targets):
        mine = {name: entry_id for name, entry_id in names.get(uid, {}).items() if name not in found}
        others = [by_uid[other] for other in targets if other != uid and other in by_uid]
        taken = {name for other in others for name in _taken(other, list(mine))}
        earlier = [by_uid[other] for other in targets[:at] if other in by_uid]
        hidden = {entry_id for other in earlier for entry_id in _taken(other, list(mine.values()))}
        api = workspace.api_by_uid(uid)
        for name, entry_id in mine.items():
            if name not in taken:
                has_to_say = entry_id in hidden and api is not None
                found[name] = NewName(api.endpoint if has_to_say and api is not None else None, entry_id)
    return found


def _taken(of_api: Refers, names: list[str]) -> set[str]:
    """Return those of some IDs that entries of an API have, also ones that are left out for an error."""
    if not names:
        return set()
    left_out = of_api.references.filter(pc.equal(of_api.references["field"], LEFT_OUT))["target"]
    wanted = pa.array(names, pa.string())
    return {
        name
        for ids in (of_api.index["id"], left_out)
        for name in pc.unique(ids.filter(pc.is_in(ids, value_set=wanted))).to_pylist()
    }


def files_by_old_ids(workspace: Workspace, one: Refers, renamed: Renamed) -> list[int]:
    """Return the numbers of an API's files that refer to an entry by an old ID."""
    fields, targets = one.references["field"], one.references["target"]
    found = np.zeros(len(one.references), dtype=bool)
    numbers = [(number, check.targets) for number, check in enumerate(reference_checks(one.api))]
    numbers += [(FIRST_LINK - at, (api.uid,)) for at, api in enumerate(workspace.apis)]
    for number, uids in numbers:
        names = renamed.get(uids)
        if names is not None:
            old = pc.is_in(targets, value_set=pa.array(list(names), pa.string()))
            found |= np.asarray(pc.and_(pc.equal(fields, number), old))
    numbers_of_files: list[int] = np.unique(one.references["file"].to_numpy()[found]).tolist()
    return numbers_of_files

"""Checks between versions: doubles, object APIs with two items, references to entries that do not exist."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias
from unicodedata import normalize

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from snapshots.build.incremental import CompiledApi, RowsChange
from snapshots.build.old_ids.gathering import claims, clashes
from snapshots.compile.launches import LAUNCH, STRAGGLER
from snapshots.compile.rows import DRAFT_FILE, FIRST_LINK, LAUNCHED_DRAFT, LEFT_OUT, MADE_ID
from snapshots.groups import reference_checks
from snapshots.model import Api, ApiKind, Workspace
from snapshots.problems import KEPT_PER_KIND, Problems

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class CheckedApi(msgspec.Struct, frozen=True):
    """The versions of one API without those that clash with another."""

    api: Api
    index: pa.Table
    """Rows as ``CachedRows.rows`` has them: ``file`` is a position in ``files``, ``chunk`` one in ``chunks``."""
    references: pa.Table
    files: list[str]
    chunks: list[Path]
    firsts: Ints
    """A row of each entry."""
    entries: Ints
    """The position of each row's entry in ``firsts``."""
    change: RowsChange | None
    """What changed since a build before; ``None`` where that does not tell which versions are left out."""

    @property
    def ids(self) -> pa.Array:
        """The distinct IDs."""
        return _one(self.index["id"].take(pa.array(self.firsts)))

    def numbers(self) -> pa.Array:
        """Return the numbers of the entries, and of those that were left out for an error of their own."""
        left_out = self.references.filter(pc.equal(self.references["field"], LEFT_OUT))["number"]
        return pa.concat_arrays([pa.array(self.index["number"].to_numpy()[self.firsts]), *left_out.chunks])

    def without(self, rows: Ints) -> CheckedApi:
        """Return the same without some rows."""
        keep = np.ones(len(self.index), dtype=bool)
        keep[rows] = False
        firsts, entries = _distinct(self.entries[keep])
        return replace(self, index=self.index.filter(pa.array(keep)), firsts=firsts, entries=entries, change=None)


def check(workspace: Workspace, compiled: list[CompiledApi], problems: Problems) -> list[CheckedApi]:
    """Report versions that clash with each other; return the rows without them."""
    checked = [_without_doubles(workspace, _numbered(api), problems) for api in compiled]
    checked = [_without_strangers(workspace, api, problems) for api in checked]
    for api in checked:
        _check_case(api, problems)
        _check_aliases(api, problems)
    return [_one_item(api, problems) if api.api.kind is ApiKind.OBJECT else api for api in checked]


def check_references(workspace: Workspace, checked: list[CheckedApi]) -> Problems:
    """Return a warning for every reference to an ID that does not exist in any language, and for unpublished changes
    that name a launch with which nothing of their entry goes live."""
    problems = Problems()
    numbers = {api.api.uid: api.numbers() for api in checked}
    ids = _Ids({api.api.uid: api for api in checked})
    for api in checked:
        _check_references(workspace, api, numbers, ids, problems)
        _check_links(workspace, api, numbers, ids, problems)
        _check_launched_drafts(api, problems)
    return problems


class _Ids:
    """The IDs that are not found because of a slip, read where there are any."""

    def __init__(self, checked: dict[str, CheckedApi]) -> None:
        self._checked = checked
        self._read: dict[str, tuple[pa.Array, pa.Array]] = {}

    def alike(self, entry_id: str, uids: Sequence[str]) -> str:
        """Return a hint at an ID in one of these APIs that differs in upper and lower case only, or none."""
        for uid in uids:
            if uid not in self._read:
                ids = _known_ids(self._checked[uid])
                self._read[uid] = ids, pc.ascii_lower(ids)
            ids, lower = self._read[uid]
            found = ids.filter(pc.equal(lower, entry_id.lower()))
            if len(found):
                return f"; did you mean {found[0].as_py()!r}?"
        return ""


def _numbered(api: CompiledApi) -> CheckedApi:
    firsts, entries = _entries(api.index)
    is_object = api.api.kind is ApiKind.OBJECT
    change = None if is_object else api.change
    return CheckedApi(api.api, api.index, api.references, api.files, api.chunks, firsts, entries, change)


def _entries(index: pa.Table) -> tuple[Ints, Ints]:
    """Return a row of each entry, and the position there of each row's entry."""
    numbers = index["number"].to_numpy()
    firsts, entries = _distinct(numbers)
    marks = index["mark"].to_numpy()
    if (marks == marks[firsts][entries]).all():
        return firsts, entries
    # Two IDs have the same number, which nobody may see.
    return _distinct(_one(index["id"]).dictionary_encode().indices.to_numpy())


def _distinct(values: Ints) -> tuple[Ints, Ints]:
    """Return the first position of each distinct value, and of each value its position among the distinct ones."""
    _, firsts, entries = np.unique(values, return_index=True, return_inverse=True)
    return firsts, entries


def _without_doubles(workspace: Workspace, api: CheckedApi, problems: Problems) -> CheckedApi:
    """Keep the first of several versions for one (API, ID, language, draft)."""
    index = api.index
    drafts = index["state"].to_numpy() == DRAFT_FILE
    variants = index["lang"].to_numpy().astype(np.int64) * 2 + drafts
    keys = api.entries * np.int64(2 * len(workspace.languages)) + variants
    ordered = np.sort(keys)
    doubles = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(doubles):
        return api
    rows = np.flatnonzero(np.isin(keys, doubles))
    candidates = index.take(pa.array(rows)).append_column("at", pa.array(rows))
    candidates = candidates.sort_by([("file", "ascending"), ("line", "ascending"), ("at", "ascending")])
    first: dict[tuple[int, bool, str], str] = {}
    left_out: list[int] = []
    for row in candidates.select(["lang", "state", "id", "file", "line", "item", "at"]).to_pylist():
        key = (row["lang"], row["state"] == DRAFT_FILE, row["id"])
        path = api.files[row["file"]]
        if key not in first:
            first[key] = f"{path}:{row['line']}" + (f", {row['item']}" if row["item"] else "")
            continue
        left_out.append(row["at"])
        what = "drafts" if key[1] else "language versions"
        problems.error(
            path,
            row["line"],
            "double",
            f"two {what} of {row['id']!r} in {workspace.languages[row['lang']]} for {api.api.endpoint}: "
            f"the other is {first[key]}; remove one or give it another ID",
            in_version=True,
            item=row["item"],
        )
    return api.without(np.array(left_out))


def _without_strangers(workspace: Workspace, api: CheckedApi, problems: Problems) -> CheckedApi:
    """Leave out language versions that are in one entry only because two different names give the same ID."""
    made = pc.equal(api.references["field"], MADE_ID)
    if not pc.any(made).as_py():
        return api
    differing = pc.and_(made, pc.not_equal(api.references["target"], api.references["written"]))
    changed = api.references["number"].filter(differing)
    mine = api.references.filter(pc.and_(made, pc.is_in(api.references["number"], value_set=pc.unique(changed))))
    if len(mine) < 2:
        return api
    first: dict[str, dict[str, Any]] = {}
    strangers = set[tuple[int, int, str]]()
    for row in mine.sort_by([("file", "ascending"), ("line", "ascending")]).to_pylist():
        other = first.setdefault(row["target"], row)
        if normalize("NFC", row["written"]) == normalize("NFC", other["written"]):
            continue
        strangers.add((row["file"], row["line"], row["target"]))
        where = f"{api.files[other['file']]}:{other['line']}"
        problems.error(
            api.files[row["file"]],
            row["line"],
            "same-id-by-chance",
            f"{row['written']!r} ({workspace.languages[row['lang']]}) and {other['written']!r} "
            f"({workspace.languages[other['lang']]}, {where}) both give the ID {row['target']!r}, and are not named "
            "alike: if they are translations of each other, write the same 'id' key into both; if not, give one "
            "another ID by a key 'id' or by 'id_map'",
            in_version=True,
            item=row["item"],
        )
    if not strangers:
        return api
    rows = zip(*(api.index[name].to_pylist() for name in ("file", "line", "id")), strict=True)
    return api.without(np.flatnonzero([row in strangers for row in rows]))


def _check_case(api: CheckedApi, problems: Problems) -> None:
    """Warn of IDs that differ in upper and lower case only."""
    folded = np.sort(api.index["folded"].to_numpy()[api.firsts])
    if not (folded[1:] == folded[:-1]).any():
        return
    ids = api.ids
    spellings: dict[str, list[str]] = {}
    for entry_id, folded in zip(ids.to_pylist(), pc.ascii_lower(ids).to_pylist(), strict=True):
        spellings.setdefault(folded, []).append(entry_id)
    alike = {other: same for same in map(sorted, spellings.values()) if len(same) > 1 for other in same[1:]}
    rows = api.index.filter(pc.is_in(api.index["id"], value_set=pa.array(list(alike), pa.string())))
    told = set[str]()
    for row in rows.sort_by([("file", "ascending"), ("line", "ascending")]).to_pylist():
        if row["id"] in told:
            continue
        told.add(row["id"])
        first = alike[row["id"]][0]
        message = (
            f"the ID {row['id']!r} differs from {first!r} in upper and lower case only: they are two entries, and "
            "many file systems and readers take them for one. Rename one"
        )
        problems.warning(api.files[row["file"]], row["line"], "ids-alike", message, item=row["item"])


def _check_aliases(api: CheckedApi, problems: Problems) -> None:
    """Report old IDs that another entry has, or that two entries claim."""
    found = claims(api.references)
    if not found:
        return
    names = pa.array([claim.name for claim in found], pa.string())
    taken = set(pc.unique(names.filter(pc.is_in(names, value_set=_known_ids(api)))).to_pylist())
    for claim in found:
        if claim.name in taken:
            rows = api.index.filter(pc.equal(api.index["id"], claim.name)).slice(0, 1).to_pylist()
            where = f" ({api.files[rows[0]['file']]}:{rows[0]['line']})" if rows else ""
            message = (
                f"the alias {claim.name!r} is the ID of another entry{where}: remove the alias here, or rename that "
                "entry. Where 'aliases' means something else, write 'meta: {aliases: null}' in the definition"
            )
            problems.error(api.files[claim.file], claim.line, "alias-taken", message, item=claim.item)
    for first, other in clashes(found):
        message = (
            f"{other.entry_id!r} and {first.entry_id!r} ({api.files[first.file]}:{first.line}) both say that "
            f"{other.name!r} is an old ID of theirs: it leads to {first.entry_id!r}. Remove one"
        )
        problems.warning(api.files[other.file], other.line, "alias-twice", message, item=other.item)


def _one_item(api: CheckedApi, problems: Problems) -> CheckedApi:
    """Report versions of an object API with another ID than the first one's, and leave them out."""
    if len(api.index) < 2:
        return api
    index = api.index.sort_by([("file", "ascending"), ("line", "ascending")])
    first = index["id"][0].as_py()
    others = index.filter(pc.not_equal(index["id"], first))
    for row in others.select(["id", "file", "line", "item"]).to_pylist():
        problems.error(
            api.files[row["file"]],
            row["line"],
            "second-item",
            f"{api.api.endpoint} is an object API and already has the item {first!r} "
            f"({api.files[index['file'][0].as_py()]}); it cannot have {row['id']!r} too",
            in_version=True,
            item=row["item"],
        )
    return api.without(np.flatnonzero(pc.not_equal(api.index["id"], first)))


def _check_references(
    workspace: Workspace,
    api: CheckedApi,
    numbers: dict[str, pa.Array],
    ids: _Ids,
    problems: Problems,
) -> None:
    """Report references to entries that do not exist; ``numbers`` are those of the entries, by the ``uid`` of their
    API."""
    for number, one in enumerate(reference_checks(api.api)):
        if not all(uid in numbers for uid in one.targets):
            continue
        is_this = pc.equal(api.references["field"], number)
        used = _one(api.references["number"].filter(is_this))
        if not len(used):  # Arrow would hash all the target's IDs for nothing
            continue
        there = sum(np.asarray(pc.is_in(used, value_set=numbers[uid])).astype(np.int8) for uid in one.targets)
        apis = [target.endpoint for uid in one.targets if (target := workspace.api_by_uid(uid)) is not None]
        rows = np.flatnonzero(is_this)
        for row in _shown(api.references, rows[there == 0], problems, "dangling-reference"):
            given = row["target"] if row["written"] is None else row["written"]
            message = f"{one.path.name}: there is no entry {given!r} in {' or '.join(apis)}"
            if row["written"] is not None:
                message += f" (as an ID: {row['target']!r})"
            message += ids.alike(row["target"], one.targets)
            problems.warning(api.files[row["file"]], row["line"], "dangling-reference", message, item=row["item"])
        for row in _shown(api.references, rows[there > 1], problems, "ambiguous-reference"):
            message = (
                f"{one.path.name}: more than one of {', '.join(apis)} has an entry {row['target']!r}, and that of the "
                f"first is taken: write {{api: {apis[0]}, id: {row['target']}}}"
            )
            problems.warning(api.files[row["file"]], row["line"], "ambiguous-reference", message, item=row["item"])


def _shown(references: pa.Table, rows: Ints, problems: Problems, kind: str) -> list[dict[str, Any]]:
    """Return the first of some references, given by their rows; the others are counted."""
    problems.add_uncounted([("warning", kind, max(0, len(rows) - KEPT_PER_KIND))])
    shown: list[dict[str, Any]] = references.take(pa.array(rows[:KEPT_PER_KIND])).to_pylist() if len(rows) else []
    return shown


def _check_links(
    workspace: Workspace,
    api: CheckedApi,
    numbers: dict[str, pa.Array],
    ids: _Ids,
    problems: Problems,
) -> None:
    """Report links in rich texts to entries that do not exist in any language."""
    fields = api.references["field"].to_numpy()
    for position in np.unique(fields[fields <= FIRST_LINK]).tolist():
        target = workspace.apis[FIRST_LINK - position]
        rows = np.flatnonzero(fields == position)
        there = pc.is_in(pa.array(api.references["number"].to_numpy()[rows]), value_set=numbers[target.uid])
        for row in _shown(api.references, rows[~np.asarray(there)], problems, "dangling-link"):
            message = f"a link leads to {row['target']!r} in {target.endpoint}, and there is no such entry"
            message += ids.alike(row["target"], (target.uid,))
            problems.warning(api.files[row["file"]], row["line"], "dangling-link", message, item=row["item"])


def _check_launched_drafts(api: CheckedApi, problems: Problems) -> None:
    drafts = api.references.filter(pc.equal(api.references["field"], LAUNCHED_DRAFT))
    if not len(drafts):
        return
    published = api.index.filter(pc.not_equal(api.index["state"], DRAFT_FILE))
    there = set(zip(published["lang"].to_pylist(), published["id"].to_pylist(), strict=True))
    alone = [row for row in drafts.to_pylist() if (row["lang"], row["target"]) not in there]
    for row in alone[:KEPT_PER_KIND]:
        message = f"{LAUNCH}: {row['written']}"
        problems.warning(api.files[row["file"]], row["line"], STRAGGLER, message, item=row["item"])
    problems.add_uncounted([("warning", STRAGGLER, max(0, len(alone) - KEPT_PER_KIND))])


def _known_ids(api: CheckedApi) -> pa.Array:
    """Return the IDs of an API's entries, including those that were left out for an error of their own."""
    left_out = api.references.filter(pc.equal(api.references["field"], LEFT_OUT))["target"]
    return pa.concat_arrays([api.ids, *left_out.chunks])


def _one(values: pa.ChunkedArray) -> pa.Array:
    found = values.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)

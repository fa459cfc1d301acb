"""Checks between versions: doubles, object APIs with two items, references to entries that do not exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias
from unicodedata import normalize

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from snapshots.build.incremental import CompiledApi
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
    """Rows of the schema ``chunks.INDEX``: ``file`` is a position in ``files``, ``chunk`` one in ``chunks``."""
    references: pa.Table
    files: list[str]
    chunks: list[Path]
    ids: pa.Array
    """The distinct IDs."""
    entries: Ints
    """The position in ``ids`` of each row's ID."""


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
    ids = {api.api.uid: _known_ids(api) for api in checked}
    for api in checked:
        _check_references(workspace, api, ids, problems)
        _check_links(workspace, api, ids, problems)
        _check_launched_drafts(api, problems)
    return problems


def _numbered(api: CompiledApi) -> CheckedApi:
    # Importing Arrow's grouping and joining takes longer than counting in NumPy does.
    ids = _one(api.index["id"]).dictionary_encode()
    entries = ids.indices.to_numpy()
    return CheckedApi(api.api, api.index, api.references, api.files, api.chunks, ids.dictionary, entries)


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
    keep = np.ones(len(index), dtype=bool)
    keep[left_out] = False
    return replace(api, index=index.filter(pa.array(keep)), entries=api.entries[keep])


def _without_strangers(workspace: Workspace, api: CheckedApi, problems: Problems) -> CheckedApi:
    """Leave out language versions that are in one entry only because two different names give the same ID."""
    made = api.references.filter(pc.equal(api.references["field"], MADE_ID))
    changed = made.filter(pc.not_equal(made["target"], made["written"]))["target"]
    mine = made.filter(pc.is_in(made["target"], value_set=pc.unique(changed)))
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
    keep = np.array([row not in strangers for row in rows], dtype=bool)
    return replace(api, index=api.index.filter(pa.array(keep)), entries=api.entries[keep])


def _check_case(api: CheckedApi, problems: Problems) -> None:
    """Warn of IDs that differ in upper and lower case only."""
    lower = pc.ascii_lower(api.ids)
    if len(pc.unique(lower)) == len(lower):
        return
    spellings: dict[str, list[str]] = {}
    for entry_id, folded in zip(api.ids.to_pylist(), lower.to_pylist(), strict=True):
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
    kept = api.index.filter(pc.equal(api.index["id"], first))
    return replace(api, index=kept, ids=pa.array([first], pa.string()), entries=np.zeros(len(kept), dtype=np.int32))


def _check_references(workspace: Workspace, api: CheckedApi, ids: dict[str, pa.Array], problems: Problems) -> None:
    for number, one in enumerate(reference_checks(api.api)):
        if not all(uid in ids for uid in one.targets):
            continue
        is_this = pc.equal(api.references["field"], number)
        used = _one(api.references["target"].filter(is_this))
        if not len(used):  # Arrow would hash all the target's IDs for nothing
            continue
        there = sum(np.asarray(pc.is_in(used, value_set=ids[uid])).astype(np.int64) for uid in one.targets)
        apis = [target.endpoint for uid in one.targets if (target := workspace.api_by_uid(uid)) is not None]
        found = api.references.filter(is_this)
        for row in _shown(found.filter(pa.array(there == 0)), problems, "dangling-reference"):
            given = row["target"] if row["written"] is None else row["written"]
            message = f"{one.path.name}: there is no entry {given!r} in {' or '.join(apis)}"
            if row["written"] is not None:
                message += f" (as an ID: {row['target']!r})"
            message += _alike(row["target"], [ids[uid] for uid in one.targets])
            problems.warning(api.files[row["file"]], row["line"], "dangling-reference", message, item=row["item"])
        for row in _shown(found.filter(pa.array(there > 1)), problems, "ambiguous-reference"):
            message = (
                f"{one.path.name}: more than one of {', '.join(apis)} has an entry {row['target']!r}, and that of the "
                f"first is taken: write {{api: {apis[0]}, id: {row['target']}}}"
            )
            problems.warning(api.files[row["file"]], row["line"], "ambiguous-reference", message, item=row["item"])


def _shown(rows: pa.Table, problems: Problems, kind: str) -> list[dict[str, Any]]:
    """Return the first of some references; the others are counted."""
    problems.add_uncounted([("warning", kind, max(0, len(rows) - KEPT_PER_KIND))])
    shown: list[dict[str, Any]] = rows.slice(0, KEPT_PER_KIND).to_pylist()
    return shown


def _check_links(workspace: Workspace, api: CheckedApi, ids: dict[str, pa.Array], problems: Problems) -> None:
    """Report links in rich texts to entries that do not exist in any language."""
    links = api.references.filter(pc.less_equal(api.references["field"], FIRST_LINK))
    for position in pc.unique(links["field"]).to_pylist():
        target = workspace.apis[FIRST_LINK - position]
        mine = links.filter(pc.equal(links["field"], position))
        dangling = mine.filter(pc.invert(pc.is_in(_one(mine["target"]), value_set=ids[target.uid])))
        for row in dangling.slice(0, KEPT_PER_KIND).to_pylist():
            message = f"a link leads to {row['target']!r} in {target.endpoint}, and there is no such entry"
            message += _alike(row["target"], [ids[target.uid]])
            problems.warning(api.files[row["file"]], row["line"], "dangling-link", message, item=row["item"])
        problems.add_uncounted([("warning", "dangling-link", max(0, len(dangling) - KEPT_PER_KIND))])


def _alike(entry_id: str, every: list[pa.Array]) -> str:
    """Return a hint at an ID that differs in upper and lower case only, or none."""
    for ids in every:
        found = ids.filter(pc.equal(pc.ascii_lower(ids), entry_id.lower()))
        if len(found):
            return f"; did you mean {found[0].as_py()!r}?"
    return ""


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

"""Checks between versions: doubles, object APIs with two items, references to entries that do not exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from snapshots.build.incremental import CompiledApi
from snapshots.compile.rows import DRAFT_FILE, FIRST_LINK, LEFT_OUT
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
    return [_one_item(api, problems) if api.api.kind is ApiKind.OBJECT else api for api in checked]


def check_references(workspace: Workspace, checked: list[CheckedApi]) -> Problems:
    """Return a warning for every reference to an ID that does not exist in any language."""
    problems = Problems()
    ids = {api.api.uid: _known_ids(api) for api in checked}
    for api in checked:
        _check_references(workspace, api, ids, problems)
        _check_links(workspace, api, ids, problems)
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
    places = index["lang"].to_numpy().astype(np.int64) * 2 + drafts
    keys = api.entries * np.int64(2 * len(workspace.languages)) + places
    ordered = np.sort(keys)
    doubles = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(doubles):
        return api
    rows = np.flatnonzero(np.isin(keys, doubles))
    candidates = index.take(pa.array(rows)).append_column("at", pa.array(rows))
    candidates = candidates.sort_by([("file", "ascending"), ("line", "ascending"), ("at", "ascending")])
    first: dict[tuple[int, bool, str], str] = {}
    left_out: list[int] = []
    for row in candidates.select(["lang", "state", "id", "file", "line", "at"]).to_pylist():
        key = (row["lang"], row["state"] == DRAFT_FILE, row["id"])
        path = api.files[row["file"]]
        if key not in first:
            first[key] = f"{path}:{row['line']}"
            continue
        left_out.append(row["at"])
        what = "drafts" if key[1] else "versions"
        problems.error(
            path,
            row["line"],
            "double",
            f"two {what} of {row['id']!r} in {workspace.languages[row['lang']]} for {api.api.endpoint}: "
            f"the other is {first[key]}; remove one or give it another ID",
            in_version=True,
        )
    keep = np.ones(len(index), dtype=bool)
    keep[left_out] = False
    return replace(api, index=index.filter(pa.array(keep)), entries=api.entries[keep])


def _one_item(api: CheckedApi, problems: Problems) -> CheckedApi:
    """Report versions of an object API with another ID than the first one's, and leave them out."""
    if len(api.index) < 2:
        return api
    index = api.index.sort_by([("file", "ascending"), ("line", "ascending")])
    first = index["id"][0].as_py()
    others = index.filter(pc.not_equal(index["id"], first))
    for row in others.select(["id", "file", "line"]).to_pylist():
        problems.error(
            api.files[row["file"]],
            row["line"],
            "second-item",
            f"{api.api.endpoint} is an object API and already has the item {first!r} "
            f"({api.files[index['file'][0].as_py()]}); it cannot have {row['id']!r} too",
            in_version=True,
        )
    kept = api.index.filter(pc.equal(api.index["id"], first))
    return replace(api, index=kept, ids=pa.array([first], pa.string()), entries=np.zeros(len(kept), dtype=np.int32))


def _check_references(workspace: Workspace, api: CheckedApi, ids: dict[str, pa.Array], problems: Problems) -> None:
    for number, field in enumerate(api.api.fields):
        if field.target is None or field.target not in ids:
            continue
        used = _one(api.references["target"].filter(pc.equal(api.references["field"], number)))
        if not len(used):  # without references Arrow would hash the target's IDs for nothing
            continue
        unknown = pc.invert(pc.is_in(used, value_set=ids[field.target]))
        count = pc.sum(unknown).as_py() or 0
        if not count:
            continue
        target = workspace.api_by_uid(field.target)
        name = target.endpoint if target is not None else field.target
        dangling = api.references.filter(pc.equal(api.references["field"], number)).filter(unknown)
        for row in dangling.slice(0, KEPT_PER_KIND).to_pylist():
            problems.warning(
                api.files[row["file"]],
                row["line"],
                "dangling-reference",
                f"{field.id}: there is no entry {row['target']!r} in {name}"
                if row["written"] is None
                else f"{field.id}: there is no entry {row['written']!r} in {name} (as an ID: {row['target']!r})",
            )
        problems.add_uncounted([("warning", "dangling-reference", max(0, count - KEPT_PER_KIND))])


def _check_links(workspace: Workspace, api: CheckedApi, ids: dict[str, pa.Array], problems: Problems) -> None:
    """Report links in rich texts to entries that do not exist in any language."""
    links = api.references.filter(pc.less_equal(api.references["field"], FIRST_LINK))
    for position in pc.unique(links["field"]).to_pylist():
        target = workspace.apis[FIRST_LINK - position]
        mine = links.filter(pc.equal(links["field"], position))
        dangling = mine.filter(pc.invert(pc.is_in(_one(mine["target"]), value_set=ids[target.uid])))
        for row in dangling.slice(0, KEPT_PER_KIND).to_pylist():
            message = f"a link leads to {row['target']!r} in {target.endpoint}, and there is no such entry"
            problems.warning(api.files[row["file"]], row["line"], "dangling-link", message)
        problems.add_uncounted([("warning", "dangling-link", max(0, len(dangling) - KEPT_PER_KIND))])


def _known_ids(api: CheckedApi) -> pa.Array:
    """Return the IDs of an API's entries, including those that were left out for an error of their own."""
    left_out = api.references.filter(pc.equal(api.references["field"], LEFT_OUT))["target"]
    return pa.concat_arrays([api.ids, *left_out.chunks])


def _one(values: pa.ChunkedArray) -> pa.Array:
    found = values.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)

"""What only shows once all versions are known: doubles, objects with two items, references to nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.compilation import CompiledApi
from snapshots.model import ApiKind, Workspace
from snapshots.problems import Problems
from snapshots.rows import DRAFT_FILE, LEFT_OUT


def check(workspace: Workspace, compiled: list[CompiledApi], problems: Problems) -> list[CompiledApi]:
    """Report what is wrong between versions; return the rows without those that had to be left out."""
    checked = [_without_doubles(workspace, api, problems) for api in compiled]
    checked = [_one_item(api, problems) if api.api.kind is ApiKind.OBJECT else api for api in checked]
    ids = {api.api.uid: _known_ids(api) for api in checked}
    for api in checked:
        _check_references(workspace, api, ids, problems)
    return checked


def _without_doubles(workspace: Workspace, api: CompiledApi, problems: Problems) -> CompiledApi:
    """Keep the first of several versions for one (API, ID, language, draft)."""
    index = api.index
    # Numbers, since Arrow's own grouping and joining take longer to import than this takes.
    ids = index["id"].combine_chunks().dictionary_encode()
    drafts = index["state"].to_numpy() == DRAFT_FILE
    places = index["lang"].to_numpy().astype(np.int64) * 2 + drafts
    keys = _codes(ids) * (2 * len(workspace.languages)) + places
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
    api.index = index.filter(pa.array(keep))
    return api


def _one_item(api: CompiledApi, problems: Problems) -> CompiledApi:
    """An object API has one item: versions with another ID than the first's are errors."""
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
    api.index = api.index.filter(pc.equal(api.index["id"], first))
    return api


def _check_references(workspace: Workspace, api: CompiledApi, ids: dict[str, pa.Array], problems: Problems) -> None:
    """Warn of references to an ID that does not exist in any language."""
    for number, field in enumerate(api.api.fields):
        if field.target is None or field.target not in ids:
            continue
        used = api.references.filter(pc.equal(api.references["field"], number))
        if not len(used):
            continue
        dangling = used.filter(pc.invert(pc.is_in(used["target"], value_set=ids[field.target])))
        target = workspace.api_by_uid(field.target)
        name = target.endpoint if target is not None else field.target
        for row in dangling.to_pylist():
            problems.warning(
                api.files[row["file"]],
                row["line"],
                "dangling-reference",
                f"{field.id}: there is no entry {row['target']!r} in {name}",
            )


def _known_ids(api: CompiledApi) -> pa.Array:
    """The IDs of an API's entries, those that were left out for an error of their own included."""
    left_out = api.references.filter(pc.equal(api.references["field"], LEFT_OUT))["target"]
    return pa.chunked_array([*api.index["id"].chunks, *left_out.chunks], pa.string()).combine_chunks()


def _codes(encoded: pa.Array | pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The numbers of a dictionary-encoded column."""
    one = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.asarray(one.indices).astype(np.int64)

"""Plan the data files of an API from its checked rows: which rows, in which order, with which live windows."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.build.checks import CheckedApi
from snapshots.build.parquet import FilePlan
from snapshots.columns import FileKind, columns, stored_form, window_columns, windows_of
from snapshots.compile.rows import DRAFT_FILE, LIVE
from snapshots.model import Api, Workspace
from snapshots.store.manifest import FORMAT

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

LAYOUT: Final = 1
"""Counted up whenever the same rows give other bytes, so that no file of another layout is linked."""
_NO_INSTANT = np.iinfo(np.int64).min
"""Stands for a missing instant in the digest of a file's content."""


class PlannedFile(msgspec.Struct):
    """A data file that is to be linked or written."""

    api: Api
    lang: str
    kind: FileKind
    plan: FilePlan
    chunks: list[Path]
    content: str
    """SHA-256 over all that decides the file's bytes: its columns, its fields as they are stored, its rows in order."""
    scheduled: int

    @property
    def rows(self) -> int:
        return len(self.plan.row)

    @property
    def path(self) -> str:
        suffix = ".drafts.parquet" if self.kind is FileKind.DRAFTS else ".parquet"
        return f"{self.lang}/{self.api.endpoint}{suffix}"


class _Language(msgspec.Struct, frozen=True):
    """An API's live versions in one language."""

    rows: Ints
    """The versions' positions in the index."""
    positions: Ints
    """The position in ``rows`` by the number of an entry; -1 for an entry without a live version."""
    live_from: Ints
    live_until: Ints


def planned_files(workspace: Workspace, checked: CheckedApi) -> Iterator[PlannedFile]:
    """Return the data files of an API, in the workspace's order of languages, published before drafts."""
    api, index = checked.api, checked.index
    drafts = _drafts(index)
    draft_entries, draft_langs = _numbers(drafts, checked.ids), drafts["lang"].to_numpy()
    number = {lang: at for at, lang in enumerate(workspace.languages)}
    langs = np.where(index["state"].to_numpy() == LIVE, index["lang"].to_numpy(), -1)
    by_lang: dict[str, _Language] = {}
    for lang in workspace.languages_of(api):
        rows = np.flatnonzero(langs == number[lang])
        # Entries are found in other languages by number: IDs are hashed once, not once for every pair of languages.
        positions = np.full(len(checked.ids) + 1, -1, dtype=np.int32)
        positions[checked.entries[rows]] = np.arange(len(rows))
        window = [index[name].take(pa.array(rows)).to_numpy() for name in ("live_from", "live_until")]
        by_lang[lang] = _Language(rows, positions, *window)
    for lang in workspace.languages_of(api):
        rows = by_lang[lang].rows
        if len(rows):
            yield _planned_file(
                workspace, checked, lang, FileKind.PUBLISHED, index, rows, checked.entries[rows], by_lang
            )
        rows = np.flatnonzero(draft_langs == number[lang])
        if len(rows):
            yield _planned_file(workspace, checked, lang, FileKind.DRAFTS, drafts, rows, draft_entries[rows], by_lang)


def _numbers(rows: pa.Table, ids: pa.Array) -> Ints:
    """Return the position in ``ids`` of each row's ID; one past the last position for an ID that is not there."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)  # Arrow would hash all IDs for nothing
    found = _one(pc.index_in(rows["id"], value_set=ids))
    numbers: Ints = np.asarray(pc.fill_null(found, len(ids))).astype(np.int64)
    return numbers


def _drafts(index: pa.Table) -> pa.Table:
    """Return the unpublished changes: draft files, and versions with status draft that have no draft file.

    The draft key is the draft file's, else that of the main file (decision 40).
    """
    is_live = pc.equal(index["state"], LIVE)
    drafts = index.filter(pc.invert(is_live))
    if not len(drafts):
        return drafts
    live = index.filter(is_live)
    in_files = drafts.filter(pc.equal(drafts["state"], DRAFT_FILE))
    by_status = drafts.filter(pc.not_equal(drafts["state"], DRAFT_FILE))
    replaced = pc.is_in(_identity(by_status), value_set=_identity(in_files))
    main = pa.concat_tables([live, by_status])
    rows = pa.concat_tables([in_files, by_status.filter(pc.invert(replaced))]).combine_chunks()
    found = pc.index_in(_identity(rows), value_set=_identity(main))
    keys = pc.coalesce(rows["draft_key"], pc.take(main["draft_key"].combine_chunks(), found))
    at = rows.schema.get_field_index("draft_key")
    return rows.set_column(at, rows.schema.field(at), keys)


def _identity(rows: pa.Table) -> pa.Array:
    """Return a text for each row, equal for versions of one entry in one language."""
    joined = pc.binary_join_element_wise(rows["lang"].cast(pa.string()), rows["id"], " ")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _planned_file(
    workspace: Workspace,
    checked: CheckedApi,
    lang: str,
    kind: FileKind,
    index: pa.Table,
    rows: Ints,
    entries: Ints,
    by_lang: dict[str, _Language],
) -> PlannedFile:
    """Plan the data file of these rows of ``index``; ``entries`` has the entry's number of each."""
    order = _order(index, rows)
    rows, entries = pa.array(rows[order]), entries[order]
    wanted = {name: index[name].take(rows) for name in ("chunk", "row", "size", "scheduled", "digest")}
    keys = _one(index["draft_key"].take(rows)) if kind is FileKind.DRAFTS else None
    stored = tuple(columns(workspace, checked.api, lang, kind))
    # The rows' digests tell what is delivered of their fields; what columns hold follows from the fields' types too.
    form = (FORMAT, LAYOUT, stored, stored_form(checked.api.fields))
    content = sha256(msgspec.json.encode(form))
    for chunk in wanted["digest"].chunks:
        width = chunk.type.byte_width
        content.update(chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width))
    windows: dict[str, pa.Array] = {}
    for other in windows_of(workspace, checked.api, lang, kind):
        versions = by_lang[other]
        positions = versions.positions[entries]
        missing = positions < 0
        for name, instants in zip(window_columns(other), (versions.live_from, versions.live_until), strict=True):
            found = instants[positions] if len(instants) else np.zeros(len(positions), dtype=np.int64)
            found[missing] = _NO_INSTANT
            content.update(name.encode())
            content.update(found.tobytes())
            windows[name] = pa.array(found.view("datetime64[ms]"), mask=missing)
    if keys is not None:
        content.update(repr(keys.to_pylist()).encode())
    plan = FilePlan(
        columns=stored,
        chunk=wanted["chunk"].to_numpy(),
        row=wanted["row"].to_numpy(),
        size=wanted["size"].to_numpy(),
        windows=windows,
        draft_keys=keys,
        digests=wanted["digest"],
    )
    scheduled = pc.sum(wanted["scheduled"]).as_py() or 0
    return PlannedFile(checked.api, lang, kind, plan, checked.chunks, content.hexdigest(), scheduled)


def _order(index: pa.Table, rows: Ints) -> Ints:
    """Return the positions in ``rows`` in the order of a data file."""
    keys = index.select(["published", "id"]).take(pa.array(rows))
    found: Ints = pc.sort_indices(keys, sort_keys=[("published", "descending"), ("id", "ascending")]).to_numpy()
    return found


def _one(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values

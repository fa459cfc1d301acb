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
from snapshots.columns import (
    FileKind,
    file_path,
    own_columns,
    public_columns,
    stored_form,
    window_columns,
    windows_of,
)
from snapshots.compile.rows import DRAFT_FILE, LIVE
from snapshots.data_files.segments import Division, divided
from snapshots.model import Api, Workspace
from snapshots.store.manifest import FORMAT

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

LAYOUT: Final = 2
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
    segment: str

    @property
    def rows(self) -> int:
        return len(self.plan.row)

    @property
    def path(self) -> str:
        return file_path(self.kind, self.lang, self.api.endpoint, self.segment)

    @property
    def index_path(self) -> str:
        """The path of the search index of its rows."""
        return file_path(FileKind.SEARCH, self.lang, self.api.endpoint, self.segment)


class _Language(msgspec.Struct, frozen=True):
    """An API's live versions in one language."""

    positions: Ints
    """The position of an entry's version in the two below, by the entry's position in ``CheckedApi.ids``; -1 for an
    entry without a live version."""
    live_from: Ints
    live_until: Ints


def planned_files(workspace: Workspace, checked: CheckedApi, limit: int) -> Iterator[PlannedFile]:
    """Return the data files of an API, in segments of ``limit`` entries at most, in the workspace's order of languages,
    published before drafts."""
    index, division = checked.index, _division(checked, limit)
    drafts = _drafts(index)
    number = {lang: at for at, lang in enumerate(workspace.languages)}
    langs = np.where(index["state"].to_numpy() == LIVE, index["lang"].to_numpy(), -1)
    by_lang = dict[str, _Language]()
    if len(workspace.languages_of(checked.api)) > 1:
        for lang in workspace.languages_of(checked.api)[1:]:
            by_lang[lang] = _language(checked, np.flatnonzero(langs == number[lang]))
    for lang in workspace.languages_of(checked.api):
        for kind, rows, of in (
            (FileKind.PUBLISHED, index, langs),
            (FileKind.DRAFTS, drafts, drafts["lang"].to_numpy()),
        ):
            found = _ordered(rows, np.flatnonzero(of == number[lang]))
            segments = division.of_numbers(rows["number"].take(pa.array(found)).to_numpy())
            for at in np.unique(segments).tolist():
                yield _planned_file(
                    workspace, checked, lang, kind, rows, found[segments == at], by_lang, division.names[at]
                )


def _division(checked: CheckedApi, limit: int) -> Division:
    numbers = np.zeros(len(checked.ids), np.uint64)
    numbers[checked.entries] = checked.index["number"].to_numpy()
    return divided(numbers[np.unique(checked.entries)], limit)


def _language(checked: CheckedApi, rows: Ints) -> _Language:
    """Return an API's live versions in a language, which these rows are."""
    # Entries are found in other languages by number: IDs are hashed once, not once for every pair of languages.
    positions = np.full(len(checked.ids) + 1, -1, dtype=np.int32)
    positions[checked.entries[rows]] = np.arange(len(rows))
    window = [checked.index[name].take(pa.array(rows)).to_numpy() for name in ("live_from", "live_until")]
    return _Language(positions, *window)


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
    found: Ints,
    by_lang: dict[str, _Language],
    segment: str,
) -> PlannedFile:
    """Plan the data file of the rows ``found`` in ``index``, in their order."""
    rows = pa.array(found)
    wanted = {name: index[name].take(rows) for name in ("chunk", "row", "size", "scheduled", "digest")}
    keys = _one(index["draft_key"].take(rows)) if kind is FileKind.DRAFTS else None
    stored = tuple(public_columns(checked.api))
    own = tuple(own_columns(workspace, checked.api, lang, kind))
    # The rows' digests tell what is delivered of their fields; what columns hold follows from the fields' types too.
    form = (FORMAT, LAYOUT, stored, own, stored_form(checked.api.fields))
    content = sha256(msgspec.json.encode(form))
    for chunk in wanted["digest"].chunks:
        width = chunk.type.byte_width
        content.update(chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width))
    windows: dict[str, pa.Array] = {}
    for other in windows_of(workspace, checked.api, lang, kind):
        versions = by_lang[other]
        positions = versions.positions[checked.entries[found]]
        missing = positions < 0
        for name, instants in zip(window_columns(other), (versions.live_from, versions.live_until), strict=True):
            there = instants[positions] if len(instants) else np.zeros(len(positions), dtype=np.int64)
            there[missing] = _NO_INSTANT
            content.update(name.encode())
            content.update(there.tobytes())
            windows[name] = pa.array(there.view("datetime64[ms]"), mask=missing)
    if keys is not None:
        content.update(repr(keys.to_pylist()).encode())
    plan = FilePlan(
        columns=stored,
        own=own,
        chunk=wanted["chunk"].to_numpy(),
        row=wanted["row"].to_numpy(),
        size=wanted["size"].to_numpy(),
        windows=windows,
        draft_keys=keys,
        digests=wanted["digest"],
    )
    scheduled = pc.sum(wanted["scheduled"]).as_py() or 0
    return PlannedFile(checked.api, lang, kind, plan, checked.chunks, content.hexdigest(), scheduled, segment)


def _ordered(index: pa.Table, rows: Ints) -> Ints:
    """Return these rows of an index in the order of data files."""
    keys = index.select(["published", "id"]).take(pa.array(rows))
    order = pc.sort_indices(keys, sort_keys=[("published", "descending"), ("id", "ascending")]).to_numpy()
    found: Ints = rows[order]
    return found


def _one(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values

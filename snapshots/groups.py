"""Checked rows of an API → one plan per data file: which rows, in which order, with which live windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.columns import Column, columns, window_columns, windows_of
from snapshots.compilation import CompiledApi
from snapshots.compile import DRAFT_FILE, LIVE
from snapshots.manifest import FORMAT, FileKind
from snapshots.model import Api, Workspace
from snapshots.parquet import FilePlan

_MILLISECONDS = pa.timestamp("ms")


@dataclass(slots=True)
class Group:
    """One data file to be."""

    api: Api
    lang: str
    kind: FileKind
    plan: FilePlan
    chunks: list[Path]
    content: str
    """SHA-256 over everything the file says, in order."""
    scheduled: int

    @property
    def rows(self) -> int:
        return len(self.plan.row)

    @property
    def path(self) -> str:
        suffix = ".drafts.parquet" if self.kind is FileKind.DRAFTS else ".parquet"
        return f"{self.lang}/{self.api.endpoint}{suffix}"


def groups(workspace: Workspace, compiled: CompiledApi) -> Iterator[Group]:
    """The data files of an API, in the workspace's order of languages, published before drafts."""
    api, index = compiled.api, compiled.index
    live = index.filter(pc.equal(index["state"], LIVE))
    drafts = _drafts(index, live)
    number = {lang: at for at, lang in enumerate(workspace.languages)}
    live_by_lang = {
        lang: live.filter(pc.equal(live["lang"], number[lang])).combine_chunks() for lang in workspace.languages_of(api)
    }
    for lang in workspace.languages_of(api):
        of_lang = drafts.filter(pc.equal(drafts["lang"], number[lang]))
        for kind, rows in ((FileKind.PUBLISHED, live_by_lang[lang]), (FileKind.DRAFTS, of_lang)):
            if len(rows):
                yield _group(workspace, compiled, lang, kind, rows, live_by_lang)


def _drafts(index: pa.Table, live: pa.Table) -> pa.Table:
    """The unpublished changes: draft files before versions with status draft, with the draft key of
    either file, the draft's first (decision 40)."""
    drafts = index.filter(pc.not_equal(index["state"], LIVE))
    if not len(drafts):
        return drafts
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
    """One text a row that is the same for versions of one entry in one language."""
    joined = pc.binary_join_element_wise(rows["lang"].cast(pa.string()), rows["id"], " ")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _group(
    workspace: Workspace,
    compiled: CompiledApi,
    lang: str,
    kind: FileKind,
    rows: pa.Table,
    live_by_lang: dict[str, pa.Table],
) -> Group:
    order = pc.sort_indices(rows, sort_keys=[("published", "descending"), ("id", "ascending")])
    rows = rows.take(order).combine_chunks()
    windows: dict[str, pa.Array] = {}
    for other in windows_of(workspace, compiled.api, lang, kind):
        found = pc.index_in(rows["id"], value_set=live_by_lang[other]["id"].combine_chunks())
        for name, source in zip(window_columns(other), ("live_from", "live_until"), strict=True):
            values = pc.take(live_by_lang[other][source].combine_chunks(), found)
            windows[name] = _one(values).cast(_MILLISECONDS)
    keys = _one(rows["draft_key"]) if kind is FileKind.DRAFTS else None
    stored = tuple(columns(workspace, compiled.api, lang, kind))
    plan = FilePlan(
        columns=stored,
        chunk=rows["chunk"].to_numpy(),
        row=rows["row"].to_numpy(),
        size=rows["size"].to_numpy(),
        windows=windows,
        draft_keys=keys,
    )
    scheduled = pc.sum(rows["scheduled"].cast(pa.int64())).as_py() or 0
    return Group(compiled.api, lang, kind, plan, compiled.chunks, _content(stored, rows, windows, keys), scheduled)


def _one(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _content(stored: tuple[Column, ...], rows: pa.Table, windows: dict[str, pa.Array], keys: pa.Array | None) -> str:
    """SHA-256 over the format, the columns, and of every row its digest, live windows and draft key."""
    digest = sha256(repr((FORMAT, stored)).encode())
    for chunk in rows["digest"].chunks:
        width = chunk.type.byte_width
        digest.update(chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width))
    for name, array in windows.items():
        digest.update(name.encode())
        numbers = array.cast(pa.int64())
        digest.update(np.asarray(pc.fill_null(numbers, np.iinfo(np.int64).min)).tobytes())
    if keys is not None:
        digest.update(repr(keys.to_pylist()).encode())
    return digest.hexdigest()

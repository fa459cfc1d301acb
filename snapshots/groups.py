"""Checked rows of an API → one plan per data file: which rows, in which order, with which live windows."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.columns import columns, window_columns, windows_of
from snapshots.compilation import CompiledApi
from snapshots.manifest import FORMAT, FileKind
from snapshots.model import Api, Workspace
from snapshots.parquet import FilePlan
from snapshots.rows import DRAFT_FILE, LIVE

_NO_INSTANT = np.iinfo(np.int64).min
"""In place of an instant in what a file's content is known by."""


class Group(msgspec.Struct):
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


class _Language(msgspec.Struct, frozen=True):
    """An API's live versions in one language."""

    rows: pa.Table
    entries: np.ndarray[Any, np.dtype[np.int64]]
    """The number of each row's entry."""
    places: np.ndarray[Any, np.dtype[np.int32]]
    """Number of an entry → its row; -1 where it has none."""
    live_from: np.ndarray[Any, np.dtype[np.int64]]
    live_until: np.ndarray[Any, np.dtype[np.int64]]


def groups(workspace: Workspace, compiled: CompiledApi) -> Iterator[Group]:
    """The data files of an API, in the workspace's order of languages, published before drafts."""
    api, index = compiled.api, compiled.index
    is_live = pc.equal(index["state"], LIVE)
    live = index if pc.all(is_live).as_py() else index.filter(is_live)
    drafts = _drafts(index, live)
    number = {lang: at for at, lang in enumerate(workspace.languages)}
    # Entries are found in other languages by number: IDs are looked up once, and not once for every two languages.
    encoded = live["id"].combine_chunks().dictionary_encode()
    ids, entries = _one(encoded.dictionary), np.asarray(_one(encoded.indices)).astype(np.int64)
    langs = live["lang"].to_numpy()
    by_number = np.argsort(langs, kind="stable")
    borders = np.searchsorted(langs[by_number], np.arange(len(number) + 1))
    live, entries = live.take(pa.array(by_number)), entries[by_number]
    by_lang: dict[str, _Language] = {}
    for lang in workspace.languages_of(api):
        first, end = borders[number[lang]], borders[number[lang] + 1]
        rows, mine = live.slice(first, end - first).combine_chunks(), entries[first:end]
        places = np.full(len(ids) + 1, -1, dtype=np.int32)
        places[mine] = np.arange(len(rows))
        by_lang[lang] = _Language(rows, mine, places, rows["live_from"].to_numpy(), rows["live_until"].to_numpy())
    for lang in workspace.languages_of(api):
        published = by_lang[lang]
        if len(published.rows):
            yield _group(workspace, compiled, lang, FileKind.PUBLISHED, published.rows, published.entries, by_lang)
        of_lang = drafts.filter(pc.equal(drafts["lang"], number[lang]))
        if len(of_lang):
            yield _group(workspace, compiled, lang, FileKind.DRAFTS, of_lang, _numbers(of_lang, ids), by_lang)


def _numbers(rows: pa.Table, ids: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Each row's entry as its place in ``ids``; one past the last where it is not there."""
    found = _one(pc.index_in(rows["id"], value_set=ids))
    return np.asarray(pc.fill_null(found, len(ids))).astype(np.int64)


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
    entries: np.ndarray[Any, np.dtype[np.int64]],
    by_lang: dict[str, _Language],
) -> Group:
    order = pc.sort_indices(rows, sort_keys=[("published", "descending"), ("id", "ascending")])
    rows, entries = rows.take(order).combine_chunks(), entries[order.to_numpy()]
    keys = _one(rows["draft_key"]) if kind is FileKind.DRAFTS else None
    stored = tuple(columns(workspace, compiled.api, lang, kind))
    content = sha256(repr((FORMAT, stored)).encode())
    for chunk in rows["digest"].chunks:
        width = chunk.type.byte_width
        content.update(chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width))
    windows: dict[str, pa.Array] = {}
    for other in windows_of(workspace, compiled.api, lang, kind):
        versions = by_lang[other]
        places = versions.places[entries]
        missing = places < 0
        for name, instants in zip(window_columns(other), (versions.live_from, versions.live_until), strict=True):
            found = instants[places] if len(instants) else np.zeros(len(places), dtype=np.int64)
            found[missing] = _NO_INSTANT
            content.update(name.encode())
            content.update(found.tobytes())
            windows[name] = pa.array(found.view("datetime64[ms]"), mask=missing)
    if keys is not None:
        content.update(repr(keys.to_pylist()).encode())
    plan = FilePlan(
        columns=stored,
        chunk=rows["chunk"].to_numpy(),
        row=rows["row"].to_numpy(),
        size=rows["size"].to_numpy(),
        windows=windows,
        draft_keys=keys,
        digests=rows["digest"],
    )
    scheduled = pc.sum(rows["scheduled"].cast(pa.int64())).as_py() or 0
    return Group(compiled.api, lang, kind, plan, compiled.chunks, content.hexdigest(), scheduled)


def _one(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values

"""The compiled rows of one API in the build cache: chunks, each with the index and references of the rows in use.

What is written is not changed any more. Where the rows of a source go, the index and references of its chunk alone are
written anew, so that what a build writes here follows what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.build.cache import BuildCache, ChunkState
from snapshots.build.cached.chunks import (
    CHUNK_ORDER,
    INDEX,
    REFERENCES,
    ChunkReader,
    read_arrow,
    references_of,
    write_arrow,
    write_chunk,
)
from snapshots.columns import Column
from snapshots.compile.rows import CompiledRows

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

MANY_SMALL: Final = 32
"""Small chunks are joined once there are more of them."""
SMALL_ROWS: Final = 512
SMALL_BYTES: Final = 8 << 20
"""A chunk is small with fewer rows in use than ``SMALL_ROWS``, which are fewer bytes of JSON than this."""
JOINED_BYTES: Final = 32 << 20
"""Chunks are joined up to about this many bytes of JSON, since their rows are in memory meanwhile."""
_COMPARED_ROWS: Final = 200_000
"""From this many rows on that came or went, those that say the same as before are not looked for."""

GONE: Final = -1
"""In the place of the number of a file: its rows are used no more."""
_ROWS: Final = pa.schema([pa.field("file", pa.int32()), *INDEX.remove(0), pa.field("chunk", pa.int32())])
_REFERENCES: Final = pa.schema([pa.field("file", pa.int32()), *REFERENCES.remove(0)])
_SAID: Final = ("number", "lang", "state", "scheduled", "digest")
"""The columns that decide what data files have of a row."""


class CacheDamaged(Exception):
    """A file of the build cache cannot be read: forget the cache and compile everything."""


class Chunk(msgspec.Struct):
    """A chunk, and the present numbers of its sources."""

    rows: str
    index: str
    references: str
    count: int
    size: int
    files: Ints
    units: Ints

    @property
    def is_small(self) -> bool:
        """Whether it is to be joined with others once there are many like it."""
        return self.count < SMALL_ROWS and self.size < SMALL_BYTES

    def state(self) -> ChunkState:
        """Return what to remember of it."""
        names = (self.rows, self.index, self.references)
        return ChunkState(*names, self.count, self.size, self.files.tobytes(), self.units.tobytes())


def remembered(state: ChunkState) -> Chunk:
    """Return a chunk of the last build, with the numbers that its sources had."""
    files, units = (np.frombuffer(column, np.int32).copy() for column in (state.files, state.units))
    return Chunk(*state.names, state.count, state.size, files, units)


def write_compiled(
    directory: Path, rows: CompiledRows, stored: Sequence[Column], sources: Sequence[tuple[int, int]]
) -> Chunk | None:
    """Write compiled rows and their references into the cache; ``None`` where there are none. ``sources`` has the file
    and the unit of each source."""
    references = references_of(rows)
    if not rows.lang and not len(references):
        return None
    chunk = BuildCache.new_name("rows")
    index = INDEX.empty_table()
    if rows.lang:
        index = write_chunk(rows, stored, directory / chunk)
    else:
        write_arrow(pa.schema([]).empty_table(), directory / chunk)
    files, units = np.array(sources, dtype=np.int32).T
    return _written(directory, chunk, index, references, files.copy(), units.copy())


def _written(directory: Path, rows: str, index: pa.Table, references: pa.Table, files: Ints, units: Ints) -> Chunk:
    """Write index and references of a chunk."""
    names = (BuildCache.new_name("index"), BuildCache.new_name("refs"))
    for name, table in zip(names, (index, references), strict=True):
        write_arrow(table, directory / name)
    return Chunk(rows, *names, len(index), pc.sum(index["size"]).as_py() or 0, files, units)


class CachedRows:
    """The chunks of one API, in the order of their numbers."""

    def __init__(self, cache: BuildCache) -> None:
        self._cache = cache
        self.chunks: list[Chunk] = []
        self._came: list[pa.Table] = []
        self._went: list[pa.Table] = []

    def index_of(self, chunk: Chunk) -> pa.Table:
        """Return the index of a chunk. Raises ``CacheDamaged``."""
        return self._read(chunk.index, INDEX)

    def keep(self, chunk: Chunk) -> None:
        """Take over a chunk without the rows of sources that are gone."""
        if not (chunk.files == GONE).any():
            self.chunks.append(chunk)
            return
        left = self._without_gone(chunk)
        if left is not None:
            self.chunks.append(left)

    def add(self, chunk: Chunk) -> None:
        """Add a chunk that was just compiled."""
        self.chunks.append(chunk)
        self._came.append(self.index_of(chunk).select(_SAID))

    def drop(self, files: Sequence[int]) -> None:
        """Drop the rows of the files with these numbers."""
        before, self.chunks = self.chunks, []
        for chunk in before:
            chunk.files[np.isin(chunk.files, files)] = GONE
            self.keep(chunk)

    def changed(self) -> Ints:
        """Return the numbers of the entries of which some version came, went, or says something else than before."""
        tables = [*self._came, *self._went]
        if sum(map(len, tables)) > _COMPARED_ROWS:
            return np.unique(np.concatenate([table["number"].to_numpy() for table in tables]))
        differing = {row for one in self._came for row in _said(one)} ^ {
            row for one in self._went for row in _said(one)
        }
        return np.array(sorted({number for number, *_ in differing}), dtype=np.uint64)

    def join_small(self) -> bool:
        """Join small chunks if there are many, so that the chunks of single edits do not add up. Return whether there
        were."""
        small = [chunk for chunk in self.chunks if chunk.is_small]
        if len(small) <= MANY_SMALL:
            return False
        self.chunks = [chunk for chunk in self.chunks if not chunk.is_small]
        parts = np.cumsum([chunk.size for chunk in small]) // JOINED_BYTES
        for part in np.unique(parts).tolist():
            self.chunks.append(self._joined([small[at] for at in np.flatnonzero(parts == part).tolist()]))
        return True

    def rows(self, firsts: dict[int, Ints]) -> pa.Table:
        """Return the index of all rows: in the place of ``source`` the number of the ``file``, and at the end that of
        the ``chunk``. ``firsts`` has the lines before each unit of large files, by number."""
        tables = [_ROWS.empty_table()]
        for number, chunk in enumerate(self.chunks):
            placed = _placed(self.index_of(chunk), chunk, firsts)
            numbers = pa.array(np.full(len(placed), number, dtype=np.int32))
            tables.append(placed.append_column(_ROWS.field("chunk"), numbers))
        return pa.concat_tables(tables)

    def references(self, firsts: dict[int, Ints]) -> pa.Table:
        """Return all references, likewise with the number of the ``file``."""
        tables = [_placed(self._read(chunk.references, REFERENCES), chunk, firsts) for chunk in self.chunks]
        return pa.concat_tables([_REFERENCES.empty_table(), *tables])

    def paths(self) -> list[Path]:
        """Return the paths of the chunks."""
        return [self._cache.path(chunk.rows) for chunk in self.chunks]

    def _read(self, name: str, schema: pa.Schema) -> pa.Table:
        try:
            table = read_arrow(self._cache.path(name))
        except (OSError, pa.ArrowInvalid):
            raise CacheDamaged(self._cache.directory) from None
        if not table.schema.equals(schema):  # of another program
            raise CacheDamaged(self._cache.directory)
        return table

    def _without_gone(self, chunk: Chunk) -> Chunk | None:
        """Write index and references of a chunk without the sources that are gone; ``None`` where nothing is left."""
        index, references = self.index_of(chunk), self._read(chunk.references, REFERENCES)
        stay, referring = (chunk.files[table["source"].to_numpy()] != GONE for table in (index, references))
        self._went.append(index.select(_SAID).filter(pa.array(~stay)))
        if stay.all() and referring.all():
            return chunk
        if not stay.any() and not referring.any():
            return None
        tables = index.filter(pa.array(stay)), references.filter(pa.array(referring))
        return _written(self._cache.directory, chunk.rows, *tables, chunk.files, chunk.units)

    def _joined(self, chunks: Sequence[Chunk]) -> Chunk:
        """Join chunks into a new one."""
        indexes, references, pieces = [], [], []
        files, units = list[Ints](), list[Ints]()
        for chunk in chunks:
            index, referring = self.index_of(chunk), self._read(chunk.references, REFERENCES)
            used = np.union1d(index["source"].to_numpy(), referring["source"].to_numpy())
            at = np.zeros(len(chunk.files), dtype=np.int32)
            at[used] = sum(len(some) for some in files) + np.arange(len(used))
            indexes.append(_replaced(index, "source", at[index["source"].to_numpy()]))
            references.append(_replaced(referring, "source", at[referring["source"].to_numpy()]))
            files.append(chunk.files[used])
            units.append(chunk.units[used])
            if len(index):
                reader = ChunkReader(self._cache.path(chunk.rows))
                pieces.append(reader.take(index["row"].to_numpy()))
                reader.close()
        index = pa.concat_tables(indexes).combine_chunks()
        keys = index.append_column("draft", pc.not_equal(index["state"], 0))
        order = pc.sort_indices(keys, sort_keys=CHUNK_ORDER)
        name = BuildCache.new_name("rows")
        # Combined first: taking rows out of a table of many pieces costs as much as there are pieces, for every batch.
        rows = pa.concat_tables(pieces).combine_chunks() if pieces else pa.schema([]).empty_table()
        write_arrow(rows, self._cache.path(name), order)
        index = _replaced(index.take(order), "row", np.arange(len(index), dtype=np.int32))
        sources = np.concatenate(files), np.concatenate(units)
        return _written(self._cache.directory, name, index, pa.concat_tables(references), *sources)


def _said(table: pa.Table) -> set[tuple[Any, ...]]:
    return set(zip(*(table[name].to_pylist() for name in _SAID), strict=True))


def _placed(table: pa.Table, chunk: Chunk, firsts: dict[int, Ints]) -> pa.Table:
    """Return rows with the number of their file in the place of their source, and with lines counted in that file."""
    sources = table["source"].to_numpy()
    placed = _replaced(table, "source", chunk.files[sources]).rename_columns(["file", *table.column_names[1:]])
    before = np.zeros(len(chunk.files), dtype=np.int32)
    for at in np.flatnonzero(chunk.units).tolist():
        if (number := int(chunk.files[at])) != GONE:
            before[at] = firsts[number][chunk.units[at]]
    if not before.any():
        return placed
    return _replaced(placed, "line", table["line"].to_numpy() + before[sources])


def _replaced(table: pa.Table, column: str, values: Ints) -> pa.Table:
    at = table.schema.get_field_index(column)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))

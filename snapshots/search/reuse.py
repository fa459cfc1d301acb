"""Take the tokens of a new data file's rows from an older index, where the older file has the same text.

Nearly all rows of a rebuild were in the version before, and the tokens of a text depend on the text alone. Their
records are copied under the rows' new numbers, so that only new texts are cut into words; the result is the same as
that of indexing all. Blocks are compared one to one: where rows moved on, only those at the edges differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.search.runs import ragged

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Records: TypeAlias = tuple[list[bytes], Array, Array]
"""A block's tokens, where the rows of each begin, with the end of the last, and the rows."""
_DIGEST: Final = 16
_FEW: Final = 16
"""If at most one in this many texts of a batch differs, those are indexed again, not searched in other batches."""


class OlderBlock:
    """The rows of one field and block of an older data file, by their text, and the block's index."""

    def __init__(self, read: Callable[[], Records]) -> None:
        self._read = read
        self._texts: list[pa.StringArray] = []
        """At most one block (``index.BLOCK_BYTES``)."""
        self._count = 0
        self._rows: dict[bytes, int] | None = None
        self._next = 0
        """Number of batches of the new block compared so far."""
        self._passed = 0
        """Number of rows of this block in the batches compared so far."""
        self._now: list[Array] = []
        """Rows of the new block whose text this block has too ..."""
        self._before: list[Array] = []
        """... and for each a row of this block with the same text."""

    def know(self, texts: pa.StringArray) -> None:
        """Add the next rows' texts; NULL is no text."""
        self._texts.append(texts)
        self._count += len(texts)

    def without_known(self, texts: pa.StringArray, first: int) -> pa.StringArray:
        """Return the next texts of the new block, from row ``first`` on, with NULL for those that this block has."""
        found = self._in_place(texts)
        if found is None:
            rows = self._rows_by_text()
            found = np.array([rows.get(_key(text), -1) if text else -1 for text in _bytes(texts)], dtype=np.int64)
        known = np.flatnonzero(found >= 0)
        if not len(known):
            return texts
        self._now.append(known + first)
        self._before.append(found[known])
        return pc.if_else(pa.array(found < 0), texts, pa.scalar(None, pa.string()))

    def _in_place(self, texts: pa.StringArray) -> Array | None:
        """Compare ``texts`` with this block's next batch: its row for an equal text, else -1; ``None`` if many differ.

        Comparing is a tenth of the work of looking texts up.
        """
        if self._next >= len(self._texts):
            return None
        batch, first = self._texts[self._next], self._passed
        self._next += 1
        self._passed += len(batch)
        if len(batch) != len(texts):
            return None
        same = np.asarray(pc.fill_null(pc.equal(batch, texts), False))
        if _FEW * np.count_nonzero(~same) > len(same):
            return None
        return np.where(same, np.arange(first, first + len(batch)), -1)

    def _rows_by_text(self) -> dict[bytes, int]:
        if self._rows is None:
            texts = chain.from_iterable(map(_bytes, self._texts))
            self._rows = {_key(text): row for row, text in enumerate(texts) if text}
        return self._rows

    def tokens(self, number: Callable[[bytes], int]) -> Iterator[tuple[Array, Array]]:
        """Return the numbers of the known texts' tokens (uint32), and the new rows that hold them (uint16).

        ``number`` returns the new block's number of a token.
        """
        if not self._now:
            return
        now, before = np.concatenate(self._now), np.concatenate(self._before)
        now = now[np.argsort(before, kind="stable")].astype(np.uint16)
        counts = np.bincount(before, minlength=self._count)
        firsts = np.cumsum(counts) - counts
        tokens, begins, rows = self._read()
        times = counts[rows]
        held = np.add.reduceat(times, begins[:-1]) if len(rows) else np.zeros(0, dtype=np.int64)
        used = np.flatnonzero(held)
        numbers = np.array([number(tokens[token]) for token in used.tolist()], dtype=np.uint32)
        yield np.repeat(numbers, held[used]), now[ragged(firsts[rows], times)]


class OlderIndex:
    """An older data file and its index, which is open in the ``with`` block."""

    def __init__(self, data: Path, index: Path) -> None:
        self.data, self._index = data, index

    def __enter__(self) -> Self:
        self._file = pq.ParquetFile(self._index)
        self._groups: dict[str, dict[int, int]] = {}
        """By field and by the first row of a block, the row group with the field's records of the block."""
        for number in range(self._file.metadata.num_row_groups):
            group = self._file.metadata.row_group(number)
            fields, firsts = group.column(0).statistics, group.column(1).statistics
            if fields is not None and firsts is not None and fields.min == fields.max:
                self._groups.setdefault(fields.min, {})[firsts.min] = number
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def blocks(self, field: str, batches: Iterator[tuple[bool, pa.StringArray]]) -> Iterator[OlderBlock]:
        """Return the blocks of one field, in order; ``batches`` are its texts, each with whether it begins a block."""
        groups = self._groups.get(field, {})
        block, first, row = None, 0, 0
        for begins, texts in batches:
            if begins:
                if block is not None:
                    yield block
                first = row
                block = OlderBlock(partial(_read, self._file, groups.get(first)))
            if block is not None and first in groups:
                block.know(texts)
            row += len(texts)
        if block is not None:
            yield block


def _read(file: pq.ParquetFile, group: int | None) -> Records:
    if group is None:
        return [], np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint16)
    table = file.read_row_group(group, columns=["token", "rows"]).combine_chunks()
    tokens, lists = (column.combine_chunks() for column in table.columns)
    begins = lists.offsets.to_numpy()
    return tokens.cast(pa.binary()).to_pylist(), begins - begins[0], lists.flatten().to_numpy()


def _bytes(texts: pa.StringArray) -> list[bytes | None]:
    found: list[bytes | None] = texts.cast(pa.binary()).to_pylist()
    return found


def _key(text: bytes) -> bytes:
    """Return the key of a text: short texts themselves, the digest of others."""
    return text if len(text) < _DIGEST else blake2b(text, digest_size=_DIGEST).digest()

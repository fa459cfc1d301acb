"""Write the vocabulary of an API: the tokens of all its parts, once each, and where each part has their rows.

It is made of that of older tables, without the parts that are gone, and of the parts that those do not have; without
older tables, of all parts. What comes of it is the same, but for the order of a token's parts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.read.files.array_file import ArrayFile, ArrayFileWriter
from engine.read.files.parts import ApiParts
from engine.read.files.paths import CachePaths, search_file, vocabulary_file
from engine.read.files.search_arrays import PAIR_AT, PAIR_COUNTS, PAIR_PARTS, PAIR_ROWS, search_array
from engine.read.materialise.base_tables import Base
from snapshots.columns import indexed_fields
from snapshots.search.runs import ragged

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
_PAIR_ARRAYS: Final = {PAIR_PARTS: np.uint32, PAIR_ROWS: np.int32, PAIR_COUNTS: np.uint32}
_LINE_FEED: Final = np.frombuffer(b"\n", np.uint8)
Arrays: TypeAlias = Callable[[str], Array]
"""Returns one of the arrays of a field by its name."""


class Older(msgspec.Struct, frozen=True):
    """An older vocabulary of a field."""

    array: Arrays
    numbers: Array
    """The number that each of its parts has now, -1 for one that is gone."""


def write_vocabulary(path: Path, api: ApiParts, paths: CachePaths, base: Base | None) -> None:
    """Write the vocabulary of an API with several parts, which are in the cache, with the ``base`` of its tables.
    Raises ``OSError``."""
    with ExitStack() as opened, ArrayFileWriter(path, api.token) as file:

        def array_file(path: Path, token: bytes) -> ArrayFile:
            found = ArrayFile(path, token)
            opened.callback(found.close)
            return found

        older = None
        known: set[int] = set()
        if base is not None and len(base.numbers) * 2 >= len(api.parts):  # else joining all takes less time
            with suppress(OSError, ValueError):  # there is none, or it is damaged
                older = array_file(vocabulary_file(paths.tables(base.name)), bytes.fromhex(base.name))
                known = set(base.numbers.values())
        new = {
            number: array_file(search_file(paths.part(part.name)), part.token)
            for number, part in enumerate(api.parts)
            if number not in known
        }
        for lang in api.languages:
            there = {number for number, part in enumerate(api.parts) if any(one.lang == lang for one in part.files)}
            for field in indexed_fields(api.api) if there else ():
                parts = {n: _arrays_of(one, lang, field) for n, one in new.items() if n in there}
                before = None
                if base is not None and older is not None and search_array(lang, field, PAIR_AT) in older.stored:
                    before = Older(_arrays_of(older, lang, field), base.new_numbers())
                for name, values in joined_vocabulary(parts, before):
                    file.append(search_array(lang, field, name), values)


def _arrays_of(file: ArrayFile, lang: str, field: str) -> Arrays:
    return lambda name: file.array(search_array(lang, field, name))


def joined_vocabulary(parts: Mapping[int, Arrays], older: Older | None) -> Iterator[tuple[str, Array]]:
    """Yield the arrays of the vocabulary of one field. ``parts`` are those that the older one does not have, by their
    numbers, of those that have rows in a language."""
    words = _joined(_known(older, of_words=True), _new_tokens(parts, of_words=True), by_counts=True)
    others = _joined(_known(older, of_words=False), _new_tokens(parts, of_words=False), by_counts=False)
    yield "words", np.concatenate([_LINE_FEED, _content(words.texts)])
    yield "word_at", 1 + _ends(words.texts)
    yield "ordered", words.ordered.astype(np.uint32)
    yield "others", _content(others.texts)
    yield "other_at", _ends(others.texts)
    yield "counts", np.concatenate([words.counts, others.counts]).astype(np.uint32)
    yield PAIR_AT, np.concatenate([words.pair_at, words.pair_at[-1] + others.pair_at[1:]])
    for name, first, second in zip(_PAIR_ARRAYS, words.pairs, others.pairs, strict=True):
        yield name, np.concatenate([first, second])


class _Tokens(msgspec.Struct, frozen=True):
    """Tokens of several parts, once each."""

    texts: pa.LargeBinaryArray
    """A word takes its line feed with it, which changes no order."""
    ordered: Array
    """The numbers of the tokens in the order of their bytes."""
    counts: Array
    """The rows of all parts that hold each token."""
    pair_at: Array
    pairs: list[Array]
    """The arrays of ``_PAIR_ARRAYS``."""


class _NewTokens(msgspec.Struct, frozen=True):
    """The tokens of new parts, part after part."""

    texts: pa.ChunkedArray
    pairs: list[Array]


def _known(older: Older | None, *, of_words: bool) -> _Tokens:
    """The tokens of an older vocabulary, without the parts that are gone; some may be in no part any more."""
    if older is None:
        empty = [np.zeros(0, kind) for kind in _PAIR_ARRAYS.values()]
        nothing = np.zeros(0, np.int64)
        return _Tokens(pa.array([], pa.large_binary()), nothing, nothing, np.zeros(1, np.int64), empty)
    array = older.array
    words = len(array("ordered"))
    some = slice(0, words) if of_words else slice(words, None)
    ends = array(PAIR_AT)[some.start : None if some.stop is None else words + 1]
    pairs = [array(name)[ends[0] : ends[-1]] for name in _PAIR_ARRAYS]
    texts = _texts(array, of_words=of_words)
    counts, held = array("counts")[some].astype(np.int64), np.diff(ends)
    parts = older.numbers[pairs[0]]
    gone = (parts < 0).nonzero()[0]
    if len(gone):
        tokens = np.searchsorted(ends, gone + ends[0], side="right") - 1
        counts -= np.bincount(tokens, pairs[2][gone], len(counts)).astype(np.int64)
        held = held - np.bincount(tokens, minlength=len(counts))
        stays = parts >= 0
        parts, pairs = parts[stays], [values[stays] for values in pairs]
    pairs[0] = parts.astype(np.uint32)
    return _Tokens(texts, array("ordered") if of_words else np.arange(len(texts)), counts, _sums(held), pairs)


def _new_tokens(parts: Mapping[int, Arrays], *, of_words: bool) -> _NewTokens:
    texts: list[pa.Array] = []
    pairs: list[tuple[Array, Array, Array]] = [(np.zeros(0, np.int64),) * 3]
    for number, array in parts.items():
        words = len(array("ordered"))
        some = slice(0, words) if of_words else slice(words, None)
        counts, lines = array("counts")[some], array("bits_at")[some]
        rows = np.where(lines >= 0, ~lines, array("row_at")[:-1][some])
        texts.append(_texts(array, of_words=of_words))
        pairs.append((np.full(len(counts), number), rows, counts))
    of_all = zip(*pairs, strict=True)
    kinds = _PAIR_ARRAYS.values()
    joined = [np.concatenate(values).astype(kind) for values, kind in zip(of_all, kinds, strict=True)]
    return _NewTokens(pa.chunked_array(texts, pa.large_binary()), joined)


def _joined(known: _Tokens, new: _NewTokens, *, by_counts: bool) -> _Tokens:
    """Join tokens: with ``by_counts`` the most frequent come first, and else, and where as frequent, by their bytes."""
    encoded = new.texts.combine_chunks().dictionary_encode()
    there = pc.fill_null(pc.index_in(encoded.dictionary, value_set=known.texts), -1).to_numpy().astype(np.int64)
    unknown = (there < 0).nonzero()[0]
    fresh = encoded.dictionary.take(pa.array(unknown))
    by_bytes = pc.array_sort_indices(fresh).to_numpy()
    fresh = fresh.take(pa.array(by_bytes))
    there[unknown[by_bytes]] = len(known.texts) + np.arange(len(fresh))
    token = there[encoded.indices.to_numpy()]

    count = len(known.texts) + len(fresh)
    counts = np.bincount(token, new.pairs[2], count).astype(np.int64)
    counts[: len(known.counts)] += known.counts
    ordered = np.insert(known.ordered, _places(known, fresh), len(known.texts) + np.arange(len(fresh)))
    ordered = ordered[counts[ordered] > 0].astype(np.int64)
    order = ordered[np.argsort(-counts[ordered], kind="stable")] if by_counts else ordered
    number = np.full(count, -1)
    number[order] = np.arange(len(order))

    before, added = np.zeros(count, np.int64), np.bincount(token, minlength=count)
    before[: len(known.counts)] = np.diff(known.pair_at)
    pair_at = _sums((before + added)[order])
    had, has = before.nonzero()[0], added.nonzero()[0]
    first, second = ragged(pair_at[number[had]], before[had]), ragged(pair_at[number[has]] + before[has], added[has])
    by_token = np.argsort(token, kind="stable")
    pairs = []
    for name, old, more in zip(_PAIR_ARRAYS, known.pairs, new.pairs, strict=True):
        values = np.empty(pair_at[-1], _PAIR_ARRAYS[name])
        values[first], values[second] = old, more[by_token]
        pairs.append(values)
    texts = pa.concat_arrays([known.texts, fresh]).take(pa.array(order))
    return _Tokens(texts, number[ordered], counts[order], pair_at, pairs)


def _places(known: _Tokens, fresh: pa.LargeBinaryArray) -> Array:
    """Return where each of the fresh tokens, which ascend, has its place among those known in the order of their
    bytes."""
    if not len(known.texts):
        return np.zeros(len(fresh), np.intp)

    def text(number: int) -> bytes:
        found: bytes = known.texts[int(number)].as_py()
        return found

    return np.array([bisect_left(known.ordered, one, key=text) for one in fresh.to_pylist()], np.intp)


def _texts(array: Arrays, *, of_words: bool) -> pa.LargeBinaryArray:
    """The texts of the words, or of the other tokens, of a part or a vocabulary."""
    at, texts = (array("word_at"), array("words")) if of_words else (array("other_at"), array("others"))
    return pa.Array.from_buffers(pa.large_binary(), len(at) - 1, [None, pa.py_buffer(at), pa.py_buffer(texts)])


def _content(texts: pa.LargeBinaryArray) -> Array:
    """The bytes of texts, one after the other."""
    if not len(texts):
        return np.zeros(0, np.uint8)
    _, at, content = texts.buffers()
    ends = np.frombuffer(at, np.int64, len(texts) + 1, texts.offset * 8)
    return np.frombuffer(content, np.uint8)[ends[0] : ends[-1]]


def _sums(counts: Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts)])


def _ends(texts: pa.Array) -> Array:
    return _sums(pc.binary_length(texts).to_numpy()).astype(np.int64)

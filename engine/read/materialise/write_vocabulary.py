"""Write the vocabulary of an API: the tokens of all its parts, once each, and where each part has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.read.files.array_file import ArrayFile, ArrayFileWriter
from engine.read.files.parts import ApiParts
from engine.read.files.paths import CachePaths, search_file
from engine.read.files.search_arrays import PAIR_AT, PAIR_PARTS, PAIR_TOKENS, search_array
from snapshots.columns import indexed_fields

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def write_vocabulary(path: Path, api: ApiParts, paths: CachePaths) -> None:
    """Write the vocabulary of an API with several parts, which are in the cache. Raises ``OSError``."""
    with ExitStack() as opened, ArrayFileWriter(path, api.token) as file:
        files = [ArrayFile(search_file(paths.part(part.name)), part.token) for part in api.parts]
        for one in files:
            opened.callback(one.close)
        for lang in api.languages:
            there = [
                (number, files[number])
                for number, part in enumerate(api.parts)
                if any(one.lang == lang for one in part.files)
            ]
            for field in indexed_fields(api.api) if there else ():
                for name, values in joined_vocabulary(there, lang, field):
                    file.append(search_array(lang, field, name), values)


def joined_vocabulary(parts: Sequence[tuple[int, ArrayFile]], lang: str, field: str) -> Iterator[tuple[str, Array]]:
    """Yield the arrays of the vocabulary of one field, whose parts are given by their numbers."""
    words, others = _Tokens(), _Tokens()
    for number, file in parts:

        def array(name: str, file: ArrayFile = file) -> Array:
            return file.array(search_array(lang, field, name))

        counts, at = array("counts"), array("word_at")
        words.add(number, array("words"), at, counts[: len(at) - 1], 0)
        others.add(number, array("others"), array("other_at"), counts[len(at) - 1 :], len(at) - 1)
    first, second = words.joined(), others.joined()
    most_frequent = np.argsort(-first.counts, kind="stable")
    rank = np.empty(len(most_frequent), np.int64)
    rank[most_frequent] = np.arange(len(most_frequent))
    texts = first.texts.take(pa.array(most_frequent))
    yield "words", np.frombuffer(b"\n" + b"".join(texts.to_pylist()), np.uint8)
    yield "word_at", 1 + _ends(texts)
    yield "ordered", rank.astype(np.uint32)
    yield "others", np.frombuffer(b"".join(second.texts.to_pylist()), np.uint8)
    yield "other_at", _ends(second.texts)
    yield "counts", np.concatenate([first.counts[most_frequent], second.counts]).astype(np.uint32)
    tokens = np.concatenate([rank[first.token], second.token + len(rank)])
    order = np.argsort(tokens, kind="stable")
    yield PAIR_AT, np.concatenate([[0], np.cumsum(np.bincount(tokens, minlength=len(rank) + len(second.texts)))])
    yield PAIR_PARTS, np.concatenate([first.part, second.part])[order].astype(np.uint32)
    yield PAIR_TOKENS, np.concatenate([first.inside, second.inside])[order].astype(np.uint32)


class _Joined:
    """Tokens of several parts: once each, by their bytes; and for each that a part has the numbers of the token, of the
    part, and of the token there."""

    def __init__(self, texts: pa.Array, counts: Array, token: Array, part: Array, inside: Array) -> None:
        self.texts, self.counts, self.token, self.part, self.inside = texts, counts, token, part, inside


class _Tokens:
    """Tokens of parts, one part after the other."""

    def __init__(self) -> None:
        self._texts: list[pa.Array] = []
        self._counts: list[Array] = [np.zeros(0, np.uint32)]
        self._parts: list[Array] = [np.zeros(0, np.int64)]
        self._inside: list[Array] = [np.zeros(0, np.int64)]

    def add(self, part: int, texts: Array, at: Array, counts: Array, first: int) -> None:
        """Add the tokens of a part, which are numbered from ``first`` and begin at these places of ``texts``; a word
        takes its line feed with it, which changes no order."""
        buffers = [None, pa.py_buffer(at), pa.py_buffer(texts)]
        self._texts.append(pa.Array.from_buffers(pa.large_binary(), len(counts), buffers))
        self._counts.append(counts)
        self._parts.append(np.full(len(counts), part))
        self._inside.append(first + np.arange(len(counts)))

    def joined(self) -> _Joined:
        """Return the tokens, once each."""
        encoded = pa.chunked_array(self._texts, pa.large_binary()).combine_chunks().dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary).to_numpy()
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        token = number[encoded.indices.to_numpy()]
        counts = np.bincount(token, np.concatenate(self._counts), len(order)).astype(np.int64)
        texts = encoded.dictionary.take(pa.array(order))
        return _Joined(texts, counts, token, np.concatenate(self._parts), np.concatenate(self._inside))


def _ends(texts: pa.Array) -> Array:
    return np.concatenate([[0], np.cumsum(pc.binary_length(texts).to_numpy())]).astype(np.int64)
